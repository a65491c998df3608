#include "envgen/ranktable/ranktable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/envgen/ranktable/converted.h"

namespace envgen {
namespace {

using Severity = Finding::Severity;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two pods of two devices, out of order.
constexpr std::string_view kTemplate2 = R"({
  "status": "completed", "group_count": "1", "group_list": [{
    "group_name": "job", "device_count": "4", "instance_count": "2", "instance_list": [
      {"pod_name": "job-1", "server_id": "10.0.0.1", "devices": [
        {"device_id": "0", "device_ip": "192.1.0.1"}, {"device_id": "1", "device_ip": "192.2.0.1"}]},
      {"pod_name": "job-0", "server_id": "10.0.0.2", "devices": [
        {"device_id": "4", "device_ip": "192.1.0.2"}, {"device_id": "5", "device_ip": "192.2.0.2"}]}
    ]}]})";

constexpr std::string_view kTemplate1 = R"({
  "status": "completed", "version": "1.0", "server_count": "2", "server_list": [
    {"server_id": "node_0", "device": [
      {"device_id": "0", "device_ip": "192.1.0.1", "rank_id": "0"},
      {"device_id": "1", "device_ip": "192.2.0.1", "rank_id": "1"}], "host_nic_ip": "reserve"},
    {"server_id": "node_1", "device": [
      {"device_id": "0", "device_ip": "192.1.0.2", "rank_id": "2"},
      {"device_id": "1", "device_ip": "192.2.0.2", "rank_id": "3"}]}]})";

constexpr std::string_view kSuperPods = R"({
  "status": "completed", "version": "1.2", "server_count": "2", "server_list": [
    {"server_id": "a", "device": [
      {"device_id": "0", "super_device_id": "0", "device_ip": "192.1.0.1", "rank_id": "0"},
      {"device_id": "1", "super_device_id": "1", "device_ip": "192.2.0.1", "rank_id": "1"}]},
    {"server_id": "b", "device": [
      {"device_id": "0", "super_device_id": "0", "device_ip": "192.1.0.2", "rank_id": "2"},
      {"device_id": "1", "super_device_id": "1", "device_ip": "192.2.0.2", "rank_id": "3"}]}],
  "super_pod_list": [{"super_pod_id": "0", "server_list": [{"server_id": "a"}]},
                     {"super_pod_id": "1", "server_list": [{"server_id": "b"}]}]})";

constexpr std::string_view kLab = R"({
  "board_id": "0x0020", "chip_info": "910", "deploy_mode": "lab", "group_count": "1",
  "group_list": [{"device_num": "2", "server_num": "1", "group_name": "", "instance_count": "2",
    "instance_list": [
      {"devices": [{"device_id": "1", "device_ip": "192.2.0.1"}], "rank_id": "1", "server_id": "h"},
      {"devices": [{"device_id": "0", "device_ip": "192.1.0.1"}], "rank_id": "0", "server_id": "h"}
    ]}],
  "para_plane_nic_location": "device", "para_plane_nic_name": ["eth0", "eth1"],
  "para_plane_nic_num": "2", "status": "completed"})";

constexpr std::string_view kRankList = R"({
  "version": "2.0", "rank_count": 2, "rank_list": [
    {"rank_id": 0, "local_id": 0, "device_id": 0, "level_list": [{"net_layer": 0,
      "net_instance_id": "rack0", "net_type": "TOPO_FILE_DESC", "net_attr": "",
      "rank_addr_list": [{"addr_type": "IPV4", "addr": "172.16.0.1", "ports": ["1/0"]}]}]},
    {"rank_id": 1, "local_id": 1, "device_id": 1, "level_list": [{"net_layer": 0,
      "net_instance_id": "rack0", "net_type": "TOPO_FILE_DESC", "net_attr": "",
      "rank_addr_list": [{"addr_type": "IPV4", "addr": "172.16.0.2", "ports": ["1/1"]}]}]}]})";

// `text` with the first `from` replaced, which must be there.
std::string with(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  std::size_t at = result.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) result.replace(at, from.size(), to);
  return result;
}

RankTable table(std::string_view text) {
  auto parsed = RankTable::parse(text, "t.json");
  EXPECT_TRUE(parsed) << to_line(parsed.error().error) << "\n" << text;
  return parsed ? std::move(*parsed) : *RankTable::parse("{}", "");
}

// "severity rule place", one for each finding.
std::vector<std::string> findings(std::string_view text) {
  std::vector<std::string> lines;
  for (const Finding& finding : table(text).check()) {
    EXPECT_FALSE(finding.found.empty());
    EXPECT_FALSE(finding.fix.empty());
    std::string line = to_line(finding);
    line = line.substr(0, line.find(']')) + " " + finding.place;
    line.erase(line.find('['), 1);
    lines.push_back(line);
  }
  return lines;
}

base::json::Value member(const base::json::Value& object, std::string_view key) {
  std::optional<base::json::Value> found = object.find(key);
  EXPECT_TRUE(found) << key;
  return found.value_or(object);
}

ConvertedTable converted(std::string_view text, RankOrder order = RankOrder::kPodIndex) {
  auto result = convert(table(text), order);
  EXPECT_TRUE(result) << to_line(result.error());
  return result.value_or(ConvertedTable());
}

base::Error refused(std::string_view text, RankOrder order = RankOrder::kPodIndex) {
  auto result = convert(table(text), order);
  EXPECT_FALSE(result) << text;
  return result ? base::Error{} : result.error();
}

std::vector<std::string> rules(const std::vector<Finding>& list) {
  std::vector<std::string> names;
  names.reserve(list.size());
  for (const Finding& finding : list) names.push_back(finding.rule);
  return names;
}

// ---- recognising

TEST(RankTableFormat, IsToldByVersionAndKeys) {
  EXPECT_EQ(table(kTemplate2).format(), TableFormat::kTemplate2);
  EXPECT_EQ(table(kLab).format(), TableFormat::kLab);
  EXPECT_EQ(table(kTemplate1).format(), TableFormat::kTemplate1);
  EXPECT_EQ(table(kSuperPods).format(), TableFormat::kTemplate1SuperPod);
  EXPECT_EQ(table(kRankList).format(), TableFormat::kRankList);
  EXPECT_EQ(table(R"({"version":"1.1"})").format(), TableFormat::kHeterogeneous);
  EXPECT_EQ(table(R"({"version":"1.0","server_group_list":[]})").format(),
            TableFormat::kServerGroups);
  EXPECT_EQ(table(R"({"version":"3.0"})").format(), TableFormat::kUnknown);
  EXPECT_EQ(table(R"({"status":"initializing"})").format(), TableFormat::kUnknown);
  EXPECT_EQ(table("{}").format(), TableFormat::kUnknown);
}

TEST(RankTableParse, RefusesWhatIsNoObject) {
  for (std::string_view text : {"[]", "1", "null", "\"x\""}) {
    auto parsed = RankTable::parse(text, "t.json");
    ASSERT_FALSE(parsed) << text;
    EXPECT_FALSE(parsed.error().incomplete);
    EXPECT_THAT(to_line(parsed.error().error), HasSubstr("instead of an object"));
  }
  auto torn = RankTable::parse("{\"status\":", "t.json");
  ASSERT_FALSE(torn);
  EXPECT_TRUE(torn.error().incomplete);
  EXPECT_EQ(torn.error().error.what, "reading the rank table");
}

// ---- waiting

TEST(RankTableReady, SaysWhyNotYet) {
  EXPECT_EQ(table(R"({"status":"initializing"})").not_ready_reason(), "status is \"initializing\"");
  EXPECT_EQ(
      table(R"({"status":"initializing","group_list":null,"group_count":""})").not_ready_reason(),
      "status is \"initializing\"");
  EXPECT_EQ(table(R"({"status":null,"group_list":[]})").not_ready_reason(), "status is null");
  EXPECT_EQ(table(R"({"status":1,"version":"1.0"})").not_ready_reason(), "status is 1");
  EXPECT_EQ(table("{}").not_ready_reason(), "no status yet");
  EXPECT_EQ(table(with(kTemplate2, "\"status\": \"completed\",", "")).not_ready_reason(),
            "no status yet");
  EXPECT_EQ(table(kTemplate2).not_ready_reason(), "");
}

TEST(RankTableReady, Version2NeedsNoStatus) {
  EXPECT_EQ(table(kRankList).not_ready_reason(), "");
  EXPECT_EQ(table(with(kRankList, "{", "{\"status\":\"initializing\",")).not_ready_reason(),
            "status is \"initializing\"");
}

TEST(RankTableReady, CompletedWithoutAListIsAnErrorAndNoReasonToWait) {
  for (std::string_view text : {R"({"status":"completed","group_list":null,"group_count":""})",
                                R"({"status":"completed","group_list":[],"group_count":"0"})"}) {
    EXPECT_EQ(table(text).not_ready_reason(), "");
    EXPECT_THAT(findings(text), ElementsAre("refused group-list-missing group_list"));
    EXPECT_EQ(refused(text).where, "t.json: group_list");
  }
}

TEST(RankTableReady, CheckAndConvertRefuseWhatIsNotComplete) {
  std::string text = with(kTemplate2, "completed", "initializing");
  EXPECT_THAT(findings(text), ElementsAre("refused status-not-completed status"));
  EXPECT_EQ(to_line(refused(text)),
            "converting the rank table: t.json: status: found \"initializing\"; HCCL waits until "
            "the platform writes \"completed\"");
  EXPECT_THAT(findings(with(kTemplate1, "\"status\": \"completed\",", "")),
              ElementsAre("refused status-missing status"));
}

// ---- good tables

TEST(RankTableCheck, FindsNothingInGoodTables) {
  for (std::string_view text : {kTemplate1, kSuperPods, kLab, kRankList}) {
    EXPECT_THAT(findings(text), IsEmpty()) << text;
  }
}

TEST(RankTableConvert, Template2BecomesTemplate1InPodOrder) {
  ConvertedTable result = converted(kTemplate2);
  EXPECT_EQ(result.text, R"({
  "status": "completed",
  "version": "1.0",
  "server_count": "2",
  "server_list": [
    {
      "server_id": "10.0.0.2",
      "device": [
        {
          "device_id": "4",
          "device_ip": "192.1.0.2",
          "rank_id": "0"
        },
        {
          "device_id": "5",
          "device_ip": "192.2.0.2",
          "rank_id": "1"
        }
      ]
    },
    {
      "server_id": "10.0.0.1",
      "device": [
        {
          "device_id": "0",
          "device_ip": "192.1.0.1",
          "rank_id": "2"
        },
        {
          "device_id": "1",
          "device_ip": "192.2.0.1",
          "rank_id": "3"
        }
      ]
    }
  ]
}
)");
  EXPECT_EQ(result.nodes, (std::vector<Node>{{.pod_name = "job-0",
                                              .server_id = "10.0.0.2",
                                              .host_ip = "",
                                              .container_ip = "",
                                              .devices = {{4, 0}, {5, 1}}},
                                             {.pod_name = "job-1",
                                              .server_id = "10.0.0.1",
                                              .host_ip = "",
                                              .container_ip = "",
                                              .devices = {{0, 2}, {1, 3}}}}));
}

TEST(RankTableConvert, ServerIdOrderIsHccls) {
  ConvertedTable result = converted(kTemplate2, RankOrder::kServerId);
  ASSERT_EQ(result.nodes.size(), 2U);
  EXPECT_EQ(result.nodes[0].pod_name, "job-1");
  EXPECT_EQ(result.nodes[1].devices, (std::vector<Device>{{4, 2}, {5, 3}}));
}

TEST(RankTableConvert, ServerIdOrderIsLexicographicAndSortsDevices) {
  // "10.0.0.10" sorts before "10.0.0.9".
  std::string text =
      with(with(kTemplate2, "\"10.0.0.1\"", "\"10.0.0.9\""), "10.0.0.2", "10.0.0.10");
  text = with(with(text, "\"device_id\": \"4\"", "\"device_id\": \"7\""), "192.1.0.2", "192.7.0.2");
  ConvertedTable result = converted(text, RankOrder::kServerId);
  EXPECT_EQ(result.nodes[0].server_id, "10.0.0.10");
  EXPECT_EQ(result.nodes[0].devices, (std::vector<Device>{{5, 0}, {7, 1}}));
  // Under pod order the launcher keeps them as listed.
  EXPECT_EQ(converted(text).nodes[0].devices, (std::vector<Device>{{7, 0}, {5, 1}}));
}

TEST(RankTableConvert, WarnsWhereTheOrdersDiffer) {
  EXPECT_THAT(rules(converted(kTemplate2).warnings), ElementsAre("rank-order-differs"));
  EXPECT_THAT(findings(kTemplate2), ElementsAre("warning rank-order-differs group_list"));
  EXPECT_EQ(table(kTemplate2).check()[0].found,
            "rank 0 by pod index (ModelArts' launcher) is device 4 of pod \"job-0\" on server "
            "\"10.0.0.2\", by server_id (HCCL) device 0 of pod \"job-1\" on server \"10.0.0.1\"");
  EXPECT_THAT(findings(with(with(kTemplate2, "job-1", "job-x-0"), "job-0", "job-x-1")), IsEmpty());
}

TEST(RankTableConvert, PodIndicesAreNumbersNotText) {
  std::string text = with(with(kTemplate2, "job-1", "job-10"), "job-0", "job-9");
  EXPECT_EQ(converted(text).nodes[0].pod_name, "job-9");
  EXPECT_EQ(converted(with(kTemplate2, "job-0", "job-000")).nodes[0].pod_name, "job-000");
}

TEST(RankTableConvert, PodsWithoutIndexNeedTheOtherOrder) {
  std::string text = with(kTemplate2, "job-1", "ascend8p");
  EXPECT_THAT(findings(text),
              ElementsAre("warning pod-name-index group_list[0].instance_list[0].pod_name"));
  base::Error error = refused(text);
  EXPECT_EQ(error.where, "t.json: group_list[0].instance_list[0].pod_name");
  EXPECT_EQ(error.found, "pod \"ascend8p\", which does not end in -<index>");
  EXPECT_EQ(converted(text, RankOrder::kServerId).nodes.size(), 2U);
  for (std::string_view name : {"job-", "-", "job-1x", "job-1 ", "1", "job-99999999999"}) {
    EXPECT_EQ(refused(with(kTemplate2, "job-1", name)).where,
              "t.json: group_list[0].instance_list[0].pod_name");
  }
}

TEST(RankTableConvert, PodsWithOneIndexNeedTheOtherOrder) {
  EXPECT_EQ(refused(with(kTemplate2, "job-1", "other-0")).found,
            "pod \"job-0\" with the index of pod \"other-0\"");
  EXPECT_EQ(converted(with(kTemplate2, "job-1", "other-0"), RankOrder::kServerId).nodes.size(), 2U);
}

constexpr std::string_view kOnePod = R"({
  "status": "completed", "group_count": "1", "group_list": [{
    "group_name": "job", "device_count": "1", "instance_count": "1", "instance_list": [
      {"pod_name": "ascend8p", "server_id": "127.0.0.1", "devices": [
        {"device_id": "4", "device_ip": "192.1.0.1"}]}]}]})";

TEST(RankTableConvert, OnePodNeedsNoIndex) {
  ConvertedTable result = converted(kOnePod);
  ASSERT_EQ(result.nodes.size(), 1U);
  EXPECT_EQ(result.nodes[0].devices, (std::vector<Device>{{4, 0}}));
  EXPECT_THAT(rules(result.warnings), ElementsAre("pod-name-index"));
}

TEST(RankTableConvert, TwoPodsOnOneHostAreTwoNodesAndOneServer) {
  std::string text = with(kTemplate2, "10.0.0.2", "10.0.0.1");
  ConvertedTable result = converted(text);
  ASSERT_EQ(result.nodes.size(), 2U);
  EXPECT_EQ(result.nodes[0].pod_name, "job-0");
  EXPECT_EQ(result.nodes[0].devices, (std::vector<Device>{{4, 0}, {5, 1}}));
  EXPECT_EQ(result.nodes[1].devices, (std::vector<Device>{{0, 2}, {1, 3}}));
  EXPECT_THAT(result.text, HasSubstr("\"server_count\": \"1\""));
  // HCCL numbers the devices of a server by id, whichever pod they are in.
  ConvertedTable other = converted(text, RankOrder::kServerId);
  EXPECT_EQ(other.nodes[0].pod_name, "job-1");
  EXPECT_EQ(other.nodes[1].devices, (std::vector<Device>{{4, 2}, {5, 3}}));
}

TEST(RankTableConvert, RanksOfTwoPodsOnOneHostMayInterleaveByServerId) {
  std::string text = with(kTemplate2, "10.0.0.2", "10.0.0.1");
  text = with(with(text, "\"device_id\": \"1\"", "\"device_id\": \"6\""), "192.2.0.1", "192.6.0.1");
  ConvertedTable result = converted(text, RankOrder::kServerId);
  EXPECT_EQ(result.nodes[0].devices, (std::vector<Device>{{0, 0}, {6, 3}}));
  EXPECT_EQ(result.nodes[1].devices, (std::vector<Device>{{4, 1}, {5, 2}}));
}

constexpr std::string_view kTwoGroups = R"({
  "status": "completed", "group_count": "3", "group_list": [
    {"group_name": "chief", "device_count": "1", "instance_count": "1", "instance_list": [
      {"pod_name": "chief-0", "server_id": "z", "devices": [
        {"device_id": "0", "device_ip": "192.1.0.1"}]}]},
    {"group_name": "ps", "device_count": "0", "instance_count": "0", "instance_list": []},
    {"group_name": "worker", "device_count": "2", "instance_count": "2", "instance_list": [
      {"pod_name": "worker-1", "server_id": "b", "devices": [
        {"device_id": "0", "device_ip": "192.1.0.3"}]},
      {"pod_name": "worker-0", "server_id": "a", "devices": [
        {"device_id": "0", "device_ip": "192.1.0.2"}]}]}]})";

TEST(RankTableConvert, GroupsFollowOneAnotherAndEmptyOnesAreSkipped) {
  ConvertedTable result = converted(kTwoGroups);
  ASSERT_EQ(result.nodes.size(), 3U);
  EXPECT_EQ(result.nodes[0].pod_name, "chief-0");
  EXPECT_EQ(result.nodes[1].pod_name, "worker-0");
  EXPECT_EQ(result.nodes[2].devices[0].rank, 2);
  EXPECT_THAT(findings(kTwoGroups), ElementsAre("repaired group-skipped group_list[1].device_count",
                                                "warning rank-order-differs group_list"));
  EXPECT_THAT(rules(result.warnings), ElementsAre("group-skipped", "rank-order-differs"));
  EXPECT_EQ(converted(kTwoGroups, RankOrder::kServerId).nodes[2].pod_name, "chief-0");
}

TEST(RankTableConvert, LabInstancesBecomeServers) {
  ConvertedTable result = converted(kLab);
  EXPECT_EQ(result.nodes, (std::vector<Node>{{.pod_name = "",
                                              .server_id = "h",
                                              .host_ip = "",
                                              .container_ip = "",
                                              .devices = {{0, 0}, {1, 1}}}}));
  EXPECT_EQ(result.text, R"({
  "status": "completed",
  "version": "1.0",
  "server_count": "1",
  "server_list": [
    {
      "server_id": "h",
      "device": [
        {
          "device_id": "0",
          "device_ip": "192.1.0.1",
          "rank_id": "0"
        },
        {
          "device_id": "1",
          "device_ip": "192.2.0.1",
          "rank_id": "1"
        }
      ]
    }
  ]
}
)");
  EXPECT_THAT(result.warnings, IsEmpty());
}

TEST(RankTableConvert, Template1KeepsItsOrderAndItsNodesFollowTheRanks) {
  std::string text = R"({"version":"1.0","server_list":[
    {"device":[{"rank_id":"3","device_id":"1"},{"rank_id":"2","device_id":"0"}],"server_id":"b",
     "host_ip":"10.0.0.2","container_ip":"172.16.0.2"},
    {"server_id":"a","host_ip":"10.0.0.1","device":[{"device_id":"0","rank_id":"0"},
     {"device_id":"1","rank_id":"1"}]}],"status":"completed","server_count":"2"})";
  ConvertedTable result = converted(text);
  ASSERT_EQ(result.nodes.size(), 2U);
  EXPECT_EQ(result.nodes[0].server_id, "a");
  EXPECT_EQ(result.nodes[1].host_ip, "10.0.0.2");
  EXPECT_EQ(result.nodes[1].container_ip, "172.16.0.2");
  // A logical device id counts in the listed order.
  EXPECT_EQ(result.nodes[1].devices, (std::vector<Device>{{1, 3}, {0, 2}}));
  EXPECT_LT(result.text.find("\"version\""), result.text.find("\"b\""));
  EXPECT_LT(result.text.find("\"b\""), result.text.find("\"a\""));
  EXPECT_LT(result.text.find("\"a\""), result.text.find("\"status\""));
}

TEST(RankTableConvert, IntegersBecomeStrings) {
  std::string text = R"({"status":"completed","version":1.0,"server_count":1,"server_list":[
    {"server_id":7,"device":[{"device_id":0,"device_port":16666,"rank_id":0,"numa_id":3}]}]})";
  EXPECT_EQ(converted(text).text, R"({
  "status": "completed",
  "version": "1.0",
  "server_count": "1",
  "server_list": [
    {
      "server_id": "7",
      "device": [
        {
          "device_id": "0",
          "device_port": "16666",
          "rank_id": "0",
          "numa_id": 3
        }
      ]
    }
  ]
}
)");
  EXPECT_THAT(findings(text),
              ElementsAre("repaired version-not-a-string version",
                          "repaired integer-for-string server_count",
                          "repaired integer-for-string server_list[0].server_id",
                          "repaired integer-for-string server_list[0].device[0].device_id",
                          "repaired integer-for-string server_list[0].device[0].device_port",
                          "repaired integer-for-string server_list[0].device[0].rank_id"));
}

TEST(RankTableConvert, IntegersOfTemplate2BecomeStrings) {
  std::string text = R"({"status":"completed","group_count":1,"group_list":[
    {"group_name":"g","device_count":1,"instance_count":1,"instance_list":[
      {"pod_name":"p-0","server_id":"s","devices":[{"device_id":3,"host_port":60000}]}]}]})";
  ConvertedTable result = converted(text);
  EXPECT_THAT(result.text, HasSubstr("\"device_id\": \"3\""));
  EXPECT_THAT(result.text, HasSubstr("\"host_port\": \"60000\""));
  EXPECT_EQ(table(result.text).check(), std::vector<Finding>());
}

TEST(RankTableConvert, UnknownKeysSurviveAtTheTopOnServersAndOnDevices) {
  std::string text = with(kTemplate2, "{", R"({"job_id": {"x": [1, 2.50]},)");
  text = with(text, R"("pod_name": "job-1")",
              R"("zone": 1, "pod_name": "job-1", "host_ip": "10.1.0.1")");
  text = with(text, R"("device_id": "0")", R"("numa_id": "3", "rank_id": "9", "device_id": "0")");
  text = with(text, R"("group_name")", R"("queue": "q", "group_name")");
  ConvertedTable result = converted(text);
  auto document = base::json::Document::parse(result.text, "");
  ASSERT_TRUE(document);
  base::json::Value root = document->root();
  EXPECT_EQ(member(member(root, "job_id"), "x").size(), 2U);
  base::json::Value server = *++member(root, "server_list").begin();
  EXPECT_EQ(member(server, "server_id").text(), "10.0.0.1");
  EXPECT_EQ(member(server, "zone").text(), "1");
  EXPECT_EQ(member(server, "host_ip").text(), "10.1.0.1");
  EXPECT_FALSE(server.find("pod_name"));
  base::json::Value device = *member(server, "device").begin();
  EXPECT_EQ(member(device, "numa_id").text(), "3");
  EXPECT_EQ(member(device, "rank_id").text(), "2");
  EXPECT_EQ(device.size(), 4U);
  EXPECT_EQ(result.nodes[1].host_ip, "10.1.0.1");
  // A group's own keys have no place in template 1.
  EXPECT_THAT(findings(text), testing::Contains("warning group-key-dropped group_list[0].queue"));
}

TEST(RankTableConvert, OfTwoPodsOnOneServerTheFirstOnesKeysWin) {
  std::string text = with(kTemplate2, "10.0.0.2", "10.0.0.1");
  text =
      with(text, R"("pod_name": "job-1")", R"("zone": "late", "rack": "r", "pod_name": "job-1")");
  text = with(text, R"("pod_name": "job-0")", R"("zone": "early", "pod_name": "job-0")");
  ConvertedTable result = converted(text);
  EXPECT_THAT(result.text, HasSubstr("\"zone\": \"early\""));
  EXPECT_THAT(result.text, HasSubstr("\"rack\": \"r\""));
  EXPECT_EQ(result.text.find("late"), std::string::npos);
}

TEST(RankTableConvert, IsAFixedPoint) {
  for (std::string_view text : {kTemplate2, kTemplate1, kSuperPods, kLab, kOnePod, kTwoGroups}) {
    for (RankOrder order : {RankOrder::kPodIndex, RankOrder::kServerId}) {
      std::string once = converted(text, order).text;
      EXPECT_EQ(converted(once, order).text, once);
      EXPECT_EQ(converted(text, order).text, once);
      for (const Finding& finding : table(once).check()) {
        EXPECT_EQ(finding.severity, Severity::kWarning) << to_line(finding);
      }
    }
  }
}

TEST(RankTableConvert, Version2StaysAsItIs) {
  ConvertedTable result = converted(kRankList);
  EXPECT_EQ(result.text, kRankList);
  EXPECT_EQ(result.nodes, (std::vector<Node>{{.pod_name = "",
                                              .server_id = "rack0",
                                              .host_ip = "",
                                              .container_ip = "",
                                              .devices = {{0, 0}, {1, 1}}}}));
}

// ---- refusals of one field or list; each case changes one thing of a good table

struct Case {
  std::string name;
  std::string_view base;
  std::string from;
  std::string to;
  std::vector<std::string> expected;
};

void PrintTo(const Case& test, std::ostream* out) {
  *out << "\"" << test.from << "\" -> \"" << test.to << "\"";
}

class RankTableCase : public testing::TestWithParam<Case> {};

TEST_P(RankTableCase, IsFoundAndRefusedOrRepaired) {
  const Case& test = GetParam();
  std::string text = with(test.base, test.from, test.to);
  EXPECT_EQ(findings(text), test.expected);
  bool refusal = false;
  for (const std::string& line : test.expected) refusal |= line.starts_with("refused");
  for (RankOrder order : {RankOrder::kPodIndex, RankOrder::kServerId}) {
    EXPECT_EQ(convert(table(text), order).has_value(), !refusal);
  }
}

std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }

constexpr char kId0[] = "\"rank_id\": \"0\"";

INSTANTIATE_TEST_SUITE_P(
    Ranks, RankTableCase,
    testing::Values(Case("duplicate", kTemplate1, "\"rank_id\": \"3\"", "\"rank_id\": \"1\"",
                         {"refused rank-id-duplicate server_list[1].device[1].rank_id"}),
                    Case("gap", kTemplate1, "\"rank_id\": \"3\"", "\"rank_id\": \"4\"",
                         {"refused rank-id-gap server_list[1].device[1].rank_id"}),
                    Case("huge", kTemplate1, "\"rank_id\": \"3\"", "\"rank_id\": \"4294967294\"",
                         {"refused rank-id-gap server_list[1].device[1].rank_id"}),
                    Case("beyond32Bits", kTemplate1, kId0, "\"rank_id\": \"4294967296\"",
                         {"refused not-a-number server_list[0].device[0].rank_id"}),
                    Case("integerBeyond64Bits", kTemplate1, kId0,
                         "\"rank_id\": 123456789012345678901234567890",
                         {"repaired integer-for-string server_list[0].device[0].rank_id",
                          "refused not-a-number server_list[0].device[0].rank_id"}),
                    Case("negative", kTemplate1, kId0, "\"rank_id\": \"-0\"",
                         {"refused not-a-number server_list[0].device[0].rank_id"}),
                    Case("leadingZero", kTemplate1, kId0, "\"rank_id\": \"00\"",
                         {"refused not-a-number server_list[0].device[0].rank_id"}),
                    Case("blank", kTemplate1, kId0, "\"rank_id\": \" 0\"",
                         {"refused not-a-number server_list[0].device[0].rank_id"}),
                    Case("exponent", kTemplate1, kId0, "\"rank_id\": \"0e0\"",
                         {"refused not-a-number server_list[0].device[0].rank_id"}),
                    Case("empty", kTemplate1, kId0, "\"rank_id\": \"\"",
                         {"refused not-a-number server_list[0].device[0].rank_id"}),
                    Case("number", kTemplate1, kId0, "\"rank_id\": 0.0",
                         {"refused not-a-string server_list[0].device[0].rank_id"}),
                    Case("boolean", kTemplate1, kId0, "\"rank_id\": false",
                         {"refused not-a-string server_list[0].device[0].rank_id"}),
                    Case("null", kTemplate1, kId0, "\"rank_id\": null",
                         {"refused not-a-string server_list[0].device[0].rank_id"}),
                    Case("integer", kTemplate1, kId0, "\"rank_id\": 0",
                         {"repaired integer-for-string server_list[0].device[0].rank_id"}),
                    Case("missing", kTemplate1, ", \"rank_id\": \"0\"", "",
                         {"refused key-missing server_list[0].device[0].rank_id"}),
                    Case("twice", kTemplate1, kId0, "\"rank_id\": \"0\", \"rank_id\": \"0\"",
                         {"refused duplicate-key server_list[0].device[0].rank_id"}),
                    Case("labDuplicate", kLab, "\"rank_id\": \"1\"", "\"rank_id\": \"0\"",
                         {"refused rank-id-duplicate group_list[0].instance_list[1].rank_id"}),
                    Case("labMissing", kLab, "\"rank_id\": \"1\", ", "",
                         {"refused key-missing group_list[0].instance_list[0].rank_id"})),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Servers, RankTableCase,
    testing::Values(
        Case("countTooLarge", kTemplate1, "\"server_count\": \"2\"", "\"server_count\": \"3\"",
             {"refused count-mismatch server_count"}),
        Case("countMissing", kTemplate1, "\"server_count\": \"2\", ", "",
             {"warning server-count-missing server_count"}),
        Case("countInteger", kTemplate1, "\"server_count\": \"2\"", "\"server_count\": 2",
             {"repaired integer-for-string server_count"}),
        Case("idEmpty", kTemplate1, "node_0", "",
             {"refused server-id-empty server_list[0].server_id"}),
        Case("idMissing", kTemplate1, "\"server_id\": \"node_0\", ", "",
             {"refused key-missing server_list[0].server_id"}),
        Case("idOf64Bytes", kTemplate1, "node_0", std::string(64, 'a'), {}),
        Case("idOf65Bytes", kTemplate1, "node_0", std::string(65, 'a'),
             {"refused name-too-long server_list[0].server_id"}),
        Case("idTwice", kTemplate1, "node_1", "node_0",
             {"refused server-id-duplicate server_list[1].server_id"}),
        Case("idAnyText", kTemplate1, "node_0", "a b/*", {}),
        Case("listMissing", kTemplate1, "server_list", "servers",
             {"refused server-list-missing server_list"}),
        Case("notAnObject", kTemplate1, "\"server_list\": [", "\"server_list\": [1, ",
             {"refused count-mismatch server_count", "refused not-an-object server_list[0]"}),
        Case("devicesForDevice", kTemplate1, "\"device\"", "\"devices\"",
             {"refused device-list-missing server_list[0].device"}),
        Case("hostIpIsNoAddress", kTemplate1, "\"host_nic_ip\": \"reserve\"",
             "\"host_ip\": \"reserve\"", {"refused host-ip-invalid server_list[0].host_ip"}),
        Case("hostIpEmpty", kTemplate1, "\"host_nic_ip\": \"reserve\"", "\"host_ip\": \"\"",
             {"refused host-ip-invalid server_list[0].host_ip"}),
        Case("hostIpGood", kTemplate1, "\"host_nic_ip\": \"reserve\"", "\"host_ip\": \"10.0.0.1\"",
             {}),
        Case("orderNotLexicographic", kTemplate1, "node_0", "node_9",
             {"warning rank-order server_list[1].server_id"}),
        Case("listedTwice", kTemplate1, "{", "{\"server_list\": [], ",
             {"refused duplicate-key server_list"})),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Devices, RankTableCase,
    testing::Values(
        Case("id15", kTemplate1, "\"device_id\": \"0\"", "\"device_id\": \"15\"", {}),
        Case("id16", kTemplate1, "\"device_id\": \"0\"", "\"device_id\": \"16\"",
             {"refused device-id-range server_list[0].device[0].device_id"}),
        Case("idMissing", kTemplate1, "\"device_id\": \"0\", ", "",
             {"refused key-missing server_list[0].device[0].device_id"}),
        Case("idTwiceOnAServer", kTemplate1, "\"device_id\": \"1\"", "\"device_id\": \"0\"",
             {"refused device-duplicate server_list[0].device[1].device_id"}),
        Case("template2Id8", kTemplate2, "\"device_id\": \"0\"", "\"device_id\": \"8\"",
             {"repaired device-id-range group_list[0].instance_list[0].devices[0].device_id",
              "warning rank-order-differs group_list"}),
        Case("notAnObject", kTemplate1,
             "{\"device_id\": \"0\", \"device_ip\": \"192.1.0.1\", \"rank_id\": \"0\"}", "\"0\"",
             {"refused not-an-object server_list[0].device[0]"}),
        Case("portZero", kTemplate1, kId0, "\"rank_id\": \"0\", \"device_port\": \"0\"",
             {"refused port-range server_list[0].device[0].device_port"}),
        Case("portTooLarge", kTemplate1, kId0, "\"rank_id\": \"0\", \"host_port\": \"65536\"",
             {"refused port-range server_list[0].device[0].host_port"}),
        Case("portGood", kTemplate1, kId0, "\"rank_id\": \"0\", \"device_port\": \"65535\"", {}),
        Case("portWord", kTemplate1, kId0, "\"rank_id\": \"0\", \"device_port\": \"auto\"",
             {"refused not-a-number server_list[0].device[0].device_port"}),
        Case("backupIp", kTemplate1, kId0, "\"rank_id\": \"0\", \"backup_device_ip\": \"x\"",
             {"warning backup-device-ip server_list[0].device[0].backup_device_ip"})),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Addresses, RankTableCase,
    testing::Values(
        Case("dashes", kTemplate1, "192.1.0.1", "-.-.-.-",
             {"refused device-ip-invalid server_list[0].device[0].device_ip"}),
        Case("masked", kTemplate1, "192.1.0.1", "192.1.*.6",
             {"refused device-ip-invalid server_list[0].device[0].device_ip"}),
        Case("leadingZero", kTemplate1, "192.1.0.1", "192.01.0.1",
             {"refused device-ip-invalid server_list[0].device[0].device_ip"}),
        Case("duplicate", kTemplate1, "192.2.0.2", "192.1.0.1",
             {"refused device-ip-duplicate server_list[1].device[1].device_ip"}),
        Case("emptyAmongServers", kTemplate1, "192.1.0.1", "",
             {"refused device-ip-missing server_list[0].device[0].device_ip"}),
        Case("missingAmongServers", kTemplate1, "\"device_ip\": \"192.1.0.1\", ", "",
             {"refused device-ip-missing server_list[0].device[0].device_ip"}),
        Case("two", kTemplate1, "192.1.0.1", "192.1.0.1,192.1.0.9",
             {"refused device-ip-count server_list[0].device[1].device_ip",
              "refused device-ip-count server_list[1].device[0].device_ip",
              "refused device-ip-count server_list[1].device[1].device_ip"}),
        Case("familyMixed", kTemplate1, "192.2.0.2", "fd00::1",
             {"refused ip-family server_list[1].device[1].device_ip"}),
        Case("template2Empty", kTemplate2, "192.1.0.1", "",
             {"refused device-ip-missing group_list[0].instance_list[0].devices[0].device_ip"}),
        Case("labMissing", kLab, ", \"device_ip\": \"192.1.0.1\"", "",
             {"repaired device-ip-missing group_list[0].instance_list[1].devices[0].device_ip"}),
        Case("labEmpty", kLab, "192.1.0.1", "", {}),
        Case("onePodNone", kOnePod, ", \"device_ip\": \"192.1.0.1\"", "",
             {"warning pod-name-index group_list[0].instance_list[0].pod_name"}),
        Case("onePodInvalid", kOnePod, "192.1.0.1", "-.-.-.-",
             {"refused device-ip-invalid group_list[0].instance_list[0].devices[0].device_ip"})),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Groups, RankTableCase,
    testing::Values(
        Case("groupCount", kTemplate2, "\"group_count\": \"1\"", "\"group_count\": \"2\"",
             {"refused count-mismatch group_count"}),
        Case("groupCountMissing", kTemplate2, "\"group_count\": \"1\", ", "",
             {"refused key-missing group_count"}),
        Case("instanceCount", kTemplate2, "\"instance_count\": \"2\"", "\"instance_count\": \"1\"",
             {"refused count-mismatch group_list[0].instance_count"}),
        Case("deviceCount", kTemplate2, "\"device_count\": \"4\"", "\"device_count\": \"8\"",
             {"refused count-mismatch group_list[0].device_count"}),
        Case("deviceCountZeroWithDevices", kTemplate2, "\"device_count\": \"4\"",
             "\"device_count\": \"0\"", {"refused count-mismatch group_list[0].device_count"}),
        Case("podTwice", kTemplate2, "job-0", "job-1",
             {"refused pod-name-duplicate group_list[0].instance_list[1].pod_name"}),
        Case("podMissing", kTemplate2, "\"pod_name\": \"job-1\", ", "",
             {"refused key-missing group_list[0].instance_list[0].pod_name"}),
        Case("podTooLong", kTemplate2, "job-1", std::string(63, 'j') + "-1",
             {"refused name-too-long group_list[0].instance_list[0].pod_name"}),
        Case("deviceForDevices", kTemplate2, "\"devices\"", "\"device\"",
             {"refused device-list-missing group_list[0].instance_list[0].devices"}),
        Case("instanceListNull", kTwoGroups, "\"instance_list\": []", "\"instance_list\": null",
             {"repaired group-skipped group_list[1].device_count",
              "warning rank-order-differs group_list"}),
        Case("groupNameTwice", kTwoGroups, "\"worker\"", "\"chief\"",
             {"repaired group-skipped group_list[1].device_count",
              "refused group-name-duplicate group_list[2].group_name"}),
        Case("groupNameMissing", kTemplate2, "\"group_name\": \"job\", ", "",
             {"refused key-missing group_list[0].group_name"}),
        Case("onlyEmptyGroups", R"({"status":"completed","group_count":"1","group_list":[
             {"group_name":"g","device_count":"0","instance_count":"0"}]})",
             "\"g\"", "\"h\"",
             {"repaired group-skipped group_list[0].device_count",
              "refused no-devices group_list"}),
        Case("labTwoDevicesOnAnInstance", kLab, "{\"device_id\": \"1\"",
             "{\"device_id\": \"3\", \"device_ip\": \"192.4.0.1\"}, {\"device_id\": \"1\"",
             {"refused lab-instance-devices group_list[0].instance_list[0].devices",
              "refused count-mismatch group_list[0].device_num",
              "refused lab-device-average group_list[0].server_num"}),
        Case("labServerNum", kLab, "\"server_num\": \"1\"", "\"server_num\": \"0\"",
             {"refused lab-device-average group_list[0].server_num"}),
        Case("labDeviceNumInteger", kLab, "\"device_num\": \"2\"", "\"device_num\": 2",
             {"repaired integer-for-string group_list[0].device_num"}),
        Case("labHostNics", kLab, "\"device\",", "\"host\",",
             {"refused lab-nic-location para_plane_nic_location"}),
        Case("labNoNicLocation", kLab, "\"para_plane_nic_location\": \"device\",", "",
             {"repaired lab-nic-location para_plane_nic_location"})),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    SuperPods, RankTableCase,
    testing::Values(
        Case("listMissing", kSuperPods, "super_pod_list", "super_pods",
             {"warning super-pod-list-missing super_pod_list"}),
        Case("listEmpty", kSuperPods,
             "[{\"super_pod_id\": \"0\", \"server_list\": [{\"server_id\": \"a\"}]},\n"
             "                     {\"super_pod_id\": \"1\", \"server_list\": [{\"server_id\": "
             "\"b\"}]}]",
             "[]", {"refused super-pod-list-missing super_pod_list"}),
        Case("idTwice", kSuperPods, "\"super_pod_id\": \"1\"", "\"super_pod_id\": \"0\"",
             {"refused super-pod-id super_pod_list[1].super_pod_id"}),
        Case("idEmpty", kSuperPods, "\"super_pod_id\": \"1\"", "\"super_pod_id\": \"\"",
             {"refused super-pod-id super_pod_list[1].super_pod_id"}),
        Case("idInteger", kSuperPods, "\"super_pod_id\": \"1\"", "\"super_pod_id\": 1",
             {"repaired integer-for-string super_pod_list[1].super_pod_id"}),
        Case("serverUnknown", kSuperPods, "[{\"server_id\": \"b\"}]", "[{\"server_id\": \"c\"}]",
             {"refused super-pod-server-unknown super_pod_list[1].server_list[0].server_id",
              "refused super-pod-server-missing server_list[1].server_id"}),
        Case("serverTwice", kSuperPods, "[{\"server_id\": \"b\"}]",
             "[{\"server_id\": \"b\"}, {\"server_id\": \"a\"}]",
             {"refused super-pod-server-twice super_pod_list[1].server_list[1].server_id"}),
        Case("superDeviceMissing", kSuperPods, "\"super_device_id\": \"0\", ", "",
             {"refused super-device-id server_list[0].device[0].super_device_id"}),
        Case("superDeviceTwice", kSuperPods, "\"super_device_id\": \"1\"",
             "\"super_device_id\": \"0\"",
             {"refused super-device-id server_list[0].device[1].super_device_id"}),
        Case("superDeviceWord", kSuperPods, "\"super_device_id\": \"1\"",
             "\"super_device_id\": \"one\"",
             {"refused not-a-number server_list[0].device[1].super_device_id",
              "refused super-device-id server_list[0].device[1].super_device_id"}),
        // Inside one super pod devices need no NIC address.
        Case("oneSuperPod", kSuperPods,
             "[{\"server_id\": \"a\"}]},\n                     {\"super_pod_id\": \"1\", "
             "\"server_list\": [{\"server_id\": \"b\"}]}",
             "[{\"server_id\": \"a\"}, {\"server_id\": \"b\"}]}",
             {"refused super-device-id server_list[1].device[0].super_device_id",
              "refused super-device-id server_list[1].device[1].super_device_id"})),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    RankLists, RankTableCase,
    testing::Values(
        Case("stringForRank", kRankList, "\"rank_id\": 0", "\"rank_id\": \"0\"",
             {"refused string-for-integer rank_list[0].rank_id"}),
        Case("stringForCount", kRankList, "\"rank_count\": 2", "\"rank_count\": \"2\"",
             {"refused string-for-integer rank_count"}),
        Case("count", kRankList, "\"rank_count\": 2", "\"rank_count\": 3",
             {"refused count-mismatch rank_count"}),
        Case("float", kRankList, "\"rank_id\": 0", "\"rank_id\": 0.0",
             {"refused not-an-integer rank_list[0].rank_id"}),
        Case("negative", kRankList, "\"rank_id\": 0", "\"rank_id\": -1",
             {"refused integer-range rank_list[0].rank_id"}),
        Case("beyond64Bits", kRankList, "\"rank_id\": 0",
             "\"rank_id\": 123456789012345678901234567890",
             {"refused integer-range rank_list[0].rank_id"}),
        Case("duplicate", kRankList, "\"rank_id\": 1", "\"rank_id\": 0",
             {"refused rank-id-duplicate rank_list[1].rank_id"}),
        Case("gap", kRankList, "\"rank_id\": 1", "\"rank_id\": 2",
             {"refused rank-id-gap rank_list[1].rank_id"}),
        Case("localId", kRankList, "\"local_id\": 1", "\"local_id\": 65",
             {"refused local-id-range rank_list[1].local_id"}),
        Case("localIdMissing", kRankList, "\"local_id\": 1, ", "",
             {"refused key-missing rank_list[1].local_id"}),
        Case("port", kRankList, "\"rank_id\": 0", "\"rank_id\": 0, \"device_port\": 0",
             {"refused port-range rank_list[0].device_port"}),
        Case("netType", kRankList, "TOPO_FILE_DESC", "MESH",
             {"refused unknown-word rank_list[0].level_list[0].net_type"}),
        Case("netLayerString", kRankList, "\"net_layer\": 0", "\"net_layer\": \"0\"",
             {"refused string-for-integer rank_list[0].level_list[0].net_layer"}),
        Case("instanceIdEmpty", kRankList, "rack0", "",
             {"refused net-instance-id rank_list[0].level_list[0].net_instance_id"}),
        Case("address", kRankList, "172.16.0.1", "172.16.0",
             {"refused addr-invalid rank_list[0].level_list[0].rank_addr_list[0].addr"}),
        Case("addressType", kRankList, "IPV4", "ipv4",
             {"refused unknown-word rank_list[0].level_list[0].rank_addr_list[0].addr_type"}),
        Case("portsOfIntegers", kRankList, "[\"1/0\"]", "[10]",
             {"refused not-a-string rank_list[0].level_list[0].rank_addr_list[0].ports"}),
        Case("addressCounts", kRankList,
             "[{\"addr_type\": \"IPV4\", \"addr\": \"172.16.0.2\", \"ports\": [\"1/1\"]}]", "[]",
             {"refused rank-addr-count rank_list[1].level_list[0].rank_addr_list"}),
        Case("layersNotRising", kRankList, "\"level_list\": [{",
             "\"level_list\": [{\"net_layer\": 1, \"net_instance_id\": \"az\", "
             "\"rank_addr_list\": []}, {",
             {"refused net-layer-order rank_list[0].level_list[1].net_layer"}),
        Case("noLevels", kRankList, "\"level_list\"", "\"levels\"",
             {"refused level-list-missing rank_list[0].level_list"}),
        Case("noRanks", kRankList, "rank_list\": [", "ranks\": [",
             {"refused rank-list-missing rank_list"})),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Unsupported, RankTableCase,
    testing::Values(Case("heterogeneous", kTemplate1, "\"1.0\"", "\"1.1\"",
                         {"refused format-unsupported version"}),
                    Case("newer", kTemplate1, "\"1.0\"", "\"3.0\"",
                         {"refused version-unknown version"}),
                    Case("serversWithoutVersion", kTemplate1, "\"version\": \"1.0\",", "",
                         {"refused format-unknown version"}),
                    Case("ranksWithoutVersion", kRankList, "\"version\": \"2.0\"",
                         "\"status\": \"completed\"", {"refused format-unknown version"}),
                    Case("versionNumberOf2", kRankList, "\"2.0\"", "2.0",
                         {"refused version-not-a-string version"}),
                    Case("noDevices", R"({"status": "x"})", "x", "completed",
                         {"refused format-unknown group_list"}),
                    Case("mindie", kTemplate1, "\"server_list\"", "\"server_group_list\"",
                         {"refused format-unsupported server_group_list"})),
    case_name);

// ---- rules over a whole table

TEST(RankTableCheck, ASingleServerNeedsNoAddresses) {
  std::string text = R"({"status":"completed","version":"1.0","server_count":"1","server_list":[
    {"server_id":"0","device":[{"device_id":"0","rank_id":"0"},
     {"device_id":"1","device_ip":"","rank_id":"1"}]}]})";
  EXPECT_THAT(findings(text), IsEmpty());
}

TEST(RankTableCheck, AHostIpReplacesDeviceAddresses) {
  auto servers = [](std::string_view first, std::string_view second) {
    return R"({"status":"completed","version":"1.0","server_count":"2","server_list":[
      {"server_id":"a",)" +
           std::string(first) + R"("rank_id":"0"}]},
      {"server_id":"b",)" +
           std::string(second) + R"("rank_id":"1"}]}]})";
  };
  constexpr std::string_view kHostA = R"("host_ip":"10.0.0.1","device":[{"device_id":"0",)";
  constexpr std::string_view kHostB = R"("host_ip":"10.0.0.2","device":[{"device_id":"0",)";
  constexpr std::string_view kHostB6 = R"("host_ip":"fd00::2","device":[{"device_id":"0",)";
  constexpr std::string_view kNic = R"("device":[{"device_id":"0","device_ip":"192.1.0.2",)";
  EXPECT_THAT(findings(servers(kHostA, kHostB)), IsEmpty());
  EXPECT_THAT(findings(servers(kHostA, kNic)),
              ElementsAre("refused host-ip-mixed server_list[1].host_ip"));
  EXPECT_THAT(findings(servers(kNic, kHostB)), IsEmpty());
  EXPECT_THAT(findings(servers(kHostA, kHostB6)),
              ElementsAre("refused ip-family server_list[1].host_ip"));
}

TEST(RankTableCheck, SeveralAddressesOfADevice) {
  std::string text(kTemplate1);
  for (std::string_view ip : {"192.1.0.1", "192.2.0.1", "192.1.0.2", "192.2.0.2"}) {
    text = with(text, ip, std::string(ip) + ",10" + std::string(ip.substr(3)));
  }
  EXPECT_THAT(findings(text), IsEmpty());
  EXPECT_THAT(converted(text).text, HasSubstr("\"192.1.0.1,10.1.0.1\""));
  EXPECT_THAT(findings(with(text, "10.2.0.2", "192.1.0.1")),
              ElementsAre("refused device-ip-duplicate server_list[1].device[1].device_ip"));
  EXPECT_THAT(findings(with(text, ",10.2.0.2", ",")),
              ElementsAre("refused device-ip-count server_list[1].device[1].device_ip"));
  EXPECT_THAT(findings(with(kOnePod, "192.1.0.1", "192.1.0.1,192.1.0.2")),
              testing::Contains("repaired device-ip-list "
                                "group_list[0].instance_list[0].devices[0].device_ip"));
}

TEST(RankTableCheck, AddressesOfVersion6AndZones) {
  std::string text = with(kOnePod, "192.1.0.1", "fe80::1%eth0");
  EXPECT_THAT(converted(text).text, HasSubstr("\"fe80::1%eth0\""));
  for (std::string_view ip : {"fe80::1%", "%eth0", "::g", "1:2", ":", "1.2.3.4 ", "1.2.3",
                              "1.2.3.4\\u0000", "fe80::1%\\n"}) {
    EXPECT_EQ(refused(with(kOnePod, "192.1.0.1", ip)).where,
              "t.json: group_list[0].instance_list[0].devices[0].device_ip");
  }
}

TEST(RankTableCheck, ServersOfDifferentSizesAreKnown) {
  std::string text = with(kTemplate1,
                          R"(,
      {"device_id": "1", "device_ip": "192.2.0.2", "rank_id": "3"})",
                          "");
  EXPECT_THAT(findings(text), ElementsAre("warning device-count-uneven server_list"));
  EXPECT_EQ(converted(text).nodes[1].devices.size(), 1U);
}

TEST(RankTableCheck, RanksMustNotReturnToAServer) {
  std::string text = with(with(kTemplate1, "\"rank_id\": \"1\"", "\"rank_id\": \"x\""),
                          "\"rank_id\": \"2\"", "\"rank_id\": \"1\"");
  text = with(text, "\"rank_id\": \"x\"", "\"rank_id\": \"2\"");
  EXPECT_THAT(findings(text), ElementsAre("warning ranks-interleaved server_list[0].device[1]",
                                          "warning ranks-interleaved server_list[1].device[1]"));
}

TEST(RankTableCheck, SuperPodsMustNotInterleave) {
  auto server = [](const std::string& id, const std::string& rank,
                   const std::string& super_device) {
    return R"({"server_id":")" + id + R"(","device":[{"device_id":"0","super_device_id":")" +
           super_device + R"(","device_ip":"10.0.0.)" + rank + R"(","rank_id":")" + rank + "\"}]}";
  };
  std::string text = R"({"status":"completed","version":"1.2","server_count":"3","server_list":[)" +
                     server("a", "0", "0") + "," + server("b", "1", "0") + "," +
                     server("c", "2", "1") + R"(],"super_pod_list":[
      {"super_pod_id":"p","server_list":[{"server_id":"a"},{"server_id":"c"}]},
      {"super_pod_id":"q","server_list":[{"server_id":"b"}]}]})";
  EXPECT_THAT(findings(text),
              ElementsAre("warning super-pods-interleaved server_list[2].server_id"));
}

TEST(RankTableCheck, OneSuperPodNeedsNoAddresses) {
  std::string text = R"({"status":"completed","version":"1.2","server_count":"2","server_list":[
    {"server_id":"a","device":[{"device_id":"0","super_device_id":"0","rank_id":"0"}]},
    {"server_id":"b","device":[{"device_id":"0","super_device_id":"1","rank_id":"1"}]}],
    "super_pod_list":[{"super_pod_id":"p","server_list":[{"server_id":"a"},{"server_id":"b"}]}]})";
  EXPECT_THAT(findings(text), IsEmpty());
}

TEST(RankTableCheck, ManyFindingsOfARuleAreCounted) {
  std::string devices;
  for (int i = 0; i < 16; ++i) {
    std::string n = std::to_string(i);
    devices +=
        std::string(i == 0 ? "" : ",") + R"({"device_id":)" + n + R"(,"rank_id":")" + n + "\"}";
  }
  std::vector<Finding> list =
      table(R"({"status":"completed","version":"1.0","server_count":"1","server_list":[
        {"server_id":"0","device":[)" +
            devices + "]}]}")
          .check();
  ASSERT_EQ(list.size(), 11U);
  EXPECT_EQ(to_line(list[0]),
            "repaired [integer-for-string]: server_list[0].device[0].device_id: the integer 0, and "
            "HCCL takes only a string; write \"0\"");
  EXPECT_EQ(list[10].severity, Severity::kRepaired);
  EXPECT_EQ(list[10].found, "16 findings of this rule, of which 10 are shown");
}

TEST(RankTableConvert, TheFirstRefusalStandsForAll) {
  std::string text = with(with(kTemplate1, "192.1.0.1", "-.-.-.-"), "192.2.0.1", "-.-.-.-");
  EXPECT_EQ(to_line(refused(text)),
            "converting the rank table: t.json: server_list[0].device[0].device_ip: found "
            "\"-.-.-.-\", which is no address; write the address of the device's NIC: hccn_tool -i "
            "0 -ip -g prints it on the host (and 1 more: trainit ranktable check)");
}

TEST(RankTableConvert, LongAndOddTextsAreCutShortInMessages) {
  std::string text = with(kTemplate1, "192.1.0.1", std::string(59, 'x') + "\xC3\xA9\\u0007tail");
  EXPECT_THAT(refused(text).found,
              testing::StartsWith("\"" + std::string(59, 'x') + "\"..., which"));
}

// ---- version 2.0: which ranks share a host

std::string rank_list(const std::vector<std::pair<int, std::string>>& ranks) {
  std::string text =
      R"({"version":"2.0","rank_count":)" + std::to_string(ranks.size()) + R"(,"rank_list":[)";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::string device = std::to_string(ranks[i].first);
    text += std::string(i == 0 ? "" : ",") + R"({"rank_id":)" + std::to_string(i) +
            R"(,"local_id":)" + device + R"(,"device_id":)" + device +
            R"(,"level_list":[{"net_layer":0,"net_instance_id":")" + ranks[i].second +
            R"(","rank_addr_list":[]}]})";
  }
  return text + "]}";
}

std::vector<std::vector<int>> hosts(std::string_view text) {
  std::vector<std::vector<int>> ranks;
  for (const Node& node : converted(text).nodes) {
    ranks.emplace_back();
    for (const Device& device : node.devices) ranks.back().push_back(device.rank);
  }
  return ranks;
}

TEST(RankListHosts, ANetInstanceIsAHost) {
  EXPECT_THAT(hosts(rank_list({{0, "a"}, {1, "a"}, {0, "b"}, {1, "b"}})),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(hosts(rank_list({{0, "a"}, {0, "b"}, {1, "a"}, {1, "b"}})),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

TEST(RankListHosts, AnInstanceWhereDevicesReturnIsSeveralHosts) {
  std::string text = rank_list({{0, "a"}, {1, "a"}, {0, "a"}, {1, "a"}});
  EXPECT_THAT(hosts(text), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(findings(text), ElementsAre("warning hosts-inferred rank_list"));
}

TEST(RankListHosts, RunsOfDifferentLengthsAreRefused) {
  std::string text = rank_list({{0, "a"}, {1, "a"}, {0, "a"}});
  EXPECT_THAT(findings(text), ElementsAre("warning hosts-unknown rank_list"));
  EXPECT_THAT(to_line(refused(text)), HasSubstr("which ranks share a host"));
  EXPECT_THAT(refused(rank_list({{0, "a"}, {0, "a"}, {1, "a"}, {1, "a"}})).where,
              "t.json: rank_list");
}

// ---- MindSpore's limits

std::vector<Node> machines(const std::vector<std::vector<int>>& devices) {
  std::vector<Node> nodes;
  int rank = 0;
  for (const std::vector<int>& ids : devices) {
    nodes.push_back({.pod_name = "",
                     .server_id = "s" + std::to_string(nodes.size()),
                     .host_ip = "",
                     .container_ip = "",
                     .devices = {}});
    for (int id : ids) nodes.back().devices.push_back({id, rank++});
  }
  return nodes;
}

TEST(DeviceGroups, OneMachine) {
  const std::vector<int> eight = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_THAT(check_device_groups({}), IsEmpty());
  EXPECT_THAT(check_device_groups(machines({{3}})), IsEmpty());
  EXPECT_THAT(check_device_groups(machines({{4, 5}})), IsEmpty());
  EXPECT_THAT(check_device_groups(machines({{4, 5, 6, 7}})), IsEmpty());
  EXPECT_THAT(check_device_groups(machines({eight})), IsEmpty());
  EXPECT_THAT(rules(check_device_groups(machines({{0, 1, 2}}))), ElementsAre("device-count"));
  EXPECT_THAT(rules(check_device_groups(machines({{3, 4}}))), ElementsAre("device-group"));
  EXPECT_THAT(rules(check_device_groups(machines({{2, 3, 4, 5}}))), ElementsAre("device-group"));
  EXPECT_THAT(check_device_groups(machines({{2, 7}}))[0].found, "2 devices from 2 to 7");
}

TEST(DeviceGroups, SeveralMachines) {
  const std::vector<int> eight = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_THAT(check_device_groups(machines({eight, eight})), IsEmpty());
  EXPECT_THAT(rules(check_device_groups(machines({eight, {0, 1, 2, 3}}))),
              ElementsAre("device-count-across"));
}

TEST(DeviceGroups, PodsOfOneMachineCountTogether) {
  std::vector<Node> nodes = machines({{0, 1, 2, 3}, {4, 5, 6, 7}});
  nodes[1].server_id = nodes[0].server_id;
  EXPECT_THAT(check_device_groups(nodes), IsEmpty());
}

}  // namespace
}  // namespace envgen
