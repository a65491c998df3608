// The logs of ranks: what a job, or another user, puts where trainit writes and reads as root.

#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using escape::kOther;
using escape::Result;
using escape::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The first rank's output is ours; the second one's goes into its file.
const std::string kSecond = "[ \"$RANK_ID\" = 1 ] || exit 0; ";

class Logs : public Border {
 protected:
  void SetUp() override {
    Border::SetUp();
    write("root/secret", "the secret of root\n");
    make("home/logs", kJob, 0755);
  }

  [[nodiscard]] Words ranks_of(const std::string& user, const std::string& logs,
                               const std::string& script) const {
    return ranks(2, rules::shell(kSecond + script), {"--user", user, "--log-dir", path(logs)});
  }
};

// The first failure's last lines are what the tee has seen, never those of the file that the link
// leads to.
TEST_F(Logs, AreNotReadThroughALinkOfTheJobs) {
  const Result result = rules::run(contained(
      ranks_of("1000:1000", "home/logs",
               "echo mine; rm " + path("home/logs/rank-1.log") + "; ln -s " + path("root/secret") +
                   " " + path("home/logs/rank-1.log") + "; exit 3")));
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_THAT(result.err, AllOf(Not(HasSubstr("the secret")), HasSubstr("its last lines: mine"),
                                HasSubstr("rank-1.log")));
}

TEST_F(Logs, AreNotReadInADirectoryThatWasSwapped) {
  write("root/rank-1.log", "the secret of root\n");
  const Result result =
      rules::run(contained(ranks_of("1000:1000", "home/logs",
                                    "mv " + path("home/logs") + " " + path("home/old") +
                                        "; ln -s " + path("root") + " " + path("home/logs") +
                                        ""
                                        "; exit 3")));
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("the secret")));
  EXPECT_EQ(read(path("root/rank-1.log")), "the secret of root\n");
}

// Planted before the start by another user, in a directory that all may write.
TEST_F(Logs, AreNotAppendedThroughAPlantedLink) {
  make("tmp/shared", 0, 0777);
  as(kOther, path("tmp/shared"), "ln -s " + path("root/secret") + " rank-1.log");
  for (const bool job : {true, false}) {
    Words args = ranks_of("1000:1000", "tmp/shared", "echo planted; exit 0");
    if (!job)
      args = ranks(2, rules::shell(kSecond + "echo planted"), {"--log-dir", path("tmp/shared")});
    const Result result = rules::run(contained(args));
    EXPECT_EQ(read(path("root/secret")), "the secret of root\n");
    EXPECT_THAT(result.err, AllOf(HasSubstr("rank-1.log"), HasSubstr("link"))) << job;
  }
}

TEST_F(Logs, AreNotAppendedToAnothersFile) {
  make("tmp/shared", 0, 01777);
  as(kOther, path("tmp/shared"), "echo mine >rank-1.log; chmod 666 rank-1.log");
  const Result result =
      rules::run(contained(ranks_of("1000:1000", "tmp/shared", "echo planted; exit 0")));
  EXPECT_EQ(result.code, 0) << "nobody ends another's job by it";
  EXPECT_THAT(result.out, HasSubstr("planted"));
  EXPECT_EQ(read(path("tmp/shared/rank-1.log")), "mine\n");
  EXPECT_THAT(result.err, HasSubstr("a file of user 2000"));
}

TEST_F(Logs, ThatAreSomethingElseEndNoJob) {
  for (const char* plant : {"mkfifo -m 666 rank-1.log", "mkdir rank-1.log"}) {
    make("tmp/shared", 0, 01777);
    as(kOther, path("tmp/shared"), std::string("rm -rf rank-1.log; ") + plant);
    const Result result =
        rules::run(contained(ranks_of("1000:1000", "tmp/shared", "echo planted; exit 0")));
    EXPECT_EQ(result.code, 0) << plant << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr("rank-1.log"));
  }
}

// Where the kernel lets others give it a second name (protected_hardlinks = 0).
TEST_F(Logs, AreNotAppendedToASecondNameOfAFileOfRoots) {
  make("tmp/shared", 0, 01777);
  ASSERT_EQ(::link(path("root/secret").c_str(), path("tmp/shared/rank-1.log").c_str()), 0);
  const Result result =
      rules::run(contained(ranks_of("1000:1000", "tmp/shared", "echo planted; exit 0")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("root/secret")), "the secret of root\n");
}

// With the tee, which begins new files.
TEST_F(Logs, AreNotMovedAboutInADirectoryThatWasSwapped) {
  write("root/rank-1.log", "the secret of root\n");
  const std::string swap = "mv " + path("home/logs") + " " + path("home/old") + "; ln -s " +
                           path("root") + " " + path("home/logs") + "; ";
  const Result result = rules::run(contained(
      ranks(2,
            rules::shell(kSecond + swap +
                         "i=0; while [ $i -lt 2000 ]; do echo line $i of some; "
                         "i=$((i+1)); done"),
            {"--user", "1000:1000", "--log-dir", path("home/logs"), "--log-max-size", "4k"})));
  EXPECT_EQ(read(path("root/rank-1.log")), "the secret of root\n");
  EXPECT_FALSE(exists("root/rank-1.log.1")) << result.err;
}

// A directory of logs that root made a link to stays in use.
TEST_F(Logs, AreFoundByALinkThatIsRoots) {
  make("logs", 0, 0755);
  ASSERT_EQ(::symlink(path("home/logs").c_str(), path("logs/link").c_str()), 0);
  const Result result =
      rules::run(contained(ranks_of("1000:1000", "logs/link", "echo all is well; exit 3")));
  EXPECT_THAT(result.err, HasSubstr("all is well"));
  EXPECT_EQ(read(path("home/logs/rank-1.log")), "all is well\n");
}

// A directory that the job may write, and where a file of root's lies all the same.
TEST_F(Logs, AreNotRootsFilesInASharedDirectory) {
  write("tmp/rank-1.log", "the secret of root\n");
  give("tmp/rank-1.log", 0, 0600);
  const std::string swap = "mv " + path("home/logs") + " " + path("home/old") + "; ln -s " +
                           path("tmp") + " " + path("home/logs") + "; ";
  for (const Words& options : {Words{"--log-keep", "0"}, Words{"--log-keep", "2"}}) {
    Words args = escape::joined(
        {"--user", "1000:1000", "--log-max-size", "4k", "--log-dir", path("home/logs")}, options);
    const Result result = rules::run(
        contained(ranks(2,
                        rules::shell(kSecond + swap +
                                     "i=0; while [ $i -lt 1000 ]; do echo line $i of some; "
                                     "i=$((i+1)); done; exit 3"),
                        args)));
    EXPECT_EQ(read(path("tmp/rank-1.log")), "the secret of root\n") << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("the secret")));
    as(kJob, path("home"), "rm -f logs; rm -rf old; mkdir logs");
  }
}

// The usual way of an image to have all on the container's output.
TEST_F(Logs, MayBeALinkOfRootsToStdout) {
  make("logs", 0, 0755);
  ASSERT_EQ(::symlink("/dev/stdout", path("logs/rank-1.log").c_str()), 0);
  const Result result =
      rules::run(contained(ranks_of("1000:1000", "logs", "echo all is well; exit 0")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("all is well"));
}

// As the job's own, without a right of root's to go anywhere.
TEST_F(Logs, OfAPlaceOfTheJobsNeedNoRightsOfOurs) {
  make("home/private", kJob, 0700);
  escape::Spec spec = contained(ranks_of("1000:1000", "home/private/logs", "echo all is well"));
  spec.before = [before = spec.before] {
    before();
    for (const int capability : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_CHOWN}) {
      ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
  };
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("home/private/logs/rank-1.log")), "all is well\n");
  EXPECT_EQ(owner_of("home/private/logs/rank-1.log"), kJob);
}

}  // namespace
