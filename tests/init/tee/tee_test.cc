// The tee's parts: what is shared of what it has seen, lines behind prefixes, a copy that never
// waits, a file that never stops.

#include "init/tee/tee.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>

#include "init/sys/clock.h"
#include "init/tee/lines.h"
#include "init/tee/log_file.h"
#include "init/tee/shared.h"
#include "init/tee/stdout_mirror.h"
#include "tests/init/child.h"

namespace {

using logtee::Cursor;
using logtee::kRingBytes;
using logtee::Lines;
using logtee::Shared;
using logtee::StdoutMirror;
using logtee::Stream;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kPatienceMs = 30'000;

// --- Shared ---

TEST(TeeShared, CountsBothStreamsAndKeepsTheLastBytesOfEach) {
  auto shared = Shared::make(2);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->seen(0).bytes, 0U);
  EXPECT_EQ(shared->seen(0).last_ms, 0);
  shared->add(0, Stream::kOut, "out", 5);
  EXPECT_EQ(shared->output_tail(0), "out");
  shared->add(0, Stream::kErr, "error", 7);
  shared->add(0, Stream::kOut, " more", 6);
  EXPECT_EQ(shared->seen(0).bytes, 13U);
  EXPECT_EQ(shared->seen(0).last_ms, 7);
  EXPECT_EQ(shared->output_tail(0), "out moreerror");
  EXPECT_EQ(shared->output_tail(0, Stream::kErr), "error");
  EXPECT_EQ(shared->output_tail(0, Stream::kOut), "out more");
  EXPECT_EQ(shared->output_tail(1), "");
  EXPECT_EQ(shared->seen(2).bytes, 0U) << "there is no such process";
}

// A stream that ends while its output is held must not delay the end of the job.
TEST(TeeShared, HoldsNoStreamThatHasEnded) {
  auto shared = Shared::make(1);
  ASSERT_TRUE(shared);
  shared->hold(0, Stream::kOut, true);
  EXPECT_TRUE(shared->held());
  shared->end(0, Stream::kOut);
  EXPECT_FALSE(shared->held());
}

TEST(TeeShared, PutsWhatStderrSaidLongBeforeTheEndOfStdoutFirst) {
  auto shared = Shared::make(1);
  ASSERT_TRUE(shared);
  shared->add(0, Stream::kErr, "nvcc: not found\nst", 1000);
  shared->add(0, Stream::kErr, "ill the same\n", 20'000);
  shared->add(0, Stream::kOut, "step 1\n", 2000);
  shared->add(0, Stream::kOut, "step 2\n", 20'500);
  EXPECT_EQ(shared->output_tail(0), "nvcc: not found\nstep 1\nstep 2\nstill the same\n");
  shared->add(0, Stream::kOut, "step 3\n", 40'000);
  EXPECT_EQ(shared->output_tail(0), "nvcc: not found\nstill the same\nstep 1\nstep 2\nstep 3\n");
}

TEST(TeeShared, KnowsWhatWasPrintedLately) {
  auto shared = Shared::make(1);
  ASSERT_TRUE(shared);
  const auto since = [&](std::int64_t ms) {
    const logtee::Tail tail = shared->output_tail(0, Stream::kErr, ms);
    EXPECT_EQ(tail.text, shared->output_tail(0, Stream::kErr));
    return tail.text.substr(tail.text.size() - tail.fresh);
  };
  EXPECT_EQ(since(0), "");
  shared->add(0, Stream::kErr, "old ", 1000);
  shared->add(0, Stream::kErr, "less old ", 3000);
  shared->add(0, Stream::kErr, "new ", 5000);
  shared->add(0, Stream::kErr, "newer", 5100);
  EXPECT_EQ(since(0), "old less old new newer");
  EXPECT_EQ(since(2000), "less old new newer");
  EXPECT_EQ(since(4000), "new newer");
  EXPECT_EQ(since(6000), "");
  for (int i = 0; i < 1000; ++i) shared->add(0, Stream::kErr, "x", 6000 + i * 10);
  EXPECT_EQ(since(15'500), std::string(50, 'x'));
  shared->add(0, Stream::kErr, std::string(2 * kRingBytes, 'y'), 20'000);
  EXPECT_EQ(since(19'000), std::string(kRingBytes, 'y'));
}

TEST(TeeShared, KeepsTheLastBytesInOrderHoweverTheyCome) {
  constexpr std::size_t kBetweenLooks = kRingBytes / 3;
  for (const std::size_t step : {37UL, 1000UL, kRingBytes, kRingBytes + 1, 3 * kRingBytes}) {
    auto shared = Shared::make(1);
    ASSERT_TRUE(shared);
    std::string all;
    std::size_t looked = 0;
    while (all.size() < 2 * kRingBytes + 5) {
      std::string part;
      for (std::size_t i = 0; i < step; ++i) {
        part += static_cast<char>('a' + (all.size() + i) % 26);
      }
      shared->add(0, Stream::kOut, part, 1);
      all += part;
      if (all.size() - looked < kBetweenLooks) continue;
      looked = all.size();
      EXPECT_EQ(shared->output_tail(0), all.substr(all.size() - std::min(all.size(), kRingBytes)));
    }
  }
}

TEST(TeeShared, GivesEachStreamAtLeastHalfOfTheTail) {
  auto tail = [](std::size_t out, std::size_t err) {
    auto shared = Shared::make(1);
    shared->add(0, Stream::kOut, std::string(out, 'o'), 1);
    shared->add(0, Stream::kErr, std::string(err, 'e'), 1);
    const std::string text = shared->output_tail(0);
    const std::size_t outs = text.find('e') == std::string::npos ? text.size() : text.find('e');
    return std::pair(outs, text.size() - outs);
  };
  constexpr std::size_t kHalf = kRingBytes / 2;
  EXPECT_EQ(tail(10, 20), std::pair(10UL, 20UL));
  EXPECT_EQ(tail(kRingBytes, 20), std::pair(kRingBytes - 20, 20UL));
  EXPECT_EQ(tail(20, kRingBytes), std::pair(20UL, kRingBytes - 20));
  EXPECT_EQ(tail(kRingBytes, kRingBytes), std::pair(kHalf, kHalf));
}

// 64 ranks would otherwise cost 32 MB before they have printed anything.
TEST(TeeShared, TakesMemoryForWhatWasPrintedOnly) {
  auto resident_kb = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("RssShmem:")) return std::stol(line.substr(9));
    }
    return -1L;
  };
  const long before = resident_kb();
  if (before < 0) GTEST_SKIP() << "the kernel does not tell";
  auto shared = Shared::make(64);
  ASSERT_TRUE(shared);
  shared->add(7, Stream::kOut, "text", 1);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_LE(shared->output_tail(i).size(), 4U);
  EXPECT_LE(resident_kb() - before, 256);
}

TEST(TeeShared, IsSeenByOtherProcesses) {
  auto shared = Shared::make(1);
  ASSERT_TRUE(shared);
  shared->open(0, Stream::kOut);
  EXPECT_FALSE(shared->ended(0));
  EXPECT_EQ(child::run([&shared] {
              shared->begin(0, Stream::kOut);
              shared->add(0, Stream::kOut, "from below", 3);
              shared->end(0, Stream::kOut);
              return 0;
            }).code,
            0);
  EXPECT_TRUE(shared->ended(0));
  EXPECT_EQ(shared->output_tail(0), "from below");
}

TEST(TeeShared, IsReadAndTakenOverWhereAWriterDiedHalfWay) {
  auto shared = Shared::make(1);
  ASSERT_TRUE(shared);
  shared->add(0, Stream::kOut, "whole", 1);
  shared->begin(0, Stream::kOut);
  EXPECT_EQ(shared->output_tail(0), "whole");
  shared->take_over();
  shared->begin(0, Stream::kOut);
  shared->add(0, Stream::kOut, " again", 2);
  EXPECT_EQ(shared->output_tail(0), "whole again");
}

TEST(TeeShared, WhatIsReadIntoItIsNotCopied) {
  auto shared = Shared::make(1);
  ASSERT_TRUE(shared);
  std::string all;
  constexpr std::size_t kPiece = 50'000;  // the ring's end comes in the middle of one
  for (char letter = 'a'; letter < 'p'; ++letter) {
    for (std::size_t left = kPiece; left > 0;) {
      const std::span<char> room = shared->begin(0, Stream::kOut);
      ASSERT_FALSE(room.empty());
      const std::size_t size = std::min(left, room.size());
      std::ranges::fill(room.first(size), letter);
      shared->add(0, Stream::kOut, {room.data(), size}, 1);
      left -= size;
    }
    all.append(kPiece, letter);
    ASSERT_EQ(shared->output_tail(0), all.substr(all.size() - std::min(all.size(), kRingBytes)));
  }
  shared->begin(0, Stream::kOut);
  shared->add(0, Stream::kOut, "from elsewhere", 1);
  EXPECT_TRUE(shared->output_tail(0).ends_with("from elsewhere"));
  EXPECT_EQ(shared->seen(0).bytes, all.size() + 14);
}

// --- Lines ---

class TeeLines : public testing::Test {
 protected:
  std::string shown() {
    mirror_.flush();
    return child::read_now(pipe_.out.get());
  }
  child::Pipe pipe_ = child::make_pipe();
  StdoutMirror mirror_{pipe_.in.get(), kPatienceMs};
  Cursor cursor_;
  Lines a_{0, "[a] "};
  Lines b_{1, "[b] "};
};

TEST_F(TeeLines, ComeWholeEachBehindItsPrefix) {
  a_.add("one\ntw", mirror_, cursor_);
  b_.add("B\n\n", mirror_, cursor_);
  a_.add("o\n", mirror_, cursor_);
  EXPECT_EQ(shown(), "[a] one\n[b] B\n[b] \n[a] two\n");
  EXPECT_FALSE(a_.waiting());
}

TEST_F(TeeLines, RepeatThePrefixBehindACarriageReturn) {
  a_.add("10%\r20%", mirror_, cursor_);
  EXPECT_EQ(shown(), "[a] 10%\r");
  a_.add("\r30%\r\nnext\r\n", mirror_, cursor_);
  EXPECT_EQ(shown(), "[a] 20%\r[a] 30%\r\n[a] next\r\n");
}

// As tqdm draws: the return comes first.
TEST_F(TeeLines, KeepABarThatIsDrawnInPieces) {
  a_.add("\r 1%", mirror_, cursor_);
  a_.flush(mirror_, cursor_);
  a_.add("\r 2%", mirror_, cursor_);
  a_.flush(mirror_, cursor_);
  a_.add("\n", mirror_, cursor_);
  EXPECT_EQ(shown(), "\r[a]  1%\r[a]  2%\n");
}

TEST_F(TeeLines, AreNotTornByAnother) {
  a_.add("begin", mirror_, cursor_);
  a_.flush(mirror_, cursor_);
  b_.add("B\n", mirror_, cursor_);
  a_.add(" end\n", mirror_, cursor_);
  EXPECT_EQ(shown(), "[a] begin\n[b] B\n[a] begin end\n") << "it is whole in one place";
  a_.add("begin", mirror_, cursor_);
  a_.flush(mirror_, cursor_);
  a_.add(" end\n", mirror_, cursor_);
  EXPECT_EQ(shown(), "[a] begin end\n") << "nobody came between";
}

TEST_F(TeeLines, ThatArePausedAgainAndAgainAreShownWhole) {
  a_.add("be", mirror_, cursor_);
  a_.flush(mirror_, cursor_);
  a_.flush(mirror_, cursor_);
  a_.add("gin", mirror_, cursor_);
  EXPECT_TRUE(a_.waiting());
  a_.flush(mirror_, cursor_);
  EXPECT_FALSE(a_.waiting());
  EXPECT_EQ(shown(), "[a] begin");
  b_.add("B", mirror_, cursor_);
  b_.flush(mirror_, cursor_);
  a_.add(" end\n", mirror_, cursor_);
  b_.add("\n", mirror_, cursor_);
  EXPECT_EQ(shown(), "\n[b] B\n[a] begin end\n[b] B\n");
}

TEST_F(TeeLines, KnowABarFromALine) {
  a_.add("text", mirror_, cursor_);
  EXPECT_FALSE(a_.draws());
  a_.add("\r 1%", mirror_, cursor_);
  EXPECT_TRUE(a_.draws());
  a_.add("\r 2%\ntext", mirror_, cursor_);
  EXPECT_FALSE(a_.draws());
}

TEST_F(TeeLines, LeaveAnothersBarWhereItIs) {
  a_.add("a 50%\r", mirror_, cursor_);
  b_.add("text\n", mirror_, cursor_);
  EXPECT_EQ(shown(), "[a] a 50%\r\n[b] text\n");
  a_.add("a 60%\r", mirror_, cursor_);
  b_.add("b 10%\r", mirror_, cursor_);
  EXPECT_EQ(shown(), "[a] a 60%\r[b] b 10%\r");
}

TEST_F(TeeLines, ThatNeverEndGoOutInPieces) {
  a_.add(std::string(Lines::kLongestLine / 2, 'x'), mirror_, cursor_);
  EXPECT_TRUE(a_.waiting());
  a_.add(std::string(Lines::kLongestLine / 2 + 1, 'x'), mirror_, cursor_);
  EXPECT_FALSE(a_.waiting());
}

// --- StdoutMirror ---

constexpr std::string_view kNoteEnd = " bytes of output were dropped here: nobody read for 30 s\n";

// Reads, and lets the mirror write, until nothing is left.
std::string drain(child::Pipe& pipe, StdoutMirror& mirror) {
  std::string shown;
  do {
    shown += child::read_now(pipe.out.get());
    mirror.flush();
  } while (mirror.pending() > 0);
  return shown + child::read_now(pipe.out.get());
}

class TeeReader : public testing::Test {
 protected:
  // As the tee does: what is held is not read.
  void put_while_not_held(std::int64_t now_ms) {
    while (!mirror_.should_pause_input(now_ms)) put();
  }
  void put() {
    const std::string line = std::string(99, 'x') + "\n";
    mirror_.pass(line);
    put_ += line.size();
  }
  child::Pipe pipe_ = child::make_pipe();
  StdoutMirror mirror_{pipe_.in.get(), kPatienceMs};
  std::size_t put_ = 0;
};

TEST_F(TeeReader, ThatPausesHoldsTheJobUpAndGetsEveryByte) {
  std::string shown;
  std::int64_t now_ms = 1000;
  for (const std::int64_t pause_ms : {700L, 1500L, 10'000L, 29'999L}) {
    put_while_not_held(now_ms);
    EXPECT_EQ(mirror_.reader_timeout_ends_ms(), now_ms + kPatienceMs);
    now_ms += pause_ms;
    EXPECT_TRUE(mirror_.should_pause_input(now_ms)) << pause_ms;
    shown += drain(pipe_, mirror_);
    EXPECT_FALSE(mirror_.should_pause_input(now_ms));
  }
  EXPECT_EQ(mirror_.dropped(), 0U);
  EXPECT_EQ(mirror_.missing(), 0U);
  EXPECT_EQ(shown.size(), put_);
}

TEST_F(TeeReader, ThatReadsNothingForThePatienceCostsLinesAndTheirNumberIsToldThere) {
  put_while_not_held(1000);
  EXPECT_TRUE(mirror_.should_pause_input(1000 + kPatienceMs - 1));
  EXPECT_FALSE(mirror_.should_pause_input(1000 + kPatienceMs));
  EXPECT_TRUE(mirror_.given_up());
  while (mirror_.dropped() == 0) put();
  EXPECT_LE(mirror_.pending(), StdoutMirror::kMaxKept);
  EXPECT_FALSE(mirror_.should_pause_input(1000 + 2 * kPatienceMs)) << "it is waited for once";
  mirror_.pass("last\n");
  put_ += 5;
  const std::string shown = drain(pipe_, mirror_);
  const std::string note = "trainit: " + std::to_string(mirror_.dropped()) + std::string(kNoteEnd);
  EXPECT_THAT(shown, HasSubstr("x\n" + note + "xxx"));
  EXPECT_THAT(shown, EndsWith("x\nlast\n"));
  EXPECT_EQ(shown.size() - note.size() + mirror_.dropped(), put_);
  EXPECT_EQ(mirror_.missing(), 0U);
  put_while_not_held(2000 + 2 * kPatienceMs);
  EXPECT_TRUE(mirror_.should_pause_input(1999 + 3 * kPatienceMs)) << "it reads again";
}

// A pipe takes more only when one of its pages is free.
TEST_F(TeeReader, ThatReadsAFewBytesIsNotGivenUp) {
  put_while_not_held(1000);
  std::array<char, 10> few{};
  ASSERT_EQ(::read(pipe_.out.get(), few.data(), few.size()), 10);
  mirror_.flush();
  EXPECT_TRUE(mirror_.should_pause_input(1000 + kPatienceMs));
  EXPECT_TRUE(mirror_.should_pause_input(1000 + 2 * kPatienceMs - 1));
  EXPECT_FALSE(mirror_.should_pause_input(1000 + 2 * kPatienceMs));
}

TEST_F(TeeReader, ThatHadNothingToReadIsNotGivenUpForThat) {
  mirror_.pass("text\n");
  EXPECT_FALSE(mirror_.should_pause_input(1000));
  put_while_not_held(1'000'000);
  EXPECT_TRUE(mirror_.should_pause_input(1'000'000 + kPatienceMs - 1));
}

TEST_F(TeeReader, ThatNeverReadsMissesWhatIsNotInItsPipe) {
  put_while_not_held(1000);
  EXPECT_FALSE(mirror_.should_pause_input(1000 + kPatienceMs));
  while (put_ < 3 * StdoutMirror::kMaxKept) put();
  EXPECT_EQ(mirror_.missing(), put_ - child::read_now(pipe_.out.get()).size());
}

TEST_F(TeeReader, WaitsForTheOneWhoWritesBefore) {
  mirror_.wait_for_another(true);
  put_while_not_held(1000);
  EXPECT_EQ(mirror_.waits_for(), -1);
  EXPECT_EQ(child::read_now(pipe_.out.get()), "");
  EXPECT_TRUE(mirror_.should_pause_input(1000 + 2 * kPatienceMs)) << "no reader is at fault";
  mirror_.wait_for_another(false);
  EXPECT_EQ(drain(pipe_, mirror_).size(), put_);
}

TEST_F(TeeReader, GetsWhatAPipeHoldsWithoutACopy) {
  child::Pipe source = child::make_pipe();
  child::say(source.in.get(), "first\nsecond");
  EXPECT_EQ(mirror_.take_pages(source.out.get(), 6), 6U);
  EXPECT_EQ(child::read_now(pipe_.out.get()), "first\n");
  std::array<char, 6> head{};
  ASSERT_EQ(::read(source.out.get(), head.data(), head.size()), 6) << "it is still there";
  mirror_.passed({head.data(), head.size()});
  EXPECT_EQ(mirror_.written(), 6U);
  EXPECT_EQ(mirror_.take_pages(source.out.get(), 100), 6U);
  EXPECT_EQ(child::read_now(pipe_.out.get()), "second");
}

TEST_F(TeeReader, GetsWhatIsKeptForItBeforeWhatAPipeHolds) {
  child::Pipe source = child::make_pipe();
  child::say(source.in.get(), "late\n");
  put_while_not_held(1000);
  EXPECT_EQ(mirror_.take_pages(source.out.get(), 100), 0U);
  EXPECT_EQ(drain(pipe_, mirror_).size(), put_);
  EXPECT_EQ(mirror_.take_pages(source.out.get(), 100), 5U);
}

TEST_F(TeeReader, WhosePipeIsFullTakesNoPages) {
  child::Pipe source = child::make_pipe();
  child::say(source.in.get(), "text");
  const std::string full(static_cast<std::size_t>(::fcntl(pipe_.in.get(), F_GETPIPE_SZ)), 'x');
  mirror_.pass(full);
  ASSERT_EQ(mirror_.pending(), 0U);
  EXPECT_EQ(mirror_.take_pages(source.out.get(), 100), 0U);
  EXPECT_EQ(child::read_now(pipe_.out.get()), full);
}

TEST(TeeEcho, TakesNoPagesWhereItIsNoPipe) {
  child::Pipe source = child::make_pipe();
  child::say(source.in.get(), "text");
  const sys::Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  StdoutMirror mirror(null.get(), kPatienceMs);
  EXPECT_EQ(mirror.take_pages(source.out.get(), 100), 0U);
  EXPECT_EQ(child::read_now(source.out.get()), "text");
}

TEST(TeeEcho, TakesNoPagesWhereNobodyCanRead) {
  child::Pipe source = child::make_pipe();
  child::say(source.in.get(), "text");
  child::Pipe pipe = child::make_pipe();
  StdoutMirror mirror(pipe.in.get(), kPatienceMs);
  pipe.out.reset();
  EXPECT_EQ(mirror.take_pages(source.out.get(), 100), 0U);
  EXPECT_EQ(child::read_now(source.out.get()), "text");
}

TEST(TeeEcho, IsDeadWhereNobodyCanRead) {
  child::Pipe pipe = child::make_pipe();
  StdoutMirror mirror(pipe.in.get(), kPatienceMs);
  pipe.out.reset();
  mirror.pass("text");
  mirror.pass("more");
  EXPECT_TRUE(mirror.dead());
  EXPECT_EQ(mirror.pending(), 0U);
  EXPECT_EQ(mirror.missing(), 8U);
  EXPECT_FALSE(mirror.should_pause_input(1'000'000));
  EXPECT_EQ(mirror.waits_for(), -1);
}

class TeeEchoFile : public child::Scratch {};

// A limit on the file's size stands for a full disk.
TEST_F(TeeEchoFile, SaysInAFileWhatDidNotFitOnceThereIsRoom) {
  const auto outcome = child::run([this] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{10, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const int file = ::open(path("out").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    StdoutMirror mirror(file, kPatienceMs);
    mirror.pass("1234\n");
    mirror.pass("56789abc\n");
    mirror.put("put\n");
    mirror.flush();
    if (mirror.dead() || mirror.pending() != 0 || mirror.missing() != 8) return 1;
    limit.rlim_cur = RLIM_INFINITY;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    mirror.pass("next\n");
    return mirror.missing() == 0 && mirror.dropped() == 8 ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(read(path("out")),
            "1234\n56789\ntrainit: 8 bytes of output could not be written here\nnext\n");
}

TEST(TeeEcho, TriesAFullDeviceOnceAtATime) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  const auto totals = logtee::OutputTotals::make();
  StdoutMirror mirror(full, kPatienceMs, &totals->out);
  for (int i = 0; i < 3; ++i) mirror.pass("text\n");
  mirror.flush();
  EXPECT_EQ(totals->lost_lines(), 3U);
  EXPECT_FALSE(mirror.dead());
  EXPECT_EQ(mirror.missing(), 15U);
  EXPECT_EQ(mirror.dropped(), 15U);
  ::close(full);
}

// --- LogFile ---

class TeeLogFile : public child::Scratch {};

TEST_F(TeeLogFile, IsThereFromItsOpening) {
  logtee::LogFile log(path("log"), {});
  EXPECT_EQ(log.open(), "");
  EXPECT_TRUE(std::filesystem::exists(path("log")));
  EXPECT_THAT(logtee::LogFile(path("absent/log"), {}).open(), HasSubstr("absent"));
}

TEST_F(TeeLogFile, IsAppendedTo) {
  write("log", "before\n");
  logtee::LogFile log(path("log"), {});
  log.write("after\n", 0);
  EXPECT_EQ(read(path("log")), "before\nafter\n");
}

TEST_F(TeeLogFile, IsBegunAnewBetweenLines) {
  logtee::LogFile log(path("log"), {.max_bytes = 10, .keep = 2});
  for (const char* line : {"one\n", "two\n", "three\n", "four\nfive\n", "six\n"})
    log.write(line, 0);
  EXPECT_EQ(read(path("log")), "six\n");
  EXPECT_EQ(read(path("log.1")), "four\nfive\n");
  EXPECT_EQ(read(path("log.2")), "three\n");
  EXPECT_FALSE(std::filesystem::exists(path("log.3")));
}

TEST_F(TeeLogFile, CutsALineThatIsLongerThanAFile) {
  logtee::LogFile log(path("log"), {.max_bytes = 4, .keep = 5});
  log.write("abcdefghij\n", 0);
  EXPECT_EQ(read(path("log.2")) + read(path("log.1")) + read(path("log")), "abcdefghij\n");
}

TEST_F(TeeLogFile, KeepsNoOldOneWhereNoneIsWanted) {
  logtee::LogFile log(path("log"), {.max_bytes = 4, .keep = 0});
  log.write("one\ntwo\n", 0);
  EXPECT_EQ(read(path("log")), "two\n");
  EXPECT_FALSE(std::filesystem::exists(path("log.1")));
}

TEST_F(TeeLogFile, GoesOnInAFileThatItFoundFull) {
  write("log", "1234567\n");
  logtee::LogFile log(path("log"), {.max_bytes = 10, .keep = 1});
  log.write("abc\n", 0);
  EXPECT_EQ(read(path("log")), "abc\n");
  EXPECT_EQ(read(path("log.1")), "1234567\n");
}

// A limit on the file's size stands for a full disk.
TEST_F(TeeLogFile, GivesUpWhatDoesNotFitAndSaysSoWhereItIsMissing) {
  const auto outcome = child::run([this] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{10, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto totals = logtee::OutputTotals::make();
    logtee::LogFile log(path("log"), {.lost_count = &totals->files});
    log.write("one\n", 1000);
    log.write("two\nthree\n", 1001);
    log.write("not tried\n", 1002);
    log.write("tried\n", 2500);
    if (log.lost() != 20) return 1;
    limit.rlim_cur = RLIM_INFINITY;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    log.write("soon\n", 2600);
    log.write("again\n", 4000);
    return log.lost() == 25 && totals->lost_lines() == 4 ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(read(path("log")),
            "one\ntwo\nth\ntrainit: 25 bytes of output could not be written here\nagain\n");
}

TEST_F(TeeLogFile, ThatCannotBeOpenedIsTriedAgain) {
  logtee::LogFile log(path("later/log"), {});
  log.write("lost\n", 1000);
  std::filesystem::create_directory(path("later"));
  log.write("there\n", 2000);
  EXPECT_THAT(read(path("later/log")), StartsWith("trainit: 5 bytes"));
  EXPECT_THAT(read(path("later/log")), EndsWith("\nthere\n"));
}

TEST_F(TeeLogFile, ThatIsAFifoWaitsForNoReader) {
  ASSERT_EQ(::mkfifo(path("log").c_str(), 0600), 0);
  logtee::LogFile log(path("log"), {});
  log.write("lost\n", 1000);
  EXPECT_EQ(log.lost(), 5U);
}

TEST_F(TeeLogFile, FollowsNoLinkInAnothersDirectory) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs another user";
  write("theirs", "");
  std::filesystem::create_directory(path("shared"));
  std::filesystem::create_symlink(path("theirs"), path("shared/log"));
  ASSERT_EQ(::chmod(path("shared").c_str(), 0777), 0);
  logtee::LogFile log(path("shared/log"), {});
  log.write("text\n", 0);
  EXPECT_EQ(read(path("theirs")), "");
  EXPECT_EQ(log.lost(), 5U);
}

// --- The whole tee ---

class TeeRun : public child::Scratch {
 protected:
  // Two streams whose writers still live. Each holds as much as its pipe.
  static constexpr int kBytes = 1 << 20;
  [[nodiscard]] logtee::Work full_pipes() const {
    logtee::Work work;
    for (const char* name : {"log-0", "log-1"}) {
      std::array<int, 2> ends{-1, -1};
      EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
      EXPECT_EQ(::fcntl(ends[1], F_SETPIPE_SZ, kBytes), kBytes);
      EXPECT_EQ(::write(ends[1], std::string(kBytes, 'x').data(), kBytes), kBytes);
      work.feeds.push_back({.log = path(name), .fds = {ends[0], -1}});
    }
    return work;
  }
};

// The streams of many ranks on a busy machine take long to read.
TEST_F(TeeRun, ReadsTheRestOfEachStreamHoweverLongThatTakes) {
  const child::Outcome outcome = child::run([this] {
    logtee::Work work = full_pipes();
    std::array<int, 2> lifeline{-1, -1};
    EXPECT_EQ(::pipe(lifeline.data()), 0);
    const auto end = static_cast<char>(logtee::Told::kEnd);
    EXPECT_EQ(::write(lifeline[1], &end, 1), 1);
    work.lifeline = lifeline[0];
    auto shared = Shared::make(2);
    const auto scan = [](std::size_t process, Stream /*stream*/, std::string_view /*bytes*/) {
      if (process == 0) sys::pause_ms(logtee::kIdleEndMs / 4);
    };
    return logtee::run(work, *shared, scan);
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(read(path("log-0")).size(), kBytes);
  EXPECT_EQ(read(path("log-1")).size(), kBytes);
}

// The kernel answers EFAULT if it has no memory for a page of the ring.
TEST_F(TeeRun, ReadsAStreamAgainForWhichThereWasNoMemory) {
  const child::Outcome outcome = child::run([this] {
    logtee::Work work = full_pipes();
    std::array<int, 2> lifeline{-1, -1};
    EXPECT_EQ(::pipe(lifeline.data()), 0);
    work.lifeline = lifeline[0];
    auto shared = Shared::make(2);
    char* ring = shared->begin(0, Stream::kOut).data();
    EXPECT_EQ(::mprotect(ring, kRingBytes, PROT_NONE), 0);
    int seen = 0;
    const auto scan = [&](std::size_t process, Stream /*stream*/, std::string_view bytes) {
      if (process == 0) return;
      ::mprotect(ring, kRingBytes, PROT_READ | PROT_WRITE);
      seen += static_cast<int>(bytes.size());
      const auto end = static_cast<char>(logtee::Told::kEnd);
      if (seen == kBytes) EXPECT_EQ(::write(lifeline[1], &end, 1), 1);
    };
    return logtee::run(work, *shared, scan);
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(read(path("log-0")).size(), kBytes);
}

}  // namespace
