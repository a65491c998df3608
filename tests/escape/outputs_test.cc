// What `-o FILE` and `--junit FILE` write: another user of the node waits with a link or a FIFO.

#include <gmock/gmock.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using escape::kOther;
using rules::Result;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;

class Outputs : public Border {
 protected:
  void SetUp() override {
    Border::SetUp();
    write("root/precious", "precious");
    write("hosts", "a slots=2\nb slots=2\n");
    make("theirs", kOther, 0755);
  }

  // Each of the outputs there is.
  [[nodiscard]] std::vector<Words> commands(const std::string& output) const {
    return {{"hostfile", "convert", path("hosts"), "--to", "mpich", "-o", output},
            {"doctor", "--only", "clock", "--junit", output}};
  }
};

TEST_F(Outputs, FollowNoLinkOfAnotherUser) {
  for (const char* name : {"out/report", "tmp/report", "theirs/report"}) {
    as(kOther, path(name).substr(0, path(name).rfind('/')),
       "ln -s " + path("root/precious") + " report");
    for (const Words& command : commands(path(name))) {
      const Result result = rules::run(contained(command));
      EXPECT_EQ(result.code, 125) << name << result.out;
      EXPECT_THAT(result.err, HasSubstr("which others may change"));
    }
  }
  // A directory that is a link.
  as(kOther, path("out"), "ln -s " + path("root") + " way");
  for (const Words& command : commands(path("out/way/precious"))) {
    EXPECT_EQ(rules::run(contained(command)).code, 125);
  }
  EXPECT_EQ(read(path("root/precious")), "precious");
}

TEST_F(Outputs, WaitForNoFifoOfAnotherUser) {
  as(kOther, path("out"), "mkfifo report");
  for (const Words& command : commands(path("out/report"))) {
    const Result result = rules::run(contained(command));
    EXPECT_EQ(result.code, 125);
    EXPECT_THAT(result.err, HasSubstr("no regular file"));
  }
}

// What root itself has put there, and what the kernel has.
TEST_F(Outputs, GoThroughLinksOfRoot) {
  ASSERT_EQ(::symlink(path("root/precious").c_str(), path("out/mine").c_str()), 0);
  for (const Words& command : commands(path("out/mine"))) {
    write("root/precious", "");
    const Result result = rules::run(contained(command));
    EXPECT_NE(result.code, 125) << result.err;
    EXPECT_NE(read(path("root/precious")), "");
  }
  for (const Words& command : commands("/dev/stdout")) {
    const Result result = rules::run(contained(command));
    EXPECT_NE(result.code, 125) << result.err;
    EXPECT_NE(result.out, "");
  }
}

// The copy of the timeline is made when the job has had its time to prepare the place.
class TimelineOutput : public Border {
 protected:
  [[nodiscard]] Result run(const std::string& directory, const std::string& script) const {
    return rules::run(contained({"--user", "1000:1000", "--timeline", path(directory), "--",
                                 "/bin/sh", "-c", "cd " + path("home") + "; " + script}));
  }
};

TEST_F(TimelineOutput, InADirectoryOfTheJobsIsTheJobs) {
  make("home/t", kJob, 0700);
  const Result result = run("home/t/made", "true");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(owner_of("home/t/made"), kJob);
  EXPECT_EQ(owner_of("home/t/made/events.jsonl"), kJob);
  EXPECT_NE(read(path("home/t/made/state.json")), "");
}

TEST_F(TimelineOutput, InADirectoryOfRootsIsRoots) {
  EXPECT_EQ(run("root/t", "true").code, 0);
  EXPECT_EQ(owner_of("root/t/events.jsonl"), 0U);
}

// One of root's, which the job may move but not write.
TEST_F(TimelineOutput, ThatTheJobHasReplacedIsNotWritten) {
  make("home/private", 0, 0755);
  write("home/private/events.jsonl", "precious");
  make("home/t", kJob, 0755);
  const Result result = run("home/t", "rmdir t; mv private t");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("--timeline"), HasSubstr("ignoring")));
  EXPECT_EQ(read(path("home/t/events.jsonl")), "precious");

  write("root/events.jsonl", "precious");
  EXPECT_EQ(run("home/t", "mv t old; ln -s " + path("root") + " t").code, 0);
  EXPECT_EQ(read(path("root/events.jsonl")), "precious");
}

}  // namespace
