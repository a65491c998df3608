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

TEST_P(Tee, PrefixesWhatIsInheritedToo) {
  const Result result = rules::run(spec(ranks(2, rules::shell("printf 'a\\rb\\rc\\n'"),
                                              {"--output", "inherit", "--log-prefix", "1"})));
  EXPECT_THAT(result.out, HasSubstr("[rank 0] a\r[rank 0] b\r[rank 0] c\n"));
  EXPECT_EQ(log_of(0), "");
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
  EXPECT_THAT(instance.err(), HasSubstr("our output lacks the last 588895 bytes"));
}

TEST_P(Tee, WhoseReaderNeverReadsLetsTheJobEnd) {
  child::Pipe unread = child::make_pipe();
  Spec flood = spec(single({}, "seq 600000; exit 7"));
  flood.before = [fd = unread.in.get()] { ::dup2(fd, STDOUT_FILENO); };
  Instance instance(flood);
  EXPECT_EQ(instance.wait(), 7);
  EXPECT_EQ(log(), numbers(1, 600000));
  EXPECT_THAT(instance.err(), HasSubstr("were not shown: their reader does not read"));
}

TEST_P(Tee, SaysWhatALateReaderHasMissedWhereItIsMissing) {
  child::Pipe late = child::make_pipe();
  Spec flood = spec(single({},
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
  const std::string end = " bytes of output were dropped here: the reader was too slow\n";
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
