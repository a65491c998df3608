// What a process of the job inherits, and what it may do to PID 1.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>

#include <filesystem>

#include "tests/escape/border.h"
#include "tests/rules/shell.h"

namespace {

using escape::Border;
using escape::Result;
using escape::Spec;
using testing::HasSubstr;

class Process : public Border {};

// Of the caller's: a directory of root's, by which openat goes past every mode above it.
TEST_F(Process, OfAnotherUserHasNoDescriptorOfTheCallers) {
  for (const bool other : {true, false}) {
    Spec spec = contained({"--", "/bin/sh", "-c", "echo fds: $(ls /proc/self/fd | tr '\\n' ' ')."});
    if (other) spec.args.insert(spec.args.begin(), {"--user", "1000:1000"});
    spec.before = [before = spec.before, root = path("root")] {
      before();
      const int fd = ::open(root.c_str(), O_RDONLY | O_DIRECTORY);
      if (fd < 0 || ::dup2(fd, 17) != 17) ::_exit(rules::kCannotStart);
    };
    const Result result = rules::run(spec);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out.find(" 17 ") == std::string::npos, other) << result.out;
  }
}

// A job that may type into root's terminal has root's shell.
TEST_F(Process, OfAnotherUserHasNoTerminalOfTheCallers) {
  rules::Screen screen({"/bin/sh", "-c",
                        rules::trainit() +
                            " --user 1000:1000 -- /bin/sh -c "
                            "'cut -d\" \" -f7 /proc/$$/stat >" +
                            path("out/tty") + "'; echo end"},
                       env());
  ASSERT_TRUE(screen.await("end"));
  EXPECT_EQ(read(path("out/tty")), "0\n");
}

// Where it is confined, also one with PID 1's own uid.
TEST_F(Process, ThatIsConfinedCannotReadPid1) {
  const std::string look =
      "cat /proc/1/environ >/dev/null 2>&1 && echo read; "
      "echo x 2>/dev/null >>/proc/1/mem && echo opened; echo tried";
  Spec spec = contained({"--no-new-privs", "--", "/bin/sh", "-c", look});
  spec.before = [before = spec.before] {
    before();
    if (::setgroups(0, nullptr) != 0 || ::setresgid(1000, 1000, 1000) != 0 ||
        ::setresuid(1000, 1000, 1000) != 0) {
      ::_exit(rules::kCannotStart);
    }
  };
  give("run", 1000, 0755);
  const Result result = rules::run(spec);
  EXPECT_EQ(result.out, "tried\n") << result.err;
}

// What somebody types is the shell's, also behind a job that reads all it can.
TEST_F(Process, OfAnotherUserReadsNothingThatIsTyped) {
  rules::Screen screen({"/bin/sh", "-c",
                        rules::trainit() +
                            " --user 1000:1000 -- /bin/sh -c "
                            "'for n in 0 1 2; do cat <&$n & done; wait; "
                            "echo none' >" +
                            path("out/read") + "; echo end"},
                       env());
  ASSERT_TRUE(screen.await("end"));
  EXPECT_EQ(read(path("out/read")), "none\n");
}

// Where trainit keeps its state the job would lead it elsewhere.
TEST_F(Process, OfAnotherUserDoesNotOwnTheRunDirectory) {
  make("home/run", 0, 0755);
  Spec spec = contained({"--user", "1000:1000", "--", "/bin/true"});
  spec.env.emplace_back("TRAINIT_RUN_DIR=" + path("home/run"));
  std::erase_if(spec.env, [this](const std::string& entry) {
    return entry == "TRAINIT_RUN_DIR=" + path("run");
  });
  const Result theirs = rules::run(spec);
  EXPECT_EQ(theirs.code, 125);
  EXPECT_THAT(theirs.err, HasSubstr("home (owner 1000"));

  // A link of the job's: nothing is written behind it.
  as(escape::kJob, path("home"), "ln -s " + path("root") + " state");
  spec.env.back() = "TRAINIT_RUN_DIR=" + path("home/state");
  const Result linked = rules::run(spec);
  EXPECT_THAT(linked.err, HasSubstr("the link"));
  EXPECT_TRUE(std::filesystem::is_empty(path("root")));

  // One that all may write.
  spec.env.back() = "TRAINIT_RUN_DIR=" + path("tmp");
  const Result shared = rules::run(spec);
  EXPECT_EQ(shared.code, 125);
  EXPECT_THAT(shared.err, HasSubstr("mode 1777"));
}

TEST_F(Process, LeavesTheModeOfASharedRunDirectoryAlone) {
  give("run", 0, 01777);
  EXPECT_EQ(rules::run(contained({"--", "/bin/true"})).code, 0);
  EXPECT_EQ(status_of("run").st_mode & 07777U, 01777U);
}

}  // namespace
