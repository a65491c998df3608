// How many processes copy: as many as there are CPUs, and more while these wait.
#include "init/copy/tree/worker_pool.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "init/copy/tree/pass.h"
#include "init/copy/tree/pool_load.h"
#include "init/sys/clock.h"
#include "tests/test_timeout.h"

namespace copy {
namespace {

TEST(PoolLoad, EachCpuHasOneThatRuns) {
  EXPECT_EQ(wanted_workers(2, 2, 2), 2);    // they compute
  EXPECT_EQ(wanted_workers(2, 1.9, 2), 2);  // almost
  EXPECT_EQ(wanted_workers(2, 1, 2), 4);    // each sleeps half of the time
  EXPECT_EQ(wanted_workers(2, 0.5, 2), 4);  // three quarters of it: no more than twice as many
  EXPECT_EQ(wanted_workers(4, 0.5, 2), 8);  // at once
  EXPECT_EQ(wanted_workers(8, 0, 2), 16);   // all of it
  EXPECT_EQ(wanted_workers(8, 2.4, 2), 8);  // a few too many cost little,
  EXPECT_EQ(wanted_workers(8, 8, 2), 2);    // those that wait for each other's CPUs do not
  EXPECT_EQ(wanted_workers(8, 4, 2), 4);
  EXPECT_EQ(wanted_workers(3, 40, 2), 1);
}

TEST(OwnWaits, KnowsSleepFromWork) {
  if (cpu_times("self").run_ns == 0) GTEST_SKIP() << "the kernel does not tell";
  OwnWaits waits;
  waits.forget();
  EXPECT_FALSE(waits.look(sys::monotonic_ms()));
  // On a busy machine, this process may wait longer for a CPU than it sleeps.
  TestTimeout timeout;
  do {
    ::poll(nullptr, 0, 100);
  } while (!waits.look(sys::monotonic_ms()) && timeout.is_left());
  EXPECT_TRUE(timeout.is_left());
  const std::int64_t until_ms = sys::monotonic_ms() + 200;
  while (sys::monotonic_ms() < until_ms) {
  }
  EXPECT_FALSE(waits.look(sys::monotonic_ms()));
}

// In memory that the processes share.
class Pools : public testing::Test {
 protected:
  static constexpr std::int64_t kLongestMs = 180'000;

  // Instead of a test that hangs.
  base::Status tick() const {
    if (sys::monotonic_ms() < until_ms_) return {};
    return base::fail("waiting for the workers", "", "too few of them", "");
  }
  base::Status run(int size, int first, bool useful, const std::function<base::Status(int)>& body) {
    const auto look = [this, useful] {
      ++looks();
      return useful;
    };
    const Pool pool{.size = size, .first = first, .worker_limit = &limit(), .useful = look};
    return run_worker_pool(pool, header_->failure, body, [this] { return tick(); });
  }
  [[nodiscard]] WorkerLimit& limit() { return header_->work.worker_limit; }
  [[nodiscard]] std::atomic<std::uint32_t>& begun() { return header_->work.busy; }
  [[nodiscard]] std::atomic<std::uint32_t>& looks() { return header_->work.items; }

  SharedHeaderPtr header_ = make_shared_header().value();
  std::int64_t until_ms_ = sys::monotonic_ms() + kLongestMs;
};

TEST_F(Pools, AllThatWereAskedForBegin) {
  const auto body = [this](int) -> base::Status {
    ++begun();
    return {};
  };
  ASSERT_TRUE(run(5, 0, true, body));
  EXPECT_EQ(begun(), 5U);
}

TEST_F(Pools, OthersComeWhileThoseThatAreThereWait) {
  constexpr std::uint32_t kAll = 8;
  const auto body = [this](int number) -> base::Status {
    limit().wait_turn(static_cast<std::uint32_t>(number));
    ++begun();
    while (begun() < kAll) ::poll(nullptr, 0, 1);
    return {};
  };
  const auto done = run(kAll, 1, true, body);
  ASSERT_TRUE(done) << to_line(done.error());
  EXPECT_EQ(begun(), kAll);
}

// How long one has waited for its CPU is known late: on a busy machine those that compute may seem
// to need half of one, but never less.
TEST_F(Pools, NotAllComeToThoseThatCompute) {
  const auto cpus = static_cast<std::uint32_t>(available_cpus());
  constexpr std::uint32_t kLooks = 5;
  const auto body = [this](int) -> base::Status {
    ++begun();
    while (looks() < kLooks) {
    }
    return {};
  };
  const auto done = run(4 * available_cpus(), available_cpus(), true, body);
  ASSERT_TRUE(done) << to_line(done.error());
  EXPECT_GE(begun(), cpus);
  EXPECT_LE(begun(), 2 * cpus);
}

TEST_F(Pools, NobodyComesWhereThereIsNothingToDo) {
  constexpr std::uint32_t kLooks = 2;
  const auto body = [this](int) -> base::Status {
    ++begun();
    while (looks() < kLooks) ::poll(nullptr, 0, 1);
    return {};
  };
  const auto done = run(8, 1, false, body);
  ASSERT_TRUE(done) << to_line(done.error());
  EXPECT_EQ(begun(), 1U);
}

// They are many because they waited, and are held once they only compete.
TEST_F(Pools, ThoseThatOnlyWaitForCpusAreHeld) {
  const auto all = static_cast<std::uint32_t>(4 * available_cpus());
  const auto body = [this, all](int number) -> base::Status {
    limit().wait_turn(static_cast<std::uint32_t>(number));
    ++begun();
    while (begun() < all) ::poll(nullptr, 0, 1);
    while (limit().limit() == all) {
    }
    limit().open();
    return {};
  };
  const auto done = run(static_cast<int>(all), 1, true, body);
  ASSERT_TRUE(done) << to_line(done.error());
}

}  // namespace
}  // namespace copy
