#include "envgen/formats/npu_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace envgen {
namespace {

using testing::HasSubstr;

std::string text_of(const base::Result<std::vector<NpuAffinity>>& list) {
  if (!list) return to_line(list.error());
  std::string text;
  for (const NpuAffinity& one : *list) {
    text += std::to_string(one.npu) + ": " + cpu_list_text(one.cpus) + "; ";
  }
  return text;
}

std::string read(std::string_view text) {
  return text_of(parse_npu_topology(text, "npu-smi info -t topo"));
}

TEST(NpuTopology, HasTheCpusOfEachNpuInItsLastColumn) {
  EXPECT_EQ(read("\t   NPU0       NPU1       NPU10      CPU Affinity\n"
                 "NPU0       X          HCCS       SYS        144-167\n"
                 "NPU1       HCCS       X          SYS        0-11,96-107  \r\n"
                 "  NPU10    SYS        SYS        X          24-47\n"
                 "\n"
                 "Legend:\n"
                 "\n"
                 "  X    = Self\n"
                 "  SYS  = Path traversing PCIe and NUMA nodes. NPU0 and others are below 1\n"
                 "  HCCS = Connection traversing HCCS.\n"
                 "  NA   = Unknown relationship.\n"),
            "0: 144-167; 1: 0-11,96-107; 10: 24-47; ");
}

TEST(NpuTopology, LeavesOutAnNpuWhoseCpusNobodyKnows) {
  EXPECT_EQ(read("NPU0 NPU1 CPU Affinity\nNPU0 X PHB N/A\nNPU1 PHB X 8-15"), "1: 8-15; ");
}

TEST(NpuTopology, RefusesWhatHasNoSuchColumn) {
  EXPECT_THAT(read("   NPU0   NPU1\nNPU0   X   SIO\nNPU1   SIO   X\n"), HasSubstr("found "));
  EXPECT_THAT(read("dcmi module initialize failed. ret is -8005\n"),
              HasSubstr("found dcmi module initialize failed. ret is -8005; a driver"));
  EXPECT_THAT(read(""), HasSubstr("found nothing"));
  EXPECT_THAT(read("NPU0 CPU Affinity\nLegend:\n"), HasSubstr("no line of an NPU"));
  EXPECT_THAT(read("CPU Affinity\nNPU0 X 0-3\nNPU0 X 4-7\n"), HasSubstr("two lines of NPU0"));
}

}  // namespace
}  // namespace envgen
