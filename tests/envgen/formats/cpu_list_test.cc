#include "envgen/formats/cpu_list.h"

#include <gtest/gtest.h>

namespace envgen {
namespace {

std::string list_of(std::string_view text) {
  const auto cpus = parse_cpu_list(text);
  return cpus ? cpu_list_text(*cpus) : "none";
}

std::string mask_of(std::string_view text) {
  const auto cpus = parse_cpu_mask(text);
  return cpus ? cpu_list_text(*cpus) : "none";
}

TEST(CpuList, IsReadAsTheKernelPrintsIt) {
  EXPECT_EQ(list_of("0-23,48-71\n"), "0-23,48-71");
  EXPECT_EQ(list_of(" 3 "), "3");
  EXPECT_EQ(list_of("0,1,2,4"), "0-2,4");
  EXPECT_EQ(list_of("65535"), "65535");
  EXPECT_EQ(parse_cpu_list("\n"), CpuList());
}

TEST(CpuList, RefusesWhatIsNone) {
  for (const char* text : {"a", "1-", "-1", "3-2", "1,,2", ",1", "1,", "2,1", "0-3,3", "65536",
                           "99999999999", "0x1", "1 2", "0-3:2", "N/A"}) {
    EXPECT_EQ(list_of(text), "none") << text;
  }
}

TEST(CpuMask, HasItsHighestWordFirst) {
  EXPECT_EQ(mask_of("000000ff,ffff0000,00ffffff"), "0-23,48-71");
  EXPECT_EQ(mask_of("ff"), "0-7");
  EXPECT_EQ(mask_of("3,80000000"), "31-33");
  EXPECT_EQ(mask_of("00000000,00000000"), "");
}

// NCCL reads each of these without an error, as other CPUs.
TEST(CpuMask, RefusesAListInItsPlace) {
  for (const char* text : {"0-15", "0,1,2,3", "0-7,16-23", "0xff", "00ff,0ff", "000000ff,", "",
                           "0000000ff", "g", " ff"}) {
    EXPECT_EQ(mask_of(text), "none") << text;
  }
}

TEST(CpuMask, IsBounded) {
  std::string text = "1";
  for (int words = 1; words < kMaxCpus / 32; ++words) text += ",00000000";
  EXPECT_EQ(mask_of(text), std::to_string(kMaxCpus - 32));
  EXPECT_EQ(mask_of(text + ",00000000"), "none");
}

TEST(CpuList, KeepsWhatIsInBoth) {
  EXPECT_EQ(common_cpus({0, 1, 2, 8}, {1, 2, 3, 8}), CpuList({1, 2, 8}));
  EXPECT_EQ(common_cpus({0}, {1}), CpuList());
}

}  // namespace
}  // namespace envgen
