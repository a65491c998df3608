#include "init/engine/cluster/membership.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "init/sys/clock.h"
#include "tests/init/child.h"

namespace {

using engine::cluster_id;
using engine::common_id;
using engine::difference;
using engine::LookedAt;
namespace fs = std::filesystem;

envgen::Cluster cluster_of(const std::vector<std::string>& hosts) {
  envgen::Cluster cluster;
  for (const std::string& host : hosts) {
    envgen::Node node;
    node.host = host;
    cluster.nodes.push_back(node);
  }
  return cluster;
}

// Each changes one thing that two nodes of a job must not see differently.
const std::vector<std::function<void(envgen::Cluster&)>> kDifferences = {
    [](auto& cluster) { cluster.nodes.pop_back(); },
    [](auto& cluster) { cluster.nodes[1].host = "x"; },
    [](auto& cluster) { std::swap(cluster.nodes[1], cluster.nodes[2]); },
    [](auto& cluster) { cluster.nodes[0].role = "chief"; },
    [](auto& cluster) { cluster.nodes[0].role_index = 1; },
    [](auto& cluster) { cluster.nodes[1].slots = 8; },
    [](auto& cluster) { cluster.nodes[1].port = 2222; },
    [](auto& cluster) { cluster.nodes[1].devices.push_back({}); },
    [](auto& cluster) { cluster.world_size = 3; },
    [](auto& cluster) { cluster.device_addresses = 1; },
};

TEST(ClusterId, TellsDifferentClustersApart) {
  const envgen::Cluster cluster = cluster_of({"a", "b", "c"});
  EXPECT_EQ(cluster_id(cluster), cluster_id(cluster_of({"a", "b", "c"})));
  EXPECT_NE(cluster_id(envgen::Cluster{}), 0U);
  for (std::size_t i = 0; i < kDifferences.size(); ++i) {
    envgen::Cluster other = cluster;
    kDifferences[i](other);
    EXPECT_NE(cluster_id(other), cluster_id(cluster)) << i;
    EXPECT_NE(common_id(other), common_id(cluster)) << i;
  }
  envgen::Cluster other = cluster;
  other.rank_table = "{}";
  EXPECT_NE(cluster_id(other), cluster_id(cluster));
}

TEST(ClusterId, DoesNotTakeOneTextForPartOfTheNext) {
  envgen::Cluster one = cluster_of({"a"});
  envgen::Cluster other = one;
  one.nodes[0].pod_name = "bc";
  other.nodes[0].pod_name = "b";
  other.nodes[0].server_id = "c";
  EXPECT_NE(cluster_id(one), cluster_id(other));
}

TEST(CommonId, LeavesOutHowEachNodeCallsTheFirst) {
  envgen::Cluster own = cluster_of({"localhost", "b"});
  own.master_addr = "localhost";
  envgen::Cluster others = cluster_of({"job-master-0", "b"});
  others.master_addr = "job-master-0";
  EXPECT_EQ(common_id(own), common_id(others));
  EXPECT_NE(cluster_id(own), cluster_id(others));
}

TEST(Difference, NamesWhoIsGoneAndWhoIsNew) {
  const auto text = [](const std::vector<std::string>& before,
                       const std::vector<std::string>& now) {
    return difference(cluster_of(before), cluster_of(now));
  };
  EXPECT_EQ(text({"a", "b", "c"}, {"a", "b"}), "3 nodes -> 2 (gone: c)");
  EXPECT_EQ(text({"a"}, {"a", "b", "c"}), "1 node -> 3 (new: b, c)");
  EXPECT_EQ(text({"a", "b"}, {"c", "a"}), "2 nodes (gone: b; new: c)");
  EXPECT_EQ(text({"a", "b"}, {"b", "a"}), "2 nodes, in another order");
  EXPECT_EQ(text({"", "", ""}, {"", ""}), "3 nodes -> 2 (gone: node 2)");
  EXPECT_EQ(text({"a", "b"}, {}), "2 nodes -> 1 (gone: a, b)");
  envgen::Cluster other = cluster_of({"a", "b"});
  other.nodes[0].slots = 4;
  EXPECT_EQ(difference(cluster_of({"a", "b"}), other), "2 nodes, not as before");
}

TEST(Difference, NamesAFewOfMany) {
  std::vector<std::string> hosts = {"a"};
  for (int i = 10; i < 30; ++i) hosts.push_back("n" + std::to_string(i));
  EXPECT_EQ(difference(cluster_of(hosts), cluster_of({"a"})),
            "21 nodes -> 1 (gone: n10, n11, n12, n13, n14, n15, n16, n17 and 12 more)");
}

class Looked : public child::Scratch {
 protected:
  static std::map<std::string, envgen::PathState> look_at(const std::string& path,
                                                          bool content = true) {
    return {{path, sys::inspect(path, content)}};
  }
  static void settle(LookedAt& looked, const std::string& path, bool content = true) {
    const std::int64_t deadline_ms = sys::monotonic_ms() + 180'000;
    while (looked.may_have_changed()) {
      ASSERT_LT(sys::monotonic_ms(), deadline_ms) << path << " never settles";
      looked.seen(look_at(path, content));
      ::poll(nullptr, 0, 20);
    }
  }
};

TEST_F(Looked, AFileThatWasJustWrittenIsLookedAtAgain) {
  constexpr std::int64_t kTickMs = 3000;  // for so long a file counts as just written
  const std::int64_t start_ms = sys::monotonic_ms();
  const std::string file = write("file", "x");
  LookedAt looked;
  for (int i = 0; i < 3; ++i) {
    const bool may_have_changed = looked.may_have_changed();
    // The process of the test may have stood still for longer.
    EXPECT_TRUE(may_have_changed || sys::monotonic_ms() - start_ms >= kTickMs);
    looked.seen(look_at(file));
  }
}

TEST_F(Looked, WhatIsNotThereAndNothingAtAllAreSettledAtOnce) {
  LookedAt nothing;
  EXPECT_TRUE(nothing.may_have_changed());
  nothing.seen({});
  EXPECT_FALSE(nothing.may_have_changed());
  LookedAt absent;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(absent.may_have_changed());
    absent.seen(look_at(path("none")));
  }
  EXPECT_FALSE(absent.may_have_changed());
  write("none", "x");
  EXPECT_TRUE(absent.may_have_changed());
}

TEST_F(Looked, EachKindOfChangeIsSeenOnceAllWasQuiet) {
  fs::create_directory(path("..1"));
  fs::create_directory(path("..2"));
  write("..1/linked", "same");
  write("..2/linked", "same");
  fs::create_symlink("..1", path("..data"));
  fs::create_symlink("..data/linked", path("linked"));
  fs::create_directory(path("directory"));
  fs::create_directory(path("unread"));
  const std::string in_place = write("in_place", "same");
  const std::string replaced = write("replaced", "same");
  const std::string gone = write("gone", "same");
  const std::string spare = write("spare", "same");
  LookedAt of_in_place, of_replaced, of_gone, of_linked, of_directory, of_unread;
  settle(of_in_place, in_place);
  settle(of_replaced, replaced);
  settle(of_gone, gone);
  settle(of_linked, path("linked"));
  settle(of_directory, path("directory"));
  settle(of_unread, path("unread"), false);

  write("in_place", "size");
  EXPECT_TRUE(of_in_place.may_have_changed());
  fs::rename(spare, replaced);
  EXPECT_TRUE(of_replaced.may_have_changed());
  fs::remove(gone);
  EXPECT_TRUE(of_gone.may_have_changed());
  fs::remove(path("..data"));
  fs::create_symlink("..2", path("..data"));
  EXPECT_TRUE(of_linked.may_have_changed());
  write("directory/entry", "");
  EXPECT_TRUE(of_directory.may_have_changed());
  // Only whether it is there was asked: what comes and goes in it is nothing new.
  write("unread/entry", "");
  EXPECT_FALSE(of_unread.may_have_changed());
  fs::remove_all(path("unread"));
  EXPECT_TRUE(of_unread.may_have_changed());
}

}  // namespace
