#include "init/doctor/npu_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace doctor {
namespace {

using testing::HasSubstr;

// Two chips an NPU, numbered through (A3), with a process.
constexpr const char* kA3 =
    "+------------------------------------------------------------------------------------+\n"
    "| npu-smi 25.2.1                   Version: 25.2.1                                   |\n"
    "+---------------------------+---------------+----------------------------------------+\n"
    "| NPU   Name                | Health        | Power(W)    Temp(C)   Hugepages-Usage  |\n"
    "| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory    HBM-Usage(MB)    |\n"
    "+===========================+===============+========================================+\n"
    "| 2     Ascend910           | OK            | 161.8       36         0    / 0        |\n"
    "| 0     4                   | 0000:95:00.0  | 0           0    / 0   3122 / 65536    |\n"
    "+------------------------------------------------------------------------------------+\n"
    "| 2     Ascend910           | Alarm         | -           36         0    / 0        |\n"
    "| 1     5                   | 0000:97:00.0  | 0           0    / 0   2891 / 65536    |\n"
    "+===========================+===============+========================================+\n"
    "+---------------------------+---------------+----------------------------------------+\n"
    "| NPU     Chip              | Process id    | Process name        | Process memory   |\n"
    "+===========================+===============+========================================+\n"
    "| 2       1                 | 582939        | python3             | 19502            |\n"
    "+===========================+===============+========================================+\n";

TEST(NpuSmi, NumbersTheChipsOfAnA3ByTheirPhysicalId) {
  const auto report = parse_npu_smi(kA3, "smi");
  ASSERT_TRUE(report.has_value()) << to_line(report.error());
  EXPECT_EQ(report->version, "25.2.1");
  ASSERT_EQ(report->chips.size(), 2U);
  EXPECT_EQ(report->chips[1], (NpuChip{.npu = 2,
                                       .chip = 1,
                                       .device = 5,
                                       .name = "Ascend910",
                                       .health = "Alarm",
                                       .bus_id = "0000:97:00.0"}));
  ASSERT_EQ(report->processes.size(), 1U);
  EXPECT_EQ(report->processes[0],
            (NpuProcess{.npu = 2, .chip = 1, .pid = 582939, .name = "python3"}));
}

// No HBM column, other widths, a chip's number in the driver, a bus id that is not told.
TEST(NpuSmi, ReadsAnInferenceCard) {
  const auto report = parse_npu_smi(
      "+------------------------------------------------------------------------+ \n"
      "| NPU     Name        | Health   | Power(W)  Temp(C)  Hugepages-Usage(page) | \n"
      "| Chip    Device      | Bus-Id   | AICore(%) Memory-Usage(MB)               | \n"
      "+=====================+==========+==========================================+ \n"
      "| 32      310P3       | OK       | NA        49       0     / 0             | \n"
      "| 0       1           | NA       | 0         1910 / 21527                   | \n"
      "+=====================+==========+=========================================|\n",
      "smi");
  ASSERT_TRUE(report.has_value()) << to_line(report.error());
  EXPECT_EQ(report->chips[0].npu, 32);
  EXPECT_EQ(report->chips[0].device, 1);
  EXPECT_EQ(report->chips[0].bus_id, "");
}

TEST(NpuSmi, RefusesHalfAChipAndTellsTheLine) {
  const std::string text = kA3;
  const std::size_t second = text.find("| 1     5");
  const auto cut = parse_npu_smi(text.substr(0, second), "smi");
  ASSERT_FALSE(cut.has_value());
  EXPECT_THAT(to_line(cut.error()), HasSubstr("smi: line 10: found the first half of a chip"));
  EXPECT_FALSE(parse_npu_smi(text.substr(0, second + 20), "smi").has_value());
  std::string lost = text;
  lost.erase(second, lost.find('\n', second) + 1 - second);
  EXPECT_FALSE(parse_npu_smi(lost, "smi").has_value());
}

TEST(NpuSmi, RefusesWhatIsNoTable) {
  for (const char* text :
       {"", "\n\n", "DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)\n", "+---+\n| a |\n",
        "| NPU | Health | x |\n+===+\n", "| NPU | Health | x |\n| x y | OK | z |\n"}) {
    EXPECT_FALSE(parse_npu_smi(text, "smi").has_value()) << text;
  }
}

TEST(NpuSmi, PassesOverMessagesAroundTheTable) {
  EXPECT_TRUE(parse_npu_smi("dcmi module initialize: 0\n" + std::string(kA3), "smi").has_value());
}

class NpuSmiSamples : public testing::Test {
 protected:
  [[nodiscard]] static std::string read(const std::string& name) {
    std::ifstream file(std::string(std::getenv("TRAINIT_SAMPLES")) + "/npu-smi/" + name,
                       std::ios::binary);
    EXPECT_TRUE(file) << name;
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void SetUp() override {
    if (std::getenv("TRAINIT_SAMPLES") == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  }
};

TEST_F(NpuSmiSamples, EightChipsOfA910B) {
  const auto report = parse_npu_smi(read("npuSmiInfo910B.txt"), "smi");
  ASSERT_TRUE(report.has_value()) << to_line(report.error());
  EXPECT_EQ(report->version, "24.1.rc3");
  ASSERT_EQ(report->chips.size(), 8U);
  for (int i = 0; i < 8; ++i) {
    const NpuChip& chip = report->chips[static_cast<std::size_t>(i)];
    EXPECT_EQ(chip.device, i);
    EXPECT_EQ(chip.health, "OK");
    EXPECT_EQ(chip.name, "910B4");
  }
  EXPECT_EQ(report->chips[0].bus_id, "0000:c1:00.0");
  ASSERT_EQ(report->processes.size(), 4U);
  EXPECT_EQ(report->processes[0].pid, 582939);
  EXPECT_EQ(report->processes[0].name, "");
}

TEST_F(NpuSmiSamples, ATableWithoutItsHeaderIsRefused) {
  const auto report = parse_npu_smi(read("wrongNpuSmiInfo1.txt"), "smi");
  ASSERT_FALSE(report.has_value());
  EXPECT_THAT(to_line(report.error()),
              HasSubstr("smi: line 2: found a line above the table's header"));
}

}  // namespace
}  // namespace doctor
