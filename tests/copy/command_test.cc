// trainit copy, as it is used.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>

#include "tests/copy/tree.h"
#include "tests/rules/job.h"
#include "tests/rules/shell.h"

namespace {

using rules::Instance;
using rules::Result;
using rules::Words;
using testing::HasSubstr;

class CopyCommand : public child::Scratch {
 protected:
  CopyCommand() { trees::make(path("source"), 1, 60); }

  [[nodiscard]] static Result copy(Words args, std::function<void()> before = {}) {
    args.insert(args.begin(), "copy");
    return rules::run(
        {.args = std::move(args), .env = {}, .pid1 = false, .before = std::move(before)});
  }
  [[nodiscard]] static bool tells(const Result& result, const std::string& text) {
    return result.out.find(text) != std::string::npos;
  }
  void expect_same(const std::string& place, bool owners = true) const {
    EXPECT_EQ(trees::differences(trees::entries_of(path("source"), owners),
                                 trees::entries_of(path(place), owners)),
              Words{});
  }
};

TEST_F(CopyCommand, MakesTheSameTreeAndSaysHow) {
  const Result result = copy({path("source"), path("new/place")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(tells(result, path("new/place") + ", renamed")) << result.out;
  expect_same("new/place");
}

// On 80 columns, as a window usually has; what is drawn over is gone at the end.
TEST_F(CopyCommand, FirstCopyShowsItsBarOnATerminal) {
  rules::Screen screen({rules::trainit(), "copy", path("source"), path("place")},
                       {"PATH=/usr/bin:/bin", "TERM=xterm"}, 80);
  EXPECT_TRUE(screen.await("\r\x1b[Kscanning: "));
  EXPECT_TRUE(screen.await(" entries so far"));
  EXPECT_TRUE(screen.await("\r\x1b[Kcopying "));
  EXPECT_TRUE(screen.await("% ["));
  EXPECT_TRUE(screen.await("\r\x1b[Kchecking "));
  EXPECT_TRUE(screen.await("% ["));
  EXPECT_TRUE(screen.await("\r\x1b[Kcopied "));
  EXPECT_EQ(screen.wait(), 0);
}

TEST_F(CopyCommand, DumbTerminalIsNotDrawnOn) {
  rules::Screen screen({rules::trainit(), "copy", path("source"), path("place")});
  EXPECT_EQ(screen.wait(), 0);
  EXPECT_TRUE(screen.shown().starts_with("copied ")) << screen.shown();
}

TEST_F(CopyCommand, DryRunSaysWhatWouldBeDoneAndWritesNothing) {
  write("elsewhere", "data");
  ASSERT_EQ(::symlink(path("elsewhere").c_str(), path("source/out").c_str()), 0);
  ASSERT_EQ(::symlink("/dev/null", path("source/device").c_str()), 0);
  const auto before = trees::entries_of(path(""), true);
  const Result preview = copy({"--dry-run", path("source"), path("new/place")});
  EXPECT_EQ(preview.code, 0) << preview.err;
  EXPECT_TRUE(tells(preview, "would copy ")) << preview.out;
  EXPECT_TRUE(tells(preview, " to " + path("new/place") + "; ")) << preview.out;
  EXPECT_THAT(preview.err, HasSubstr("1 symbolic links lead out of it, as out: the copy has"));
  EXPECT_THAT(preview.err, HasSubstr("1 symbolic links lead out of it, as device: they stay"));
  EXPECT_EQ(trees::differences(before, trees::entries_of(path(""), true)), Words{});

  const Result copied = copy({path("source"), path("new/place")});
  const std::string amount = preview.out.substr(11, preview.out.find(" to ") - 11);
  EXPECT_TRUE(tells(copied, "copied " + amount + " in ")) << copied.out << preview.out;
}

TEST_F(CopyCommand, DryRunFindsTheCopyThatIsThere) {
  EXPECT_EQ(copy({path("source"), path("place")}).code, 0);
  const auto before = trees::entries_of(path(""), true);
  Result preview = copy({"--dry-run", path("source"), path("place")});
  EXPECT_TRUE(tells(preview, "up to date: ")) << preview.out;
  EXPECT_EQ(trees::differences(before, trees::entries_of(path(""), true)), Words{});
  write("source/more", "more");
  preview = copy({"--dry-run", "--json", path("source"), path("place")});
  EXPECT_TRUE(tells(preview, R"("up_to_date": false)")) << preview.out;
}

TEST_F(CopyCommand, DryRunWithoutRoomIsAnError) {
  const Result preview = copy({"--dry-run", "--headroom", "100%", path("source"), path("place")});
  EXPECT_EQ(preview.code, 1) << preview.out;
  EXPECT_THAT(preview.err, HasSubstr("looking for room for a copy"));
  EXPECT_EQ(copy({"--dry-run", path("missing"), path("place")}).code, 1);
}

TEST_F(CopyCommand, FindsWhatIsThere) {
  EXPECT_EQ(copy({path("source"), path("place")}).code, 0);
  const Result second = copy({path("source"), path("place")});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_TRUE(tells(second, "unchanged")) << second.out;
}

TEST_F(CopyCommand, SourceThatChangedIsExchanged) {
  EXPECT_EQ(copy({path("source"), path("place")}).code, 0);
  write("source/more", "more");
  const Result second = copy({path("source"), path("place")});
  EXPECT_TRUE(tells(second, "exchanged")) << second.out << second.err;
  expect_same("place");
}

TEST_F(CopyCommand, CopyThatSomebodyChangedIsMadeAnew) {
  EXPECT_EQ(copy({path("source"), path("place")}).code, 0);
  ASSERT_EQ(::unlink(path("place/part-0/file-1").c_str()), 0);
  const Result second = copy({path("source"), path("place")});
  EXPECT_TRUE(tells(second, "exchanged")) << second.out << second.err;
  expect_same("place");
}

TEST_F(CopyCommand, DirectoryOfSomebodyElseIsKept) {
  ASSERT_EQ(::mkdir(path("place").c_str(), 0755), 0);
  write("place/precious", "mine");
  const Result result = copy({path("source"), path("place")});
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string kept = path(".trainit-copy.place/replaced-");
  const std::size_t at = result.out.find(kept);
  ASSERT_NE(at, std::string::npos) << result.out;
  const std::string where = result.out.substr(at, result.out.find(": ", at) - at);
  EXPECT_EQ(read(where + "/precious"), "mine");
  expect_same("place");
}

// What a job wrote into it, and a source that is copied again.
TEST_F(CopyCommand, CopyThatSomebodyWroteToIsKept) {
  EXPECT_EQ(copy({path("source"), path("place")}).code, 0);
  write("place/ckpt", "precious");
  const Result result = copy({path("source"), path("place")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("entries, not"), std::string::npos) << result.err;
  const std::string kept = path(".trainit-copy.place/replaced-");
  const std::size_t at = result.out.find(kept);
  ASSERT_NE(at, std::string::npos) << result.out;
  EXPECT_EQ(read(result.out.substr(at, result.out.find(": ", at) - at) + "/ckpt"), "precious");
  expect_same("place");
}

// The same sizes and times: only the contents differ.
TEST_F(CopyCommand, AnotherSourceOfTheSameLooksIsNotTakenForTheFirst) {
  trees::make(path("other"), 2, 60);
  EXPECT_EQ(copy({path("other"), path("place")}).code, 0);
  EXPECT_EQ(copy({path("source"), path("place")}).code, 0);
  expect_same("place");
}

TEST_F(CopyCommand, VerifiesAndSyncs) {
  const Result result = copy({"--verify", "--durable", path("source"), path("place")});
  EXPECT_EQ(result.code, 0) << result.err;
  expect_same("place");
  const Result second = copy({"--verify", path("source"), path("place")});
  EXPECT_TRUE(tells(second, "unchanged")) << second.out << second.err;
}

// As after a crash of the machine: what was written may not have come to the disk.
TEST_F(CopyCommand, CopyOfAnotherBootIsProvenByHashesOrMadeAnew) {
  const auto crash = [this] {
    const std::string record = path(".trainit-copy.place/record.json");
    std::string text = read(record);
    const std::size_t at = text.find("\"boot_id\": \"") + 12;
    text.replace(at, text.find('"', at) - at, "another");
    std::ofstream(record) << text;
  };
  EXPECT_EQ(copy({path("source"), path("place")}).code, 0);
  crash();
  EXPECT_TRUE(tells(copy({"--verify", path("source"), path("place")}), "exchanged"));
  crash();
  EXPECT_TRUE(tells(copy({path("source"), path("place")}), "unchanged"));
  EXPECT_EQ(read(path(".trainit-copy.place/record.json")).find("another"), std::string::npos);
  crash();
  struct stat status{};
  ASSERT_EQ(::stat(path("place/large").c_str(), &status), 0);
  std::fstream(path("place/large"), std::ios::in | std::ios::out) << "damaged";
  const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path("place/large").c_str(), times.data(), 0), 0);
  EXPECT_TRUE(tells(copy({path("source"), path("place")}), "exchanged"));
  expect_same("place");
}

// Touched, and nothing else: its bytes decide.
TEST_F(CopyCommand, CopyThatWasTouchedIsCompared) {
  EXPECT_EQ(copy({path("source"), path("place")}).code, 0);
  const Words touched = {path("place/large"), path("place/part-0/file-1")};
  for (const bool harm : {false, true}) {
    for (const std::string& file : touched) {
      struct stat status{};
      ASSERT_EQ(::stat(file.c_str(), &status), 0);
      if (harm && file == touched[0]) std::fstream(file, std::ios::in | std::ios::out) << "damaged";
      const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
      ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times.data(), 0), 0);
    }
    const Result result = copy({path("source"), path("place")});
    EXPECT_TRUE(tells(result, harm ? "exchanged" : "unchanged")) << result.out << result.err;
    expect_same("place");
  }
}

TEST_F(CopyCommand, OneFile) {
  EXPECT_EQ(copy({path("source/large"), path("file")}).code, 0);
  EXPECT_EQ(read(path("file")), read(path("source/large")));
  EXPECT_TRUE(tells(copy({path("source/large"), path("file")}), "unchanged"));
  const Result second = copy({path("source/sparse"), path("file")});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(read(path("file")), read(path("source/sparse")));
}

TEST_F(CopyCommand, NameAsLongAsOneMayBe) {
  const std::string name(255, 'n');
  EXPECT_EQ(copy({path("source"), path(name)}).code, 0);
  expect_same(name);
  const Result second = copy({path("source"), path(name)});
  EXPECT_TRUE(tells(second, "unchanged")) << second.out << second.err;
  EXPECT_EQ(copy({path("source"), path(name + "n")}).code, 1);
}

TEST_F(CopyCommand, OnlyWhatIsWanted) {
  const Result result =
      copy({"--include", "file-1*", "--exclude=part-1", path("source"), path("place")});
  EXPECT_EQ(result.code, 0) << result.err;
  const trees::Entries entries = trees::entries_of(path("place"));
  EXPECT_TRUE(entries.contains("part-0/file-11"));
  EXPECT_FALSE(entries.contains("part-0/file-2"));
  EXPECT_FALSE(entries.contains("part-1"));
}

TEST_F(CopyCommand, GivesItToAnotherUser) {
  if (!child::is_root()) GTEST_SKIP() << "giving files away takes root";
  EXPECT_EQ(copy({"--owner", "1234:2345", path("source"), path("place")}).code, 0);
  struct stat status{};
  ASSERT_EQ(::stat(path("place/part-0/file-1").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234U);
  EXPECT_EQ(status.st_gid, 2345U);
  expect_same("place", false);
  const Result second = copy({"--owner", "1234:2345", path("source"), path("place")});
  EXPECT_TRUE(tells(second, "unchanged")) << second.out << second.err;
}

TEST_F(CopyCommand, OrdinaryUserCopiesAndFindsIt) {
  ASSERT_EQ(::mkdir(path("open").c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path("open").c_str(), 0777), 0);
  // What only root may read is left out.
  const Words words = {"--exclude", "empty", "--exclude",    "file-*",
                       "--exclude", "one",   "--exclude",    "two",
                       "--exclude", "three", path("source"), path("open/place")};
  const auto nobody = [] {
    if (child::is_root() && !child::become_nobody()) ::_exit(2);
  };
  const Result first = copy(words, nobody);
  EXPECT_EQ(first.code, 0) << first.err;
  const Result second = copy(words, nobody);
  EXPECT_TRUE(tells(second, "unchanged")) << second.out << second.err;
}

TEST_F(CopyCommand, SendsATerminalNothingThatItWouldObey) {
  const std::string place = path("a\n\x1b[31m\xc2\x9b");
  for (const char* how : {"copied", "unchanged"}) {
    const Result result = copy({path("source"), place});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(tells(result, how) && tells(result, "a\\n\\x1b[31m\\x9b, ")) << result.out;
  }
}

TEST_F(CopyCommand, WaitsForAnotherCopy) {
  ASSERT_TRUE(sys::make_directories(path(".trainit-copy.place"), 0755));
  sys::Fd lock(
      ::open(path(".trainit-copy.place/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  Instance waiting({.args = {"copy", path("source"), path("place")}, .env = {}, .pid1 = false});
  EXPECT_TRUE(waiting.await_err("waiting for it"));
  const Result late = copy({"--timeout", "200ms", path("source"), path("place")});
  EXPECT_EQ(late.code, 69) << late.err;
  lock.reset();
  EXPECT_EQ(waiting.wait(), 0) << waiting.err();
  expect_same("place");
}

// As one does whose locks do not reach here.
TEST_F(CopyCommand, WaitsForAnotherMachine) {
  EXPECT_EQ(copy({path("source"), path("place")}).code, 0);
  write("source/more", "more");
  const std::string claim = write(".trainit-copy.place/claim", "of-another-boot 1 1\n");
  const Result late = copy({"--timeout", "200ms", path("source"), path("place")});
  EXPECT_EQ(late.code, 69) << late.err;
  EXPECT_NE(late.err.find("another machine that copies to the same place"), std::string::npos);
  EXPECT_EQ(read(claim), "of-another-boot 1 1\n");
  Instance waiting({.args = {"copy", path("source"), path("place")}, .env = {}, .pid1 = false});
  EXPECT_TRUE(waiting.await_err("waiting for it"));
  ASSERT_EQ(::unlink(claim.c_str()), 0);
  EXPECT_EQ(waiting.wait(), 0) << waiting.err();
  expect_same("place");
  EXPECT_NE(::access(claim.c_str(), F_OK), 0);
}

TEST_F(CopyCommand, EightAtOnceMakeOneCopy) {
  constexpr int kJobs = 8;
  std::vector<std::unique_ptr<Instance>> jobs;
  for (int i = 0; i < kJobs; ++i) {
    jobs.push_back(std::make_unique<Instance>(
        rules::Spec{.args = {"copy", path("source"), path("place")}, .env = {}, .pid1 = false}));
  }
  int made = 0;
  for (const auto& job : jobs) {
    EXPECT_EQ(job->wait(), 0) << job->err();
    made += job->out().starts_with("copied") ? 1 : 0;
  }
  EXPECT_EQ(made, 1);
  expect_same("place");
}

TEST_F(CopyCommand, ResultAsJson) {
  const Result result = copy({"--json", path("source"), path("place")});
  EXPECT_TRUE(tells(result, "\"published\": \"renamed\"")) << result.out;
  EXPECT_TRUE(tells(result, "\"why\": \"\"")) << result.out;
  write("place/ckpt", "precious");
  const Result second = copy({"--json", path("source"), path("place")});
  EXPECT_TRUE(tells(second, "entries, not ")) << second.out;
}

TEST_F(CopyCommand, FileThatIsGoneIsSaidToBe) {
  for (const char* name : {"/part-0/file-1", "/large"}) {
    for (const Words& options : {Words{}, Words{"--verify"}}) {
      const std::string file = path("place") + name;
      EXPECT_EQ(copy(rules::joined(options, {path("source"), path("place")})).code, 0);
      ASSERT_EQ(::unlink(file.c_str()), 0);
      const Result result = copy(rules::joined(options, {path("source"), path("place")}));
      EXPECT_NE(result.err.find(file + ": no such file any more; copying it anew"),
                std::string::npos)
          << result.err;
      EXPECT_EQ(result.err.find("EBADF"), std::string::npos) << result.err;
    }
  }
}

TEST_F(CopyCommand, BadInputIs125) {
  for (const Words& words : std::vector<Words>{{},
                                               {path("source")},
                                               {"--workers", "0", "a", "b"},
                                               {"--owner", "root", "a", "b"},
                                               {"--headroom", "101%", "a", "b"},
                                               {"--verify=x", "a", "b"},
                                               {"--what", "a", "b"},
                                               {"--include", "[", "a", "b"}}) {
    EXPECT_EQ(copy(words).code, 125) << testing::PrintToString(words);
  }
  EXPECT_EQ(copy({path("source"), path("source/place")}).code, 1);
  EXPECT_EQ(copy({path("nothing"), path("place")}).code, 1);
}

}  // namespace
