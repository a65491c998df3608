// Which ranks start cold though a process stood by, and why.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/rules/lifecycle/warm.h"

namespace {

using rules::joined;
using rules::kPrelude;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Cold : public rules::WarmTest {
 protected:
  // A first start that fails when `condition` holds, a second that tells that it was there.
  [[nodiscard]] Result fail_once(const std::string& condition, const Words& options) const {
    return rules::run(job(
        "\nif start == 0:\n    " + condition + "\n    os._exit(7)\ntell('second', str(start))\n",
        options));
  }
};
RULES_EITHER_WAY(Cold);

constexpr const char* kReady = "ready(1)";

TEST_P(Cold, AVariableThatIsAnotherOne) {
  hook("pre-start", "echo OMP_NUM_THREADS=1$TRAINIT_RESTART_COUNT >> $TRAINIT_ENV");
  const Result result = fail_once(kReady, {"--warm", "helper"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("restart, cold: main: OMP_NUM_THREADS is another one"));
  EXPECT_EQ(told("second"), "1");
}

TEST_P(Cold, AVariableThatMayBeAnotherOneIsTheNewOne) {
  hook("pre-start", "echo RUN_ID=1$TRAINIT_RESTART_COUNT >> $TRAINIT_ENV");
  const Result result = rules::run(
      job("\nif start == 0:\n    ready(1)\n    os._exit(7)\ntell('second', os.environ['RUN_ID'])\n",
          {"--warm", "helper", "--warm-free", "RUN_*"}));
  EXPECT_THAT(result.err, HasSubstr("restart, warm: main"));
  EXPECT_EQ(told("second"), "11");
}

TEST_P(Cold, AFailureBeforeTheModulesAreImported) {
  make_fifo("never");
  write("lib/slow.py", "open('" + path("never") + "')\n");
  const Result result = fail_once("state_has('\"warm\": \"importing')", {"--warm", "slow"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("restart, cold: main: its modules were still being imported"));
}

TEST_P(Cold, AModuleThatCannotBeImported) {
  const Result result = fail_once("state_has('given up')", {"--warm", "helper,no_such_module"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("warm: main restarts cold: ModuleNotFoundError: No "
                                          "module named 'no_such_module'"),
                                HasSubstr("restart, cold: main: ModuleNotFoundError")));
}

// The kernel takes no packet that is larger than a socket's buffer.
TEST_P(Cold, MoreModulesThanCanBeHandedOver) {
  const auto list = [](char letter) {
    std::string names(1, letter);
    for (int i = 0; i < 1000; ++i) names += "," + std::string(115, letter) + std::to_string(i);
    return names;
  };
  const Result result =
      fail_once("state_has('given up')", {"--warm", list('a'), "--warm", list('b')});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("restart, cold: main: the list of its modules is too long"));
  EXPECT_EQ(told("second"), "1");
}

// What is ready, and takes its work, may do nothing with it.
TEST_P(Cold, AProcessThatNeverAnswers) {
  write("lib/mute.py", R"(import os
import time
decode = os.fsdecode
def fsdecode(name):
    while name == b'go':
        time.sleep(1)
    return decode(name)
os.fsdecode = fsdecode
)");
  const Result result = fail_once("ready(1)", {"--warm", "mute"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("second"), "1");
  EXPECT_THAT(result.err, AllOf(HasSubstr("warm: what stood by for main is not the rank: it has "
                                          "not answered within 10 s"),
                                HasSubstr("restart, cold: main: what stood by did not become")));
}

TEST_P(Cold, AModuleThatOpensADevice) {
  write("lib/device.py", "import os\nfd = os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)\n");
  const Result result = fail_once("state_has('given up')", {"--warm", "device"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("its modules open the device /dev/"));
}

TEST_P(Cold, AModuleThatStartsAProcess) {
  write("lib/family.py", "import subprocess\nchild = subprocess.Popen(['sleep', '1000'])\n");
  const Result result = fail_once("state_has('given up')", {"--warm", "family"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("its modules start processes"));
}

TEST_P(Cold, AModuleBesideTheProgramThatIsAnotherOneByNow) {
  write("own.py", "value = 'old'\n");
  const std::string change =
      "ready(1); open('" + path("own.py") + "', 'w').write('value = \"new one\"')";
  const Result result =
      rules::run(job("import own\nif start == 0:\n    " + change +
                         "\n    os._exit(7)\ntell('second', own.value)\nprint('once')\n",
                     {"--warm", "own"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("second"), "new one");
  EXPECT_THAT(result.err, HasSubstr("warm: main starts cold all the same: " + path("own.py")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("once\n"), Not(HasSubstr("once\nonce"))));
}

TEST_P(Cold, APythonThatDropsItsPathNeverRunsTheProgramTwice) {
  write("python3", "#!/bin/sh\nunset PYTHONPATH\nexec /usr/bin/python3 \"$@\"\n", 0755);
  write("helper.py", rules::kHelper);
  const std::string count = "open(here + '/runs', 'a').write('run\\n')\n";
  const Result result =
      rules::run(job(count + "if start == 0:\n    state_has('given up')\n    os._exit(7)\n",
                     {"--warm", "helper"}, {path("python3"), path("train.py")}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("runs")), "run\nrun\n");
  EXPECT_THAT(result.err, HasSubstr("does not load sitecustomize from PYTHONPATH"));
}

TEST_P(Cold, ALauncherAndWhatIsNoPython) {
  const Words plan = {"plan", "--verbose", "--max-restarts", "1", "--warm", "torch,numpy"};
  for (const Words& command : {Words{"torchrun", "train.py"}, Words{"/bin/true"}}) {
    const Result result = tool(joined(joined(plan, {"--"}), command));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("a restart is a cold one: main: its command is"));
  }
  const Words two = joined(plan, {"--fan-out", "--slots", "2", "--", "/usr/bin/python3"});
  EXPECT_THAT(tool(joined(two, {"-c", "1"})).out, HasSubstr("is no Python script"));
  EXPECT_THAT(
      tool(joined(two, {"train.py"})).out,
      HasSubstr("keeps a process warm for a restart of each of rank-0, rank-1, with torch, numpy"));
}

TEST_P(Cold, ADirectoryThatIsAProgram) {
  const Spec spec = job("if start == 0:\n    state_has('given up')\n    os._exit(7)\n",
                        {"--warm", "helper"}, {"/usr/bin/python3", path("program")});
  std::filesystem::create_directory(path("program"));
  std::filesystem::rename(path("train.py"), path("program/__main__.py"));
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("program is no script"));
}

TEST_P(Cold, OneThatWasStopped) {
  // A process stops a while after kill() has returned.
  const Result result = fail_once(R"(pid = int(ready(1)[0])
    os.kill(pid, 19)
    while open('/proc/%d/stat' % pid).read().rpartition(')')[2].split()[0] != 'T':
        pass)",
                                  {"--warm", "helper"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("restart, cold: main: what stood by was stopped by a signal"));
}

TEST_P(Cold, AModuleThatTellsASecretTellsItToNobody) {
  write("lib/secret.py", "raise RuntimeError('no answer from https://bob:hunter2@host')\n");
  const Result result =
      rules::run(job("\nif start == 0:\n    state_has('given up')\n    os._exit(7)\n"
                     "with open(os.environ['TRAINIT_RUN_DIR'] + '/state.json') as file:\n"
                     "    tell('second', file.read())\n",
                     {"--warm", "secret"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("https://***@host"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(told("second"), AllOf(HasSubstr("https://***@host"), Not(HasSubstr("hunter2"))));
}

TEST_P(Cold, VariablesThatAreTooManyToBeHandedOver) {
  hook("pre-start",
       "echo BIG=$TRAINIT_RESTART_COUNT$(head -c 70000 /dev/zero | tr '\\0' a) >> $TRAINIT_ENV");
  const Result result = fail_once(kReady, {"--warm", "helper", "--warm-free", "BIG"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("restart, cold: main: its new variables are too large"));
}

TEST_P(Cold, AModuleThatChangesWhatACommandInherits) {
  const std::map<std::string, std::string> changes = {
      {"os.chdir('/')", "working directory"},
      {"os.umask(0o7)", "umask"},
      {"signal.signal(signal.SIGUSR2, signal.SIG_IGN)", "signals"},
      {"signal.alarm(1000)", "alarm"},
      {"os.nice(3)", "priority"},
      {"resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))", "limits"}};
  for (const auto& [change, what] : changes) {
    std::filesystem::remove_all(path("run"));
    // A file each: Python tells what it has compiled by times of a second and by sizes.
    const std::string module = "changes_" + what.substr(0, what.find(' '));
    write("lib/" + module + ".py", "import os, resource, signal\n" + change + "\n");
    const Result result = fail_once("state_has('given up')", {"--warm", module});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("its modules change its " + what)) << change;
  }
}

TEST_P(Cold, AScriptThatIsAnotherOneByNow) {
  const std::string edit =
      "ready(1); text = open(sys.argv[0]).read(); open(sys.argv[0], 'w')"
      ".write('import os\\nos.environ[\"KNOB\"] = \"1\"\\n' + text)";
  write("lib/late.py", "import os\nseen = os.environ.get('KNOB')\n");
  const Spec automatic = job("", {"--warm", "auto"});
  write("train.py", "import late\n" + std::string(kPrelude) + "if start == 0:\n    " + edit +
                        "\n    os._exit(7)\ntell('second', str(late.seen))\n");
  const Result result = rules::run(automatic);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("second"), "1");
  EXPECT_THAT(result.err,
              HasSubstr("starts cold all the same: " + path("train.py") + " is another one"));
}

TEST_P(Cold, AModuleThatChangesWhileOthersAreImported) {
  write("own.py", "value = 'old'\n");
  write("lib/changer.py", "open('" + path("own.py") + "', 'w').write('value = \"new one\"\\n')\n");
  const Result result = rules::run(job(
      "\nif start == 0:\n    ready(1)\n    os._exit(7)\nimport own\ntell('second', own.value)\n",
      {"--warm", "own,changer"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("second"), "new one");
}

TEST_P(Cold, AScriptWhosePathLeadsToAnotherOneByNow) {
  for (const char* release : {"r1", "r2"}) std::filesystem::create_directories(path(release));
  std::filesystem::create_directory_symlink("r1", path("current"));
  const std::string retarget =
      "os.symlink('r2', here + '/next'); os.rename(here + '/next', here + "
      "'/current')";
  Spec linked = job("\nif start == 0:\n    ready(1); " + retarget +
                        "\n    os._exit(7)\ntell('second', os.path.realpath(__file__))\n"
                        "state_has('\"start\": \"cold: ')\n",
                    {"--warm", "helper"}, {"/usr/bin/python3", path("current/train.py")});
  for (const char* release : {"r1/train.py", "r2/train.py"}) {
    std::filesystem::copy_file(path("train.py"), path(release));
  }
  const Result result = rules::run(linked);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("second"), path("r2/train.py"));
  EXPECT_THAT(result.err, HasSubstr("starts cold all the same: " + path("current/train.py") +
                                    " leads to another file"));
}

// It has the rank's work, and is not the rank yet: no start is lost by that.
TEST_P(Cold, OneThatEndsWhileItIsHandedItsWork) {
  const std::map<std::string, std::string> ends = {{"killed", "os.kill(os.getpid(), 9)"},
                                                   {"left", "os._exit(0)"}};
  for (const auto& [module, end] : ends) {
    std::filesystem::remove_all(path("run"));
    write("lib/" + module + ".py",
          "import os\ndef end(*_):\n    " + end + "\nos.set_inheritable = end\n");
    const Result result =
        fail_once(kReady, {"--fan-out", "--slots", "1", "--output", "tee", "--warm", module});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(told("second"), "1");
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("restart, warm: rank-0"), HasSubstr("restart, cold: rank-0: "),
                      Not(HasSubstr("restart 2"))));
  }
}

}  // namespace
