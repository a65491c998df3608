#pragma once
// A job of several containers whose ranks are stubs that sit until the test tells them how to end,
// for tests of what one node's fault does on the others. Node N has a termination log and a run
// directory of its own on this machine, which are there when it has ended.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cluster/cluster.h"

namespace cluster {

inline constexpr int kRanksPerNode = 2;

class LinkTest : public ClusterTest {
 protected:
  // Ranks say "rank K up" and wait for order(); a checkpoint signal lets them say "rank K saved",
  // and end well.
  void start_job(int nodes, const Words& options = {});
  // Only what its nodes are, which start_node() starts, also in the place of one that has ended.
  void describe_job(int nodes, const Words& options);
  // `flags`: docker run's, of this node alone.
  void start_node(int index, const Words& flags = {});

  // Until each rank of a node has come up so often.
  void await_up(int index, int times = 1) const;
  // And until each has its link: nobody hears of a fault before.
  void await_all_up(int times = 1) const;

  // A line of shell, which a rank runs: "exit 7", "kill -KILL $$".
  void order(int rank, const std::string& line) const;
  // Of this machine, to a container's PID 1 alone; its other processes go on.
  void signal_pid1(int index, int signal) const;
  // A rule of iptables in a node's network; false: this machine has none.
  [[nodiscard]] bool iptables(int index, const Words& rule) const;
  [[nodiscard]] std::string address_of(int index) const;
  void disconnect(int index) const;
  void connect(int index) const;

  [[nodiscard]] int nodes() const { return nodes_; }
  // The first line of a node's termination message.
  [[nodiscard]] std::string message(int index) const;
  // first_failure of its state.json, once it has ended.
  [[nodiscard]] std::string state_failure(int index) const;
  // These nodes' last message, `trainit status` and termination message tell the same, and this is
  // in it.
  void expect_same_failure(const std::vector<int>& nodes, std::string_view text) const;

 private:
  int nodes_ = 0;
  Words options_;
};

// How long something lasts that is to last so long; never what a test waits for.
void lasts(std::chrono::milliseconds length);

}  // namespace cluster
