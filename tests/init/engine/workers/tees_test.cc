#include "init/engine/workers/tees.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "init/proc/reap.h"
#include "init/sys/log.h"
#include "tests/init/child.h"

namespace {

constexpr int kLimitMs = 180'000;

class TeesOfOne : public child::Scratch {
 protected:
  [[nodiscard]] envgen::Plan plan() const {
    envgen::Process process;
    process.name = "main";
    process.log = path("log");
    process.tee = true;
    envgen::Plan plan;
    plan.processes = {process};
    return plan;
  }
};

void kill_and_reap(engine::Tees& tees) {
  ::kill(tees.pid(), SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(tees.pid()), &info, WEXITED | WNOWAIT);
  for (const proc::Death& death : proc::reap(1).deaths) tees.reaped(death);
}

// More than a pipe holds; false: nobody reads.
bool write_bytes(int fd, std::size_t count) {
  ::fcntl(fd, F_SETFL, O_WRONLY | O_NONBLOCK);
  const std::string bytes(4096, 'x');
  for (std::size_t written = 0; written < count;) {
    pollfd end{fd, POLLOUT, 0};
    if (::poll(&end, 1, kLimitMs) != 1) return false;
    const ssize_t some = ::write(fd, bytes.data(), bytes.size());
    if (some > 0) written += static_cast<std::size_t>(some);
  }
  return true;
}

TEST_F(TeesOfOne, AreThereThoughTheFirstWasKilledBeforeItsRankCame) {
  constexpr std::size_t kBytes = 1U << 20U;
  const auto outcome = child::run([this] {
    const proc::SavedSignals saved = proc::take_over_signals();
    sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
    bool runs = false;
    engine::Tees tees([&runs] { return runs; });
    tees.begin(plan(), saved, {});
    if (tees.pid() == 0) return 1;
    kill_and_reap(tees);
    tees.begin(plan(), saved, {});
    proc::SpawnSpec spec;
    tees.give(0, spec);
    runs = true;
    if (!write_bytes(spec.output_fd, kBytes)) return 2;
    tees.started(0);
    tees.finish(kLimitMs);
    return 0;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(std::filesystem::file_size(path("log")), kBytes);
  EXPECT_EQ(outcome.err,
            "trainit: warning: the log tee was killed by SIGKILL; another one goes on with the "
            "same streams\n");
}

// A stopped tee is the latest there can be.
TEST_F(TeesOfOne, AreCaughtUpOnceAllThatIsPrintedIsRead) {
  const auto outcome = child::run([this] {
    const proc::SavedSignals saved = proc::take_over_signals();
    engine::Tees tees([] { return true; });
    tees.begin(plan(), saved, {});
    proc::SpawnSpec spec;
    tees.give(0, spec);
    if (!tees.catch_up(kLimitMs)) return 1;
    ::kill(tees.pid(), SIGSTOP);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(tees.pid()), &info, WSTOPPED | WNOWAIT);
    if (!write_bytes(spec.output_fd, 4096)) return 2;
    if (tees.catch_up(1)) return 3;
    ::kill(tees.pid(), SIGCONT);
    if (!tees.catch_up(kLimitMs)) return 4;
    if (tees.seen()->output_tail(0).size() != 4096) return 5;
    tees.started(0);
    tees.finish(kLimitMs);
    return 0;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

}  // namespace
