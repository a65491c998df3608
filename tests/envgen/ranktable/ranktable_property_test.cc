// What must hold for any text: no crash, torn tables are known as such, and a table that is
// converted numbers its ranks 0 .. N - 1 and is one that HCCL accepts.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "envgen/ranktable/ranktable.h"
#include "tests/envgen/ranktable/converted.h"

namespace envgen {
namespace {

std::string number(int value) { return "\"" + std::to_string(value) + "\""; }

std::string template2(int pods, int devices) {
  std::string text = R"({"status": "completed", "group_count": "1", "extra": [1, {"a": null}],
 "group_list": [{"group_name": "job", "device_count": )" +
                     number(pods * devices) + R"(, "instance_count": )" + number(pods) +
                     R"(, "instance_list": [)";
  for (int pod = 0; pod < pods; ++pod) {
    int index = pods - 1 - pod;
    text += std::string(pod == 0 ? "" : ",\n  ") + R"({"pod_name": "job-)" + std::to_string(index) +
            R"(", "server_id": "10.0.0.)" + std::to_string(index) + R"(", "devices": [)";
    for (int device = 0; device < devices; ++device) {
      text += std::string(device == 0 ? "" : ", ") + R"({"device_id": )" + number(device) +
              R"(, "device_ip": "192.)" + std::to_string(device) + ".0." + std::to_string(pod) +
              "\"}";
    }
    text += "]}";
  }
  return text + "]}]}";
}

std::vector<std::string> seeds() {
  std::vector<std::string> texts = {template2(3, 2), template2(1, 1)};
  texts.push_back(convert(*RankTable::parse(texts[0], ""), RankOrder::kPodIndex)->text);
  texts.emplace_back(R"({"status":"completed","version":"1.2","server_count":"2","server_list":[
    {"server_id":"a","host_ip":"10.0.0.1","device":[{"device_id":"0","super_device_id":"0",
     "device_ip":"192.1.0.1,192.9.0.1","device_port":"16666","rank_id":"0"}]},
    {"server_id":"b","host_ip":"10.0.0.2","device":[{"device_id":0,"super_device_id":"0",
     "device_ip":"192.1.0.2,192.9.0.2","device_port":"16666","rank_id":1}]}],
    "super_pod_list":[{"super_pod_id":"0","server_list":[{"server_id":"a"}]},
                      {"super_pod_id":"1","server_list":[{"server_id":"b"}]}]})");
  texts.emplace_back(R"({"deploy_mode":"lab","group_count":"1","group_list":[{"device_num":"2",
    "server_num":"2","group_name":"","instance_count":"2","instance_list":[
    {"devices":[{"device_id":"0","device_ip":"192.1.0.1"}],"rank_id":"1","server_id":"b"},
    {"devices":[{"device_id":"0","device_ip":"192.1.0.2"}],"rank_id":"0","server_id":"a"}]}],
    "para_plane_nic_location":"device","status":"completed"})");
  texts.emplace_back(R"({"version":"2.0","rank_count":2,"rank_list":[
    {"rank_id":0,"local_id":0,"device_id":0,"level_list":[{"net_layer":0,"net_instance_id":"r",
     "rank_addr_list":[{"addr_type":"IPV4","addr":"10.0.0.1","ports":["1/0"]}]}]},
    {"rank_id":1,"local_id":1,"device_id":1,"level_list":[{"net_layer":0,"net_instance_id":"r",
     "rank_addr_list":[{"addr_type":"IPV4","addr":"10.0.0.2","ports":["1/0"]}]}]}]})");
  return texts;
}

void expect_sound(const ConvertedTable& converted, RankOrder order) {
  std::vector<int> ranks;
  int last_first = -1;
  for (const Node& node : converted.nodes) {
    ASSERT_FALSE(node.devices.empty());
    int first = node.devices[0].rank;
    for (const Device& device : node.devices) {
      ranks.push_back(device.rank);
      first = std::min(first, device.rank);
    }
    EXPECT_GT(first, last_first);
    last_first = first;
  }
  std::ranges::sort(ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) ASSERT_EQ(ranks[i], static_cast<int>(i));

  auto again = RankTable::parse(converted.text, "converted");
  ASSERT_TRUE(again) << to_line(again.error().error) << converted.text;
  for (const Finding& finding : again->check()) {
    EXPECT_EQ(finding.severity, Finding::Severity::kWarning) << to_line(finding) << "\n"
                                                             << converted.text;
  }
  auto twice = convert(std::move(*again), order);
  ASSERT_TRUE(twice) << to_line(twice.error());
  EXPECT_EQ(twice->text, converted.text);
}

// Whether the text was converted.
bool try_table(const std::string& text) {
  auto table = RankTable::parse(text, "mutant");
  if (!table) return false;
  std::vector<Finding> findings = table->check();
  bool refused = std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.severity == Finding::Severity::kRefused;
  });
  bool any = false;
  for (RankOrder order : {RankOrder::kPodIndex, RankOrder::kServerId}) {
    auto converted = convert(*RankTable::parse(text, "mutant"), order);
    if (!converted) {
      EXPECT_FALSE(converted.error().found.empty());
      continue;
    }
    EXPECT_FALSE(refused) << text;
    expect_sound(*converted, order);
    any = true;
  }
  return any;
}

TEST(RankTableProperties, EveryTruncationIsKnownAsIncomplete) {
  for (const std::string& text : seeds()) {
    std::size_t whole = text.find_last_of('}');
    for (std::size_t size = 0; size <= whole; ++size) {
      auto table = RankTable::parse(std::string_view(text).substr(0, size), "torn");
      ASSERT_FALSE(table) << size;
      EXPECT_TRUE(table.error().incomplete) << to_line(table.error().error);
    }
    EXPECT_TRUE(try_table(text));
  }
}

TEST(RankTableProperties, FlippedBytesNeverMakeAnUnsoundTable) {
  constexpr int kRounds = 4000;
  std::mt19937 random(20240607);
  int converted = 0;
  for (const std::string& seed : seeds()) {
    for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
      std::string text = seed;
      std::size_t flips = 1 + random() % 3;
      for (std::size_t i = 0; i < flips; ++i) {
        char& byte = text[random() % text.size()];
        // Digits become digits half of the time: those tables still parse.
        bool digit = byte >= '0' && byte <= '9' && random() % 2 == 0;
        byte = static_cast<char>(digit ? '0' + random() % 10 : byte ^ (1U << random() % 8));
      }
      converted += try_table(text) ? 1 : 0;
    }
  }
  // Otherwise the test looks at nothing but refusals.
  EXPECT_GT(converted, 100);
}

TEST(RankTableProperties, MovedPiecesNeverMakeAnUnsoundTable) {
  constexpr int kRounds = 4000;
  std::mt19937 random(7);
  for (const std::string& seed : seeds()) {
    for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
      std::string text = seed;
      std::size_t from = random() % text.size();
      std::string piece = text.substr(from, 1 + random() % 60);
      if (random() % 2 == 0) text.erase(from, piece.size());
      text.insert(random() % (text.size() + 1), piece);
      try_table(text);
    }
  }
}

TEST(RankTableProperties, ManyNodesAreNumberedInOrder) {
  auto table = RankTable::parse(template2(250, 8), "large");
  ASSERT_TRUE(table);
  auto converted = convert(std::move(*table), RankOrder::kPodIndex);
  ASSERT_TRUE(converted) << to_line(converted.error());
  ASSERT_EQ(converted->nodes.size(), 250U);
  EXPECT_EQ(converted->nodes[249].pod_name, "job-249");
  EXPECT_EQ(converted->nodes[249].devices[7].rank, 1999);
  expect_sound(*converted, RankOrder::kPodIndex);
}

}  // namespace
}  // namespace envgen
