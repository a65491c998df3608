// Real tables from public sources, read in place: a second reading of HCCL's rules says of each
// whether HCCL accepts it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

#include "envgen/ranktable/ranktable.h"
#include "tests/envgen/ranktable/converted.h"

namespace envgen {
namespace {

// Where we differ from the second reading: file -> our verdict and why. Nowhere so far.
const std::map<std::string, std::string> kDifferences = {};

class RankTableSamples : public testing::Test {
 protected:
  void SetUp() override {
    const char* samples = std::getenv("TRAINIT_SAMPLES");
    if (samples == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
    samples_ = samples;
  }

  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(samples_ + "/" + name, std::ios::binary);
    EXPECT_TRUE(file) << name;
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string samples_;
};

std::string verdict(const std::string& text) {
  auto table = RankTable::parse(text, "sample");
  if (!table) return "INVALID-JSON";
  for (const Finding& finding : table->check()) {
    if (finding.severity != Finding::Severity::kWarning) return "HCCL-REJECT";
  }
  return "OK";
}

std::string kind(const std::string& text) {
  auto table = RankTable::parse(text, "sample");
  if (!table) return "INVALID-JSON";
  switch (table->format()) {
    case TableFormat::kTemplate1:
      return "T1 v1.0";
    case TableFormat::kTemplate1SuperPod:
      return "T1 v1.2";
    case TableFormat::kHeterogeneous:
      return "T1 v1.1";
    case TableFormat::kRankList:
      return "v2.0";
    case TableFormat::kTemplate2:
      return "T2";
    case TableFormat::kLab:
      return "T2-lab";
    case TableFormat::kServerGroups:
      return "MindIE";
    case TableFormat::kUnknown:
      return "?";
  }
  return "?";
}

TEST_F(RankTableSamples, VerdictsAgreeWithASecondReading) {
  std::istringstream rows(read("ranktable-verdicts.tsv"));
  std::string row;
  int count = 0;
  while (std::getline(rows, row)) {
    if (row.empty() || row[0] == '#') continue;
    std::istringstream cells(row);
    std::string file;
    std::string expected_kind;
    std::string servers;
    std::string devices;
    std::string expected;
    std::getline(cells, file, '\t');
    std::getline(cells, expected_kind, '\t');
    std::getline(cells, servers, '\t');
    std::getline(cells, devices, '\t');
    std::getline(cells, expected, '\t');
    if (expected_kind == "INVALID-JSON") expected = expected_kind;
    if (auto ours = kDifferences.find(file); ours != kDifferences.end()) expected = ours->second;
    std::string text = read("ranktable/" + file);
    EXPECT_EQ(kind(text), expected_kind) << file;
    EXPECT_EQ(verdict(text), expected) << file;
    ++count;
    if (expected != "OK") continue;
    auto converted = convert(*RankTable::parse(text, file), RankOrder::kServerId);
    ASSERT_TRUE(converted) << to_line(converted.error());
    std::size_t ranks = 0;
    for (const Node& node : converted->nodes) ranks += node.devices.size();
    EXPECT_EQ(std::to_string(ranks), devices) << file;
    // The second reading counts no servers in a rank_list.
    if (expected_kind == "v2.0") continue;
    EXPECT_EQ(std::to_string(converted->nodes.size()), servers) << file;
  }
  EXPECT_GE(count, 30);
}

TEST_F(RankTableSamples, ConversionIsModelArts) {
  const std::string text = read("ranktable/modelarts-k8s_jobstart_hccl.json");
  auto table = RankTable::parse(text, "k8s");
  ASSERT_TRUE(table);
  auto converted = convert(std::move(*table), RankOrder::kPodIndex);
  ASSERT_TRUE(converted) << to_line(converted.error());
  // Both as the writer writes them, which keeps the order of keys.
  auto expected =
      base::json::Document::parse(read("ranktable/modelarts-generated_jobstart_hccl.json"), "");
  ASSERT_TRUE(expected);
  base::json::Writer writer;
  writer.copy(expected->root());
  EXPECT_EQ(converted->text, std::move(writer).take());
  EXPECT_EQ(converted->nodes[0].pod_name, "fake-job-pod-0");
}

TEST_F(RankTableSamples, MalformedOnesNameTheirPlace) {
  auto where = [this](const std::string& file) {
    const std::string text = read("ranktable/" + file);
    auto table = RankTable::parse(text, "t");
    EXPECT_FALSE(table);
    return table ? "" : to_line(table.error().error);
  };
  EXPECT_EQ(where("BAD-lab-2p-trailing-comma.json"),
            "reading the rank table: t: line 33, column 17: found a comma with nothing between it "
            "and '}'; remove that comma");
  EXPECT_EQ(where("BAD-t2-8p-missing-brackets.json"),
            "reading the rank table: t: line 17, column 19: found ':' where ',' or ']' belongs; a "
            "comma, a bracket or a brace is missing before it, or this is one too many");
  EXPECT_EQ(where("hccl-doc-910-0.commented.json"),
            "reading the rank table: t: line 2, column 29: found a // comment, which JSON does not "
            "have; remove the comments");
  EXPECT_TRUE(RankTable::parse(read("ranktable/EDGE-empty-file.json"), "t").error().incomplete);
}

}  // namespace
}  // namespace envgen
