// How trainit waits, writes and ends: woken by nothing but events, a line a write, at once.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <sstream>

#include "init/sys/clock.h"
#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Spec;
using rules::Words;

class Waiting : public rules::EitherWay {
 protected:
  // Until it stands in ppoll without a time-out: only an event can wake it, and no clock is looked
  // at. With a limit, that there is one.
  static void await_idle(const Instance& instance, bool limited) {
    const std::string file = "/proc/" + std::to_string(instance.pid()) + "/syscall";
    std::string seen;
    TestTimeout timeout;
    do {
      ASSERT_TRUE(instance.alive());
      ASSERT_TRUE(timeout.is_left()) << "it waits by " << seen;
      seen = sys::inspect(file, true).content;
    } while (!is_ppoll(seen, limited));
  }

 private:
  static bool is_ppoll(const std::string& line, bool limited) {
    long number = 0;
    std::string sources;
    std::string count;
    std::string timeout;
    std::istringstream words(line);
    words >> number >> sources >> count >> timeout;
    return number == SYS_ppoll && (timeout != "0x0") == limited;
  }
};
RULES_EITHER_WAY(Waiting);

// --- Idle ---

TEST_P(Waiting, WakesForNothingWhileTheJobRuns) {
  for (const Words& args : {Words{"--", rules::payload(), "sleep-forever"},
                            ranks(2, {rules::payload(), "sleep-forever"})}) {
    std::filesystem::remove(path("out/ready-0"));
    Instance instance(spec(args));
    await_told("ready-0");
    await_idle(instance, false);
    instance.signal(SIGTERM);
    EXPECT_EQ(instance.wait(), 143);
  }
}

TEST_P(Waiting, WakesOnceAtTheDeadlineWhereThereIsOne) {
  Instance instance(spec({"--grace", "1h", "--", rules::payload(), "ignore-term"}));
  await_told("ready-0");
  await_idle(instance, false);
  instance.signal(SIGTERM);
  await_idle(instance, true);
  instance.signal(SIGKILL);
  EXPECT_EQ(instance.wait(), 137);
}

// --- Lines ---

// Whoever else writes to the same pipe writes between lines, never within one.
TEST_P(Waiting, WritesALineAtOnce) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
  const sys::Fd here(pair[0]);
  sys::Fd there(pair[1]);
  Spec job = spec(ranks(3, rules::shell("exit $RANK_ID"), {"--log-level", "debug"}));
  job.before = [fd = there.get()] { ::dup2(fd, STDERR_FILENO); };
  Instance instance(job);
  there.reset();
  EXPECT_GT(instance.wait(), 0);
  int lines = 0;
  std::array<char, 65536> packet;
  for (ssize_t size = 0; (size = ::recv(here.get(), packet.data(), packet.size(), 0)) > 0;) {
    const std::string_view line(packet.data(), static_cast<std::size_t>(size));
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    EXPECT_THAT(std::string(line), testing::MatchesRegex(".*trainit: .*[^ ]\n")) << line;
    ++lines;
  }
  EXPECT_GE(lines, 3);
}

// --- The end ---

// Milliseconds from the last act of the payload to our knowing that `stamped`, which runs it, has
// ended.
std::int64_t late_by_ms(const Spec& stamped, const std::string& stamp) {
  Instance instance(stamped);
  EXPECT_EQ(instance.wait(), 0);
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::string bytes = sys::inspect(stamp, true).content;
  std::int64_t ended_ns = 0;
  EXPECT_EQ(bytes.size(), sizeof ended_ns);
  if (bytes.size() == sizeof ended_ns) std::memcpy(&ended_ns, bytes.data(), sizeof ended_ns);
  return (now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec - ended_ns) / 1'000'000;
}

// Other programs run too, so the quicker quarter counts, beside that of the payload by itself. Who
// looks ten times a second for the end would be 25 ms later.
TEST_P(Waiting, EndsAtOnceWithItsCommand) {
  constexpr int kRounds = 20;
  Spec below = spec({"--", rules::payload(), "stamp"});
  below.env = joined(env(), {"PAYLOAD_STAMP=" + path("stamp")});
  Spec alone = below;
  alone.program = rules::payload();
  alone.args = {rules::payload(), "stamp"};
  std::vector<std::int64_t> below_ms;
  std::vector<std::int64_t> alone_ms;
  for (int round = 0; round < kRounds; ++round) {
    write("stamp", "");
    below_ms.push_back(late_by_ms(below, path("stamp")));
    write("stamp", "");
    alone_ms.push_back(late_by_ms(alone, path("stamp")));
  }
  std::ranges::sort(below_ms);
  std::ranges::sort(alone_ms);
  EXPECT_LT(below_ms[kRounds / 4], 15 + 3 * alone_ms[kRounds / 4]);
}

}  // namespace
