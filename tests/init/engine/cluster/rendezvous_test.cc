#include "init/engine/cluster/rendezvous.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <list>
#include <string>
#include <vector>

#include "init/engine/cluster/meeting_link.h"
#include "init/sys/clock.h"
#include "tests/init/child.h"

namespace {

using engine::MeetingRecord;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = engine::MeetingRecord::Kind;

constexpr int kLimitMs = 30'000;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

sys::Fd stream() { return sys::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

int bind_to(const sys::Fd& socket, int port) {
  const sockaddr_in address = loopback(port);
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

int free_port() {
  const sys::Fd socket = stream();
  EXPECT_EQ(bind_to(socket, 0), 0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

// Whoever listens there may not have begun to.
sys::Fd connect_to(int port) {
  const sockaddr_in address = loopback(port);
  const std::int64_t deadline_ms = sys::monotonic_ms() + kLimitMs;
  while (sys::monotonic_ms() < deadline_ms) {
    sys::Fd socket = stream();
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return socket;
    }
    ::poll(nullptr, 0, 5);
  }
  ADD_FAILURE() << "nothing listens at port " << port;
  return {};
}

// A node of a meeting, as a process that tells what it is told.
class Node {
 public:
  Node(const engine::Meeting& meeting, const std::string& changed_file,
       const envgen::Environ& env) {
    child::Pipe pipe = child::make_pipe();
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      // A connection of the test that it closes has to be closed.
      const int kept = pipe.in.get();
      sys::close_descriptors(3, {&kept, 1});
      auto tell = [&pipe](const std::string& line) { child::say(pipe.in.get(), line + "\n"); };
      auto say = [&tell](const std::string& reason) { tell("waits for " + reason); };
      auto changed = [&] { return ::access(changed_file.c_str(), F_OK) == 0; };
      const engine::MeetingEnd end = engine::meet(meeting, env, say, changed);
      if (const auto* met = std::get_if<engine::Met>(&end)) {
        tell("met " + std::to_string(met->restarts));
      } else if (const auto* failed = std::get_if<engine::MeetingFailed>(&end)) {
        tell("failed " + std::to_string(failed->exit_code) + " " + to_line(failed->error));
      } else {
        tell("changed");
      }
      ::_exit(0);
    }
    pipe.in.reset();
    output_ = std::move(pipe.out);
    ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() { end(); }

  // The first line from now on that contains it.
  std::string await(const std::string& text) {
    const std::int64_t deadline_ms = sys::monotonic_ms() + kLimitMs;
    while (true) {
      while (lines_.find('\n') != std::string::npos) {
        const std::string line = lines_.substr(0, lines_.find('\n'));
        lines_.erase(0, line.size() + 1);
        if (line.find(text) != std::string::npos) return line;
      }
      pollfd ready{output_.get(), POLLIN, 0};
      const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
      if (left_ms <= 0 || ::poll(&ready, 1, static_cast<int>(left_ms)) != 1) break;
      std::string part(4096, '\0');
      const ssize_t count = ::read(output_.get(), part.data(), part.size());
      if (count <= 0) break;
      lines_ += part.substr(0, static_cast<std::size_t>(count));
    }
    ADD_FAILURE() << "never said \"" << text << "\"";
    return "";
  }
  std::string ending() {
    pollfd none{-1, 0, 0};
    std::string text = lines_;
    while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
      text += child::read_now(output_.get());
      ::poll(&none, 1, 2);
    }
    pid_ = -1;
    text += child::read_now(output_.get());
    if (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  sys::Fd output_;
  std::string lines_;
};

class Rendezvous : public child::Scratch {
 protected:
  Rendezvous() : port_(free_port()) { limit(kLimitMs); }

  void limit(std::int64_t window_ms) { window_ms_ = window_ms; }

  engine::Meeting meeting_of(int rank) const {
    engine::Meeting meeting;
    meeting.place = {address_, port_, rank, count_, window_ms_};
    meeting.names = {"a", "b", "c"};
    meeting.cluster = 7;
    meeting.restarts = 1;
    meeting.deadline_ms = sys::monotonic_ms() + window_ms_;
    return meeting;
  }
  Node& start(const engine::Meeting& meeting, const std::string& changed_file = "/none") {
    return nodes_.emplace_back(meeting, changed_file, env_);
  }
  Node& start(int rank) { return start(meeting_of(rank)); }

  MeetingRecord record(Kind kind, int rank) const {
    MeetingRecord record;
    record.kind = kind;
    record.node_rank = static_cast<std::uint32_t>(rank);
    record.node_count = static_cast<std::uint32_t>(count_);
    record.restarts = 1;
    record.cluster = 7;
    return record;
  }
  static void send(const sys::Fd& socket, const std::string& bytes) {
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // The next record; nothing at the end of the connection.
  static std::optional<MeetingRecord> receive(const sys::Fd& socket) {
    std::string bytes;
    while (bytes.size() < engine::kMeetingRecordBytes) {
      pollfd ready{socket.get(), POLLIN, 0};
      if (::poll(&ready, 1, kLimitMs) != 1) {
        ADD_FAILURE() << "no record";
        return std::nullopt;
      }
      std::string part(engine::kMeetingRecordBytes - bytes.size(), '\0');
      const ssize_t count = ::recv(socket.get(), part.data(), part.size(), 0);
      if (count <= 0) return std::nullopt;
      bytes += part.substr(0, static_cast<std::size_t>(count));
    }
    return engine::decode_meeting_record(bytes);
  }
  // What this end is, without a process: greeted, and its hello sent.
  sys::Fd hello(int rank) const {
    sys::Fd socket = connect_to(port_);
    EXPECT_TRUE(receive(socket));
    send(socket, encode(record(Kind::kHello, rank)));
    return socket;
  }

  int count_ = 3;
  int port_;
  std::string address_ = "127.0.0.1";
  std::int64_t window_ms_ = 0;
  envgen::Environ env_;
  std::list<Node> nodes_;
};

// --- They meet ---

TEST_F(Rendezvous, AllStartWhenTheLastOneCame) {
  Node& a = start(0);
  Node& b = start(1);
  EXPECT_THAT(b.await("waits for node 0 (a) at 127.0.0.1 port"), HasSubstr("waits for"));
  EXPECT_THAT(a.await("of 3 nodes"), HasSubstr("node 2 (c)"));
  Node& c = start(2);
  for (Node* node : {&a, &b, &c}) EXPECT_EQ(node->ending(), "met 1");
}

TEST_F(Rendezvous, TheFirstNodeMayComeLast) {
  Node& b = start(1);
  b.await("refused");
  Node& c = start(2);
  c.await("refused");
  Node& a = start(0);
  for (Node* node : {&a, &b, &c}) EXPECT_EQ(node->ending(), "met 1");
}

TEST_F(Rendezvous, TheyAgreeOnTheLargestNumberOfRestarts) {
  for (int largest = 0; largest < 3; ++largest) {
    std::vector<Node*> nodes;
    for (int rank = 0; rank < 3; ++rank) {
      engine::Meeting meeting = meeting_of(rank);
      meeting.restarts = rank == largest ? 5 : static_cast<std::uint32_t>(rank) + 1;
      nodes.push_back(&start(meeting));
    }
    for (Node* node : nodes) EXPECT_EQ(node->ending(), "met 5") << "of node " << largest;
  }
}

TEST_F(Rendezvous, AHundredNodesMeet) {
  count_ = 100;
  for (int rank = count_ - 1; rank >= 0; --rank) start(rank);
  for (Node& node : nodes_) EXPECT_EQ(node.ending(), "met 1");
}

TEST_F(Rendezvous, OneNodeHasNobodyToMeet) {
  count_ = 1;
  EXPECT_EQ(start(0).ending(), "met 1");
}

TEST_F(Rendezvous, ThePortIsFreeWhenTheyStart) {
  Node& a = start(0);
  start(1);
  start(2);
  EXPECT_EQ(a.ending(), "met 1");
  // As strict as a listener can be: no SO_REUSEADDR.
  const sys::Fd listener = stream();
  EXPECT_EQ(bind_to(listener, port_), 0) << sys::errno_text(errno);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
}

TEST_F(Rendezvous, IsHeldForBothFamiliesOfAddresses) {
  const sys::Fd probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 own{};
  own.sin6_family = AF_INET6;
  own.sin6_addr = in6addr_loopback;
  if (::bind(probe.get(), reinterpret_cast<sockaddr*>(&own), sizeof own) != 0) {
    GTEST_SKIP() << "no IPv6";
  }
  Node& a = start(0);
  Node& b = start(1);
  address_ = "::1";
  Node& c = start(2);
  for (Node* node : {&a, &b, &c}) EXPECT_EQ(node->ending(), "met 1");
}

// --- The port ---

TEST_F(Rendezvous, WaitsForAProcessThatStillListensAtThePort) {
  sys::Fd old = stream();
  ASSERT_EQ(bind_to(old, port_), 0);
  ASSERT_EQ(::listen(old.get(), 8), 0);
  count_ = 2;
  Node& a = start(0);
  EXPECT_THAT(a.await("still listens"), HasSubstr("port " + std::to_string(port_)));
  old.reset();
  Node& b = start(1);
  EXPECT_EQ(a.ending(), "met 1");
  EXPECT_EQ(b.ending(), "met 1");
}

TEST_F(Rendezvous, GivesUpOnAPortThatStaysTaken) {
  const sys::Fd old = stream();
  ASSERT_EQ(bind_to(old, port_), 0);
  ASSERT_EQ(::listen(old.get(), 8), 0);
  limit(300);
  EXPECT_THAT(start(0).ending(),
              AllOf(HasSubstr("failed 124"), HasSubstr("port " + std::to_string(port_)),
                    HasSubstr("--master-port")));
}

// The last incarnation's store, say: it gets no byte that it could choke on.
TEST_F(Rendezvous, SendsNothingToWhateverElseListensThere) {
  sys::Fd old = stream();
  ASSERT_EQ(bind_to(old, port_), 0);
  ASSERT_EQ(::listen(old.get(), 8), 0);
  count_ = 2;
  Node& b = start(1);
  sys::Fd connection(::accept4(old.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(connection.valid());
  send(connection, "who is there?");
  char byte = 0;
  EXPECT_LE(::recv(connection.get(), &byte, 1, 0), 0) << "it hangs up without a word";
  b.await("something else listens there");
  connection.reset();
  old.reset();
  Node& a = start(0);
  EXPECT_EQ(a.ending(), "met 1");
  EXPECT_EQ(b.ending(), "met 1");
}

// --- Strangers ---

TEST_F(Rendezvous, StrangersAreHungUpOn) {
  count_ = 2;
  Node& a = start(0);
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("t"), std::string("tr"),
        std::string(1, '\0'), std::string(5000, 'x'), "trvz" + std::string(200, '\xff'),
        encode(record(Kind::kGo, 1)), encode(record(Kind::kReady, 1)),
        encode(record(Kind::kHello, 0)), encode(record(Kind::kHello, 2)),
        encode(record(Kind::kHello, -1))}) {
    const sys::Fd stranger = connect_to(port_);
    ASSERT_TRUE(receive(stranger)) << "the greeting";
    send(stranger, bytes);
    if (bytes.size() < 3 && bytes[0] == 't') continue;  // may still become a record
    EXPECT_FALSE(receive(stranger)) << bytes.substr(0, 20);
  }
  Node& b = start(1);
  EXPECT_EQ(a.ending(), "met 1");
  EXPECT_EQ(b.ending(), "met 1");
}

TEST_F(Rendezvous, SilentOnesAndThoseThatComeAndGoHoldNobodyUp) {
  count_ = 2;
  Node& a = start(0);
  // More than it keeps: the oldest make room.
  std::array<sys::Fd, 300> silent;
  for (sys::Fd& one : silent) one = connect_to(port_);
  for (int i = 0; i < 100; ++i) connect_to(port_);
  Node& b = start(1);
  EXPECT_EQ(b.ending(), "met 1");
  EXPECT_EQ(a.ending(), "met 1");
}

TEST_F(Rendezvous, ARecordInPiecesIsOne) {
  count_ = 2;
  Node& a = start(0);
  const sys::Fd slow = connect_to(port_);
  ASSERT_TRUE(receive(slow));
  for (const char byte : encode(record(Kind::kHello, 1))) send(slow, std::string(1, byte));
  auto answer = receive(slow);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Kind::kReady);
  send(slow, encode(record(Kind::kReady, 1)));
  EXPECT_EQ(receive(slow)->kind, Kind::kGo);
  EXPECT_FALSE(receive(slow)) << "and hangs up on one that does not";
  EXPECT_EQ(a.ending(), "met 1");
}

// --- Peers that vanish ---

TEST_F(Rendezvous, APeerThatVanishedIsMissingAgain) {
  Node& a = start(0);
  Node& b = start(1);
  b.await("it waits for 1 of 3 nodes");
  a.await("node 2 (c)");
  b.end();
  EXPECT_THAT(a.await("2 of 3 nodes"), HasSubstr("node 1 (b), node 2 (c)"));
  Node& c = start(2);
  c.await("it waits for 1 of 3 nodes");
  Node& again = start(1);
  for (Node* node : {&a, &c, &again}) EXPECT_EQ(node->ending(), "met 1");
}

// Its machine was switched off: nothing closed the connection.
TEST_F(Rendezvous, APeerThatComesAgainReplacesItsOldConnection) {
  Node& a = start(0);
  const sys::Fd old = hello(1);
  ASSERT_EQ(receive(old)->kind, Kind::kHere);
  Node& again = start(1);
  again.await("it waits for 1 of 3 nodes");
  while (receive(old)) {
  }
  Node& c = start(2);
  for (Node* node : {&a, &again, &c}) EXPECT_EQ(node->ending(), "met 1");
}

TEST_F(Rendezvous, NobodyStartsBeforeEachHasSaidThatItIsStillThere) {
  Node& a = start(0);
  sys::Fd dead = hello(1);
  ASSERT_EQ(receive(dead)->kind, Kind::kHere);
  Node& c = start(2);
  auto asked = receive(dead);
  while (asked && asked->kind == Kind::kHere) asked = receive(dead);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->kind, Kind::kReady);
  dead.reset();
  a.await("node 1 (b)");
  Node& again = start(1);
  for (Node* node : {&a, &c, &again}) EXPECT_EQ(node->ending(), "met 1");
}

TEST_F(Rendezvous, TheFirstNodeMayVanishToo) {
  Node& a = start(0);
  Node& b = start(1);
  b.await("it waits for 1 of 3 nodes");
  a.end();
  b.await("waits for node 0");
  Node& again = start(0);
  Node& c = start(2);
  for (Node* node : {&again, &b, &c}) EXPECT_EQ(node->ending(), "met 1");
}

// --- Time over ---

TEST_F(Rendezvous, NamesTheNodesThatDidNotCome) {
  limit(2500);
  Node& a = start(0);
  limit(4000);
  Node& b = start(1);
  EXPECT_THAT(a.ending(), AllOf(HasSubstr("failed 124"), HasSubstr("node 2 (c)"),
                                HasSubstr("1 of 3 nodes did not come within 2 s"),
                                HasSubstr("--restart-window"), Not(HasSubstr("node 1 (b)"))));
  EXPECT_THAT(b.ending(), AllOf(HasSubstr("failed 124"), HasSubstr("node 0 (a)"),
                                HasSubstr("--restart-window")));
}

TEST_F(Rendezvous, SaysWhyTheFirstNodeWasNotReached) {
  limit(300);
  EXPECT_THAT(start(1).ending(),
              AllOf(HasSubstr("failed 124"), HasSubstr("port " + std::to_string(port_)),
                    HasSubstr("ECONNREFUSED")));
}

// --- Different lists of nodes ---

TEST_F(Rendezvous, ANodeWithAnotherListIsToldAndResolvesAgain) {
  count_ = 2;
  Node& a = start(0);
  engine::Meeting stale = meeting_of(1);
  stale.cluster = 6;
  Node& b = start(stale, path("changed"));
  b.await("it has another list of nodes");
  EXPECT_THAT(a.await("came with"), HasSubstr("node 1 came with another list of nodes"));
  write("changed", "");
  EXPECT_EQ(b.ending(), "changed");
  Node& again = start(1);
  EXPECT_EQ(again.ending(), "met 1");
  EXPECT_EQ(a.ending(), "met 1");
}

TEST_F(Rendezvous, ANodeOfALargerJobIsToldHowManyThereAre) {
  count_ = 2;
  Node& a = start(0);
  engine::Meeting larger = meeting_of(2);
  larger.place.node_count = 3;
  Node& c = start(larger);
  c.await("a list of 2 nodes, and here are 3");
  EXPECT_THAT(a.await("came with"), HasSubstr("node 2 came with a list of 3 nodes"));
}

TEST_F(Rendezvous, TheFirstNodeLooksToo) {
  Node& a = start(meeting_of(0), path("changed"));
  Node& b = start(1);
  b.await("it waits for 1 of 3 nodes");
  write("changed", "");
  EXPECT_EQ(a.ending(), "changed");
  count_ = 2;
  Node& again = start(0);
  again.await("came with");
}

TEST_F(Rendezvous, AnotherVersionIsTold) {
  count_ = 2;
  start(0);
  sys::Fd socket = connect_to(port_);
  ASSERT_TRUE(receive(socket));
  MeetingRecord newer = record(Kind::kHello, 1);
  newer.version = 2;
  send(socket, encode(newer));
  EXPECT_EQ(receive(socket)->kind, Kind::kRefused);
}

// --- The first node's name ---

TEST_F(Rendezvous, WaitsForANameThatIsNotKnownYet) {
  count_ = 2;
  address_ = "first.trainit.invalid";
  env_ = envgen::Environ({"PATH=" + path("") + ":/usr/bin:/bin"});
  write("getent",
        "#!/bin/sh\n[ \"$*\" = 'ahosts first.trainit.invalid' ] || exit 1\n"
        "[ -e " +
            path("known") +
            " ] || exit 2\n"
            "echo '127.0.0.1  STREAM first'; echo '127.0.0.1  DGRAM'\n",
        0755);
  Node& b = start(1);
  b.await("its name is not known");
  write("known", "");
  Node& a = start(0);
  EXPECT_EQ(a.ending(), "met 1");
  EXPECT_EQ(b.ending(), "met 1");
}

TEST_F(Rendezvous, SaysThatTheImageHasNothingToResolveANameWith) {
  address_ = "first.trainit.invalid";
  env_ = envgen::Environ({"PATH=" + path("")});
  EXPECT_THAT(start(1).ending(),
              AllOf(HasSubstr("failed 125"), HasSubstr("getent"),
                    HasSubstr("first.trainit.invalid"), HasSubstr("--master-addr")));
}

// --- The record ---

TEST(MeetingRecords, AreTheSameAfterTheWire) {
  MeetingRecord record;
  record.version = 3;
  record.kind = Kind::kHere;
  record.node_rank = 0x01020304;
  record.node_count = 10'000;
  record.restarts = 4;
  record.missing = 9'999;
  record.cluster = 0x8877665544332211;
  const std::string bytes = encode(record);
  EXPECT_EQ(bytes.size(), engine::kMeetingRecordBytes);
  EXPECT_EQ(bytes.substr(0, 4), "trvz");
  EXPECT_EQ(bytes[28], 0x11) << "little endian";
  EXPECT_EQ(engine::decode_meeting_record(bytes), record);
}

TEST(MeetingRecords, OfAnotherSizeMagicOrKindAreNone) {
  const std::string bytes = encode(MeetingRecord{});
  EXPECT_TRUE(engine::decode_meeting_record(bytes));
  EXPECT_FALSE(engine::decode_meeting_record(bytes + "x"));
  EXPECT_FALSE(engine::decode_meeting_record(bytes.substr(1)));
  EXPECT_FALSE(engine::decode_meeting_record(""));
  for (const auto& [at, byte] : {std::pair{0, 'T'}, {8, '\0'}, {8, '\7'}}) {
    std::string other = bytes;
    other[static_cast<std::size_t>(at)] = byte;
    EXPECT_FALSE(engine::decode_meeting_record(other)) << at;
  }
}

}  // namespace
