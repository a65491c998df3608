#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "init/sandbox/capabilities.h"
#include "init/sandbox/prepare.h"
#include "tests/init/child.h"

namespace sandbox {
namespace {

using envgen::ResourceLimit;
using envgen::SandboxRequest;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kUnlimited = ~0ULL;

std::optional<ResourceLimit> limit(std::string_view text) {
  auto result = parse_limit(text);
  if (!result) return std::nullopt;
  return *result;
}

TEST(Limit, OneValueIsSoftAndHard) {
  EXPECT_EQ(limit("nofile=1024:4096"), (ResourceLimit{RLIMIT_NOFILE, 1024, 4096}));
  EXPECT_EQ(limit("nofile=1024"), (ResourceLimit{RLIMIT_NOFILE, 1024, 1024}));
  EXPECT_EQ(limit("core=0"), (ResourceLimit{RLIMIT_CORE, 0, 0}));
}

TEST(Limit, UnlimitedIsAWordOrMinusOne) {
  EXPECT_EQ(limit("memlock=unlimited"), (ResourceLimit{RLIMIT_MEMLOCK, kUnlimited, kUnlimited}));
  EXPECT_EQ(limit("memlock=-1:-1"), (ResourceLimit{RLIMIT_MEMLOCK, kUnlimited, kUnlimited}));
  EXPECT_EQ(limit("core=0:unlimited"), (ResourceLimit{RLIMIT_CORE, 0, kUnlimited}));
}

TEST(Limit, UnitsArePowersOf1024) {
  EXPECT_EQ(limit("stack=8m"), (ResourceLimit{RLIMIT_STACK, 8ULL << 20, 8ULL << 20}));
  EXPECT_EQ(limit("as=64k:2G"), (ResourceLimit{RLIMIT_AS, 64ULL << 10, 2ULL << 30}));
}

TEST(Limit, EveryResourceHasItsName) {
  for (const auto& [name, number] :
       std::initializer_list<std::pair<const char*, int>>{{"as", RLIMIT_AS},
                                                          {"core", RLIMIT_CORE},
                                                          {"cpu", RLIMIT_CPU},
                                                          {"data", RLIMIT_DATA},
                                                          {"fsize", RLIMIT_FSIZE},
                                                          {"locks", RLIMIT_LOCKS},
                                                          {"memlock", RLIMIT_MEMLOCK},
                                                          {"msgqueue", RLIMIT_MSGQUEUE},
                                                          {"nice", RLIMIT_NICE},
                                                          {"nofile", RLIMIT_NOFILE},
                                                          {"nproc", RLIMIT_NPROC},
                                                          {"rss", RLIMIT_RSS},
                                                          {"rtprio", RLIMIT_RTPRIO},
                                                          {"rttime", RLIMIT_RTTIME},
                                                          {"stack", RLIMIT_STACK},
                                                          {"sigpending", RLIMIT_SIGPENDING}}) {
    EXPECT_EQ(limit(std::string(name) + "=1"), (ResourceLimit{number, 1, 1})) << name;
  }
  EXPECT_EQ(limit("RLIMIT_CORE=0"), limit("core=0"));
}

TEST(Limit, WhatIsNoLimitIsRefused) {
  for (const char* text : {"", "=", "nofile", "nofile=", "nofile=:", "nofile=1:", "nofile=:1",
                           "nofile=1:2:3", "nofile=-2", "nofile=1x", "nofile=1kk", "nofile= 1",
                           "nofile=0x10", "nofile=1.5", "nofile=18446744073709551616",
                           "as=17179869184g", "files=1", "nofile=2:1", "nofile=unlimited:1"}) {
    auto result = parse_limit(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_THAT(to_line(result.error()),
                AllOf(HasSubstr("--rlimit"), HasSubstr('"' + std::string(text) + '"')));
  }
}

class Prepare : public child::Scratch {
 protected:
  Prepare() {
    EXPECT_TRUE(sys::make_directories(path("etc"), 0755));
    write("etc/passwd",
          "root:x:0:0:root:/root:/bin/sh\n"
          "nobody:x:65534:65534::/nonexistent:/bin/sh\n"
          "ma-user:x:1000:100::/home/ma-user:/bin/sh\n");
    write("etc/group", "users:x:100:\nHwHiAiUser:x:1001:ma-user\nnogroup:x:65534:\n");
  }

  [[nodiscard]] Prepared prepared(const SandboxRequest& request) const {
    auto result = prepare(request, false, path("."));
    if (!result) ADD_FAILURE() << to_line(result.error());
    return result.value_or(Prepared());
  }

  [[nodiscard]] std::string refusal(const SandboxRequest& request, bool strict = false) const {
    auto result = prepare(request, strict, path("."));
    return result ? "" : to_line(result.error());
  }

  // What a process without `missing` of our capabilities is told; "" when nothing is refused.
  [[nodiscard]] std::string refusal_without(std::uint64_t missing,
                                            const SandboxRequest& request) const {
    const auto outcome = child::run([&] {
      const std::uint64_t left = permitted_capabilities().value_or(0) & ~missing;
      if (!set_capabilities(left, left, 0)) return 1;
      std::printf("%s", refusal(request).c_str());
      return 0;
    });
    EXPECT_EQ(outcome.code, 0);
    return outcome.out;
  }

  std::string profile() const {
    return write("profile.json", R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
        {"names": ["mount"], "action": "SCMP_ACT_ERRNO", "excludes": {"caps": ["CAP_CHOWN"]}},
        {"names": ["no_such_call"], "action": "SCMP_ACT_ERRNO"}]})");
  }
};

TEST_F(Prepare, NothingAskedForIsNothing) { EXPECT_TRUE(prepared({}).sandbox.empty()); }

TEST_F(Prepare, WhatNeedsNoLookingUpIsTakenOver) {
  const envgen::ProcessSettings settings = {
      .no_new_privs = true, .umask = 027, .nice = 19, .oom_score_adj = 1000};
  const auto sandbox = prepared({.settings = settings}).sandbox;
  EXPECT_EQ(sandbox, (envgen::Sandbox{.settings = settings}));
}

TEST_F(Prepare, TheUserIsTheImages) {
  if (!child::is_root()) GTEST_SKIP() << "needs CAP_SETUID";
  const auto sandbox = prepared({.user = "ma-user"}).sandbox;
  EXPECT_EQ(sandbox.identity, (envgen::Identity{.uid = 1000,
                                                .gid = 100,
                                                .groups = {100, 1001},
                                                .name = "ma-user",
                                                .home = "/home/ma-user"}));
  EXPECT_THAT(refusal({.user = "bob"}), AllOf(HasSubstr("--user"), HasSubstr("\"bob\"")));
}

TEST_F(Prepare, AnImageWithoutUsersKnowsNumbersOnly) {
  if (!child::is_root()) GTEST_SKIP() << "needs CAP_SETUID";
  const auto empty = path("empty");
  EXPECT_EQ(prepare({.user = "7:8"}, false, empty)->sandbox.identity->gid, 8U);
  EXPECT_FALSE(prepare({.user = "root"}, false, empty).has_value());
}

TEST_F(Prepare, AChangeOfUserNeedsItsCapabilities) {
  if (!child::is_root()) GTEST_SKIP() << "needs capabilities to lose";
  EXPECT_THAT(refusal_without(capability_bit(CAP_SETUID), {.user = "ma-user"}),
              AllOf(HasSubstr("--user"), HasSubstr("uid 1000"), HasSubstr("CAP_SETUID")));
  EXPECT_THAT(refusal_without(capability_bit(CAP_SETGID), {.user = "0:users"}),
              HasSubstr("CAP_SETGID"));
  EXPECT_EQ(refusal_without(capability_bit(CAP_NET_RAW), {.user = "ma-user"}), "");
}

TEST_F(Prepare, AJobOfAnotherUserMustBeOneThatWeCanStop) {
  if (!child::is_root()) GTEST_SKIP() << "needs capabilities to lose";
  EXPECT_THAT(refusal_without(capability_bit(CAP_KILL), {.user = "ma-user"}),
              AllOf(HasSubstr("--user"), HasSubstr("uid 1000"), HasSubstr("CAP_KILL")));
  EXPECT_EQ(refusal_without(capability_bit(CAP_KILL), {.user = "root"}), "");
}

TEST_F(Prepare, TheUserThatWeAreNeedsNone) {
  if (!child::is_root()) GTEST_SKIP() << "needs to become nobody";
  const auto outcome = child::run([this] {
    constexpr gid_t kNobody = 65534;
    if (!child::become_nobody({kNobody})) return 1;
    std::printf("%s", refusal({.user = "nobody"}).c_str());
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
}

TEST_F(Prepare, CapabilitiesAreTakenFromTheBoundingSet) {
  const auto sandbox = prepared({.caps = "all"}).sandbox;
  EXPECT_EQ(sandbox.capabilities, bounding_capabilities());
  EXPECT_THAT(refusal({.caps = "net_raww"}), AllOf(HasSubstr("--caps"), HasSubstr("net_raww")));
  if (!child::is_root()) GTEST_SKIP() << "needs CAP_SETPCAP";
  EXPECT_EQ(prepared({.caps = "none"}).sandbox.capabilities, 0U);
  EXPECT_EQ(prepared({.caps = "kill"}).sandbox.capabilities, capability_bit(CAP_KILL));
  EXPECT_THAT(refusal_without(capability_bit(CAP_SETPCAP), {.caps = "none"}),
              AllOf(HasSubstr("--caps"), HasSubstr("CAP_SETPCAP")));
}

TEST_F(Prepare, AJobThatMayTraceAnythingIsNamed) {
  if (!child::is_root()) GTEST_SKIP() << "needs capabilities";
  const auto warns = [&](const SandboxRequest& request) { return prepared(request).warnings; };
  if ((bounding_capabilities() & capability_bit(CAP_SYS_PTRACE)) == 0) GTEST_SKIP() << "has none";
  const auto named = testing::ElementsAre(HasSubstr("CAP_SYS_PTRACE"));
  EXPECT_THAT(warns({.settings = {.no_new_privs = true}}), named);
  EXPECT_THAT(warns({.caps = "sys_ptrace,kill"}), named);
  EXPECT_THAT(warns({.user = "1000", .ambient = "sys_ptrace"}), named);
  EXPECT_THAT(warns({.user = "1000"}), testing::IsEmpty());
  EXPECT_THAT(warns({.caps = "none"}), testing::IsEmpty());
  EXPECT_THAT(warns({.settings = {.nice = 19}}), testing::IsEmpty()) << "no border";
}

TEST_F(Prepare, AmbientCapabilitiesMustBeLeftToTheJob) {
  if (!child::is_root()) GTEST_SKIP() << "needs capabilities";
  EXPECT_EQ(prepared({.ambient = "kill,chown"}).sandbox.ambient,
            capability_bit(CAP_KILL) | capability_bit(CAP_CHOWN));
  EXPECT_EQ(prepared({.caps = "kill", .ambient = "kill"}).sandbox.ambient,
            capability_bit(CAP_KILL));
  EXPECT_THAT(refusal({.caps = "-kill", .ambient = "kill,chown"}),
              AllOf(HasSubstr("--ambient"), HasSubstr("CAP_KILL"), HasSubstr("--caps")));
  EXPECT_THAT(refusal_without(capability_bit(CAP_KILL), {.ambient = "kill"}),
              AllOf(HasSubstr("--ambient"), HasSubstr("CAP_KILL")));
}

TEST_F(Prepare, LimitsAreCheckedAgainstOurOwn) {
  const auto outcome = child::run([this] {
    constexpr rlimit kOurs{64, 128};
    if (::setrlimit(RLIMIT_MEMLOCK, &kOurs) != 0) return 1;
    if (!refusal({.limits = {"memlock=128", "core=0"}}).empty()) return 2;
    std::printf(
        "%s",
        refusal_without(capability_bit(CAP_SYS_RESOURCE), {.limits = {"memlock=64:129"}}).c_str());
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("--rlimit"), HasSubstr("memlock"), HasSubstr("129"),
                                 HasSubstr("our own 128"), HasSubstr("CAP_SYS_RESOURCE")));
}

TEST_F(Prepare, NobodyMayHaveMoreDescriptorsThanTheKernelAllows) {
  EXPECT_THAT(refusal({.limits = {"nofile=unlimited"}}),
              AllOf(HasSubstr("--rlimit"), HasSubstr("nofile")));
}

TEST_F(Prepare, ALimitIsNamedOnce) {
  EXPECT_THAT(refusal({.limits = {"core=0", "RLIMIT_CORE=0"}}), HasSubstr("core twice"));
}

TEST_F(Prepare, BadNumbersAreRefused) {
  EXPECT_THAT(refusal({.settings = {.umask = 01000}}), HasSubstr("--umask"));
  EXPECT_THAT(refusal({.settings = {.nice = 20}}), HasSubstr("--nice"));
  EXPECT_THAT(refusal({.settings = {.nice = -21}}), HasSubstr("--nice"));
  EXPECT_THAT(refusal({.settings = {.oom_score_adj = 1001}}), HasSubstr("--oom-score-adj"));
  EXPECT_THAT(refusal({.settings = {.oom_score_adj = -1001}}), HasSubstr("--oom-score-adj"));
}

// What a process of nice value 5 without CAP_SYS_NICE is told that asks for 4 with this
// RLIMIT_NICE.
class PrepareNice : public Prepare {
 protected:
  [[nodiscard]] child::Outcome ask_for_4(rlim_t ceiling) const {
    return child::run([this, ceiling] {
      const rlimit ours{ceiling, ceiling};
      if (::setrlimit(RLIMIT_NICE, &ours) != 0) return 1;
      if (::setpriority(PRIO_PROCESS, 0, 5) != 0) return 2;
      const std::uint64_t nice = capability_bit(CAP_SYS_NICE);
      std::printf("%s", refusal_without(nice, {.settings = {.nice = 4}}).c_str());
      return refusal_without(nice, {.settings = {.nice = 5}}).empty() ? 0 : 3;
    });
  }
};

TEST_F(PrepareNice, ALowerValueNeedsACapability) {
  const auto outcome = ask_for_4(0);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("--nice"), HasSubstr("CAP_SYS_NICE")));
}

TEST_F(PrepareNice, OrALimitThatAllowsIt) {
  constexpr rlim_t kFrom4 = 16;
  rlimit ours{};
  ASSERT_EQ(::getrlimit(RLIMIT_NICE, &ours), 0);
  const std::uint64_t resource = capability_bit(CAP_SYS_RESOURCE);
  if (ours.rlim_max < kFrom4 && (permitted_capabilities().value_or(0) & resource) == 0) {
    GTEST_SKIP() << "the limit cannot be raised here";
  }
  const auto outcome = ask_for_4(kFrom4);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
}

TEST_F(Prepare, ALowerOomScoreNeedsACapability) {
  const auto outcome = child::run([this] {
    std::ofstream("/proc/self/oom_score_adj") << 500;
    const std::uint64_t missing = capability_bit(CAP_SYS_RESOURCE);
    std::printf("%s", refusal_without(missing, {.settings = {.oom_score_adj = 499}}).c_str());
    return refusal_without(missing, {.settings = {.oom_score_adj = 500}}).empty() ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("--oom-score-adj"), HasSubstr("our own 500"),
                                 HasSubstr("CAP_SYS_RESOURCE")));
}

TEST_F(Prepare, TheProfileIsCompiledForTheJobsCapabilities) {
  if (!child::is_root()) GTEST_SKIP() << "needs CAP_SETPCAP";
  const Prepared with = prepared({.seccomp = profile()});
  const Prepared without = prepared({.caps = "-chown", .seccomp = profile()});
  EXPECT_EQ(with.sandbox.profile, profile());
  EXPECT_FALSE(with.sandbox.filter.empty());
  EXPECT_GT(without.sandbox.filter.size(), with.sandbox.filter.size()) << "mount is refused";
  EXPECT_THAT(with.warnings, testing::Contains(HasSubstr("no_such_call")));
}

TEST_F(Prepare, StrictRefusesWhatTheProfileCannotMean) {
  EXPECT_THAT(refusal({.seccomp = profile()}, true), HasSubstr("no_such_call"));
}

TEST_F(Prepare, WithoutSysAdminAFilterImpliesNoNewPrivs) {
  const auto outcome = child::run([this] {
    const SandboxRequest request{.seccomp = profile()};
    const std::uint64_t ours = permitted_capabilities().value_or(0);
    const bool admin = (ours & capability_bit(CAP_SYS_ADMIN)) != 0;
    if (prepared(request).sandbox.settings.no_new_privs == admin) return 1;
    if (!set_capabilities(0, 0, 0)) return 2;
    const Prepared implied = prepared(request);
    if (!implied.sandbox.settings.no_new_privs) return 3;
    for (const std::string& warning : implied.warnings) std::printf("%s\n", warning.c_str());
    const auto said = prepared({.seccomp = profile(), .settings = {.no_new_privs = true}}).warnings;
    if (implied.warnings.size() != said.size() + 1) return 4;
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 5;
    return prepared(request).warnings.size() == said.size() ? 0 : 6;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("--no-new-privs"), HasSubstr("CAP_SYS_ADMIN")));
}

TEST_F(Prepare, AProfileThatCannotBeReadIsRefusedWithItsPath) {
  for (const std::string& file : {path("absent.json"), path("etc")}) {
    EXPECT_THAT(refusal({.seccomp = file}), HasSubstr(file));
  }
  EXPECT_THAT(refusal({.seccomp = "/dev/null"}), HasSubstr("/dev/null"));
  const std::string broken = write("broken.json", "{\n  // no\n}");
  EXPECT_THAT(refusal({.seccomp = broken}), AllOf(HasSubstr(broken), HasSubstr("line 2")));
  const std::string huge = write("huge.json", std::string((4U << 20) + 1, ' '));
  EXPECT_THAT(refusal({.seccomp = huge}), HasSubstr("4194305 bytes"));
}

}  // namespace
}  // namespace sandbox
