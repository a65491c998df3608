#include "envgen/formats/nccl_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::string& document) {
  const auto nodes = parse_nccl_topology(document, "/topo.xml");
  return nodes ? "accepted" : to_line(nodes.error());
}

std::string system_of(const std::string& cpu) {
  return "<system version=\"1\">" + cpu + "</system>";
}

TEST(NcclTopology, FindsTheGpusBelowEachCpu) {
  const auto nodes = parse_nccl_topology(R"(<!-- of a cloud --><system version="1">
    <cpu numaid="1" affinity="0000000f" arch="x86_64">
      <pci busid="ffff:ff:01.0" class="0x060400">
        <pci busid="0000:20:1C.0" class="0x030200"><gpu dev="1" sm="80"/></pci>
        <pci busid="0000:20:1b.0" class="0x020000"><nic><net name="eth0"/></nic></pci>
      </pci>
      <pci busid="0000:21:00.0" class="0x030000"/>
    </cpu>
    <cpu numaid="0" affinity="000000f0"/>
  </system>)",
                                         "/topo.xml");
  ASSERT_TRUE(nodes) << to_line(nodes.error());
  EXPECT_THAT(*nodes, ElementsAre(TopologyNode{1, {0, 1, 2, 3}, {"0000:20:1c.0", "0000:21:00.0"}},
                                  TopologyNode{0, {4, 5, 6, 7}, {}}));
}

TEST(NcclTopology, RefusesWhatNcclMisreadsWithoutAnError) {
  EXPECT_THAT(refusal(system_of(R"(<cpu numaid="0" affinity="0-15"/>)")),
              HasSubstr("/topo.xml: cpu 0: found affinity=\"0-15\"; give hexadecimal words"));
  EXPECT_THAT(refusal(system_of(R"(<cpu numaid="2" affinity="0,1,2,3"/>)")),
              HasSubstr("cpu 2: found affinity=\"0,1,2,3\""));
  EXPECT_THAT(refusal(system_of(R"(<cpu numaid="-1" affinity="ff"/>)")),
              HasSubstr("found numaid=\"-1\""));
  EXPECT_THAT(refusal(system_of(R"(<cpu numaid="x" affinity="ff"/>)")), HasSubstr("numaid=\"x\""));
  EXPECT_THAT(refusal(system_of(R"(<cpu numaid="0" affinity="00000000"/>)")),
              HasSubstr("affinity=\"00000000\""));
  EXPECT_THAT(refusal(system_of(R"(<cpu numaid="0"/>)")), HasSubstr("affinity=\"\""));
}

TEST(NcclTopology, RefusesAnotherDocument) {
  EXPECT_THAT(refusal("<graphs version=\"1\"/>"), HasSubstr("found <graphs>"));
  EXPECT_THAT(refusal("<system version=\"2\"/>"), HasSubstr("found version=\"2\""));
  EXPECT_THAT(refusal("<system/>"), HasSubstr("found version=\"\""));
  EXPECT_THAT(refusal("<system version=\"1\">"), HasSubstr("reading the NCCL topology: /topo.xml"));
  EXPECT_THAT(refusal(""), HasSubstr("/topo.xml"));
}

TEST(BusId, IsThatOfSysfs) {
  EXPECT_EQ(normal_bus_id("00000000:0A:00.0"), "0000:0a:00.0");
  EXPECT_EQ(normal_bus_id("000014ED:00:00.0"), "14ed:00:00.0");
  EXPECT_EQ(normal_bus_id("0000:c1:00.1"), "0000:c1:00.1");
  EXPECT_EQ(normal_bus_id("10000:e1:00.0"), "10000:e1:00.0");
  for (const char* text : {"", "0a:00.0", "0000:0a:00", "0000:0a:00.00", "0000-0a:00.0",
                           "000:0a:00.0", "0000:0g:00.0", "000000000:0a:00.0", "0000:0a:00:0"}) {
    EXPECT_EQ(normal_bus_id(text), std::nullopt) << text;
  }
}

struct Sample {
  const char* name;
  std::size_t nodes;
  std::size_t gpus;
  const char* first_cpus;  // or what is said of it
};

class NcclTopologySamples : public testing::TestWithParam<Sample> {};

TEST_P(NcclTopologySamples, IsReadOrRefusedForTheRightReason) {
  const char* samples = std::getenv("TRAINIT_SAMPLES");
  if (samples == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  const Sample& sample = GetParam();
  std::ifstream file(std::string(samples) + "/nccl-topo/" + sample.name, std::ios::binary);
  ASSERT_TRUE(file) << sample.name;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto nodes = parse_nccl_topology(text, sample.name);
  if (sample.nodes == 0) {
    ASSERT_FALSE(nodes);
    EXPECT_THAT(to_line(nodes.error()), HasSubstr(sample.first_cpus));
    return;
  }
  ASSERT_TRUE(nodes) << to_line(nodes.error());
  ASSERT_EQ(nodes->size(), sample.nodes);
  EXPECT_EQ(cpu_list_text((*nodes)[0].cpus), sample.first_cpus);
  std::size_t gpus = 0;
  for (const TopologyNode& node : *nodes) gpus += node.gpus.size();
  EXPECT_EQ(gpus, sample.gpus);
}

INSTANTIATE_TEST_SUITE_P(Files, NcclTopologySamples,
                         testing::Values(Sample{"aws-p4d-24xl-topo.xml", 2, 8, "0-23,48-71"},
                                         Sample{"azure-ndv4-topo.xml", 4, 8, "0-23"},
                                         Sample{"dump-a100-gpu-nvlink-nic.xml", 1, 1, "0-19,80-99"},
                                         Sample{"EDGE-affinity-0-15.xml", 0, 0,
                                                "affinity=\"0-15\""}));

}  // namespace
}  // namespace envgen
