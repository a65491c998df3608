// What those can do who may connect to the link's port, or listen at it, and are not of the job.

#include <gmock/gmock.h>

#include <filesystem>
#include <iterator>
#include <limits>
#include <list>

#include "init/engine/cluster/link_connection.h"
#include "init/engine/cluster/link_session.h"
#include "init/engine/cluster/link_wire.h"
#include "tests/init/engine/cluster/link_node.h"
#include "tests/test_timeout.h"

namespace link_node {
namespace {

using engine::LinkConnection;
using engine::LinkFrame;
using engine::LinkHello;
using engine::LinkKey;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = LinkFrame::Kind;

constexpr std::size_t kFrameBytes = engine::kLinkHeaderBytes + sizeof(LinkFrame::Tag);

// What comes until the other end closes.
std::string all_of(const sys::Fd& socket) { return child::read_to_end(socket.get()); }

// A stranger that speaks the link's language.
class Stranger {
 public:
  explicit Stranger(int port) : connection_(connect_to(port), 30'000) {}

  // Nothing: it was closed.
  std::optional<std::pair<Kind, std::string>> next() {
    LinkFrame frame;
    pollfd ready{connection_.fd(), POLLIN, 0};
    while (true) {
      switch (connection_.next(frame)) {
        case LinkConnection::Next::kFrame:
          return std::pair(frame.kind, std::string(frame.payload));
        case LinkConnection::Next::kStranger:
          ADD_FAILURE() << "a frame that is not of the session";
          return std::nullopt;
        case LinkConnection::Next::kNone:
          break;
      }
      if (::poll(&ready, 1, kLimitMs) != 1) ADD_FAILURE() << "no frame, and no end";
      if (!connection_.receive()) return std::nullopt;
    }
  }
  void say_hello(const LinkKey& key, LinkHello hello) {
    const auto greeting = next();
    ASSERT_TRUE(greeting);
    ASSERT_EQ(greeting->first, Kind::kGreeting);
    hello.nonce = engine::new_link_nonce();
    if (hello.clock_ms == 0) hello.clock_ms = sys::wall_ms();
    const std::string bytes = base::to_wire(hello);
    connection_.send_tagged(Kind::kHello, bytes, key.hello_tag(greeting->second, bytes));
    connection_.begin_session(key.session(greeting->second, bytes, false));
  }
  LinkConnection& connection() { return connection_; }

 private:
  LinkConnection connection_;
};

class LinkStrangers : public child::Scratch {
 protected:
  LinkStrangers() : port_(free_port()) {}

  [[nodiscard]] engine::LinkSettings settings(std::uint32_t node, std::uint32_t count = 2) const {
    engine::LinkSettings of = settings_of(port_, node, count);
    of.timeout_ms = timeout_ms_;
    of.secret = secret_;
    return of;
  }
  Node& start(const engine::LinkSettings& of) { return nodes_.emplace_back(of); }
  [[nodiscard]] LinkKey key() const { return {secret_, "job of the test"}; }
  static LinkHello hello(std::uint32_t node) {
    return {.node = node, .node_count = 2, .cluster = 0xfeedULL, .instance = 0xBADULL};
  }
  // That nothing of it has hurt: a node meets it.
  void meets(Node& node0) {
    Node& other = start(settings(1));
    node0.report(Stage::kArrived);
    other.report(Stage::kArrived);
    node0.await_go(1);
    other.await_go(1);
  }

  int port_;
  std::int64_t timeout_ms_ = 30'000;
  std::string secret_ = "0123456789abcdef";
  std::list<Node> nodes_;
};

TEST_F(LinkStrangers, HearANumberAlone) {
  start(settings(0));
  const sys::Fd one = connect_to(port_);
  const sys::Fd other = connect_to(port_);
  std::string first(kFrameBytes + engine::kLinkNonceBytes, '\0');
  std::string second = first;
  ASSERT_EQ(::recv(one.get(), first.data(), first.size(), MSG_WAITALL), ssize_t(first.size()));
  ASSERT_EQ(::recv(other.get(), second.data(), second.size(), MSG_WAITALL), ssize_t(second.size()));
  EXPECT_NE(first, second);
  first.replace(engine::kLinkHeaderBytes, engine::kLinkNonceBytes, "");
  second.replace(engine::kLinkHeaderBytes, engine::kLinkNonceBytes, "");
  EXPECT_EQ(first, second);
  pollfd more{one.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&more, 1, 100), 0);
}

TEST_F(LinkStrangers, ThatSendAnythingAreClosed) {
  Node& a = start(settings(0));
  std::string large = "trlk";
  large += "\xff\xff\xff\x7f\x02";
  std::string unknown = "trlk";
  unknown += std::string("\0\0\0\0\x63\0\0\0", 8) + std::string(16, '\0');
  const std::string report = engine::link_frame(Kind::kReport, "", {});
  const std::string long_hello = engine::link_frame(Kind::kHello, std::string(300, 'x'), {});
  const std::string no_hello = engine::link_frame(Kind::kHello, "xxxx", {});
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1, '\0'), large, unknown, report,
        long_hello, no_hello, std::string(1 << 20, 'x')}) {
    const sys::Fd socket = connect_to(port_);
    ::send(socket.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
    EXPECT_LE(all_of(socket).size(), kFrameBytes + engine::kLinkNonceBytes);
  }
  meets(a);
}

TEST_F(LinkStrangers, WhoseClockDiffersAreNamedOnce) {
  Node& a = start(settings(0));
  for (const std::int64_t off_ms : {-3'600'000, -3'600'000}) {
    LinkHello behind = hello(1);
    behind.clock_ms = sys::wall_ms() + off_ms;
    Stranger(port_).say_hello(key(), behind);
  }
  EXPECT_THAT(a.await_warning(), AllOf(HasSubstr("clocks differ from node 0's: node 1 (b) is 36"),
                                       HasSubstr(" behind; ")));
  meets(a);
  EXPECT_THAT(a.warnings(), IsEmpty());
}

TEST_F(LinkStrangers, MayHaveAnyClock) {
  Node& a = start(settings(0));
  LinkHello ahead = hello(1);
  ahead.clock_ms = std::numeric_limits<std::int64_t>::max();
  Stranger(port_).say_hello(key(), ahead);
  EXPECT_THAT(a.await_warning(), HasSubstr(" ahead; "));
  meets(a);
}

TEST_F(LinkStrangers, WithTheSameClockAreNotNamed) {
  Node& a = start(settings(0));
  meets(a);
  EXPECT_THAT(a.warnings(), IsEmpty());
}

TEST_F(LinkStrangers, ThatAreSlowAreClosed) {
  Node& a = start(settings(0));
  const sys::Fd silent = connect_to(port_);
  const sys::Fd slow = connect_to(port_);
  child::say(slow.get(), "trl");
  const std::int64_t start_ms = sys::monotonic_ms();
  all_of(silent);
  all_of(slow);
  EXPECT_LT(sys::monotonic_ms() - start_ms, kAtOnceMs);
  meets(a);
}

TEST_F(LinkStrangers, KeepNobodyOut) {
  constexpr int kTries = 5;
  std::int64_t took_ms = 0;
  // A machine that stands still takes as long as a stranger is given, which is no proof.
  for (int i = 0; i == 0 || (i < kTries && took_ms >= 5000); ++i) {
    nodes_.clear();
    port_ = free_port();
    Node& a = start(settings(0));
    std::vector<sys::Fd> crowd;
    for (int each = 0; each < 300; ++each) crowd.push_back(connect_to(port_));
    const std::int64_t start_ms = sys::monotonic_ms();
    all_of(crowd.front());  // the oldest goes
    meets(a);
    took_ms = sys::monotonic_ms() - start_ms;
  }
  EXPECT_LT(took_ms, 5000);
}

TEST_F(LinkStrangers, WithoutTheSecretAreNoNode) {
  Node& a = start(settings(0));
  a.report(Stage::kArrived);
  Stranger stranger(port_);
  stranger.say_hello(LinkKey("another secret!!", "job of the test"), hello(1));
  EXPECT_FALSE(stranger.next());
  EXPECT_THAT(a.await_warning(), AllOf(HasSubstr("somebody at 127.0.0.1 said to be node 1 (b)"),
                                       HasSubstr("does not know this job")));
  const lifecycle::NodeVerdict waits =
      a.await([](const lifecycle::NodeVerdict& verdict) { return verdict.missing == 1; });
  EXPECT_EQ(waits.waits_for,
            "node 1 (b): somebody at 127.0.0.1 said to be it, and has another secret or list of "
            "nodes");
  engine::LinkSettings of = settings(1);
  of.secret = "";
  Node& other = start(of);
  EXPECT_THAT(other.await_text("another --job-secret"), HasSubstr("does not know this job"));
  EXPECT_THAT(other.await_warning(), AllOf(HasSubstr("joining the job's nodes as node 1 (b)"),
                                           HasSubstr("does not know this job")));
  of.secret = secret_;
  of.common = "another job";
  start(of).await_text("another job");
  for (const lifecycle::NodeVerdict& verdict : a.verdicts()) EXPECT_EQ(verdict.go, 0U);
  meets(a);
}

TEST_F(LinkStrangers, HaveNoWordInTheNumberOfRestarts) {
  secret_ = "";
  Node& a = start(settings(0));
  a.report(Stage::kArrived);
  Stranger stranger(port_);
  stranger.say_hello(key(), hello(1));
  ASSERT_EQ(stranger.next()->first, Kind::kWelcome);
  NodeReport report;
  report.stage = Stage::kArrived;
  report.restarts = 1'000'000;
  report.arrival = 1;
  report.cluster = 0xfeedULL;
  stranger.connection().send(Kind::kReport, base::to_wire(report));
  stranger.connection().send(Kind::kHeartbeat, base::to_wire(engine::LinkHeartbeat{}));
  while (stranger.next()->first != Kind::kHeartbeat) {
  }
  for (const lifecycle::NodeVerdict& verdict : a.verdicts()) EXPECT_EQ(verdict.restarts, 0U);
}

TEST_F(LinkStrangers, StandForNobodyWhoIsThere) {
  for (const char* secret : {"", "0123456789abcdef"}) {
    secret_ = secret;
    constexpr int kTries = 5;
    std::string said = "connected";
    // A node that stands still for two seconds is taken for one that is gone.
    for (int i = 0; i < kTries && said.starts_with("connected"); ++i) {
      nodes_.clear();
      port_ = free_port();
      start(settings(0));
      start(settings(1)).await_state(true);
      engine::LinkSettings of = settings(1);
      of.instance = 0xBADULL;
      Node& stranger = start(of);
      do {
        said = stranger.await_text("node 0 (a)");
      } while (said.contains(": no answer within"));
    }
    Node& a = *nodes_.begin();
    Node& b = *std::next(nodes_.begin());
    Node& stranger = nodes_.back();
    EXPECT_THAT(said, AllOf(HasSubstr("is connected and answers"), HasSubstr("a node 1 (b)")));
    EXPECT_THAT(a.await_warning(), HasSubstr("said to be node 1 (b), which is connected"));
    EXPECT_THAT(stranger.await_warning(), AllOf(HasSubstr("joining the job's nodes as node 1 (b)"),
                                                HasSubstr("connected and answers")));
    EXPECT_THAT(stranger.warnings(), IsEmpty()) << "once";
    EXPECT_THAT(a.warnings(), IsEmpty()) << "once";
    stranger.report(Stage::kArrived);
    b.report(Stage::kArrived);
    a.report(Stage::kArrived);
    b.await_go(1);
    for (const lifecycle::NodeVerdict& verdict : a.verdicts())
      EXPECT_EQ(verdict.state, State::kFine);
    EXPECT_THAT(stranger.verdicts(), IsEmpty());
    EXPECT_THAT(b.states(), IsEmpty()) << "the node that answered keeps its connection";
  }
}

TEST_F(LinkStrangers, AreNotWhoComesInPlaceOfOneThatIsGone) {
  timeout_ms_ = 5 * kAtOnceMs;  // or the one that was stopped would be lost by its silence
  Node& a = start(settings(0));
  Node& b = start(settings(1));
  b.await_state(true);
  b.stop();
  engine::LinkSettings of = settings(1);
  of.instance = 0xABCDEFULL;
  Node& next = start(of);
  const std::int64_t start_ms = sys::monotonic_ms();
  next.await_state(true);
  EXPECT_LT(sys::monotonic_ms() - start_ms, kAtOnceMs);
  next.report(Stage::kArrived);
  a.report(Stage::kArrived);
  next.await_go(1);
}

TEST_F(LinkStrangers, DoNotIncludeWhoHasAnotherListOfNodes) {
  Node& a = start(settings(0));
  engine::LinkSettings of = settings(1);
  of.node_count = 3;
  start(of).await_text("port " + std::to_string(port_) +
                       ": it has a list of 2 nodes, and this node one of 3");
  a.report(Stage::kArrived);
  const lifecycle::NodeVerdict waits =
      a.await([](const lifecycle::NodeVerdict& verdict) { return verdict.missing == 1; });
  EXPECT_EQ(waits.waits_for, "node 1 (b): it has a list of 3 nodes, and node 0 one of 2");
  of.node_count = 2;
  of.cluster = 1;
  start(of).await_text("it has another list of nodes");
  meets(a);
}

TEST_F(LinkStrangers, ThatListenThereAreNoNode0) {
  sys::Fd listener = stream();
  ASSERT_EQ(bind_to(listener, port_), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  Node& b = start(settings(1));
  {
    const sys::Fd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    child::say(client.get(), "SSH-2.0-OpenSSH_9.2\r\n");
    EXPECT_EQ(all_of(client), "");  // not a byte
  }
  b.await_text("what listens there is no trainit of this job");
  {
    LinkConnection client(sys::Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)), 1000);
    client.send(Kind::kGreeting, engine::new_link_nonce());
    client.send(Kind::kWelcome, base::to_wire(engine::LinkWelcome{.heartbeat_ms = 1}));
    client.send(Kind::kVerdict, base::to_wire(lifecycle::NodeVerdict{.go = 1}));
    b.await_text("it does not know this job");
  }
  EXPECT_THAT(b.verdicts(), IsEmpty());
}

// Passes on between a node and node 0, and keeps what the node has said.
class Relay {
 public:
  Relay(int port, std::string record) : port_(free_port()), record_(std::move(record)) {
    sys::Fd listener = stream();
    EXPECT_EQ(bind_to(listener, port_), 0);
    EXPECT_EQ(::listen(listener.get(), 8), 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int kept = listener.get();
    sys::close_descriptors(3, {&kept, 1});
    const sys::Fd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const sys::Fd server = connect_to(port);
    while (pass(server, client, "") && pass(client, server, record_)) {
    }
    ::_exit(0);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] int port() const { return port_; }

 private:
  static bool pass(const sys::Fd& from, const sys::Fd& to, const std::string& record) {
    pollfd ready{from.get(), POLLIN, 0};
    if (::poll(&ready, 1, 1) != 1) return true;
    std::array<char, 65536> part;
    const ssize_t count = ::recv(from.get(), part.data(), part.size(), 0);
    if (count <= 0) return false;
    const std::string bytes(part.data(), static_cast<std::size_t>(count));
    if (!record.empty()) std::ofstream(record, std::ios::binary | std::ios::app) << bytes;
    return ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == count;
  }
  int port_;
  std::string record_;
  pid_t pid_ = -1;
};

TEST_F(LinkStrangers, CannotSayAgainWhatANodeHasSaid) {
  constexpr int kTries = 5;
  int code = 1;
  // A node gives its farewell up where node 0, or the relay, stands still for a second.
  for (int i = 0; i < kTries && code != 0; ++i) {
    nodes_.clear();
    port_ = free_port();
    std::filesystem::remove(path("said"));
    Node& first = start(settings(0));
    first.report(Stage::kArrived);
    const Relay relay(port_, path("said"));
    engine::LinkSettings of = settings(1);
    of.port = relay.port();
    Node& b = start(of);
    b.report(Stage::kArrived);
    first.await_go(1);
    b.await_go(1);
    first.report(Stage::kRunning);
    b.report(Stage::kRunning);
    b.farewell();
    code = b.exit_code();
  }
  EXPECT_EQ(code, 0);
  Node& a = nodes_.front();
  const std::string said = read(path("said"));
  ASSERT_THAT(said, HasSubstr("trlk"));
  const sys::Fd replay = connect_to(port_);
  ::send(replay.get(), said.data(), said.size(), MSG_NOSIGNAL);
  EXPECT_EQ(all_of(replay).size(), kFrameBytes + engine::kLinkNonceBytes);
  EXPECT_THAT(a.await_warning(), HasSubstr("does not know this job"));
}

TEST_F(LinkStrangers, CannotSpeakAsNode0) {
  start(settings(0));
  for (const Kind kind : {Kind::kGreeting, Kind::kHello, Kind::kWelcome, Kind::kRefused,
                          Kind::kVerdict, Kind::kPing, Kind::kRows}) {
    Stranger node(port_);
    node.say_hello(key(), hello(1));
    ASSERT_EQ(node.next()->first, Kind::kWelcome);
    ASSERT_EQ(node.next()->first, Kind::kVerdict);
    node.connection().send(kind);
    node.connection().send(Kind::kHeartbeat, base::to_wire(engine::LinkHeartbeat{}));
    EXPECT_FALSE(node.next()) << "kind " << static_cast<int>(kind);
  }
}

TEST_F(LinkStrangers, CannotRepeatAFrameWithinASession) {
  start(settings(0));
  Stranger node(port_);
  node.say_hello(key(), hello(1));
  ASSERT_EQ(node.next()->first, Kind::kWelcome);
  ASSERT_EQ(node.next()->first, Kind::kVerdict);
  node.connection().send(Kind::kHeartbeat, base::to_wire(engine::LinkHeartbeat{}));
  ASSERT_EQ(node.next()->first, Kind::kHeartbeat);
  node.connection().send_tagged(Kind::kHeartbeat, base::to_wire(engine::LinkHeartbeat{}), {});
  EXPECT_FALSE(node.next());
}

}  // namespace
}  // namespace link_node
