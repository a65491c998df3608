// What hooks get and what they export.

#include "init/engine/hooks/hooks.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/init/engine/hooks/hooks.h"
#include "tests/init/refuse.h"

namespace {

using hooks::Hooks;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

// Mounts of our own, which are gone with this process.
bool own_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount("", "/", "", MS_REC | MS_PRIVATE, "") == 0;
}

bool make_read_only(const char* directory) {
  return ::mount(directory, directory, "", MS_BIND, "") == 0 &&
         ::mount("", directory, "", MS_REMOUNT | MS_BIND | MS_RDONLY, "") == 0;
}

TEST_F(Hooks, NoneIsASuccess) {
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.message + outcome.log, IsEmpty());
}

TEST_F(Hooks, RunOneAfterTheOtherInTheGivenOrder) {
  script("b", "echo first >> " + path("order"));
  script("a", "echo second >> " + path("order"));
  hook("c", "echo third >> " + path("order"));  // no "#!": as every shell does
  EXPECT_EQ(run().code, 0);
  EXPECT_EQ(read(path("order")), "first\nsecond\nthird\n");
}

TEST_F(Hooks, AreStartedWhereTheySayThatTheyApply) {
  script("a", "# trainit-when: nodes WANTED\necho ran");
  script("b", "# trainit-when: ranks\necho ran");
  script("c", "# trainit-when: OTHER\necho ran");
  env_.set("TRAINIT_NODE_COUNT", "1");
  env_.set("TRAINIT_LOCAL_WORLD_SIZE", "1");
  env_.set("OTHER", "");
  EXPECT_EQ(run().log, "");
  env_.set("TRAINIT_NODE_COUNT", "2");
  EXPECT_EQ(run().log, "trainit: hook a: ran\n");
  env_.set("TRAINIT_NODE_COUNT", "1");
  env_.set("TRAINIT_LOCAL_WORLD_SIZE", "8");
  env_.set("WANTED", "1");
  EXPECT_EQ(run().log, "trainit: hook a: ran\ntrainit: hook b: ran\n");
}

TEST_F(Hooks, GetTheEnvironmentAndAnEmptyFileForExports) {
  env_.set("TRAINIT_NODE_RANK", "1");
  env_.set("TRAINIT_ENV", "/not/this");
  script("a", R"(echo "$TRAINIT_HOOK $TRAINIT_NODE_RANK $(wc -c < "$TRAINIT_ENV") $#"
case $TRAINIT_ENV in ")" +
                  run_dir_ + R"("/*) echo in run dir; esac
[ $(env | grep -c TRAINIT_) = 3 ] && echo no more)");
  EXPECT_EQ(run().log,
            "trainit: hook a: pre-start 1 0 0\ntrainit: hook a: in run dir\n"
            "trainit: hook a: no more\n");
}

TEST_F(Hooks, TheLifecycleScriptGetsTheEventAsItsArgument) {
  group_.event = envgen::HookEvent::kOnFailure;
  script("a", "echo $#");
  script("lifecycle.sh", "echo \"$@\"");
  group_.script = group_.paths.back();
  EXPECT_EQ(run().log, "trainit: hook a: 0\ntrainit: hook lifecycle.sh: on-failure\n");
}

TEST_F(Hooks, HaveNoInputNoTerminalAndAGroupOfTheirOwn) {
  script("a", R"(cat; echo "end of input"
(: < /dev/tty) || echo "no terminal"
set -- $(cat /proc/$$/stat); [ "$5" = "$$" ] && [ "$6" = "$$" ] && echo "own group")");
  EXPECT_THAT(run().log,
              AllOf(HasSubstr("hook a: end of input\n"), HasSubstr("hook a: no terminal\n"),
                    HasSubstr("hook a: own group\n")));
}

TEST_F(Hooks, SeeNoDescriptorOfOurs) {
  script("a", "ls -1 /proc/self/fd | tr '\\n' ' '");  // ls has the directory open
  EXPECT_EQ(run().log, "trainit: hook a: 0 1 2 3 \n");
}

TEST_F(Hooks, AreStartedWithTheCallersSignals) {
  script("a", "grep -E 'SigBlk|SigIgn' /proc/self/status");
  const std::string none = "0000000000000000";
  EXPECT_THAT(run().log, AllOf(HasSubstr("SigBlk:\\t" + none), HasSubstr("SigIgn:\\t" + none)));
}

// Exports.

TEST_F(Hooks, WhatOneExportsIsToldAndSeenByTheNext) {
  script("a", "echo A=1 >> \"$TRAINIT_ENV\"; echo B=1 >> \"$TRAINIT_ENV\"");
  script("b", "echo \"$A $B\"; printf 'B=2' >> \"$TRAINIT_ENV\"");
  script("c", "echo \"$A $B\"; cat \"$TRAINIT_ENV\"");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.message, "export A=1\nexport B=1\nexport B=2\n");
  EXPECT_EQ(outcome.log, "trainit: hook b: 1 1\ntrainit: hook c: 1 2\n");
}

TEST_F(Hooks, ExportAValueOfSeveralLines) {
  script("a", "printf 'A<<END\\nx=1\\n\\ny\\nEND\\n' >> \"$TRAINIT_ENV\"");
  script("b", "[ \"$A\" = 'x=1\n\ny' ] && echo same");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.message, "export A=x=1\n\ny\n");
  EXPECT_EQ(outcome.log, "trainit: hook b: same\n");
}

TEST_F(Hooks, MayReplaceTheFileOrRemoveIt) {
  script("a", "echo A=1 > \"$TRAINIT_ENV.new\"; mv \"$TRAINIT_ENV.new\" \"$TRAINIT_ENV\"");
  script("b", "rm \"$TRAINIT_ENV\"");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.message, "export A=1\n");
}

TEST_F(Hooks, LeaveNoFileBehind) {
  script("a", "echo A=1 >> \"$TRAINIT_ENV\"");
  EXPECT_EQ(run().message, "export A=1\n");
  EXPECT_TRUE(fs::is_empty(run_dir_));
}

TEST_F(Hooks, ABadLineIsAFailureOfTheHookByTheLinesNumber) {
  group_.fatal = true;
  script("a", "echo A=1 >> \"$TRAINIT_ENV\"");
  script("b", "echo B=1 >> \"$TRAINIT_ENV\"; echo nonsense >> \"$TRAINIT_ENV\"");
  script("c", "echo not reached");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.message,
              AllOf(StartsWith("export A=1\nfailed 125: "), Not(HasSubstr("export B")),
                    HasSubstr("reading what the pre-start hook b exports: $TRAINIT_ENV: line 2: "
                              "found a line without '='")));
  EXPECT_THAT(outcome.log, IsEmpty());
}

TEST_F(Hooks, ANulInTheFileIsAFailure) {
  group_.fatal = true;
  script("a", "printf 'A=\\000' >> \"$TRAINIT_ENV\"");
  EXPECT_THAT(run().message,
              AllOf(StartsWith("failed 125: "), HasSubstr("line 1: found a NUL byte")));
}

TEST_F(Hooks, ExportAMegabyteAtMostAlone) {
  group_.fatal = true;
  script("a", "head -c 200000000 /dev/zero | tr '\\0' '#' >> \"$TRAINIT_ENV\"");
  EXPECT_THAT(run().message,
              AllOf(StartsWith("failed 125: "), HasSubstr("more than 1048576 bytes")));
}

// "A=" and its line's end: nothing that can be exported is shorter.
TEST_F(Hooks, ExportAsManyVariablesAsAMegabyteHolds) {
  constexpr long kMax = (1L << 20) / 3;
  group_.fatal = true;
  script("a", "yes A= | head -n " + std::to_string(kMax) + " >> \"$TRAINIT_ENV\"");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 0) << outcome.message.substr(0, 300);
  EXPECT_EQ(std::ranges::count(outcome.message, '\n'), kMax);
}

TEST_F(Hooks, ExportAMegabyteAtMostTogether) {
  group_.fatal = true;
  const std::string lines =
      "for i in 1 2 3 4 5 6; do printf \"$1$i=\"; head -c 100000 /dev/zero | tr '\\0' x; echo; done"
      " >> \"$TRAINIT_ENV\"";
  script("a", "set A\n" + lines);
  script("b", "set B\n" + lines);
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.message, AllOf(StartsWith("export A1=xxx"), HasSubstr("hook b exports"),
                                     HasSubstr("with the hooks before it 12000")));
}

TEST_F(Hooks, WhatAFailedOneExportedDoesNotCount) {
  script("a", "echo A=1 >> \"$TRAINIT_ENV\"; exit 1");
  script("b", "echo \"A is '$A'\"");
  const Outcome outcome = run();
  EXPECT_THAT(outcome.message, IsEmpty());
  EXPECT_THAT(outcome.log, HasSubstr("hook b: A is ''\n"));
}

TEST_F(Hooks, DoNotChangeWhatThePlanSetsForEachProcess) {
  forced_ = {"RANK", "WORLD_SIZE"};
  script("a", "printf 'RANK=7\\nTRAINIT_HOOK=x\\nTRAINIT_ENV=/x\\nNAME=1\\n' >> \"$TRAINIT_ENV\"");
  script("b", "echo \"RANK is '$RANK', $TRAINIT_HOOK\"");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.message, "export NAME=1\n");
  EXPECT_THAT(outcome.log, AllOf(HasSubstr("hook b: RANK is '', pre-start\n"),
                                 HasSubstr("warning: the pre-start hook a exports RANK, "),
                                 HasSubstr("hook a exports TRAINIT_ENV, ")));
}

TEST_F(Hooks, DoNotReadAFifoInTheFilesPlace) {
  group_.fatal = true;
  script("a", "rm \"$TRAINIT_ENV\"; mkfifo \"$TRAINIT_ENV\"");
  EXPECT_THAT(run().message, AllOf(StartsWith("failed 125: "), HasSubstr("no regular file")));
}

TEST_F(Hooks, ALinkThatOneLeavesIsNotTheNextOnesFile) {
  const std::string victim = write("victim", "untouched");
  write("run/hook.pre-start.env", "OLD=1\n");
  script("a", "echo \"A${OLD}=1\" >> \"$TRAINIT_ENV\"");
  script("b", "ln -sf " + victim + " \"$TRAINIT_ENV\"");
  script("c", "echo C=1 >> \"$TRAINIT_ENV\"");
  EXPECT_EQ(run().message, "export A=1\nexport C=1\n");
  EXPECT_EQ(read(victim), "untouched");
}

// Where the file is.

class HooksWithoutRunDir : public Hooks {
 protected:
  HooksWithoutRunDir() {
    run_dir_ = "";
    group_.fatal = true;
    script("a", "echo A=1 >> \"$TRAINIT_ENV\"; echo B=1 >> \"$TRAINIT_ENV\"; echo $TRAINIT_ENV");
    script("b", "echo C=$A$B >> \"$TRAINIT_ENV\"");
  }
  static constexpr const char* kNews = "export A=1\nexport B=1\nexport C=11\n";
};

TEST_F(HooksWithoutRunDir, ExportByAFileInMemory) {
  const Outcome outcome = run();
  EXPECT_EQ(outcome.message, kNews);
  EXPECT_THAT(outcome.log, HasSubstr("hook a: /proc/"));
}

TEST_F(HooksWithoutRunDir, ExportByAFileInMemoryAlsoWhereItTakesNone) {
  run_dir_ = path("no/such/directory");
  EXPECT_EQ(run().message, kNews);
}

TEST_F(HooksWithoutRunDir, ExportByAFileInTmpWhereThereIsNoMemfd) {
  const Outcome outcome = run({}, [] { return refuse::calls({SYS_memfd_create}, ENOSYS); });
  EXPECT_EQ(outcome.message, kNews);
  EXPECT_THAT(outcome.log, HasSubstr("hook a: /tmp/trainit-hook-"));
  const std::size_t at = outcome.log.find("/tmp/trainit-hook-");
  EXPECT_FALSE(fs::exists(outcome.log.substr(at, outcome.log.find('\n', at) - at)));
}

TEST_F(HooksWithoutRunDir, RunWithoutTheVariableWhereNothingCanBeWritten) {
  if (!child::is_root()) GTEST_SKIP() << "needs mounts";
  group_.paths.clear();
  script("a", "echo \"${TRAINIT_ENV-unset}\"");
  script("b", "echo \"${TRAINIT_ENV-unset}\"");
  const Outcome outcome = run({}, [] {
    return own_mounts() && make_read_only("/tmp") && make_read_only("/dev/shm") &&
           refuse::calls({SYS_memfd_create}, EPERM);
  });
  if (outcome.code == 99) GTEST_SKIP() << "no mounts here";
  EXPECT_EQ(outcome.code, 0);
  const std::size_t warning = outcome.log.find("going on without TRAINIT_ENV");
  EXPECT_NE(warning, std::string::npos);
  EXPECT_EQ(outcome.log.find("going on without TRAINIT_ENV", warning + 1), std::string::npos);
  EXPECT_THAT(outcome.log, AllOf(HasSubstr("hook a: unset\n"), HasSubstr("hook b: unset\n")));
}

TEST_F(Hooks, AFullRunDirIsTheHooksFailureAndNoCutExport) {
  if (!child::is_root()) GTEST_SKIP() << "needs mounts";
  group_.fatal = true;
  script("a", "exec 2>&1; env echo A=1 >> \"$TRAINIT_ENV\"");
  const Outcome outcome = run({}, [this] {
    constexpr std::size_t kPage = 4096;
    if (!own_mounts()) return false;
    if (::mount("", run_dir_.c_str(), "tmpfs", 0, "size=4096") != 0) return false;
    write("run/fill", std::string(kPage, 'x'));
    return true;
  });
  if (outcome.code == 99) GTEST_SKIP() << "no mounts here";
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.message, AllOf(StartsWith("failed "), HasSubstr("No space left on device"),
                                     Not(HasSubstr("export"))));
}

}  // namespace
