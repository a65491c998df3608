// What goes through the tee: a full disk, a reader that does not read, a killed tee never stop or
// end the job; and what is written is where it belongs.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tests/rules/job.h"
#include "tests/rules/shell.h"
#include "tests/test_timeout.h"

namespace {

using rules::Instance;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

// "1\n2\n ... last\n", as seq prints it.
std::string numbers(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += std::to_string(i) + "\n";
  return text;
}

class Tee : public rules::EitherWay {
 protected:
  [[nodiscard]] Words single(const Words& options, const std::string& script) const {
    return rules::joined(rules::joined({"--output", "tee"}, options),
                         rules::joined({"--"}, rules::shell(script)));
  }
  [[nodiscard]] std::string log() const { return read(path("run/logs/main.log")); }
  // The tee below this instance, as seen from here; 0: there is none.
  static pid_t tee_of(const Instance& instance) {
    const std::string own = "/proc/" + std::to_string(instance.pid());
    std::istringstream children(
        read(own + "/task/" + std::to_string(instance.pid()) + "/children"));
    for (pid_t child = 0; children >> child;) {
      if (read("/proc/" + std::to_string(child) + "/comm") == "trainit-tee\n") return child;
    }
    return 0;
  }
  // Until the job stands in a write that its pipe does not take.
  static void await_held(const Instance& instance) {
    const std::string own = "/proc/" + std::to_string(instance.pid());
    while (instance.alive()) {
      std::istringstream children(
          read(own + "/task/" + std::to_string(instance.pid()) + "/children"));
      for (pid_t child = 0; children >> child;) {
        const std::string where = read("/proc/" + std::to_string(child) + "/wchan");
        if (where.find("pipe_write") != std::string::npos) return;
      }
      ::usleep(1000);
    }
  }
  static void await_other_tee(const Instance& instance, pid_t before) {
    while (instance.alive()) {
      const pid_t now = tee_of(instance);
      if (now != 0 && now != before) return;
      ::usleep(1000);
    }
  }
};
RULES_EITHER_WAY(Tee);

TEST_P(Tee, CopiesWhatEachRankSaysBehindItsName) {
  const Result result = rules::run(spec(
      ranks(3, rules::shell("echo out $RANK_ID; echo err $RANK_ID >&2"), {"--output", "tee"})));
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(sorted_lines(result.out),
              testing::ElementsAre("[rank 0] out 0", "[rank 1] out 1", "[rank 2] out 2"));
  for (const char* line : {"\n[rank 0] err 0\n", "\n[rank 1] err 1\n", "\n[rank 2] err 2\n"}) {
    EXPECT_THAT(result.err, HasSubstr(line));
  }
  EXPECT_THAT(sorted_lines(log_of(1)), testing::ElementsAre("err 1", "out 1"));
}

TEST_P(Tee, HasNoPrefixForOneProcessOrWhereNoneIsWanted) {
  Result result = rules::run(spec(single({}, "printf 'no end'; exit 3")));
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out, "no end");
  EXPECT_EQ(log(), "no end");
  result = rules::run(
      spec(ranks(2, rules::shell("echo out $RANK_ID"), {"--output", "tee", "--log-prefix", "0"})));
  EXPECT_THAT(sorted_lines(result.out), testing::ElementsAre("out 0", "out 1"));
}

TEST_P(Tee, ShowsTheLastLineOfEachRankThoughItNeverEnds) {
  const Result result = rules::run(
      spec(ranks(2, rules::shell("printf \"no end of $RANK_ID\""), {"--output", "tee"})));
  EXPECT_THAT(sorted_lines(result.out),
              testing::ElementsAre("[rank 0] no end of 0", "[rank 1] no end of 1"));
}

TEST_P(Tee, PrefixesWhatIsInheritedToo) {
  const Result result = rules::run(spec(ranks(2, rules::shell("printf 'a\\rb\\rc\\n'"),
                                              {"--output", "inherit", "--log-prefix", "1"})));
  EXPECT_THAT(result.out, HasSubstr("[rank 0] a\r[rank 0] b\r[rank 0] c\n"));
  EXPECT_EQ(log_of(0), "");
}

// A reader of JSON takes a line for a record.
TEST_P(Tee, LeavesEachRecordOfTheLogALineOfItsOwn) {
  const auto expect_records = [](const Result& result, std::string_view start) {
    const std::size_t time =
        start[0] == '{' ? 0 : std::string_view("2026-01-01T00:00:00.000Z ").size();
    int records = 0;
    std::istringstream stream(result.err);
    for (std::string line; std::getline(stream, line);) {
      const std::size_t at = line.find(start);
      if (at == std::string::npos) continue;
      EXPECT_EQ(at, time) << result.err;
      ++records;
    }
    EXPECT_GT(records, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("code 3"));
  };
  const std::string script = "printf 'no end' >&2; exit 3";
  for (const char* mode : {"first", "inherit", "files", "tee"}) {
    for (const auto& [format, start] : {std::pair{"json", "{\"time\":"}, {"human", "trainit: "}}) {
      expect_records(rules::run(spec(ranks(2, rules::shell(script),
                                           {"--log-format", format, "--output", mode}))),
                     start);
      expect_records(rules::run(spec(rules::joined(
                         {"--log-format", format, "--output", mode, "--max-restarts", "1", "--"},
                         rules::shell(script)))),
                     start);
    }
  }
  expect_records(
      rules::run(spec(rules::joined({"--log-format", "json", "--"}, rules::shell(script)))),
      "{\"time\":");
}

// Each in many writes, all at once: no line has two ranks in it.
TEST_P(Tee, TearsNoLine) {
  const Result result =
      rules::run(spec(ranks(4,
                            rules::shell("i=0; while [ $i -lt 500 ]; do printf 'from '; "
                                         "printf \"$RANK_ID to the end\\n\"; i=$((i+1)); done"),
                            {"--output", "tee"})));
  const std::vector<std::string> lines = sorted_lines(result.out);
  ASSERT_EQ(lines.size(), 2000U);
  for (int rank = 0; rank < 4; ++rank) {
    const std::string number = std::to_string(rank);
    EXPECT_EQ(std::ranges::count(lines, "[rank " + number + "] from " + number + " to the end"),
              500);
  }
}

TEST_P(Tee, KilledLosesNothingOfWhatIsWrittenAfterwards) {
  Instance instance(spec(
      single({}, "echo first; until [ -e $HERE/go ]; do sleep 0.01; done; seq 20000; exit 9")));
  instance.await_out("first\n");
  pid_t tee = tee_of(instance);
  for (int i = 0; i < 2; ++i) {
    ASSERT_GT(tee, 0);
    ::kill(tee, SIGKILL);
    await_other_tee(instance, tee);
    tee = tee_of(instance);
  }
  ::kill(tee, SIGTERM);  // that is the job's
  write("go", "");
  EXPECT_EQ(instance.wait(), 9);
  EXPECT_EQ(instance.out(), "first\n" + numbers(1, 20000));
  EXPECT_EQ(log(), "first\n" + numbers(1, 20000));
  EXPECT_THAT(instance.err(), HasSubstr("the log tee was killed by SIGKILL; another one goes on"));
}

// While trainit stands still the tee dies, and the job writes into the pipe and ends.
TEST_P(Tee, KilledAtTheEndIsFollowedByOneThatTakesTheRest) {
  Instance instance(spec(single({},
                                "echo first; until [ -e $HERE/go ]; do sleep 0.01; done; "
                                "echo rest; echo > $HERE/gone; exit 9")));
  instance.await_out("first\n");
  const pid_t tee = tee_of(instance);
  ::kill(instance.pid(), SIGSTOP);
  ::kill(tee, SIGKILL);
  write("go", "");
  await_file("", "gone");
  ::kill(instance.pid(), SIGCONT);
  EXPECT_EQ(instance.wait(), 9);
  EXPECT_EQ(log(), "first\nrest\n");
}

TEST_P(Tee, StoppedIsContinued) {
  Instance instance(spec(
      single({}, "echo first; until [ -e $HERE/go ]; do sleep 0.01; done; seq 20000; exit 9")));
  instance.await_out("first\n");
  ::kill(tee_of(instance), SIGSTOP);
  EXPECT_TRUE(instance.await_err("the log tee was stopped by a signal, and is continued"));
  write("go", "");
  EXPECT_EQ(instance.wait(), 9);
  EXPECT_EQ(instance.out(), "first\n" + numbers(1, 20000));
}

TEST_P(Tee, WhoseOutputIsAFullDeviceDoesNotSpin) {
  Spec full = spec(single({}, "seq 100000; exit 7"));
  full.before = [] { ::dup2(::open("/dev/full", O_WRONLY | O_CLOEXEC), STDOUT_FILENO); };
  Instance instance(full);
  EXPECT_EQ(instance.wait(), 7);
  EXPECT_EQ(log(), numbers(1, 100000));
  EXPECT_THAT(instance.err(), HasSubstr("588895 bytes of output were not shown on our stdout: "
                                        "there is no room for them"));
  EXPECT_THAT(read(path("run/metrics.prom")),
              HasSubstr("trainit_log_lost_lines_total{to=\"stdout\"} 100000\n"));
}

TEST_P(Tee, WhoseReaderNeverReadsLetsTheJobEndAndTellsTheNumberOfBytes) {
  child::Pipe unread = child::make_pipe();
  Spec flood = spec(single({"--log-reader-timeout", "200ms"}, "seq 600000; exit 7"));
  flood.before = [fd = unread.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  EXPECT_EQ(instance.wait(), 7);
  EXPECT_EQ(log(), numbers(1, 600000));
  const std::string shown = child::read_now(unread.out.get());
  const std::size_t there = shown.size();
  EXPECT_THAT(read(path("run/metrics.prom")),
              HasSubstr("trainit_log_lost_lines_total{to=\"stdout\"} " +
                        std::to_string(600'000 - std::ranges::count(shown, '\n')) + "\n"));
  EXPECT_THAT(instance.err(), HasSubstr("nobody has read our stdout for 0.2 s: the job goes on"));
  EXPECT_THAT(instance.err(), HasSubstr(std::to_string(numbers(1, 600000).size() - there) +
                                        " bytes of output were not shown on our stdout: "
                                        "its reader does not read"));
}

TEST_P(Tee, WhoseReaderIsDeadLetsTheJobGoOnAndTellsTheNumberOfBytes) {
  child::Pipe dead = child::make_pipe();
  Spec flood = spec(single({}, "seq 600000; exit 7"));
  flood.before = [&dead] {
    ::dup2(dead.in.get(), STDOUT_FILENO);
    dead = {};
  };
  Instance instance(flood);
  dead = {};
  EXPECT_EQ(instance.wait(), 7);
  EXPECT_EQ(log(), numbers(1, 600000));
  EXPECT_THAT(instance.err(), HasSubstr(std::to_string(numbers(1, 600000).size()) +
                                        " bytes of output were not shown on our stdout: "
                                        "its reader has gone"));
  EXPECT_THAT(read(path("run/metrics.prom")),
              HasSubstr("trainit_log_lost_lines_total{to=\"stdout\"} 600000\n"));
}

class TeePause : public Tee {
 protected:
  // A line without an end is shown after so long (init/tee/tee.cc).
  static constexpr std::int64_t kPartialMs = 5000;
  // Everything that comes out of `end`, which is not read for `pause_ms` after each so many bytes.
  static std::string read_with_pauses(int end, std::size_t every,
                                      const std::vector<int>& pauses_ms) {
    std::string shown;
    std::array<char, 65536> part{};
    std::size_t pause = 0;
    while (true) {
      if (pause < pauses_ms.size() && shown.size() >= pause * every) {
        ::usleep(static_cast<useconds_t>(pauses_ms[pause++]) * 1000);
      }
      const ssize_t count = ::read(end, part.data(), part.size());
      if (count <= 0) return shown;
      shown.append(part.data(), static_cast<std::size_t>(count));
    }
  }
  // Until the state has the exit code.
  void await_code(const Instance& instance, int code) const {
    const std::string text = "\"given_exit_code\": " + std::to_string(code) + ",";
    TestTimeout timeout;
    while (instance.alive() && read(path("run/state.json")).find(text) == std::string::npos) {
      ASSERT_TRUE(timeout.is_left());
      ::usleep(1000);
    }
  }
};
RULES_EITHER_WAY(TeePause);

// The pauses are what is tested: longer ones are those of the unit test's clock.
TEST_P(TeePause, OfAReaderCostsNoByteWhateverTheOutput) {
  constexpr int kLast = 2'000'000;
  for (const char* output : {"tee", "inherit"}) {
    child::Pipe slow = child::make_pipe();
    Spec flood = spec(rules::joined({"--output", output, "--log-reader-timeout", "1m", "--"},
                                    rules::shell("seq " + std::to_string(kLast))));
    flood.args.insert(flood.args.begin(), {"--stall-timeout", "1h"});
    flood.before = [fd = slow.in.get()] { ::dup2(fd, STDOUT_FILENO); };
    Instance instance(flood);
    slow.in.reset();
    const std::string shown = read_with_pauses(slow.out.get(), 4'000'000, {700, 1500, 700});
    EXPECT_EQ(instance.wait(), 0);
    EXPECT_EQ(shown.size(), numbers(1, kLast).size());
    EXPECT_TRUE(shown == numbers(1, kLast)) << output;
    EXPECT_THAT(instance.err(), Not(HasSubstr("bytes of output")));
  }
}

// Its end comes when it pauses: what is kept waits for it.
TEST_P(TeePause, AtTheEndCostsNoByte) {
  child::Pipe slow = child::make_pipe();
  Spec flood = spec(single({}, "seq 80000; echo > $HERE/said"));
  flood.before = [fd = slow.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  slow.in.reset();
  await_file("", "said");
  EXPECT_TRUE(read_with_pauses(slow.out.get(), 1, {1500}) == numbers(1, 80000));
  EXPECT_EQ(instance.wait(), 0);
}

// Nor a line whose end is still in its rank's pipe, longer than a line without an end waits.
TEST_P(TeePause, OfTheReaderOf64RanksCostsNoByte) {
  child::Pipe slow = child::make_pipe();
  Spec flood = spec(rules::joined({"--framework", "pytorch", "--torch-launcher", "fan-out",
                                   "--slots", "64", "--output", "tee", "--"},
                                  rules::shell("seq 1 50000; seq 1 50000")));
  flood.before = [fd = slow.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  slow.in.reset();
  const std::string shown = read_with_pauses(slow.out.get(), 5'000'000, {0, 6000});
  EXPECT_EQ(instance.wait(), 0);
  const std::string all = numbers(1, 50000) + numbers(1, 50000);
  std::vector<std::string> of_rank(64);
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find("] ");
    ASSERT_TRUE(line.starts_with("[rank ") && end != std::string::npos) << line;
    of_rank.at(std::stoul(line.substr(6))) += line.substr(end + 2) + "\n";
  }
  for (int rank = 0; rank < 64; ++rank) {
    EXPECT_EQ(of_rank[rank].size(), all.size()) << rank;
    EXPECT_TRUE(of_rank[rank] == log_of(rank)) << rank;
  }
}

// What waits for its end is another line each time: that none of them waits long is what counts.
TEST_P(TeePause, BetweenLinesThatEndLaterTearsNone) {
  const std::string half_lines =
      "i=0; printf a; while [ $i -lt 7 ]; do sleep 1; printf 'b\\na'; i=$((i + 1)); done; echo b";
  Instance instance(spec(rules::joined({"--framework", "pytorch", "--torch-launcher", "fan-out",
                                        "--slots", "2", "--output", "tee", "--"},
                                       rules::shell(half_lines))));
  EXPECT_EQ(instance.wait(), 0);
  std::string expected;
  for (const char* rank : {"[rank 0] ab\n", "[rank 1] ab\n"}) {
    for (int i = 0; i < 8; ++i) expected += rank;
  }
  // A rank that got no CPU for the rest of that time has kept the end of its line back for so long.
  if (instance.age_ms() >= 7000 + kPartialMs - 1000) GTEST_SKIP() << "the machine stood still";
  EXPECT_EQ(sorted_lines(instance.out()), sorted_lines(expected));
}

// The pause is longer than the time of a stall.
TEST_P(TeePause, IsNoStallOfTheJob) {
  child::Pipe slow = child::make_pipe();
  Spec flood = spec(single({"--log-reader-timeout", "1m", "--stall-timeout", "1s", "--stall-on",
                            "output", "--stall-action", "end"},
                           "seq 200000"));
  flood.before = [fd = slow.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  slow.in.reset();
  EXPECT_TRUE(read_with_pauses(slow.out.get(), 1, {0, 3000}) == numbers(1, 200000));
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_THAT(instance.err(), Not(HasSubstr("stall")));
}

// Who only writes to a file has nothing to do with it.
TEST_P(TeePause, HoldsNoRankUpThatIsNotShown) {
  child::Pipe unread = child::make_pipe();
  Spec flood =
      spec(ranks(2, rules::shell("[ $RANK_ID = 0 ] || { seq 500000; echo > $HERE/done; exit 0; }; "
                                 "seq 500000; echo > $HERE/late")));
  flood.before = [fd = unread.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  unread.in.reset();
  await_file("", "done");
  EXPECT_FALSE(std::filesystem::exists(path("late")));
  EXPECT_TRUE(child::read_to_end(unread.out.get()) == numbers(1, 500000));
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_TRUE(log_of(1) == numbers(1, 500000));
}

// What is told to stop may have something to say first, and the reader reads nothing.
TEST_P(TeePause, IsNoneOfAStops) {
  child::Pipe unread = child::make_pipe();
  Spec flood = spec(single({"--grace", "5m", "--log-reader-timeout", "10m"},
                           "trap 'echo saving; echo > $HERE/saved; exit 0' TERM; "
                           "while :; do echo 0123456789012345678901234567890123456789; done"));
  flood.before = [fd = unread.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  await_held(instance);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(path("saved")));
  EXPECT_LT(instance.age_ms(), kAtOnceMs);
}

// The job has ended, and its output waits for a reader: a stop ends that.
TEST_P(TeePause, AtTheEndIsNoneOfAStops) {
  child::Pipe unread = child::make_pipe();
  Spec flood = spec(single({"--log-reader-timeout", "10m"}, "seq 80000; exit 5"));
  flood.before = [fd = unread.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  EXPECT_TRUE(instance.await_err("first failure"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 5);
}

// Somebody reads, but too little: a stop has a deadline that is not the reader's.
TEST_P(TeePause, AtTheEndOfASlowReaderIsCutShortByAStop) {
  child::Pipe slow = child::make_pipe();
  Spec flood = spec(single({"--log-reader-timeout", "10m"}, "seq 80000; exit 5"));
  flood.before = [fd = slow.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  slow.in.reset();
  await_code(instance, 5);
  instance.signal(SIGTERM);
  std::array<char, 4096> part{};
  while (instance.alive() && ::read(slow.out.get(), part.data(), part.size()) > 0) {
    ::usleep(100'000);
  }
  EXPECT_EQ(instance.wait(), 5);
  EXPECT_THAT(instance.err(), HasSubstr("the log tee did not end in 1500 ms"));
}

// Whoever reads the state has the code before the output has its reader.
TEST_P(TeePause, AtTheEndKeepsNoCodeBack) {
  child::Pipe unread = child::make_pipe();
  Spec flood = spec(single({"--log-reader-timeout", "10m"}, "seq 80000; kill -USR1 $$"));
  flood.before = [fd = unread.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  unread.in.reset();
  await_code(instance, 138);
  TestTimeout timeout;
  while (instance.alive() &&
         read(path("run/metrics.prom")).find("_exit_code 138\n") == std::string::npos) {
    ASSERT_TRUE(timeout.is_left());
    ::usleep(1000);
  }
  EXPECT_TRUE(instance.alive());
  EXPECT_THAT(instance.err(), Not(HasSubstr("exit code 138\n")));
  EXPECT_TRUE(child::read_to_end(unread.out.get()) == numbers(1, 80000));
  EXPECT_EQ(instance.wait(), 138);
  EXPECT_THAT(instance.err(), EndsWith("trainit: exit code 138\n"));
}

// The start that printed it is over; the next one prints nothing, or is none.
TEST_P(TeePause, AtTheEndOfARestartCostsNoByteOfTheStartBefore) {
  std::filesystem::create_directories(path("hooks/pre-start.d"));
  for (const bool starts : {true, false}) {
    const std::string hook = path("hooks/pre-start.d/10-go");
    write("hooks/pre-start.d/10-go",
          starts ? "#!/bin/sh\n" : "#!/bin/sh\n[ $TRAINIT_RESTART_COUNT = 0 ] || exit 7\n");
    std::filesystem::permissions(hook, std::filesystem::perms::owner_all);
    child::Pipe slow = child::make_pipe();
    Spec flood = spec(single({"--log-reader-timeout", "10m", "--max-restarts", "1",
                              "--restart-delay", "0", "--hooks-dir", path("hooks")},
                             "[ $TRAINIT_RESTART_COUNT = 0 ] || exit 7; seq 80000; exit 5"));
    flood.before = [fd = slow.in.get()] { ::dup2(fd, STDOUT_FILENO); };
    Instance instance(flood);
    slow.in.reset();
    await_code(instance, 7);
    EXPECT_TRUE(child::read_to_end(slow.out.get()) == numbers(1, 80000)) << starts;
    EXPECT_EQ(instance.wait(), 7);
    std::filesystem::remove(path("run/state.json"));
  }
}

TEST_P(TeePause, OfAWriterTearsNoLine) {
  Instance instance(spec(
      ranks(2,
            rules::shell("[ $RANK_ID = 0 ] && { printf 'begin '; echo > $HERE/begun; "
                         "until [ -e $HERE/go ]; do sleep 0.01; done; echo end; exit 0; }; "
                         "until [ -e $HERE/begun ]; do sleep 0.01; done; sleep 0.4; echo between"),
            {"--output", "tee"})));
  instance.await_out("[rank 1] between\n");
  const std::string between = instance.out();
  write("go", "");
  EXPECT_EQ(instance.wait(), 0);
  if (instance.age_ms() >= kPartialMs) GTEST_SKIP() << "the machine stood still";
  EXPECT_EQ(between, "[rank 1] between\n");
  EXPECT_EQ(instance.out(), "[rank 1] between\n[rank 0] begin end\n");
}

TEST_P(TeePause, OfAWriterShowsItsLineAfterAMomentAndWholeWhenItEnds) {
  Instance instance(
      spec(ranks(2,
                 rules::shell("[ $RANK_ID = 0 ] && { printf 'begin '; "
                              "until [ -e $HERE/go ]; do sleep 0.01; done; echo end; exit 0; }; "
                              "until [ -e $HERE/shown ]; do sleep 0.01; done; echo between"),
                 {"--output", "tee"})));
  instance.await_out("[rank 0] begin ");
  write("shown", "");
  instance.await_out("[rank 1] between\n");
  write("go", "");
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_EQ(instance.out(), "[rank 0] begin \n[rank 1] between\n[rank 0] begin end\n");
}

TEST_P(Tee, SaysWhatALateReaderHasMissedWhereItIsMissing) {
  child::Pipe late = child::make_pipe();
  Spec flood = spec(single({"--log-reader-timeout", "300ms"},
                           "seq 600000; echo > $HERE/flooded; "
                           "until [ -e $HERE/go ]; do sleep 0.01; done; echo last"));
  flood.before = [fd = late.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  late.in.reset();
  await_file("", "flooded");
  std::string shown;
  std::array<char, 65536> part{};
  while (instance.alive() && !shown.ends_with("\n600000\n")) {
    const ssize_t count = ::read(late.out.get(), part.data(), part.size());
    if (count <= 0) break;
    shown.append(part.data(), static_cast<std::size_t>(count));
  }
  write("go", "");
  shown += child::read_to_end(late.out.get());
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_THAT(shown, StartsWith("1\n2\n3\n"));
  EXPECT_THAT(shown, EndsWith("\n600000\nlast\n"));
  // More than one, where the tee was slow to take the last of it.
  const std::string begin = "\ntrainit: ";
  const std::string end = " bytes of output were dropped here: nobody read for 0.3 s\n";
  std::size_t notes = 0;
  std::size_t dropped = 0;
  for (std::size_t at = shown.find(begin); at != std::string::npos;
       at = shown.find(begin, at + 1)) {
    const std::string note = shown.substr(at + 1, shown.find('\n', at + 1) - at);
    EXPECT_THAT(note, EndsWith(end));
    notes += note.size();
    dropped += std::stoul(note.substr(begin.size() - 1));
  }
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(shown.size() - notes + dropped, numbers(1, 600000).size() + 5);
}

TEST_P(Tee, GoesOnWithoutTheFileOnAFullDisk) {
  if (!rules::may_unshare()) GTEST_SKIP() << "needs a mount namespace";
  std::filesystem::create_directory(path("small"));
  Spec job = spec(
      rules::joined(rules::shell("mount -t tmpfs -o size=64k none $HERE/small && \"$@\"; code=$?; "
                                 "cp $HERE/small/main.log $HERE/kept; exit $code"),
                    rules::joined({"sh", rules::trainit(), "--log-dir", path("small")},
                                  single({}, "seq 50000; exit 4"))));
  job.program = "/bin/sh";
  job.pid1 = true;
  const Result result = rules::run(job);
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.out, numbers(1, 50000));
  EXPECT_THAT(result.err, HasSubstr("No space left on device (ENOSPC)"));
  EXPECT_THAT(numbers(1, 50000), StartsWith(read(path("kept"))));
  EXPECT_GE(read(path("kept")).size(), 16384U);
}

// The directory is there, a file in it cannot be.
TEST_P(Tee, ShowsTheOutputThatFindsNoFile) {
  std::filesystem::create_directories(path("logs/main.log"));
  const Result result = rules::run(spec(rules::joined(
      {"--output", "files", "--log-dir", path("logs"), "--"}, rules::shell("echo said; exit 3"))));
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out, "[main] said\n");
  EXPECT_THAT(result.err, HasSubstr("logs/main.log"));
  EXPECT_THAT(result.err, HasSubstr("its output comes with trainit's own"));
}

TEST_P(Tee, SaysWhichDirectoryCannotBeMadeAndWhatToDo) {
  const Result result = rules::run(spec(rules::joined(
      {"--output", "files", "--log-dir", "/proc/absent", "--"}, rules::shell("exit 3"))));
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("creating the log directory: /proc/absent: "));
  EXPECT_THAT(result.err, HasSubstr("--log-dir"));
}

TEST_P(Tee, BeginsFilesAnewAndKeepsTheLastOnesInOrder) {
  const Result result = rules::run(
      spec(rules::joined({"--output", "files", "--log-max-size", "64k", "--log-keep", "3", "--"},
                         rules::shell("seq 100000; exit 3"))));
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out, "");
  std::string kept;
  for (const char* name : {"main.log.3", "main.log.2", "main.log.1", "main.log"}) {
    const std::string content = read(path("run/logs/") + name);
    EXPECT_LE(content.size(), 65536U);
    EXPECT_THAT(content, EndsWith("\n"));
    kept += content;
  }
  EXPECT_GT(kept.size(), 3 * 60000U);
  EXPECT_THAT(numbers(1, 100000), EndsWith("\n" + kept));
  EXPECT_FALSE(std::filesystem::exists(path("run/logs/main.log.4")));
}

TEST_P(Tee, DoesNotWaitForWhoeverElseHasTheStream) {
  const Result result = rules::run(spec(single({}, "(setsid sleep 1000 &) ; echo said; exit 6")));
  EXPECT_EQ(result.code, 6);
  EXPECT_EQ(result.out, "said\n");
}

TEST_P(Tee, IsThereForEachStartOfARestart) {
  const Result result = rules::run(
      spec(single({"--max-restarts", "2", "--restart-delay", "0"},
                  "echo start $TRAINIT_RESTART_COUNT; [ $TRAINIT_RESTART_COUNT = 2 ] || exit 1")));
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "start 0\nstart 1\nstart 2\n");
  EXPECT_EQ(log(), "start 0\nstart 1\nstart 2\n");
}

TEST_P(Tee, IsStoppedWithTheJob) {
  Instance instance(spec(ranks(
      2, rules::shell("trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.01; done"),
      {"--output", "tee", "--stop-scope", "tree"})));
  instance.await_out("[rank 0] up\n");
  instance.await_out("[rank 1] up\n");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_THAT(instance.out(), HasSubstr("[rank 0] saved\n"));
  EXPECT_THAT(instance.out(), HasSubstr("[rank 1] saved\n"));
  EXPECT_THAT(instance.err(), Not(HasSubstr("the log tee")));
}

class TeeTerminal : public rules::JobTest {};

TEST_F(TeeTerminal, IsStillOneForTheJob) {
  const std::string script =
      "test -t 0 && test -t 1 && test -t 2 && stty size <&1; echo a$((1+1)); read x; echo got $x; "
      "exit 5";
  rules::Screen screen({rules::trainit(), "--output", "tee", "--", "/bin/sh", "-c", script}, env());
  EXPECT_TRUE(screen.await("50 500\r\na2\r\n"));
  screen.type("word\n");
  EXPECT_TRUE(screen.await("got word\r\n"));
  EXPECT_EQ(screen.wait(), 5);
  EXPECT_EQ(read(path("run/logs/main.log")), "50 500\na2\ngot word\n");
}

TEST_F(TeeTerminal, HasTheInterruptKey) {
  rules::Screen screen(
      {rules::trainit(), "--output", "tee", "--", "/bin/sh", "-c",
       "trap 'echo in$((1+1)); exit 4' INT; echo up; while :; do sleep 0.01; done"},
      env());
  EXPECT_TRUE(screen.await("up"));
  screen.type(rules::kInterrupt);
  EXPECT_TRUE(screen.await("in2"));
  EXPECT_EQ(screen.wait(), 4);
}

}  // namespace
