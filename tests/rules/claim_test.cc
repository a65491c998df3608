// One job, started more than once on a node by whatever tells it nothing.

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <set>
#include <string>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;
namespace fs = std::filesystem;

// The name of the claim that this process has (proc_pid_fd(5), unix(7)).
std::string claim_of(pid_t pid) {
  std::set<std::string> sockets;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code gone;
    sockets.insert(fs::read_symlink(entry.path(), gone));
  }
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    const std::size_t name = line.find(" @trainit-node-");
    if (name == std::string::npos) continue;
    const std::size_t inode = line.rfind(' ', name - 1) + 1;
    if (sockets.contains("socket:[" + line.substr(inode, name - inode) + "]")) {
      return line.substr(name + 2);
    }
  }
  return "";
}

class Claim : public rules::JobTest {
 protected:
  // Two ranks that stay.
  [[nodiscard]] Spec job(const Words& more_env = {}) const {
    return {.args = ranks(2, {rules::payload(), "sleep-forever"}),
            .env = joined(more_env, env()),  // the first of a name counts
            .pid1 = false};
  }
  void await_ranks() const {
    await_told("ready-0");
    await_told("ready-1");
  }
};

TEST_F(Claim, OfOneJobIsTheFirsts) {
  Instance first(job());
  await_ranks();
  const Result second = rules::run(job());
  EXPECT_EQ(second.code, 125);
  EXPECT_THAT(second.err, HasSubstr("trainit with pid " + std::to_string(first.pid()) +
                                    " runs the same ranks of the same job"));
  EXPECT_TRUE(first.alive());
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 143);
  // The next start is no second one.
  Instance next(job());
  EXPECT_TRUE(next.await_err("starting 2 of 2 ranks"));
}

TEST_F(Claim, GoesToOneOfEightThatStartTogether) {
  std::list<Instance> all;
  for (int i = 0; i < 8; ++i) all.emplace_back(job());
  await_ranks();
  int refused = 0;
  Instance* winner = nullptr;
  for (Instance& one : all) {
    while (one.alive() && one.lines_with("starting 2 of 2 ranks") == 0 && one.await_more()) {
    }
    if (one.lines_with("starting 2 of 2 ranks") > 0) {
      EXPECT_EQ(winner, nullptr);
      winner = &one;
      continue;
    }
    EXPECT_EQ(one.wait(), 125) << one.err();
    ++refused;
  }
  EXPECT_EQ(refused, 7);
  ASSERT_NE(winner, nullptr);
  winner->signal(SIGTERM);
  EXPECT_EQ(winner->wait(), 143);
}

// What the error advises, and what else makes two jobs of one node.
TEST_F(Claim, OfTwoJobsOfOneNodeIsEachItsOwn) {
  Instance first(job());
  await_ranks();
  for (const std::string& differs : {"TRAINIT_RUN_DIR=" + path("run-2"), std::string("SEED=2")}) {
    Instance second(job({differs}));
    EXPECT_TRUE(second.await_err("starting 2 of 2 ranks"));
    second.signal(SIGTERM);
    EXPECT_EQ(second.wait(), 143) << second.err();
  }
  EXPECT_TRUE(first.alive());
}

TEST_F(Claim, GoesWithItsProcess) {
  {
    Instance first(job());
    await_ranks();
    first.signal(SIGKILL);
    EXPECT_EQ(first.wait(), 137);
  }
  Instance second(job());
  EXPECT_TRUE(second.await_err("starting 2 of 2 ranks"));
}

// Whoever looks into a container that is held runs the job there once more.
TEST_F(Claim, IsGivenUpByAJobThatIsHeld) {
  const Spec failing{.args = ranks(2, {rules::payload(), "exit", "3"}, {"--hold", "1h"}),
                     .env = env(),
                     .pid1 = false};
  Instance held(failing);
  EXPECT_TRUE(held.await_err("kept for debugging"));
  Instance again(failing);
  EXPECT_TRUE(again.await_err("starting 2 of 2 ranks"));
}

// Whether another user listens at the name, or only has it.
TEST_F(Claim, OfAnotherUserIsNone) {
  if (::geteuid() != 0) GTEST_SKIP() << "becomes another user";
  std::string name;
  {
    Instance first(job());
    await_ranks();
    name = claim_of(first.pid());
    first.signal(SIGTERM);
    EXPECT_EQ(first.wait(), 143);
  }
  ASSERT_FALSE(name.empty());
  for (const bool listens : {true, false}) {
    int ready[2];
    ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    const pid_t other = ::fork();
    if (other == 0) {
      if (::setuid(65534) != 0) ::_exit(1);
      sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
      std::memcpy(address.sun_path + 1, name.data(), name.size());
      const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
      const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
      const bool has_it = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                          (!listens || ::listen(socket, 8) == 0);
      (void)!::write(ready[1], has_it ? "y" : "n", 1);
      while (true) ::pause();
    }
    char has_it = 0;
    EXPECT_EQ(::read(ready[0], &has_it, 1), 1);
    EXPECT_EQ(has_it, 'y');
    {
      Instance second(job());
      EXPECT_TRUE(second.await_err("starting 2 of 2 ranks")) << listens;
    }
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
    for (const int fd : ready) ::close(fd);
  }
}

}  // namespace
