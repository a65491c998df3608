// trainit in the place of docker-init: one command, nothing to resolve. What a container's users
// see of it: codes, signals, the terminal, what is left behind, what is refused.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/docker/job.h"

namespace docker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Pid1 : public JobTest {
 protected:
  [[nodiscard]] std::unique_ptr<Container> command(const Words& words, Words flags = {}) const {
    flags.insert(flags.end(), {"-e", "PAYLOAD_OUT=/out", "-v", scratch_.path("out") + ":/out"});
    return std::make_unique<Container>(flags, args_of({.command = words}));
  }
};

TEST_F(Pid1, GivesTheCommandsCodeOr128PlusItsSignal) {
  for (const char* code : {"0", "42", "255"}) {
    EXPECT_EQ(command({"exit", code})->wait(), atoi(code));
  }
  EXPECT_EQ(command({"kill-self", "SEGV"}, {"--ulimit=core=0"})->wait(), 139);
  EXPECT_EQ(command({"kill-self", "KILL"})->wait(), 137);
  EXPECT_EQ(command({"no-such-command"})->wait(), 2);
}

TEST_F(Pid1, ForwardsWhatDockerSends) {
  const auto main = command({"print-signals"});
  ASSERT_TRUE(main->await_log("ready\n"));
  for (const char* signal : {"HUP", "USR1", "WINCH", "SEGV", "RTMIN+4"}) {
    EXPECT_EQ(run_program({"docker", "kill", "--signal", signal, main->name()}).code, 0) << signal;
  }
  for (const int signal : {SIGHUP, SIGUSR1, SIGWINCH, SIGSEGV, SIGRTMIN + 4}) {
    EXPECT_TRUE(main->await_log("signal " + std::to_string(signal) + " value 0\n")) << signal;
  }
}

TEST_F(Pid1, ReapsTheOrphansOfAnExecAndTakesNoneForItsCommand) {
  const auto main = command({"term-after", "1", "17"});
  scratch_.await("out/ready-0");

  EXPECT_EQ(main->exec({"payload", "orphans", "50"}).code, 0);

  const auto processes = [&main] {
    return run_program({"docker", "top", main->name(), "-eo", "pid,stat,comm"}).text;
  };
  // The payload and trainit, below a headline; a zombie is a line more.
  std::string seen = processes();
  while (std::ranges::count(seen, '\n') > 3) seen = processes();
  EXPECT_THAT(seen, Not(HasSubstr("defunct")));
  main->stop();
  EXPECT_EQ(main->wait(), 17);
}

TEST_F(Pid1, RunsWithoutAnyRightOnAReadOnlyRoot) {
  const Words narrow = {"--read-only",  "--cap-drop=ALL",
                        "--user=65534", "--security-opt=no-new-privileges",
                        "--ipc=none",   "--pids-limit=8"};
  EXPECT_EQ(command({"exit", "6"}, narrow)->wait(), 6);
  const auto main = command({"term-after", "1", "17"}, narrow);
  scratch_.await("out/ready-0");
  main->stop();
  EXPECT_EQ(main->wait(), 17);
}

// What a Linux 4.19 lacks, as a profile says it; the engine leaves out names that it does not know.
constexpr const char* kOldKernel = R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": [
  "pidfd_send_signal", "io_uring_setup", "io_uring_enter", "io_uring_register", "open_tree",
  "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "pidfd_open", "clone3", "close_range",
  "openat2", "pidfd_getfd", "faccessat2", "process_madvise", "epoll_pwait2", "mount_setattr",
  "quotactl_fd", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
  "memfd_secret", "process_mrelease", "futex_waitv", "set_mempolicy_home_node", "cachestat",
  "fchmodat2"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]})";

TEST_F(Pid1, RunsUnderAProfileThatKnowsNothingNew) {
  scratch_.write("old.json", kOldKernel);
  const Words profile = {"--security-opt=seccomp=" + scratch_.path("old.json")};
  const auto main = command({"leave", "session", "7"}, profile);
  ASSERT_TRUE(main->await_log("ready\n"));
  main->stop();
  EXPECT_EQ(main->wait(), 7);
  EXPECT_THAT(main->logs(), HasSubstr("saved\n"));
  scratch_.write(kTable, rank_table(2));
  const auto job =
      start({.command = {"on-rank", "1", "exit", "3", "else", "sleep-forever"}, .flags = profile});
  EXPECT_EQ(job->wait(), 3);
}

// --- docker run -it ---

// The docker program below a terminal of its own.
class Terminal {
 public:
  explicit Terminal(Words argv) : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    EXPECT_EQ(grantpt(master_), 0);
    EXPECT_EQ(unlockpt(master_), 0);
    const std::string name = ptsname(master_);
    pid_ = fork();
    if (pid_ != 0) return;
    setsid();
    const int terminal = open(name.c_str(), O_RDWR);
    ioctl(terminal, TIOCSCTTY, 0);
    for (int fd = 0; fd < 3; ++fd) dup2(terminal, fd);
    std::vector<char*> words;
    for (std::string& word : argv) words.push_back(word.data());
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(master_);
  }

  bool await(const std::string& text) {
    constexpr int kPatienceMs = 180'000;
    std::array<char, 4096> part{};
    while (seen_.find(text) == std::string::npos) {
      pollfd readable{master_, POLLIN, 0};
      if (poll(&readable, 1, kPatienceMs) != 1) return false;
      const ssize_t size = read(master_, part.data(), part.size());
      if (size <= 0) return false;  // EIO: nobody has the other side
      seen_.append(part.data(), static_cast<std::size_t>(size));
    }
    return true;
  }
  void type(char key) const { EXPECT_EQ(write(master_, &key, 1), 1); }
  int finish() {
    EXPECT_FALSE(await("text that never comes"));
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  int master_;
  pid_t pid_ = -1;
  std::string seen_;
};

TEST_F(Pid1, GivesTheTerminalToItsCommandWhichItsKeysReach) {
  constexpr char kInterrupt = 3;
  constexpr char kQuit = 28;
  for (const auto& [key, code] : {std::pair{kInterrupt, 128 + SIGINT}, {kQuit, 128 + SIGQUIT}}) {
    Terminal terminal({"docker", "run", "-it", "--rm", "--ulimit=core=0", "--network", "none",
                       image(), "--", "payload", "foreground"});
    ASSERT_TRUE(terminal.await("fg=y"));
    terminal.type(key);
    EXPECT_EQ(terminal.finish(), code);
  }
}

}  // namespace
}  // namespace docker
