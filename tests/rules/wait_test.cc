// What somebody at a terminal sees before the job starts: one line, drawn over, gone when there is
// something to start; and what a log has instead.

#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/rules/job.h"
#include "tests/rules/shell.h"

namespace {

using rules::Screen;
using rules::Words;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kErase = "\r\x1b[K";
constexpr unsigned short kColumns = 80;

// The longest of the lines that were drawn over one another, in bytes.
std::size_t widest(std::string_view shown) {
  std::size_t most = 0;
  for (std::size_t at = shown.find(kErase); at != std::string_view::npos;) {
    const std::size_t begin = at + kErase.size();
    at = shown.find(kErase, begin);
    const std::string_view piece = shown.substr(begin, at - begin);
    if (!piece.starts_with("trainit: ")) continue;  // a line of the log: it has a time
    most = std::max(most, piece.substr(0, piece.find('\r')).size());
  }
  return most;
}

class Waits : public rules::JobTest {
 protected:
  [[nodiscard]] Screen screen(const Words& options, const Words& command,
                              const std::string& terminal = "xterm") const {
    return Screen(
        rules::joined(rules::joined({rules::trainit()}, options), rules::joined({"--"}, command)),
        rules::joined(env(), {"TERM=" + terminal}), kColumns);
  }
  [[nodiscard]] Words for_table() const {
    return {"--rank-table", path("table.json"), "--framework", "single"};
  }
  void bring_table() const {
    write("new", rules::rank_table(1));
    std::filesystem::rename(path("new"), path("table.json"));
  }
};

TEST_F(Waits, AreOneLineOnATerminalThatGrowsOlderAndGoes) {
  ASSERT_EQ(::mkfifo(path("go").c_str(), 0600), 0);
  Screen waiting = screen(for_table(), rules::shell("echo up; read x < $HERE/go; echo down"));
  waiting.await("\r\x1b[Ktrainit: waiting for " + path("table.json"));
  waiting.await("s)");  // of its age, which grows
  waiting.await("\r\x1b[Ktrainit: waiting for");
  waiting.await("s)");
  EXPECT_THAT(waiting.shown(), Not(HasSubstr("\n")));
  EXPECT_LT(widest(waiting.shown()), kColumns);
  bring_table();
  waiting.await("trainit: bare/single");
  waiting.await("up\r\n");
  const std::size_t started = waiting.shown().size();
  write("go", "\n");
  waiting.await("down");
  EXPECT_EQ(waiting.wait(), 0);
  EXPECT_THAT(waiting.shown().substr(started), Not(HasSubstr("\x1b[")));
}

TEST_F(Waits, AreLinesOnATerminalThatCannotErase) {
  Screen waiting = screen(for_table(), {"true"}, "dumb");
  waiting.await("trainit: waiting for " + path("table.json"));
  waiting.await("\r\n");
  bring_table();
  EXPECT_EQ(waiting.wait(), 0);
  EXPECT_THAT(waiting.shown(), Not(HasSubstr("\x1b[")));
}

TEST_F(Waits, GoFromTheScreenBeforeAFailureIsTold) {
  Screen waiting = screen(rules::joined(for_table(), {"--rank-table-timeout", "1s"}), {"true"});
  waiting.await("\r\x1b[Ktrainit: waiting for");
  EXPECT_EQ(waiting.wait(), 69);
  const std::string& shown = waiting.shown();
  EXPECT_THAT(shown, ContainsRegex("\r\x1b\\[K[^\r]*trainit: error: [^\r]*rank table"));
  EXPECT_EQ(shown.find("\x1b[K", shown.find("trainit: error")), std::string::npos) << shown;
}

TEST_F(Waits, LeaveTheScreenToHooks) {
  std::filesystem::create_directories(path("hooks/pre-start.d"));
  write("hooks/pre-start.d/10-says", "#!/bin/sh\necho it says\n");
  std::filesystem::permissions(path("hooks/pre-start.d/10-says"), std::filesystem::perms(0755));
  Screen waiting = screen(rules::joined(for_table(), {"--hooks-dir", path("hooks")}), {"true"});
  waiting.await("\r\x1b[Ktrainit: waiting for");
  bring_table();
  EXPECT_EQ(waiting.wait(), 0);
  EXPECT_THAT(waiting.shown(), ContainsRegex("\n[^\r\n]*trainit: hook 10-says: it says\r\n"));
}

TEST_F(Waits, TellHowFarTheDataIs) {
  ASSERT_EQ(::mkdir(path("set").c_str(), 0755), 0);
  write("set/a", "a");
  const Words options = {"--data", path("set") + "=" + path("place"), "--data-headroom", "0"};
  EXPECT_EQ(screen(options, {"true"}).wait(), 0);
  // Another copy to the same place is under way until this is closed.
  sys::Fd lock(::open(path(".trainit-copy.place/lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  Screen waiting = screen(options, rules::shell("echo up"));
  waiting.await("\r\x1b[Ktrainit: data set: waiting for another copy");
  EXPECT_LT(widest(waiting.shown()), kColumns);
  lock.reset();
  waiting.await("up\r\n");
  EXPECT_EQ(waiting.wait(), 0);
}

TEST_F(Waits, AreToldByStatusWithTheirTime) {
  rules::Instance instance(spec({"--rank-table", path("table.json"), "--", "true"}));
  instance.await_err("waiting for");
  rules::Result result = tool({"status"});
  TestTimeout timeout;
  while (result.out.find("s)\n") == std::string::npos && timeout.is_left()) {
    result = tool({"status"});
  }
  EXPECT_THAT(result.out,
              ContainsRegex("waiting for " + path("table.json") + ": [^\n]* \\([0-9]+s\\)\n"));
  EXPECT_THAT(tool({"status", "--json"}).out, ContainsRegex("\"waiting_since_ms\": [0-9]+"));
}

}  // namespace
