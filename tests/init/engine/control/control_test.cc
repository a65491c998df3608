#include "init/engine/control/control.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "tests/init/child.h"
#include "tests/init/interruptions.h"

namespace {

using engine::ControlAnswer;
using engine::ControlOp;
using engine::ControlServer;

constexpr int kLimitMs = 180'000;

// The record on the wire: "CTL1", the operation or answer, its argument.
struct Record {
  std::uint32_t magic = 0x314c5443;
  std::uint32_t op = 1;
  std::int64_t argument = 0;
};

class Control : public child::Scratch {
 protected:
  Control() {
    auto server = ControlServer::open(path(""));
    EXPECT_TRUE(server) << to_line(server.error());
    if (server) server_ = std::move(*server);
  }

  [[nodiscard]] sys::Fd connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path("control").c_str(), sizeof address.sun_path - 1);
    sys::Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
        << std::strerror(errno);
    return fd;
  }

  // Connects, is accepted, sends these bytes.
  sys::Fd client(const void* bytes, std::size_t size) {
    sys::Fd fd = connect();
    accepted_ = server_.accept_client();
    EXPECT_GE(accepted_, 0);
    EXPECT_EQ(::send(fd.get(), bytes, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
    return fd;
  }
  sys::Fd client(const Record& record) { return client(&record, sizeof record); }

  // What a client makes of an instance that answers with these bytes.
  [[nodiscard]] base::Result<engine::ControlReply> reply_to_client(const void* bytes,
                                                                   std::size_t size) const {
    sys::Fd listener(::fcntl(server_.listener().get(), F_DUPFD_CLOEXEC, 0));
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::fcntl(listener.get(), F_SETFL, 0);  // waits for the client
      const sys::Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      ::send(fd.get(), bytes, size, MSG_NOSIGNAL);
      Record ignored;
      while (::recv(fd.get(), &ignored, sizeof ignored, 0) > 0) {
      }
      ::_exit(0);
    }
    auto reply = engine::send_control(path(""), {}, kLimitMs);
    EXPECT_EQ(child::wait_for(pid), 0);
    return reply;
  }

  // What the server said; nothing while it says nothing.
  static std::optional<ControlAnswer> answer_to(const sys::Fd& fd) {
    Record record;
    if (::recv(fd.get(), &record, sizeof record, 0) != sizeof record) return std::nullopt;
    return static_cast<ControlAnswer>(record.op);
  }
  static std::optional<ControlAnswer> answer_within(const sys::Fd& fd) {
    pollfd state{fd.get(), POLLIN, 0};
    ::poll(&state, 1, kLimitMs);
    return answer_to(fd);
  }
  // It says nothing more.
  static bool hung_up(const sys::Fd& fd) {
    pollfd state{fd.get(), POLLRDHUP, 0};
    return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLRDHUP)) != 0;
  }

  ControlServer server_;
  int accepted_ = -1;
};

TEST_F(Control, IsASocketOfItsUserAlone) {
  struct stat status{};
  ASSERT_EQ(::stat(path("control").c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 07777, 0600U);
}

TEST_F(Control, TakesTheRequestsOfItsOwnUser) {
  sys::Fd hold = client({.op = 2, .argument = 7200'000});
  auto request = server_.read_request(accepted_);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->op, ControlOp::kHold);
  EXPECT_EQ(request->argument_ms, 7200'000);
  server_.answer(accepted_, ControlAnswer::kDone);
  EXPECT_EQ(answer_to(hold), ControlAnswer::kDone);
  EXPECT_TRUE(hung_up(hold));
}

TEST_F(Control, TakesWhatACheckpointAndAnExtensionAskFor) {
  sys::Fd extend = client({.op = 4, .argument = 7200'000});
  auto request = server_.read_request(accepted_);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->op, ControlOp::kExtend);
  EXPECT_EQ(request->argument_ms, 7200'000);
  for (const bool keep_running : {false, true}) {
    sys::Fd checkpoint = client({.op = 3, .argument = keep_running ? 1 : 0});
    request = server_.read_request(accepted_);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->op, ControlOp::kCheckpoint);
    EXPECT_EQ(request->keep_running, keep_running);
  }
}

TEST_F(Control, SaysHowMuchTimeIsLeft) {
  sys::Fd extend = client({.op = 4, .argument = 1});
  ASSERT_TRUE(server_.read_request(accepted_));
  server_.answer(accepted_, ControlAnswer::kDone, 3600'000);
  Record record;
  ASSERT_EQ(::recv(extend.get(), &record, sizeof record, 0), sizeof record);
  EXPECT_EQ(record.op, 0U);
  EXPECT_EQ(record.argument, 3600'000);
}

TEST_F(Control, RefusesRecordsOfAnotherSizeVersionOrOperation) {
  Record record;
  char larger[sizeof record + 1] = {};
  std::memcpy(larger, &record, sizeof record);
  const std::function<sys::Fd()> bad[] = {
      [&] { return client("x", 1); },
      [&] { return client(&record, sizeof record - 1); },
      [&] { return client(larger, sizeof larger); },
      [&] { return client({.magic = 0x324c5443}); },
      [&] { return client({.op = 0}); },
      [&] { return client({.op = 7}); },
      [&] { return client({.op = 0xffffffff}); },
      [&] { return client({.op = 2, .argument = -1}); },
      [&] { return client({.op = 4, .argument = INT64_MIN}); },
      [&] { return client({.op = 3, .argument = 2}); },
  };
  for (std::size_t i = 0; i < std::size(bad); ++i) {
    sys::Fd fd = bad[i]();
    EXPECT_FALSE(server_.read_request(accepted_)) << i;
    EXPECT_EQ(answer_to(fd), ControlAnswer::kUnknown) << i;
    EXPECT_TRUE(hung_up(fd)) << i;
  }
}

TEST_F(Control, WaitsForNoClientThatSendsNothing) {
  sys::Fd silent = connect();
  int accepted = server_.accept_client();
  ASSERT_GE(accepted, 0);
  EXPECT_FALSE(server_.read_request(accepted));
  EXPECT_FALSE(hung_up(silent));  // it may still send
}

TEST_F(Control, ForgetsAClientThatWentAway) {
  sys::Fd gone = connect();
  int accepted = server_.accept_client();
  ASSERT_GE(accepted, 0);
  gone.reset();
  EXPECT_FALSE(server_.read_request(accepted));
  EXPECT_LT(::fcntl(accepted, F_GETFD), 0);
}

TEST_F(Control, DoesNotWaitForAClientThatNeverReads) {
  Record record;
  sys::Fd flood = connect();
  int accepted = server_.accept_client();
  while (::send(flood.get(), &record, sizeof record, MSG_NOSIGNAL) > 0) {
  }
  EXPECT_TRUE(server_.read_request(accepted));
  server_.answer(accepted, ControlAnswer::kNotNow);
  EXPECT_TRUE(server_.clients().empty()) << "one request a connection";
}

TEST_F(Control, ServesANewClientAlthoughManyOldOnesSayNothing) {
  std::vector<sys::Fd> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(connect());
    ASSERT_GE(server_.accept_client(), 0) << i;
  }
  sys::Fd late = client({.op = 1});
  auto request = server_.read_request(accepted_);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->op, ControlOp::kRelease);
  server_.answer(accepted_, ControlAnswer::kDone);
  EXPECT_EQ(answer_to(late), ControlAnswer::kDone);
  EXPECT_TRUE(hung_up(silent.front()));
  EXPECT_FALSE(hung_up(silent.back()));
}

TEST_F(Control, AnswersEachOfAFloodOnceAndKeepsNothing) {
  for (int i = 0; i < 1000; ++i) {
    sys::Fd fd = client({.op = 3, .argument = i % 2});
    ASSERT_TRUE(server_.read_request(accepted_)) << i;
    server_.answer(accepted_, ControlAnswer::kBusy);
    ASSERT_EQ(answer_to(fd), ControlAnswer::kBusy) << i;
    ASSERT_TRUE(hung_up(fd)) << i;
  }
  EXPECT_TRUE(server_.clients().empty());
}

// --- The end: PID 1 takes its namespace with it ---

TEST_F(Control, SeesItsClientsOffBeforeTheEnd) {
  sys::Fd answered = client({.op = 1});
  ASSERT_TRUE(server_.read_request(accepted_));
  server_.answer(accepted_, ControlAnswer::kDone);
  sys::Fd late = client({.op = 1});  // has asked, and was not read
  sys::Fd later = connect();         // was not accepted
  const Record record;
  ASSERT_EQ(::send(later.get(), &record, sizeof record, MSG_NOSIGNAL), sizeof record);
  const pid_t leaving = ::fork();
  if (leaving == 0) {
    const bool heard = answer_within(late) == ControlAnswer::kNotNow &&
                       answer_within(later) == ControlAnswer::kNotNow;
    ::_exit(heard ? 0 : 1);
  }
  for (sys::Fd* ours : {&answered, &late, &later}) ours->reset();
  server_.see_off(60'000);
  EXPECT_EQ(child::wait_for(leaving), 0);
  EXPECT_TRUE(server_.clients().empty());
}

TEST_F(Control, WaitsAtItsEndForNobodyWhoStays) {
  sys::Fd stays = client({.op = 1});
  ASSERT_TRUE(server_.read_request(accepted_));
  server_.answer(accepted_, ControlAnswer::kDone);
  const sys::Fd silent = connect();
  server_.see_off(1);
  EXPECT_EQ(answer_to(stays), ControlAnswer::kDone);
}

TEST_F(Control, RefusesAnotherUserByItsMode) {
  if (!child::is_root()) GTEST_SKIP() << "needs root to be another user";
  const std::string run_dir = path("");
  auto outcome = child::run([&run_dir] {
    if (!child::become_nobody()) return 1;
    auto reply = engine::send_control(run_dir, {ControlOp::kRelease}, kLimitMs);
    return reply && reply->answer == ControlAnswer::kRefused ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(Control, RefusesAnotherUser) {
  if (!child::is_root()) GTEST_SKIP() << "needs root to be another user";
  // The socket's mode keeps others out already; a descriptor passed on must not help them.
  ASSERT_EQ(::chmod(path("control").c_str(), 0666), 0);
  const std::string run_dir = path("");
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!child::become_nobody()) ::_exit(1);
    auto reply = engine::send_control(run_dir, {ControlOp::kRelease}, kLimitMs);
    ::_exit(reply && reply->answer == ControlAnswer::kRefused ? 0 : 2);
  }
  pollfd ready{server_.listener().get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, kLimitMs), 1);
  int accepted = server_.accept_client();
  ready.fd = accepted;
  ASSERT_EQ(::poll(&ready, 1, kLimitMs), 1);
  EXPECT_FALSE(server_.read_request(accepted));
  EXPECT_EQ(child::wait_for(pid), 0);
}

// A descriptor that cannot be had must not wake the loop for ever.
TEST_F(Control, TurnsAClientAwayWhenItHasNoDescriptorLeft) {
  auto outcome = child::run([this] {
    const rlimit few{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &few);
    std::vector<sys::Fd> fillers;
    auto server = ControlServer::open(path(""));
    if (!server) return 1;
    sys::Fd waiting = connect();
    while (true) {
      int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (fd < 0) break;
      fillers.emplace_back(fd);
    }
    if (server->accept_client() != -1) return 2;
    pollfd ready{server->listener().get(), POLLIN, 0};
    if (::poll(&ready, 1, 0) != 0) return 3;  // it would be woken again and again
    return hung_up(waiting) ? 0 : 4;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(Control, OpensAfterAnInstanceThatWasKilled) {
  auto again = ControlServer::open(path(""));  // the socket file is still there
  ASSERT_TRUE(again) << to_line(again.error());
}

TEST_F(Control, SaysWhatPathIsTooLong) {
  auto server = ControlServer::open(path(std::string(120, 'x')));
  ASSERT_FALSE(server);
  EXPECT_NE(to_line(server.error()).find("107 bytes"), std::string::npos);
}

TEST_F(Control, NamesTheSocketThatCannotBeMade) {
  auto server = ControlServer::open(path("missing"));
  ASSERT_FALSE(server);
  EXPECT_NE(to_line(server.error()).find(path("missing/control")), std::string::npos);
  EXPECT_NE(to_line(server.error()).find("ENOENT"), std::string::npos);
}

TEST_F(Control, NeedsNoServerWithoutARunDirectory) {
  auto server = ControlServer::open("");
  ASSERT_TRUE(server);
  EXPECT_FALSE(server->listener().valid());
}

TEST_F(Control, AClientWithoutAnInstanceSaysWhere) {
  auto answer = engine::send_control(path("missing"), {});
  ASSERT_FALSE(answer);
  EXPECT_NE(to_line(answer.error()).find(path("missing/control")), std::string::npos);
  auto too_long = engine::send_control(path(std::string(200, 'x')), {});
  ASSERT_FALSE(too_long);
  EXPECT_EQ(to_line(too_long.error()).find("Success"), std::string::npos);
}

TEST_F(Control, AClientTakesAnotherVersionsAnswerForNone) {
  const Record done{.op = 0, .argument = 60'000};
  auto reply = reply_to_client(&done, sizeof done);
  ASSERT_TRUE(reply) << to_line(reply.error());
  EXPECT_EQ(*reply, (engine::ControlReply{ControlAnswer::kDone, 60'000}));

  const Record other_version{.magic = 0x324c5443, .op = 0};
  const Record unheard_of{.op = 99};
  char longer[sizeof done + 1] = {};
  std::memcpy(longer, &done, sizeof done);
  const std::pair<const void*, std::size_t> bad[] = {{&other_version, sizeof other_version},
                                                     {&unheard_of, sizeof unheard_of},
                                                     {&done, sizeof done - 1},
                                                     {longer, sizeof longer}};
  for (const auto& [bytes, size] : bad) {
    reply = reply_to_client(bytes, size);
    ASSERT_TRUE(reply) << to_line(reply.error());
    EXPECT_EQ(*reply, (engine::ControlReply{ControlAnswer::kUnknown})) << size;
  }
}

int g_listener = -1;
int g_accepted = -1;

// Each interruption was taken for the end of the time.
TEST_F(Control, SignalsDoNotEndTheWaitForAnAnswer) {
  const std::string run_dir = path("interrupted");
  ASSERT_EQ(::mkdir(run_dir.c_str(), 0700), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (run_dir + "/control").c_str(), sizeof address.sun_path - 1);
  const sys::Fd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), where, sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  g_listener = listener.get();
  const child::Interruptions interruptions([] {
    const Record done{.op = 0};
    g_accepted = ::accept(g_listener, nullptr, nullptr);
    return ::send(g_accepted, &done, sizeof done, MSG_NOSIGNAL) > 0;
  });
  const auto reply = engine::send_control(run_dir, {}, kLimitMs);
  const sys::Fd accepted(g_accepted);
  EXPECT_TRUE(reply) << to_line(reply.error());
}

// PID 1 may be stopped, or starved of memory.
TEST_F(Control, AClientGivesUpOnAnInstanceThatAcceptsNobody) {
  constexpr int kTimeoutMs = 20;
  auto unanswered = engine::send_control(path(""), {}, kTimeoutMs);
  ASSERT_FALSE(unanswered);
  EXPECT_NE(to_line(unanswered.error()).find("ETIMEDOUT"), std::string::npos);

  std::vector<sys::Fd> queued;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path("control").c_str(), sizeof address.sun_path - 1);
  int error = 0;
  while (error == 0) {
    queued.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    error = ::connect(queued.back().get(), where, sizeof address) == 0 ? 0 : errno;
  }
  ASSERT_EQ(error, EAGAIN);
  unanswered = engine::send_control(path(""), {}, kTimeoutMs);
  ASSERT_FALSE(unanswered);
  EXPECT_NE(to_line(unanswered.error()).find("ETIMEDOUT"), std::string::npos);
}

TEST_F(Control, AClientSeesThatTheInstanceEndedBeforeItAnswered) {
  const std::string run_dir = path("");
  const pid_t pid = ::fork();
  if (pid == 0) {
    sys::close_descriptors(3, {});  // the listener must not live on here
    auto answer = engine::send_control(run_dir, {}, kLimitMs);
    ::_exit(answer ? 1 : 0);
  }
  pollfd ready{server_.listener().get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, kLimitMs), 1);
  server_ = ControlServer();
  EXPECT_EQ(child::wait_for(pid), 0);
}

}  // namespace
