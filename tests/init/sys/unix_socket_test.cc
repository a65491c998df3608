// Unix domain sockets: no client meets a socket that does not listen yet.

#include "init/sys/unix_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "tests/init/child.h"

namespace {

constexpr int kTimeoutMs = 10'000;

class UnixSocket : public child::Scratch {};

// A process, not a thread: a filter that refuses clone3 by EPERM refuses threads.
TEST_F(UnixSocket, IsThereOnceItTakesCallers) {
  for (int round = 0; round < 500; ++round) {
    const std::string path = this->path("socket-" + std::to_string(round));
    child::Pipe looks = child::make_pipe();
    const pid_t client = ::fork();
    ASSERT_GE(client, 0);
    if (client == 0) {
      while (!sys::connect_to(path, SOCK_STREAM, kTimeoutMs).valid()) {
        if (errno != ENOENT) ::_exit(errno);
        looks.in.reset();  // the first look
      }
      ::_exit(0);
    }
    looks.in.reset();
    EXPECT_EQ(child::read_to_end(looks.out.get()), "");
    const sys::Fd server = sys::listen_at(path, SOCK_STREAM, 1);
    if (!server.valid()) ::kill(client, SIGKILL);
    ASSERT_EQ(child::wait_for(client), 0) << "the errno of round " << round;
  }
}

TEST_F(UnixSocket, TakesThePathOfOneThatWasKilled) {
  for (const char* left : {"control", "contro~"}) {
    sys::listen_at(path(left), SOCK_SEQPACKET, 1).reset();
    const sys::Fd server = sys::listen_at(path("control"), SOCK_SEQPACKET, 1);
    ASSERT_TRUE(server.valid()) << errno;
    EXPECT_TRUE(sys::connect_to(path("control"), SOCK_SEQPACKET, kTimeoutMs).valid());
    struct stat info{};
    ASSERT_EQ(::stat(path("control").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    EXPECT_NE(::stat(path("contro~").c_str(), &info), 0);
  }
}

TEST_F(UnixSocket, SaysThatAPathIsTooLong) {
  const std::string longest = path(std::string(107 - path("").size(), 'a'));
  ASSERT_EQ(longest.size(), 107U);
  EXPECT_TRUE(sys::listen_at(longest, SOCK_STREAM, 1).valid());
  EXPECT_FALSE(sys::listen_at(longest + "b", SOCK_STREAM, 1).valid());
  EXPECT_EQ(errno, ENAMETOOLONG);
  EXPECT_FALSE(sys::connect_to(longest + "b", SOCK_STREAM, kTimeoutMs).valid());
  EXPECT_EQ(sys::socket_error("opening", longest + "b", errno, "look").fix,
            "set TRAINIT_RUN_DIR to a shorter one");
}

TEST_F(UnixSocket, LeavesNothingWhereItCannotBe) {
  ASSERT_EQ(::mkdir(path("taken").c_str(), 0700), 0);
  EXPECT_FALSE(sys::listen_at(path("taken"), SOCK_STREAM, 1).valid());
  EXPECT_EQ(errno, EISDIR);
  struct stat info{};
  EXPECT_NE(::stat(path("take~").c_str(), &info), 0);
}

// A client that the server does not accept may not hold the caller.
TEST_F(UnixSocket, GivesUpWhereTheBacklogStaysFull) {
  const sys::Fd server = sys::listen_at(path("socket"), SOCK_STREAM, 0);
  const sys::Fd first = sys::connect_to(path("socket"), SOCK_STREAM, kTimeoutMs);
  ASSERT_TRUE(first.valid());
  EXPECT_FALSE(sys::connect_to(path("socket"), SOCK_STREAM, 20).valid());
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
