// A table that can be scanned is the table that its tree gives: the same findings, nodes and text.

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/ranktable/ranktable.h"
#include "envgen/ranktable/ranktable_impl.h"
#include "tests/envgen/ranktable/converted.h"

namespace envgen {
namespace {

constexpr std::string_view kTemplate2 =
    R"({"status":"completed","group_count":"1","group_list":[{"group_name":"job","device_count":"4",)"
    R"("instance_count":"2","instance_list":[{"pod_name":"job-10","server_id":"10.0.0.2","devices":[)"
    R"({"device_id":"0","device_ip":"192.1.0.1"},{"device_id":"1","device_ip":"192.2.0.1"}]},)"
    R"({"pod_name":"job-9","server_id":"10.0.0.1","devices":[{"device_id":"0","device_ip":)"
    R"("192.1.0.2"},{"device_id":"1","device_ip":"192.2.0.2"}]}]}]})";

// Its keys in another order than usual, and blanks.
constexpr std::string_view kTemplate1 = R"({
  "version": "1.0", "server_count": "2",
  "server_list": [
    {"device": [{"device_ip": "192.1.0.1", "rank_id": "2", "device_id": "0"},
                {"device_ip": "192.2.0.1", "rank_id": "3","device_id": "1"}],
     "container_ip": "172.16.0.1", "server_id": "10.0.0.2"},
    {"device": [{"device_ip": "192.1.0.2", "rank_id": "0", "device_id": "0"},
                {"device_ip": "192.2.0.2", "rank_id": "1", "device_id": "1"}],
     "container_ip": "172.16.0.2", "server_id": "10.0.0.1"}],
  "status": "completed"
})";

constexpr std::string_view kSuperPods =
    R"({"status":"completed","version":"1.2","server_count":"2","server_list":[{"server_id":"a",)"
    R"("device":[{"device_id":"15","device_ip":"192.1.0.1","rank_id":"0","super_device_id":"7"}]},)"
    R"({"server_id":"b","device":[{"device_id":"15","device_ip":"192.1.0.2","rank_id":"1",)"
    R"("super_device_id":"7"}]}],"super_pod_list":[{"super_pod_id":0,"note":["\u00e9",{}],)"
    R"("server_list":[{"server_id":"a"}]},{"super_pod_id":"1","server_list":[{"server_id":"b"}]}]})";

std::string with(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  const std::size_t at = result.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) result.replace(at, from.size(), to);
  return result;
}

bool scans(std::string_view text) { return ranktable::scan_table(text).has_value(); }

// Whether it was scanned. The same table with an escape in it is read by its tree.
bool expect_same_by_tree(const std::string& text) {
  const std::size_t key = text.find("\"status\"");
  if (key == std::string::npos || !scans(text)) return false;
  std::string escaped = text;
  escaped.replace(key, 8, R"("st\u0061tus")");
  EXPECT_FALSE(scans(escaped));
  auto scanned = RankTable::parse(text, "t");
  auto tree = RankTable::parse(escaped, "t");
  EXPECT_EQ(scanned.has_value(), tree.has_value()) << text;
  if (!scanned || !tree) return true;
  EXPECT_EQ(scanned->format(), tree->format()) << text;
  EXPECT_EQ(scanned->not_ready_reason(), tree->not_ready_reason()) << text;
  EXPECT_EQ(scanned->check(), tree->check()) << text;
  for (RankOrder order : {RankOrder::kPodIndex, RankOrder::kServerId}) {
    auto ours = convert(*RankTable::parse(text, "t"), order);
    auto theirs = convert(*RankTable::parse(escaped, "t"), order);
    EXPECT_EQ(ours.has_value(), theirs.has_value()) << text;
    if (!ours && !theirs) {
      EXPECT_EQ(ours.error(), theirs.error()) << text;
    }
    if (!ours || !theirs) continue;
    EXPECT_EQ(ours->text, theirs->text) << text;
    EXPECT_EQ(ours->nodes, theirs->nodes) << text;
    EXPECT_EQ(ours->warnings, theirs->warnings) << text;
  }
  return true;
}

TEST(RankTableScan, ReadsTheUsualTables) {
  for (std::string_view text : {kTemplate2, kTemplate1, kSuperPods}) {
    auto scanned = ranktable::scan_table(text);
    ASSERT_TRUE(scanned) << text;
    EXPECT_EQ(scanned->table.owners.size(), 2U);
    EXPECT_EQ(scanned->table.rows.size(), text == kSuperPods ? 2U : 4U);
    EXPECT_TRUE(expect_same_by_tree(std::string(text)));
    const std::string converted = convert(*RankTable::parse(text, "t"), RankOrder::kPodIndex)->text;
    EXPECT_TRUE(expect_same_by_tree(converted)) << converted;
  }
}

TEST(RankTableScan, ADeviceMayDifferFromTheOneBefore) {
  for (std::string_view device :
       {R"({"device_ip":"192.2.0.1","device_id":"1"})", R"( { "device_id" : "1" } )",
        R"({"device_id":"1","device_ip":""})", R"({"device_id":"1","device_ip":"fe80::1%a"})",
        R"({"device_id":"0","device_ip":"192.1.0.1"})", R"({"device_id":"1","device_ip":"x"})",
        R"({"device_id":"1","device_ip":"192.1.0.01"})",
        R"({"device_id":"1","device_ip":"192.1.0.1,192.1.0.1"})"}) {
    const std::string text =
        with(kTemplate2, R"({"device_id":"1","device_ip":"192.2.0.1"})", device);
    EXPECT_TRUE(expect_same_by_tree(text)) << device;
  }
}

TEST(RankTableScan, LeavesToTheTreeWhatHasFindingsOrOtherKeys) {
  struct Change {
    std::string_view from, to;
  };
  for (const Change& change : std::vector<Change>{
           {"completed", "initializing"},
           {R"("status":"completed",)", ""},
           {R"("group_count":"1")", R"("group_count":1)"},
           {R"("group_count":"1")", R"("group_count":"2")"},
           {R"("group_count":"1")", R"("group_count":"1","group_count":"1")"},
           {R"("group_count":"1")", R"("group_count":"1","version":"1.0")"},
           {R"("group_count":"1")", R"("group_count":"1","deploy_mode":"lab")"},
           {R"("device_count":"4")", R"("device_count":"04")"},
           {R"("instance_count":"2")", R"("instance_count":"3")"},
           {R"("instance_count":"2",)", ""},
           {R"("pod_name":"job-10",)", ""},
           {R"("pod_name":"job-10",)", R"("pod_name":"job-10","host_ip":"10.0.0.1",)"},
           {R"("server_id":"10.0.0.2")", R"("server_id":"")"},
           {R"("server_id":"10.0.0.2")", R"("server_id":"\u0061")"},
           {R"("device_id":"0")", R"("device_id":"8")"},
           {R"("device_id":"0")", R"("device_id":0)"},
           {R"("device_id":"0")", R"("device_id":"0","rank_id":"0")"},
           {R"("device_id":"1",)", ""},
           {R"("devices":[)", R"("devices":[{},)"},
           {R"("devices":[)", R"("device":[],"devices":[)"},
           {"}]}]}]}", "}]}]}]},"},
           {"}]}]}]}", "}]}]}]"},
           {"}]}]}]}", "}]}]},]}"}}) {
    EXPECT_FALSE(scans(with(kTemplate2, change.from, change.to))) << change.to;
  }
  EXPECT_FALSE(scans(""));
  EXPECT_FALSE(scans(std::string(kTemplate2) + '\0'));
  EXPECT_FALSE(scans("\xEF\xBB\xBF" + std::string(kTemplate2)));
  EXPECT_FALSE(scans(with(kTemplate1, R"("1.0")", R"("1.1")")));
  // What is written has the order of its keys, and that is kept once for all.
  EXPECT_FALSE(scans(with(kTemplate1, R"("rank_id": "0", "device_id": "0")",
                          R"("device_id": "0", "rank_id": "0")")));
  EXPECT_FALSE(scans(with(kTemplate1, R"("container_ip": "172.16.0.2", )", "")));
  EXPECT_FALSE(scans(with(kTemplate1, R"("rank_id": "2")", R"("rank_id": "2", "x": "")")));
  EXPECT_FALSE(scans(with(kSuperPods, R"("1.2")", R"("1.0")")));
  for (std::size_t size = 0; size < kTemplate2.size(); ++size) {
    EXPECT_FALSE(scans(kTemplate2.substr(0, size)));
  }
}

// More devices than are compared by sorting, in more networks than one.
std::string large_table(std::uint32_t devices) {
  std::string text = R"({"status":"completed","version":"1.0","server_count":")" +
                     std::to_string(devices) + R"(","server_list":[)";
  for (std::uint32_t i = 0; i < devices; ++i) {
    const std::string low = std::to_string(i / 256 % 256) + "." + std::to_string(i % 256);
    text += (i == 0 ? "" : ",") + std::string(R"({"server_id":"s)") + std::to_string(10000 + i) +
            R"(","device":[{"device_id":"0","device_ip":"192.)" + std::to_string(i % 3) + "." +
            low + R"(","rank_id":")" + std::to_string(i) + "\"}]}";
  }
  return text + "]}";
}

TEST(RankTableScan, ALargeTableIsWhatItsTreeIs) {
  const std::string text = large_table(5000);
  EXPECT_TRUE(expect_same_by_tree(text));
  EXPECT_TRUE(RankTable::parse(text, "t")->check().empty());
  for (std::string_view ip : {"192.2.0.2", "192.1.0.1,192.1.0.1", "fe80::1", ""}) {
    const std::string changed = with(text, "\"192.0.18.117\"", '"' + std::string(ip) + '"');
    EXPECT_TRUE(expect_same_by_tree(changed)) << ip;
    EXPECT_FALSE(RankTable::parse(changed, "t")->check().empty()) << ip;
  }
}

TEST(RankTableScan, AddressesOfMoreNetworksThanAreKeptAreSorted) {
  std::string text = large_table(5000);
  std::uint32_t network = 0;
  for (std::size_t at = 0; (at = text.find("\"192.", at)) != std::string::npos; ++at, ++network) {
    const std::size_t rest = text.find('.', at + 5);
    text.replace(at, rest - at,
                 '"' + std::to_string(1 + network / 256) + "." + std::to_string(network % 256));
  }
  EXPECT_TRUE(RankTable::parse(text, "t")->check().empty());
  const std::string twice = with(text, "\"1.1.0.1\"", "\"1.0.0.0\"");
  const std::vector<Finding> findings = RankTable::parse(twice, "t")->check();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "device-ip-duplicate");
  EXPECT_EQ(findings[0].place, "server_list[1].device[0].device_ip");
}

TEST(RankTableText, OutlivesWhatItWasReadFrom) {
  const std::string rank_list =
      R"({"status":"completed","version":"2.0","rank_count":1,"rank_list":[{"rank_id":0,)"
      R"("local_id":0,"device_id":0,"level_list":[{"net_layer":0,"net_instance_id":"a",)"
      R"("net_type":"TOPO_FILE_DESC","net_attr":"","rank_addr_list":[]}]}]})";
  const std::string by_tree = with(kTemplate1, "status", R"(st\u0061tus)");
  for (std::string_view original : {kTemplate2, kTemplate1, kSuperPods, std::string_view(by_tree),
                                    std::string_view(rank_list)}) {
    auto text = std::make_unique<std::string>(original);
    auto table = RankTable::parse(*text, "t");
    ASSERT_TRUE(table) << original;
    const base::LazyText lazy = std::move(*table).rank(RankOrder::kServerId)->text();
    const std::string converted = lazy.text();
    text->assign(text->size(), 'x');
    text.reset();
    EXPECT_EQ(lazy.text(), converted);
    EXPECT_EQ(lazy.text(), converted);
  }
}

TEST(RankTableScan, ASuperPodListThatIsNoJsonIsAnErrorOfTheWholeText) {
  const std::string text = with(kSuperPods, R"("note":[)", R"("note":[,)");
  auto table = RankTable::parse(text, "t");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().error.where, "t: line 1, column " + std::to_string(text.find("[,") + 2));
}

TEST(RankTableScan, ChangedTablesAreWhatTheirTreesAre) {
  constexpr int kRounds = 6000;
  constexpr std::string_view kBytes = "0123456789.,-\"[]{}: \\ab";
  std::mt19937 random(18);
  int scanned = 0;
  for (std::string_view seed : {kTemplate2, kTemplate1, kSuperPods}) {
    for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
      std::string text(seed);
      for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
        char& byte = text[random() % text.size()];
        // Digits become digits mostly: those tables can still be scanned.
        const bool digit = byte >= '0' && byte <= '9' && random() % 4 != 0;
        byte = digit ? static_cast<char>('0' + random() % 10) : kBytes[random() % kBytes.size()];
      }
      scanned += expect_same_by_tree(text) ? 1 : 0;
    }
  }
  // Otherwise the test compares hardly anything.
  EXPECT_GT(scanned, 1000);
}

}  // namespace
}  // namespace envgen
