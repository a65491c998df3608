#include "init/doctor/nvidia_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string log_of(const std::string& gpus, const std::string& attached = "1") {
  return "<?xml version=\"1.0\" ?>\n"
         "<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
         "<nvidia_smi_log><driver_version>535.54.03</driver_version>"
         "<cuda_version>12.2</cuda_version><attached_gpus>" +
         attached + "</attached_gpus>" + gpus + "</nvidia_smi_log>\n";
}

std::string gpu_of(const std::string& inside) {
  return "<gpu id=\"00000000:0A:00.0\">" + inside + "</gpu>";
}

Gpu one(const std::string& inside) {
  auto report = parse_nvidia_smi(log_of(gpu_of(inside)), "smi");
  EXPECT_TRUE(report.has_value() && report->gpus.size() == 1) << to_line(report.error());
  return report && !report->gpus.empty() ? report->gpus[0] : Gpu{};
}

TEST(NvidiaSmi, TellsAGpuByItsAddressInSysfs) {
  const Gpu gpu = one("<product_name>NVIDIA H100</product_name><minor_number>3</minor_number>");
  EXPECT_EQ(gpu.bus_id, "0000:0a:00.0");
  EXPECT_EQ(gpu.name, "NVIDIA H100");
  EXPECT_EQ(gpu.minor, 3);
  // Azure's domains use more than four digits' worth.
  const auto azure = parse_nvidia_smi(log_of("<gpu id=\"000014ED:00:00.0\"/>"), "smi");
  ASSERT_TRUE(azure.has_value());
  EXPECT_EQ(azure->gpus[0].bus_id, "14ed:00:00.0");
  EXPECT_EQ(azure->gpus[0].minor, -1);
}

TEST(NvidiaSmi, AddsUpUncorrectableErrorsByWhateverNameTheDriverHas) {
  EXPECT_EQ(one("<ecc_errors><volatile><sram_uncorrectable>2</sram_uncorrectable>"
                "<dram_uncorrectable>1</dram_uncorrectable></volatile></ecc_errors>")
                .uncorrectable,
            3U);
  EXPECT_EQ(one("<ecc_errors><volatile><sram_uncorrectable_parity>1</sram_uncorrectable_parity>"
                "<sram_uncorrectable_secded>4</sram_uncorrectable_secded>"
                "<dram_correctable>9</dram_correctable></volatile></ecc_errors>")
                .uncorrectable,
            5U);
  EXPECT_EQ(one("<ecc_errors><volatile><single_bit><total>9</total></single_bit>"
                "<double_bit><total>7</total></double_bit></volatile></ecc_errors>")
                .uncorrectable,
            7U);
  EXPECT_EQ(one("<ecc_errors><volatile><dram_uncorrectable>N/A</dram_uncorrectable></volatile>"
                "<aggregate><dram_uncorrectable>8</dram_uncorrectable></aggregate></ecc_errors>")
                .uncorrectable,
            0U);
}

TEST(NvidiaSmi, KnowsMemoryThatIsToBeRepairedAndThatCannotBe) {
  const Gpu pending =
      one("<remapped_rows><remapped_row_unc>2</remapped_row_unc><remapped_row_pending>Yes"
          "</remapped_row_pending><remapped_row_failure>No</remapped_row_failure></remapped_rows>");
  EXPECT_TRUE(pending.repair_pending);
  EXPECT_FALSE(pending.repair_failed);
  EXPECT_EQ(pending.retired_pages, 2U);
  EXPECT_TRUE(one("<remapped_rows><remapped_row_failure>Yes</remapped_row_failure></remapped_rows>")
                  .repair_failed);
  EXPECT_TRUE(one("<retired_pages><pending_retirement>Yes</pending_retirement></retired_pages>")
                  .repair_pending);
  EXPECT_FALSE(one("<retired_pages><pending_retirement>No</pending_retirement></retired_pages>")
                   .repair_pending);
}

TEST(NvidiaSmi, NamesWhatADriverThatLostItsCardCannotRead) {
  EXPECT_THAT(one("<fan_speed>[Unknown Error]</fan_speed><utilization><gpu_util>ERR!</gpu_util>"
                  "</utilization><serial>N/A</serial>")
                  .broken,
              ElementsAre("fan_speed", "gpu_util"));
  EXPECT_EQ(one("<gpu_recovery_action>Reset</gpu_recovery_action>").recovery_action, "Reset");
  EXPECT_EQ(one("<gpu_recovery_action>None</gpu_recovery_action>").recovery_action, "");
  EXPECT_EQ(one("<gpu_recovery_action>N/A</gpu_recovery_action>").recovery_action, "");
}

TEST(NvidiaSmi, KnowsWhatHoldsTheClocksDownByOldAndNewNames) {
  EXPECT_THAT(one("<clocks_event_reasons>"
                  "<clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>"
                  "<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>"
                  "<clocks_event_reason_hw_thermal_slowdown>Active"
                  "</clocks_event_reason_hw_thermal_slowdown></clocks_event_reasons>")
                  .slowdowns,
              ElementsAre("hw_thermal_slowdown"));
  EXPECT_THAT(one("<clocks_throttle_reasons><clocks_throttle_reason_hw_slowdown>Active"
                  "</clocks_throttle_reason_hw_slowdown></clocks_throttle_reasons>")
                  .slowdowns,
              ElementsAre("hw_slowdown"));
}

TEST(NvidiaSmi, TellsAFabricThatIsNotUpFromNone) {
  const auto fabric = [](const std::string& state, const std::string& status) {
    return one("<fabric><state>" + state + "</state><status>" + status + "</status></fabric>")
        .fabric;
  };
  EXPECT_EQ(fabric("N/A", "N/A"), "");
  EXPECT_EQ(fabric("Completed", "Success"), "");
  EXPECT_EQ(fabric("In Progress", "N/A"), "In Progress");
  EXPECT_EQ(fabric("Completed", "Insufficient Resources"), "Insufficient Resources");
}

TEST(NvidiaSmi, TellsEccThatIsOffFromACardWithoutIt) {
  EXPECT_TRUE(one("<ecc_mode><current_ecc>Disabled</current_ecc></ecc_mode>").ecc_off);
  EXPECT_FALSE(one("<ecc_mode><current_ecc>N/A</current_ecc></ecc_mode>").ecc_off);
  EXPECT_FALSE(one("").ecc_off);
}

TEST(NvidiaSmi, KeepsTheLinesAroundTheLog) {
  const auto report = parse_nvidia_smi(
      "a warning first\n" + log_of(gpu_of("")) + "WARNING: infoROM is corrupted at gpu 0A\r\n",
      "smi");
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(report->notes,
              ElementsAre("a warning first", "WARNING: infoROM is corrupted at gpu 0A"));
}

TEST(NvidiaSmi, SaysWhatTheToolSaidInsteadOfALog) {
  const auto failed = parse_nvidia_smi(
      "\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", "smi");
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(to_line(failed.error()), HasSubstr("couldn't communicate with the NVIDIA driver"));
  EXPECT_THAT(to_line(parse_nvidia_smi("", "smi").error()), HasSubstr("nothing"));
}

TEST(NvidiaSmi, RefusesALogThatIsCut) {
  const std::string whole = log_of(gpu_of("<uuid>GPU-1</uuid>"));
  const auto cut = parse_nvidia_smi(whole.substr(0, whole.find("</gpu>")), "smi");
  ASSERT_FALSE(cut.has_value());
  EXPECT_THAT(to_line(cut.error()), HasSubstr("smi: line 3"));
}

TEST(ComputeApps, HaveTheirProcessAndTheGpusAddress) {
  const auto rows = parse_compute_apps(
      "00000000:0A:00.0, 12, /usr/bin/python3, a\n000014ED:00:00.0, [N/A], [Not Found]\n\n", "smi");
  ASSERT_TRUE(rows.has_value()) << to_line(rows.error());
  EXPECT_THAT(*rows, ElementsAre(GpuProcess{"0000:0a:00.0", 12, "/usr/bin/python3, a"},
                                 GpuProcess{"14ed:00:00.0", 0, "[Not Found]"}));
}

TEST(ComputeApps, AreNoneWhereNobodyComputes) {
  for (const char* output : {"", "No devices were found\n"}) {
    const auto rows = parse_compute_apps(output, "smi");
    EXPECT_TRUE(rows && rows->empty()) << output;
  }
}

TEST(ComputeApps, AreNotTheToolsComplaints) {
  for (const char* output :
       {"NVIDIA-SMI has failed: no driver, none", "0000:0a:00.0\n", "0000:0a:00.0, \n"}) {
    EXPECT_FALSE(parse_compute_apps(output, "smi").has_value()) << output;
  }
}

class NvidiaSmiSamples : public testing::Test {
 protected:
  [[nodiscard]] static GpuReport read(const std::string& name) {
    const char* samples = std::getenv("TRAINIT_SAMPLES");
    std::ifstream file(std::string(samples) + "/nvidia-smi/" + name, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    auto report = parse_nvidia_smi(text, name);
    EXPECT_TRUE(report.has_value()) << to_line(report.error());
    return report.value_or(GpuReport{});
  }
  void SetUp() override {
    if (std::getenv("TRAINIT_SAMPLES") == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  }
};

TEST_F(NvidiaSmiSamples, DriverOf2017ListsFewerGpusThanItHas) {
  const GpuReport report = read("pai-nvidia_smi_sample.xml");
  EXPECT_EQ(report.driver, "384.66");
  EXPECT_EQ(report.attached, 6);
  ASSERT_EQ(report.gpus.size(), 2U);
  EXPECT_EQ(report.gpus[1].bus_id, "0000:03:00.0");
  EXPECT_EQ(report.gpus[1].minor, 1);
  EXPECT_THAT(report.gpus[0].pids, ElementsAre(1357, 2384, 3093));
  EXPECT_EQ(report.gpus[0].uncorrectable, 0U);
  EXPECT_THAT(report.gpus[0].broken, IsEmpty());
}

TEST_F(NvidiaSmiSamples, MigPartsAreNoGpus) {
  const GpuReport report = read("telegraf-a100-sxm4-v12.xml");
  EXPECT_EQ(report.attached, 4);
  ASSERT_EQ(report.gpus.size(), 1U);
  EXPECT_TRUE(report.gpus[0].mig);
  EXPECT_EQ(report.gpus[0].mig_devices, 4);
  EXPECT_EQ(report.gpus[0].minor, 1);
}

TEST_F(NvidiaSmiSamples, NewestAndSmallestCardsAreWell) {
  for (const char* name : {"telegraf-rtx-3080-v13.xml", "telegraf-tesla-t4.xml"}) {
    const GpuReport report = read(name);
    ASSERT_EQ(report.gpus.size(), 1U) << name;
    const Gpu& gpu = report.gpus[0];
    EXPECT_EQ(gpu.minor, 0) << name;
    EXPECT_THAT(gpu.broken, IsEmpty()) << name;
    EXPECT_EQ(gpu.recovery_action, "") << name;
    EXPECT_THAT(gpu.slowdowns, IsEmpty()) << name;
    EXPECT_EQ(gpu.fabric, "") << name;
    EXPECT_FALSE(gpu.ecc_off) << name;
    EXPECT_EQ(gpu.max_link_width, 16) << name;
    EXPECT_GT(gpu.used_mib, 1000U) << name;
    EXPECT_FALSE(gpu.repair_pending || gpu.repair_failed || gpu.mig) << name;
    EXPECT_THAT(report.notes, IsEmpty()) << name;
  }
}

}  // namespace
}  // namespace doctor
