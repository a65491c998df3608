#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "init/copy/progress_view.h"
#include "tests/init/child.h"
#include "tests/test_timeout.h"

namespace {

copy::SharedCounters half_done() {
  auto counters = copy::SharedCounters::anonymous();
  EXPECT_TRUE(counters);
  counters->get().phase = copy::Phase::kCopying;
  counters->get().entries = 5;
  counters->get().total_entries = 10;
  return std::move(*counters);
}

// What is written to a terminal of 60 columns, which is stderr.
std::string drawn_by(const std::function<void()>& body) {
  const sys::Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_EQ(::grantpt(master.get()), 0);
  EXPECT_EQ(::unlockpt(master.get()), 0);
  const std::string name = ::ptsname(master.get());
  const sys::Fd terminal(::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  winsize size{};
  size.ws_col = 60;
  EXPECT_EQ(::ioctl(terminal.get(), TIOCSWINSZ, &size), 0);
  const auto outcome = child::run([&] {
    const sys::Fd again(::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    ::dup2(again.get(), STDERR_FILENO);
    body();
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
  // What a terminal has taken reaches its reader a little later.
  constexpr std::string_view kEnd = "<end>";
  child::say(terminal.get(), std::string(kEnd));
  std::string drawn;
  for (TestTimeout timeout; !drawn.ends_with(kEnd) && timeout.is_left();) {
    pollfd ready{master.get(), POLLIN, 0};
    ::poll(&ready, 1, TestTimeout::kLookMs);
    drawn += child::read_now(master.get());
  }
  EXPECT_TRUE(drawn.ends_with(kEnd)) << drawn;
  return drawn.substr(0, drawn.size() - std::min(drawn.size(), kEnd.size()));
}

TEST(CopyProgressView, DrawsABarOnATerminalAndTakesItAway) {
  const copy::SharedCounters counters = half_done();
  const std::string drawn = drawn_by([&] {
    copy::ProgressView view("set");
    view.show(counters.get());
    view.clear();
  });
  EXPECT_TRUE(drawn.starts_with("\r\x1b[Kset: copying  50% ")) << drawn;
  EXPECT_TRUE(drawn.ends_with("\r\x1b[K")) << drawn;
  EXPECT_LE(drawn.size(), 60 + 2 * std::string("\r\x1b[K").size());
}

TEST(CopyProgressView, DrawsNothingAgainAtOnce) {
  const copy::SharedCounters counters = half_done();
  const std::string drawn = drawn_by([&] {
    copy::ProgressView view("");
    for (int i = 0; i < 100; ++i) view.show(counters.get());
  });
  EXPECT_LT(drawn.size(), 300U);
}

TEST(CopyProgressView, WhatBeginsIsDrawnAtOnce) {
  const copy::SharedCounters counters = half_done();
  const std::string drawn = drawn_by([&] {
    copy::ProgressView view("");
    view.show(counters.get());
    counters.get().phase = copy::Phase::kChecking;
    view.show(counters.get());
  });
  EXPECT_NE(drawn.find("checking"), std::string::npos) << drawn;
}

TEST(CopyProgressView, StallAndItsEndAreLinesAboveTheBar) {
  const copy::SharedCounters counters = half_done();
  const std::string drawn = drawn_by([&] {
    copy::ProgressView view("set", {.source = "/mnt/x", .copy = "/y"});
    view.show(counters.get());
    counters.get().stalled_ms = 15'000;
    counters.get().stalled_side = copy::CopySide::kSource;
    for (int i = 0; i < 3; ++i) view.show(counters.get());
    counters.get().stalled_side = copy::CopySide::kNone;
    view.show(counters.get());
  });
  const std::string line = "\r\x1b[Ktrainit: set: nothing from /mnt/x for 15s: ";
  EXPECT_NE(drawn.find(line), std::string::npos) << drawn;
  EXPECT_EQ(drawn.find(line), drawn.rfind(line)) << drawn;
  EXPECT_NE(drawn.find("trainit: set: /mnt/x answers again after 15s"), std::string::npos) << drawn;
}

TEST(CopyProgressView, QuickCopyNeedsNoLine) {
  const copy::SharedCounters counters = half_done();
  int lines = 0;
  copy::ProgressView view("set", {}, [&lines](std::string_view) { ++lines; });
  view.show(counters.get());
  view.clear();
  EXPECT_EQ(lines, 0);
}

TEST(CopyProgressView, NumbersOfAnotherCopyAreMarked) {
  const copy::SharedCounters counters = half_done();
  EXPECT_TRUE(copy::progress_of(counters.get(), true).waiting);
  EXPECT_EQ(copy::progress_of(counters.get()).entries, 5U);
  EXPECT_EQ(copy::progress_of(counters.get()).phase, "copying");
}

TEST(CopyProgressView, StallThatAnotherUserMadeUpIsNone) {
  const copy::SharedCounters counters = half_done();
  counters.get().stalled_ms = 15'000;
  counters.get().stalled_side = static_cast<copy::CopySide>(99);
  EXPECT_EQ(copy::stall_of(counters.get()), copy::Stall());
  counters.get().stalled_side = copy::CopySide::kBoth;
  EXPECT_EQ(copy::stall_of(counters.get()).for_ms, 15'000);
  counters.get().stalled_ms = -1;
  EXPECT_EQ(copy::stall_of(counters.get()), copy::Stall());
}

class CopyCounters : public child::Scratch {};

TEST_F(CopyCounters, CanBeLookedAtByAnotherUser) {
  if (!child::is_root()) GTEST_SKIP() << "becoming another user takes root";
  const auto made = copy::SharedCounters::create(path("progress"));
  ASSERT_TRUE(made);
  made->get().entries = 5;
  made->save();
  const auto outcome = child::run([this] {
    if (!child::become_nobody()) return 1;
    const auto seen = copy::SharedCounters::open(path("progress"));
    return seen && seen->get().entries == 5 ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(CopyCounters, FileSaysWhatWasSaved) {
  const auto made = copy::SharedCounters::create(path("progress"));
  ASSERT_TRUE(made);
  made->get().bytes = 7;
  made->get().phase = copy::Phase::kCopying;
  made->save();
  made->get().bytes = 8;
  const auto seen = copy::SharedCounters::open(path("progress"));
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->get().bytes, 7U);
  EXPECT_EQ(seen->get().phase, copy::Phase::kCopying);
}

// A page of a mapping that its file does not have any more is a SIGBUS.
TEST_F(CopyCounters, FileThatSomebodyTruncatesEndsNobody) {
  const auto outcome = child::run([this] {
    const auto made = copy::SharedCounters::create(path("progress"));
    const auto seen = copy::SharedCounters::open(path("progress"));
    if (!made || !seen || ::truncate(path("progress").c_str(), 0) != 0) return 1;
    made->get().entries = 5;
    const bool short_is_none = !copy::SharedCounters::open(path("progress"));
    made->save();
    return short_is_none && seen->get().entries == 0 && made->get().entries == 5 ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(CopyCounters, WhatIsNoRegularFileIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir(path("directory").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("nothing", path("link").c_str()), 0);
  for (const char* name : {"fifo", "directory", "link"}) {
    EXPECT_FALSE(copy::SharedCounters::open(path(name))) << name;
    EXPECT_FALSE(copy::SharedCounters::create(path(name))) << name;
  }
}

}  // namespace
