#include <gmock/gmock.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <list>

#include "init/engine/cluster/link_status.h"
#include "tests/init/engine/cluster/link_node.h"
#include "tests/init/interruptions.h"
#include "tests/test_timeout.h"

namespace link_node {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Of a network namespace of its own: the network between its nodes.
bool set_loopback(bool up) {
  const sys::Fd socket = stream();
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = static_cast<short>(up ? IFF_UP | IFF_RUNNING : 0);
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}
bool loopback_of_its_own() { return ::unshare(CLONE_NEWNET) == 0 && set_loopback(true); }

// A node that stands still for seconds misses times that a node of the job has to keep. Such a try
// is followed by another one.
bool some_try(const std::function<bool()>& is_as_it_has_to_be) {
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; ++i) {
    if (is_as_it_has_to_be()) return true;
  }
  return false;
}

bool is_fine(Node& node) {
  return std::ranges::all_of(node.verdicts(), [](const lifecycle::NodeVerdict& verdict) {
    return verdict.state == State::kFine;
  });
}

// Connections accepted at the port with more unread bytes than that (proc_pid_net(5)).
int unread(int port, std::size_t bytes) {
  int connections = 0;
  for (const char* path : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream table(path);
    std::string line;
    while (std::getline(table, line)) {
      unsigned local = 0;
      unsigned state = 0;
      unsigned long queued = 0;
      const int fields = std::sscanf(line.c_str(), " %*u: %*[0-9A-F]:%X %*[0-9A-F]:%*X %X %*X:%lX",
                                     &local, &state, &queued);
      if (fields == 3 && local == static_cast<unsigned>(port) && state == TCP_ESTABLISHED &&
          queued > bytes) {
        ++connections;
      }
    }
  }
  return connections;
}

class Link : public child::Scratch {
 protected:
  Link() : port_(free_port()) {}

  [[nodiscard]] engine::LinkSettings settings(std::uint32_t node, std::uint32_t count) const {
    engine::LinkSettings of = settings_of(port_, node, count);
    of.timeout_ms = timeout_ms_;
    return of;
  }
  Node& start(std::uint32_t node, std::uint32_t count) {
    return nodes_.emplace_back(settings(node, count));
  }
  // The next job of the test.
  void begin_anew() {
    nodes_.clear();
    port_ = free_port();
  }
  // So many nodes, which run.
  void run(std::uint32_t count) {
    arrive(count);
    for (Node& node : nodes_) node.await_go(1);
    for (Node& node : nodes_) node.report(Stage::kRunning);
  }
  void arrive(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) start(i, count);
    for (Node& node : nodes_) node.await_state(true);
    for (Node& node : nodes_) node.report(Stage::kArrived);
  }
  Node& node(std::size_t rank) { return *std::next(nodes_.begin(), static_cast<long>(rank)); }

  int port_;
  std::int64_t timeout_ms_ = 30'000;
  std::list<Node> nodes_;
};

TEST_F(Link, SaysGoWhenAllHaveArrived) {
  Node& a = start(0, 3);
  EXPECT_EQ(a.await_state(true), "listens at port " + std::to_string(port_) + " for 2 other nodes");
  Node& b = start(1, 3);
  EXPECT_EQ(b.await_state(true),
            "connected to node 0 (a) at 127.0.0.1 port " + std::to_string(port_));
  Node& c = start(2, 3);
  c.await_state(true);
  a.report(Stage::kArrived);
  b.report(Stage::kArrived);
  const lifecycle::NodeVerdict waits =
      b.await([](const lifecycle::NodeVerdict& verdict) { return verdict.missing == 1; });
  EXPECT_EQ(waits.go, 0U);
  EXPECT_THAT(waits.waits_for, HasSubstr("node 2 (c)"));
  c.report(Stage::kArrived);
  for (Node& node : nodes_) node.await_go(1);
}

// The request to save is the only message, so no other one takes it along.
TEST_F(Link, TellsWhatFoundAFullPipeOnceThatIsRead) {
  arrive(3);
  NodeReport report{.stage = Stage::kRunning, .arrival = 1, .cluster = 0xfeedULL};
  report.may_restart = true;
  for (Node& node : nodes_) report.meeting = node.await_go(1).meeting;
  for (Node& node : nodes_) node.report(report);
  for (std::uint32_t saves = 1; saves <= 3; ++saves) {
    const auto asks = [saves](const lifecycle::NodeVerdict& verdict) {
      return verdict.saves == saves;
    };
    const bool full = node(1).fill();
    report.saves = saves;
    node(0).report(report);
    node(2).await(asks);
    if (full) EXPECT_THAT(node(1).await_warning(), HasSubstr("xxx"));
    node(1).await(asks);
  }
}

TEST_F(Link, ComesBeforeNode0Does) {
  Node& b = start(1, 2);
  EXPECT_THAT(b.await_text("Connection refused"), HasSubstr("node 0 (a) at 127.0.0.1 port"));
  b.report(Stage::kArrived);
  Node& a = start(0, 2);
  a.report(Stage::kArrived);
  a.await_go(1);
  b.await_go(1);
}

TEST_F(Link, TellsAllOfAFailure) {
  run(3);
  node(1).fail("rank 3 was killed by signal 9");
  for (Node& each : nodes_) each.await(State::kFailing);
  for (Node& each : nodes_) {
    const lifecycle::NodeVerdict verdict = each.await(State::kFailed);
    ASSERT_TRUE(verdict.failure);
    EXPECT_EQ(verdict.failure->node, 1U);
    EXPECT_EQ(verdict.failure->message, "rank 3 was killed by signal 9");
  }
}

// Worlds that can never meet: both sides say so, with both numbers.
TEST_F(Link, EndsAJobWhoseNodesPlanDifferentWorlds) {
  engine::LinkSettings first = settings(0, 2);
  engine::LinkSettings second = settings(1, 2);
  first.must_agree = second.must_agree = true;
  first.world_size = 2;
  second.world_size = 3;
  second.cluster = first.cluster + 1;
  Node& a = nodes_.emplace_back(first);
  Node& b = nodes_.emplace_back(second);
  a.report(Stage::kRunning);
  b.report(Stage::kRunning);
  EXPECT_EQ(a.await(State::kFailed).failure->message,
            "node 1 (b) cannot take part: it plans 3 ranks in all, and node 0 2: give all nodes "
            "the same --slots, list of nodes and image");
  EXPECT_EQ(b.await(State::kFailed).failure->message,
            "node 1 (b) cannot take part: node 0 plans 2 ranks in all, and this node 3: give all "
            "nodes the same --slots, list of nodes and image");
}

// On one machine the second one may replace the first: no reason to end.
TEST_F(Link, TellsTwoFirstNodesOfEachOther) {
  engine::LinkSettings second = settings(0, 2);
  second.instance += 7;
  Node& a = start(0, 2);
  a.await_state(true);
  Node& b = nodes_.emplace_back(second);
  a.report(Stage::kRunning);
  b.report(Stage::kRunning);
  EXPECT_THAT(a.await_warning(), HasSubstr("127.0.0.1 said to be node 0 (a), as this node does"));
  std::string warning;
  while (!warning.contains("another machine")) warning = b.await_warning();
  EXPECT_THAT(warning, AllOf(HasSubstr("is node 0"), HasSubstr("--node-rank")));
}

TEST_F(Link, NamesTheNodesThatHaveNotConnected) {
  Node& a = start(0, 3);
  Node& b = start(1, 3);
  b.await_state(true);
  EXPECT_THAT(a.await_warning(),
              AllOf(HasSubstr("not connected after 10 s: node 2 (c);"), Not(HasSubstr("node 1"))));
  EXPECT_EQ(a.await_absent("node 2 (c)"), "node 2 (c)");
  Node& c = start(2, 3);
  c.await_state(true);
  EXPECT_EQ(a.await_absent(""), "");
}

// Node 0 gathers failures for kGatherMs: here both lie before it when that time begins. Its own
// report of the start may, too: the others' say which one it is.
TEST_F(Link, NamesTheFirstOfTwoFailures) {
  arrive(3);
  for (Node& each : nodes_) each.run(each.await_go(1));
  const std::string text(900, 'x');
  node(0).stop();
  node(1).fail("the second " + text);
  node(2).fail("the first " + text, 200);
  const std::int64_t deadline_ms = sys::monotonic_ms() + kLimitMs;
  while (unread(port_, text.size()) < 2 && sys::monotonic_ms() < deadline_ms) {
    ::poll(nullptr, 0, 5);
  }
  node(0).resume();
  for (Node& each : nodes_) {
    const lifecycle::NodeVerdict verdict = each.await(State::kFailed);
    ASSERT_TRUE(verdict.failure);
    EXPECT_EQ(verdict.failure->node, 2U);
    EXPECT_EQ(verdict.failure->message, "the first " + text);
  }
}

// Whatever a node says it is about.
TEST_F(Link, TakesAFailureAsOneOfWhoReportsIt) {
  run(3);
  NodeReport report;
  report.stage = Stage::kStopping;
  report.arrival = 1;
  report.cluster = 0xfeedULL;
  report.failure = NodeFailure{.node = 2, .message = std::string(4000, 'x')};
  node(1).report(report);
  const lifecycle::NodeVerdict verdict = node(2).await(State::kFailed);
  EXPECT_EQ(verdict.failure->node, 1U);
  EXPECT_EQ(verdict.failure->message.size(), lifecycle::kMaxTextBytes);
}

TEST_F(Link, LosesANodeWhoseConnectionCloses) {
  timeout_ms_ = 5 * kAtOnceMs;  // or they would be lost by their silence
  run(3);
  const std::int64_t start_ms = sys::monotonic_ms();
  node(1).kill();
  for (const std::size_t i : {0, 2}) {
    const lifecycle::NodeVerdict verdict = node(i).await(State::kFailed);
    ASSERT_TRUE(verdict.failure);
    EXPECT_EQ(verdict.failure->node, 1U);
    EXPECT_EQ(verdict.failure->kind, NodeFailure::Kind::kClosed);
  }
  EXPECT_GE(sys::monotonic_ms() - start_ms, lifecycle::kReconnectMs);
  EXPECT_LT(sys::monotonic_ms() - start_ms, lifecycle::kReconnectMs + kAtOnceMs);
}

TEST_F(Link, MissesNobodyWhoseWorkerIsMadeAgain) {
  EXPECT_TRUE(some_try([this] {
    begin_anew();
    run(2);
    node(1).kill();
    Node& again = start(1, 2);
    again.await_state(true);
    again.report(Stage::kRunning);
    // Later than it would have been lost.
    ::poll(nullptr, 0, lifecycle::kReconnectMs + 500);
    return is_fine(node(0)) && is_fine(again);
  }));
}

TEST_F(Link, LosesNode0) {
  run(2);
  node(0).kill();
  node(1).await_state(false);
  const lifecycle::NodeVerdict verdict = node(1).await(State::kFailed);
  ASSERT_TRUE(verdict.failure);
  EXPECT_EQ(verdict.failure->node, 0U);
  EXPECT_EQ(verdict.failure->kind, NodeFailure::Kind::kClosed);
}

// PID 1 tells the next worker which process of node 0 the last one knew.
TEST_F(Link, NoticesThatNode0WasReplacedWhileItsOwnWorkerWasMadeAgain) {
  run(2);
  for (const std::size_t each : {0U, 1U}) node(each).kill();
  engine::LinkSettings other = settings(0, 2);
  other.instance ^= 0xF00U;
  Node& zero = nodes_.emplace_back(other);
  zero.await_state(true);
  engine::LinkSettings next = settings(1, 2);
  next.node0_instance = settings(0, 2).instance;
  Node& one = nodes_.emplace_back(next);
  one.report(Stage::kRunning);
  const lifecycle::NodeVerdict verdict = one.await(State::kFailed);
  EXPECT_TRUE(verdict.by_itself);
  EXPECT_EQ(verdict.failure->node, 0U);
}

TEST_F(Link, MissesNode0NotWhenItsWorkerIsMadeAgain) {
  ASSERT_TRUE(some_try([this] {
    begin_anew();
    run(2);
    node(0).kill();
    start(0, 2).report(Stage::kRunning);
    node(1).await_state(true);
    ::poll(nullptr, 0, lifecycle::kReconnectMs + 500);
    return is_fine(node(1));
  }));
  // Its latest report has come by itself.
  node(1).fail("rank 1 failed");
  EXPECT_EQ(node(2).await(State::kFailed).failure->node, 1U);
}

TEST_F(Link, CountsSilence) {
  timeout_ms_ = 4000;
  const std::int64_t start_ms = sys::monotonic_ms();  // it may be silent before its stop
  run(2);
  node(1).stop();
  const lifecycle::NodeVerdict verdict = node(0).await(State::kFailed);
  EXPECT_EQ(verdict.failure->kind, NodeFailure::Kind::kSilent);
  EXPECT_GE(sys::monotonic_ms() - start_ms, timeout_ms_ * 5 / 6 - 100);
  // It hears of it when it is back.
  node(1).resume();
  EXPECT_EQ(node(1).await(State::kFailed).failure->node, 1U);
}

TEST_F(Link, SilenceBelowTheTimeoutIsNothing) {
  timeout_ms_ = 6000;
  ASSERT_TRUE(some_try([this] {
    begin_anew();
    run(2);
    node(1).stop();
    ::poll(nullptr, 0, 3500);
    node(1).resume();
    node(0).stop();
    ::poll(nullptr, 0, 3500);
    node(0).resume();
    ::poll(nullptr, 0, 3500);
    return is_fine(node(0)) && is_fine(node(1));
  }));
  node(1).fail("rank 1 failed");
  node(0).await(State::kFailed);
}

// A container that was paused itself has heard nobody; that is nobody's silence.
TEST_F(Link, OwnSilenceIsNotTheOthers) {
  timeout_ms_ = 2000;
  EXPECT_TRUE(some_try([this] {
    begin_anew();
    run(2);
    for (Node& each : nodes_) each.stop();
    ::poll(nullptr, 0, 4000);
    for (Node& each : nodes_) each.resume();
    ::poll(nullptr, 0, 1500);
    return is_fine(node(0)) && is_fine(node(1));
  }));
}

TEST_F(Link, LosesNode0ThatIsSilent) {
  timeout_ms_ = 3000;
  run(2);
  node(0).stop();
  const lifecycle::NodeVerdict verdict = node(1).await(State::kFailed);
  EXPECT_EQ(verdict.failure->node, 0U);
  EXPECT_EQ(verdict.failure->kind, NodeFailure::Kind::kSilent);
  node(0).resume();
}

TEST_F(Link, DeliversAFarewell) {
  ASSERT_TRUE(some_try([this] {
    begin_anew();
    run(3);
    node(1).farewell(3);
    return node(1).exit_code() == 0;
  }));
  node(0).farewell(7);
  const lifecycle::NodeVerdict verdict = node(2).await(
      [](const lifecycle::NodeVerdict& each) { return each.ended; }, "node 0's farewell");
  EXPECT_EQ(verdict.exit_code, 7);
  EXPECT_EQ(node(0).exit_code(), 0);
  // That it is gone is then no loss.
  node(2).await_state(false);
  ::poll(nullptr, 0, lifecycle::kReconnectMs + 500);
  for (const lifecycle::NodeVerdict& each : node(2).verdicts()) EXPECT_EQ(each.state, State::kFine);
  node(2).farewell();
  EXPECT_EQ(node(2).exit_code(), 0);
}

// As where a rank fails at once, before the other nodes have come.
TEST_F(Link, AFailureInTheFirstMomentIsHeardByWhoComesBehindIt) {
  ASSERT_TRUE(some_try([this] {
    begin_anew();
    Node& b = start(1, 3);
    Node& a = start(0, 3);
    a.await_state(true);
    b.await_state(true);
    a.report(Stage::kRunning);
    b.report(Stage::kRunning);
    a.fail("rank 0 failed");
    a.farewell(7);
    b.await(
        [](const lifecycle::NodeVerdict& each) { return each.failure && each.failure->node == 0; });
    Node& c = start(2, 3);
    c.report(Stage::kRunning);
    // Node 0 may have gone by then.
    return c.await_text("node 0 (a)").starts_with("connected");
  }));
  node(2).await(
      [](const lifecycle::NodeVerdict& each) { return each.failure && each.failure->node == 0; });
  EXPECT_EQ(node(1).exit_code(), 0);
}

TEST_F(Link, AFailureInTheFirstMomentWaitsForNobodyForLong) {
  Node& a = start(0, 2);
  a.await_state(true);
  a.report(Stage::kRunning);
  a.fail("rank 0 failed");
  const std::int64_t start_ms = sys::monotonic_ms();
  a.farewell(7);
  EXPECT_EQ(a.exit_code(), 0);
  EXPECT_LT(sys::monotonic_ms() - start_ms, engine::kFirstFarewellMs + kAtOnceMs);
}

TEST_F(Link, DeliversAFarewellToWhoIsSlow) {
  ASSERT_TRUE(some_try([this] {
    begin_anew();
    run(2);
    node(0).stop();
    node(1).farewell(3);
    node(1).close_down();
    ::poll(nullptr, 0, 300);
    node(0).resume();
    return node(1).exit_code() == 0;
  }));
  ::poll(nullptr, 0, lifecycle::kReconnectMs + 500);
  for (const lifecycle::NodeVerdict& each : node(0).verdicts()) EXPECT_EQ(each.state, State::kFine);
}

// The answers to what it has said before find nobody.
TEST_F(Link, HearsAFarewellBehindHeartbeatsOfWhoHasGone) {
  timeout_ms_ = 3000;
  run(2);
  node(0).stop();
  ::poll(nullptr, 0, 1600);  // three heartbeats
  node(1).farewell(3);
  EXPECT_EQ(node(1).exit_code(), 1);
  node(0).resume();
  ::poll(nullptr, 0, lifecycle::kReconnectMs + 500);
  for (const lifecycle::NodeVerdict& each : node(0).verdicts()) EXPECT_EQ(each.state, State::kFine);
}

TEST_F(Link, GivesAFarewellUpAfterASecond) {
  run(2);
  node(0).stop();
  const std::int64_t start_ms = sys::monotonic_ms();
  node(1).farewell(3);
  EXPECT_EQ(node(1).exit_code(), 1);
  EXPECT_LT(sys::monotonic_ms() - start_ms, kAtOnceMs);
  node(0).resume();
  // It has been said all the same.
  ::poll(nullptr, 0, lifecycle::kReconnectMs + 500);
  for (const lifecycle::NodeVerdict& each : node(0).verdicts()) EXPECT_EQ(each.state, State::kFine);
}

TEST_F(Link, EndsWithPid1) {
  run(2);
  for (Node& each : nodes_) {
    each.close_down();
    EXPECT_EQ(each.exit_code(), 0);
  }
}

TEST_F(Link, WaitsForAPortThatIsTaken) {
  sys::Fd other = stream();
  ASSERT_EQ(bind_to(other, port_), 0);
  ASSERT_EQ(::listen(other.get(), 1), 0);
  Node& a = start(0, 2);
  EXPECT_THAT(a.await_warning(),
              AllOf(HasSubstr("port " + std::to_string(port_)), HasSubstr("Address already in use"),
                    HasSubstr("--link-port")));
  a.await_text("port " + std::to_string(port_) + " of this node: Address already in use");
  a.report(Stage::kArrived);
  other.reset();
  a.await_state(true);
  Node& b = start(1, 2);
  b.report(Stage::kArrived);
  b.await_go(1);
}

TEST_F(Link, SaysNotGoBeforeTheJobsPortIsFree) {
  const int master = free_port();
  const std::string taken =
      "node 0 (a): a process of the last start, or another one, listens at "
      "its port " +
      std::to_string(master);
  const auto is_taken = [&](const lifecycle::NodeVerdict& verdict) {
    return verdict.waits_for.find(taken) != std::string::npos;
  };
  // Node 0 looks at it by having it for a moment.
  const auto take_port = [master](sys::Fd& socket) {
    do {
      socket = stream();
    } while (bind_to(socket, master) != 0 || ::listen(socket.get(), 1) != 0);
  };
  sys::Fd other;
  take_port(other);
  engine::LinkSettings of_0 = settings(0, 2);
  of_0.free_port = master;
  Node& a = nodes_.emplace_back(of_0);
  Node& b = start(1, 2);
  a.report(Stage::kArrived);
  a.await(is_taken, "who has the port");
  // Free when node 0 comes, and not when the others do.
  other.reset();
  a.await([&](const lifecycle::NodeVerdict& verdict) { return !is_taken(verdict); },
          "that it is free");
  take_port(other);
  a.await(is_taken, "who has the port");
  b.report(Stage::kArrived);
  EXPECT_EQ(b.await(is_taken, "who has the port").waits_for, taken);
  for (const lifecycle::NodeVerdict& verdict : b.verdicts()) EXPECT_EQ(verdict.go, 0U);
  other.reset();
  a.await_go(1);
  b.await_go(1);
}

TEST_F(Link, FindsNode0ByItsName) {
  Node& a = start(0, 2);
  engine::LinkSettings of_1 = settings(1, 2);
  of_1.address = "localhost";
  Node& b = nodes_.emplace_back(of_1);
  b.await_state(true);
  a.report(Stage::kArrived);
  b.report(Stage::kArrived);
  b.await_go(1);
}

TEST_F(Link, SaysThatANameIsNotKnown) {
  engine::LinkSettings of_1 = settings(1, 2);
  of_1.address = "no-such-node.invalid";
  Node& b = nodes_.emplace_back(of_1, base::Environ({"PATH=/nowhere"}));
  EXPECT_THAT(b.await_text("no-such-node"), HasSubstr("getent"));
}

// Nobody waits for a PID 1 that was stopped: it hears the latest when it reads.
TEST_F(Link, WaitsForNoPid1) {
  run(3);
  for (std::uint32_t i = 1; i < 3000; ++i) {
    NodeReport report;
    report.stage = Stage::kRunning;
    report.arrival = 1;
    report.cluster = 0xfeedULL;
    report.saves = i;
    node(1).report(report);
  }
  // Nothing reads what node 0's and node 2's workers tell.
  node(1).await([](const lifecycle::NodeVerdict& verdict) { return verdict.saves == 2999; });
  for (const std::size_t i : {0, 2}) {
    node(i).await([](const lifecycle::NodeVerdict& verdict) { return verdict.saves == 2999; });
  }
}

// TCP by itself would repeat what was lost seconds later still.
TEST_F(Link, IsBackTwoSecondsAfterThePartition) {
  const child::Outcome outcome = child::run([&] {
    if (!loopback_of_its_own()) return 2;
    timeout_ms_ = 10'000;
    EXPECT_TRUE(some_try([this] {
      begin_anew();
      run(2);
      set_loopback(false);
      ::poll(nullptr, 0, 8000);
      node(1).fail("rank 1 failed");
      set_loopback(true);
      const std::int64_t start_ms = sys::monotonic_ms();
      const lifecycle::NodeVerdict first = node(0).await(
          [](const lifecycle::NodeVerdict& verdict) { return verdict.state != State::kFine; });
      const bool in_time = sys::monotonic_ms() - start_ms < 2500;
      return first.state == State::kFailing && in_time &&
             node(1).await(State::kFailed).failure->kind == NodeFailure::Kind::kFailed;
    }));
    nodes_.clear();
    return HasFailure() ? 1 : 0;
  });
  if (outcome.code == 2) GTEST_SKIP() << "may not make network namespaces";
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(Link, LosesANodeBehindAPartition) {
  const child::Outcome outcome = child::run([&] {
    if (!loopback_of_its_own()) return 2;
    timeout_ms_ = 2000;
    run(2);
    set_loopback(false);
    EXPECT_EQ(node(0).await(State::kFailed).failure->node, 1U);
    EXPECT_EQ(node(1).await(State::kFailed).failure->node, 0U);
    nodes_.clear();
    return HasFailure() ? 1 : 0;
  });
  if (outcome.code == 2) GTEST_SKIP() << "may not make network namespaces";
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

// --- trainit status --cluster ---

TEST_F(Link, TellsEachNodesUserOfAllNodes) {
  timeout_ms_ = 6000;  // a heartbeat a second
  const auto output_ms = std::make_shared<std::atomic<std::int64_t>>(sys::monotonic_ms() - 1500);
  for (std::uint32_t i = 0; i < 3; ++i) {
    engine::LinkSettings of = settings(i, 3);
    of.socket = path("link" + std::to_string(i));
    if (i == 1) of.last_output_ms = output_ms;
    nodes_.emplace_back(of).await_state(true);
  }
  NodeReport report;
  report.stage = Stage::kArrived;
  report.arrival = 1;
  report.cluster = 0xfeedULL;
  report.phase = "preparing\033[2J";
  report.ranks = 8;
  node(1).report(report);
  node(0).report(Stage::kArrived);
  node(0).await([](const lifecycle::NodeVerdict& verdict) { return verdict.missing == 1; });
  for (const char* socket : {"link0", "link1", "link2"}) {
    TestTimeout timeout;
    auto rows = engine::ask_nodes(path(socket), kLimitMs);
    while (rows && rows->size() == 3U && rows->at(1).silent_ms < 0 && timeout.is_left()) {
      rows = engine::ask_nodes(path(socket), kLimitMs);  // before the first heartbeat
    }
    ASSERT_TRUE(rows) << to_line(rows.error());
    ASSERT_EQ(rows->size(), 3U);
    EXPECT_EQ(rows->at(2).silent_ms, -1) << "it has printed nothing";
    const engine::NodeRow& row = rows->at(1);
    EXPECT_EQ(row.name, "b");
    EXPECT_EQ(row.connection, "connected");
    EXPECT_EQ(row.presence, "here");
    EXPECT_EQ(row.phase, "preparing\\x1b[2J");  // for a terminal
    EXPECT_EQ(row.ranks, 8U);
    EXPECT_GE(row.silent_ms, 1500);
    EXPECT_GE(row.heard_ms_ago, 0);
    EXPECT_TRUE(engine::all_well(*rows));
    EXPECT_THAT(engine::nodes_to_text(*rows), HasSubstr("1     b     connected"));
  }
  struct stat status{};
  ASSERT_EQ(::stat(path("link0").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(NodesText, IsATableWithTheFailuresBelow) {
  const std::vector<engine::NodeRow> rows = {
      {.node = 0,
       .name = "worker-0",
       .connection = "connected",
       .phase = "running",
       .ranks = 8,
       .silent_ms = 1500,
       .heard_ms_ago = 0},
      {.node = 10, .connection = "never-connected", .restarts = 12, .failure = "rank-8 was killed"},
      {.node = 11, .name = "a\x1b", .connection = "never-connected"}};
  EXPECT_EQ(engine::nodes_to_text(rows),
            "node  name      link             heard  phase    ranks  last output  restarts\n"
            "0     worker-0  connected        0s     running  8      1s           0\n"
            "10    -         never-connected  -      -        0      -            12\n"
            "11    a\\x1b     never-connected  -      -        0      -            0\n"
            "node 10: rank-8 was killed\n");
}

// Scripts may read the key of before.
TEST(NodesJson, HasTheEarlierWordsBesideThePresentOnes) {
  const std::string json =
      engine::nodes_to_json({{.node = 0, .connection = "connected", .presence = "here"},
                             {.node = 1, .connection = "reconnecting", .presence = "away"}});
  EXPECT_THAT(json, HasSubstr("\"connection\": \"connected\""));
  EXPECT_THAT(json, HasSubstr("\"presence\": \"here\""));
  EXPECT_THAT(json, HasSubstr("\"connection\": \"reconnecting\""));
  EXPECT_THAT(json, HasSubstr("\"presence\": \"away\""));
}

TEST(NodesJson, OfANodeThatIsPresentIsWellAndOfALostOneNot) {
  const auto row = [](const char* connection) { return engine::NodeRow{.connection = connection}; };
  for (const char* word : {"connected", "left"}) EXPECT_TRUE(engine::is_present(row(word)));
  for (const char* word : {"reconnecting", "lost", "never-connected"}) {
    EXPECT_FALSE(engine::is_present(row(word)));
    EXPECT_FALSE(engine::all_well({row(word)}));
  }
  EXPECT_TRUE(engine::is_lost(row("lost")));
  EXPECT_FALSE(engine::is_lost(row("left")));
}

TEST_F(Link, TellsOfManyNodes) {
  constexpr std::uint32_t kNodes = 3000;
  for (std::uint32_t i = 0; i < 2; ++i) {
    engine::LinkSettings of = settings(i, kNodes);
    of.socket = path("link" + std::to_string(i));
    nodes_.emplace_back(of).await_state(true);
  }
  for (const char* socket : {"link0", "link1"}) {
    const auto rows = engine::ask_nodes(path(socket), kLimitMs);
    ASSERT_TRUE(rows) << to_line(rows.error());
    ASSERT_EQ(rows->size(), kNodes);
    EXPECT_EQ(rows->at(kNodes - 1).node, kNodes - 1);
    EXPECT_EQ(rows->at(kNodes - 1).connection, "never-connected");
    EXPECT_EQ(rows->at(kNodes - 1).presence, "never");
    EXPECT_FALSE(engine::all_well(*rows));
  }
}

TEST_F(Link, SaysThatNode0IsNotThereToAsk) {
  engine::LinkSettings of = settings(1, 2);
  of.socket = path("link");
  Node& b = nodes_.emplace_back(of);
  b.await_text("refused");
  const auto rows = engine::ask_nodes(path("link"), kLimitMs);
  ASSERT_FALSE(rows);
  EXPECT_THAT(to_line(rows.error()), HasSubstr("no connection to node 0 (a)"));
  EXPECT_FALSE(engine::ask_nodes(path("nothing")));
}

TEST_F(Link, IsNotWaitedForWhereItTakesNoCaller) {
  const std::string where = path("link");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(where.size(), sizeof address.sun_path);
  where.copy(address.sun_path, where.size());
  const sys::Fd full(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* place = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(full.get(), place, sizeof address), 0);
  ASSERT_EQ(::listen(full.get(), 0), 0);
  const sys::Fd first(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(first.get(), place, sizeof address), 0);
  const child::Outcome outcome = child::run([&] {
    ::alarm(kAtOnceMs / 1000);
    return engine::ask_nodes(where, 200) ? 1 : 0;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(Link, AnswersAgainWhenItHasADescriptor) {
  engine::LinkSettings of = settings(0, 2);
  of.socket = path("link");
  Node& a = nodes_.emplace_back(of);
  a.await_state(true);
  rlimit enough{};
  ASSERT_EQ(::prlimit(a.pid(), RLIMIT_NOFILE, nullptr, &enough), 0);
  const rlimit none{3, enough.rlim_max};
  ASSERT_EQ(::prlimit(a.pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  EXPECT_FALSE(engine::ask_nodes(of.socket, 200));
  ASSERT_EQ(::prlimit(a.pid(), RLIMIT_NOFILE, &enough, nullptr), 0);
  EXPECT_TRUE(engine::ask_nodes(of.socket, kLimitMs));
}

TEST_F(Link, AnswersNobodyElse) {
  if (!child::is_root()) GTEST_SKIP() << "needs another user";
  engine::LinkSettings of = settings(0, 2);
  of.socket = path("link");
  nodes_.emplace_back(of).await_state(true);
  ASSERT_EQ(::chmod(of.socket.c_str(), 0666), 0);
  const child::Outcome outcome = child::run([&] {
    if (!child::become_nobody()) return 2;
    return engine::ask_nodes(of.socket) ? 1 : 0;
  });
  EXPECT_EQ(outcome.code, 0);
}

}  // namespace
int g_status_listener = -1;
int g_status_client = -1;

// Each interruption was taken for the end of the time.
TEST(AskNodes, SignalsDoNotEndTheWaitForAnAnswer) {
  const std::string path = testing::TempDir() + "nodes." + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const sys::Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), where, sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  g_status_listener = listener.get();
  const child::Interruptions interruptions([] {
    g_status_client = ::accept(g_status_listener, nullptr, nullptr);
    return ::send(g_status_client, "\n", 1, MSG_NOSIGNAL) > 0;
  });
  const auto rows = engine::ask_nodes(path, kLimitMs);
  const sys::Fd client(g_status_client);
  ::unlink(path.c_str());
  EXPECT_TRUE(rows) << to_line(rows.error());
}

}  // namespace link_node
