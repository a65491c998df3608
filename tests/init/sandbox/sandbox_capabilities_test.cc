#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>

#include "init/sandbox/capabilities.h"
#include "tests/init/child.h"

namespace sandbox {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kChown = capability_bit(CAP_CHOWN);
constexpr std::uint64_t kKill = capability_bit(CAP_KILL);
constexpr std::uint64_t kNetRaw = capability_bit(CAP_NET_RAW);
constexpr std::uint64_t kHave = kChown | kKill | kNetRaw;

std::uint64_t kept(std::string_view list) {
  auto result = keep_capabilities(list, kHave, "--caps");
  if (!result) ADD_FAILURE() << list << ": " << to_line(result.error());
  return result.value_or(~0ULL);
}

std::string refusal(std::string_view list) {
  auto result = keep_capabilities(list, kHave, "--caps");
  EXPECT_FALSE(result.has_value()) << list;
  return result ? "" : to_line(result.error());
}

TEST(Capability, NamesAreReadInEveryUsualSpelling) {
  for (const char* name : {"net_raw", "NET_RAW", "CAP_NET_RAW", "cap_net_raw", "Net_Raw"}) {
    EXPECT_EQ(capability(name), CAP_NET_RAW) << name;
  }
  EXPECT_EQ(capability("chown"), 0);
}

TEST(Capability, UnknownNamesAreRefusedWithTheirPlace) {
  for (const std::string name : {"", "cap_", "net raw", "netraw", "13", "cap_13", "CAP_CAP_KILL"}) {
    auto result = capability(name, "--caps");
    ASSERT_FALSE(result.has_value()) << name;
    EXPECT_THAT(to_line(result.error()), AllOf(HasSubstr("--caps"), HasSubstr('"' + name + '"')));
  }
  EXPECT_FALSE(capability(std::string_view("kill\0x", 6)).has_value());
}

TEST(Capability, TheNameIsTheKernels) {
  EXPECT_EQ(capability_name(CAP_SYS_ADMIN), "CAP_SYS_ADMIN");
  EXPECT_EQ(capability_name(63), "CAP_63");
  EXPECT_EQ(capability_names(kHave), "CAP_CHOWN, CAP_KILL, CAP_NET_RAW");
  EXPECT_EQ(capability_names(0), "none");
}

TEST(KeptCapabilities, AListKeepsThoseItNames) {
  EXPECT_EQ(kept("net_raw,kill"), kNetRaw | kKill);
  EXPECT_EQ(kept("CAP_CHOWN"), kChown);
  EXPECT_EQ(kept(" net_raw , kill "), kNetRaw | kKill);
}

TEST(KeptCapabilities, AListOfMinusesTakesThoseAway) {
  EXPECT_EQ(kept("-net_raw"), kChown | kKill);
  EXPECT_EQ(kept("-net_raw,-CAP_KILL"), kChown);
  EXPECT_EQ(kept("-mknod"), kHave) << "what is not there is gone already";
}

TEST(KeptCapabilities, AllAndNone) {
  EXPECT_EQ(kept("all"), kHave);
  EXPECT_EQ(kept("ALL"), kHave);
  EXPECT_EQ(kept("none"), 0U);
}

TEST(KeptCapabilities, WhatTheContainerLacksCannotBeKept) {
  EXPECT_THAT(refusal("kill,sys_admin"),
              AllOf(HasSubstr("--caps"), HasSubstr("CAP_SYS_ADMIN"), HasSubstr("--cap-add")));
}

TEST(KeptCapabilities, ListsOfBothKindsAreRefused) {
  EXPECT_THAT(refusal("kill,-net_raw"), HasSubstr("either"));
}

TEST(KeptCapabilities, UnknownNamesAreRefused) {
  for (const char* list : {"", ",", "kill,", "kill,,chown", "-", "--kill", "all,kill", "none,kill",
                           "-all", "drop:all"}) {
    EXPECT_THAT(refusal(list), HasSubstr("--caps")) << list;
  }
}

// Of the line "NAME:\t<hexadecimal>" of this process.
std::uint64_t status_mask(const std::string& name) {
  const std::string status = child::Scratch::read("/proc/self/status");
  const std::size_t at = status.find(name + ":\t");
  return at == std::string::npos ? ~0ULL
                                 : std::stoull(status.substr(at + name.size() + 2), nullptr, 16);
}

TEST(OwnCapabilities, AreWhatTheKernelSays) {
  EXPECT_EQ(permitted_capabilities(), status_mask("CapPrm"));
  EXPECT_EQ(bounding_capabilities(), status_mask("CapBnd"));
}

TEST(OwnCapabilities, SetsBecomeExactlyThoseAskedFor) {
  if (!child::is_root()) GTEST_SKIP() << "needs capabilities";
  const auto outcome = child::run([] {
    if (!drop_bounding(kHave)) return 1;
    if (status_mask("CapBnd") != (kHave & bounding_capabilities())) return 2;
    if (!set_capabilities(kKill | kChown, kKill, kChown)) return 3;
    if (status_mask("CapPrm") != (kKill | kChown)) return 4;
    if (status_mask("CapEff") != kKill) return 5;
    if (status_mask("CapInh") != kChown) return 6;
    if (!raise_ambient(kChown) || status_mask("CapAmb") != kChown) return 7;
    if (!raise_ambient(0) || status_mask("CapAmb") != 0) return 8;
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(OwnCapabilities, WhatTheKernelRefusesIsAnError) {
  const auto outcome = child::run([] {
    if (!set_capabilities(0, 0, 0)) return 1;
    auto set = set_capabilities(kKill, 0, 0);
    auto ambient = raise_ambient(kKill);
    auto bounding = drop_bounding(0);
    if (set || ambient || (bounding && bounding_capabilities() != 0)) return 2;
    std::printf("%s\n", to_line(ambient.error()).c_str());
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("CAP_KILL"));
}

}  // namespace
}  // namespace sandbox
