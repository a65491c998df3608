// The drop-ins beside the programs whose place they take: the same words on the command line and in
// the environment, the same exit code, stdout and stderr. What they do with signals, groups and
// orphans is tests/behaviour's.

#include <gmock/gmock.h>
#include <unistd.h>

#include <cctype>
#include <csignal>

#include "tests/rules/instance.h"

namespace dropin {
namespace {

using rules::Words;

struct Case {
  std::string name;
  std::string program;
  Words args;
  Words env = {};
};

void PrintTo(const Case& one, std::ostream* stream) { *stream << one.program << " " << one.name; }

// Numbers of processes differ from run to run.
std::string without_pids(std::string text) {
  for (const std::string_view before :
       {"tini (", "catatonit:", "PID ", "pid '", "pid: '", "pid=", "pid1 (", "child process "}) {
    for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
      at += before.size();
      std::size_t end = at;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
      text.replace(at, end - at, end > at ? "N" : "");
    }
  }
  return text;
}

rules::Result run(const std::string& path, const Case& one) {
  Words args = one.args;
  args.insert(args.begin(), one.program);
  Words env = {"PATH=/usr/bin:/bin"};
  env.insert(env.end(), one.env.begin(), one.env.end());
  rules::Result result = rules::run({.args = args, .env = env, .pid1 = false, .program = path});
  result.out = without_pids(result.out);
  result.err = without_pids(result.err);
  return result;
}

class Peer : public testing::TestWithParam<Case> {};

TEST_P(Peer, IsAnsweredAlike) {
  const Case& one = GetParam();
  const std::string installed = "/usr/bin/" + one.program;
  if (::access(installed.c_str(), X_OK) != 0) GTEST_SKIP() << "no " << one.program << " installed";

  const rules::Result theirs = run(installed, one);
  const rules::Result ours = run(rules::trainit(), one);

  EXPECT_EQ(ours.code, theirs.code);
  EXPECT_EQ(ours.out, theirs.out);
  EXPECT_EQ(ours.err, theirs.err);
}

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

std::vector<Case> tini() {
  const std::string exit_7 = "exit 7";
  return {
      {"Version", "tini", {"--version"}},
      {"VersionWithMore", "tini", {"--version", "x"}},
      {"VersionWithDoubleDash", "tini", {"--", "--version"}},
      {"Help", "tini", {"-h"}},
      {"HelpOfStatic", "tini-static", {"-h"}},
      {"HelpAmongOptions", "tini", {"-gvh", "true"}},
      {"HelpBehindTheProgram", "tini", {"true", "-h"}},
      {"Nothing", "tini", {}},
      {"OnlyDoubleDash", "tini", {"--"}},
      {"OnlyOptions", "tini", {"-s", "-w"}},
      {"UnknownOption", "tini", {"-z"}},
      {"UnknownLongOption", "tini", {"--foo", "true"}},
      {"UnknownInACluster", "tini", {"-gzv", "true"}},
      {"UnknownBehindTheProgram", "tini", {"sh", "-c", "exit 3", "-x"}},
      {"Colon", "tini", {"-:", "true"}},
      {"ProgramThenDoubleDash", "tini", {"-s", "sh", "--", "-c", exit_7}},
      {"OptionBehindTheProgram", "tini", {"echo", "a", "-s", "b"}},
      {"DashIsAWord", "tini", {"-s", "echo", "-", "a"}},
      {"PosixOrder", "tini", {"-s", "sh", "-c", exit_7}, {"POSIXLY_CORRECT="}},
      {"DoubleDashTwice", "tini", {"-s", "--", "--", "true"}},
      {"EmptyProgram", "tini", {"-s", ""}},
      {"DeathSignal", "tini", {"-s", "-p", "SIGKILL", "true"}},
      {"DeathSignalAttached", "tini", {"-s", "-pSIGUSR1", "true"}},
      {"DeathSignalMissing", "tini", {"-p"}},
      {"DeathSignalWithoutSig", "tini", {"-p", "KILL", "true"}},
      {"DeathSignalAsANumber", "tini", {"-p", "9", "true"}},
      {"DeathSignalInSmall", "tini", {"-p", "sigkill", "true"}},
      {"DeathSignalThatItDoesNotKnow", "tini", {"-p", "SIGPWR", "true"}},
      {"DeathSignalRealTime", "tini", {"-p", "SIGRTMIN", "true"}},
      {"DeathSignalEmpty", "tini", {"-p", "", "true"}},
      {"DeathSignalIsTheOption", "tini", {"-p", "-g", "true"}},
      {"Expected", "tini", {"-s", "-e", "7", "--", "sh", "-c", exit_7}},
      {"ExpectedOther", "tini", {"-s", "-e", "8", "--", "sh", "-c", exit_7}},
      {"ExpectedZero", "tini", {"-s", "-e", "0", "true"}},
      {"ExpectedSignal", "tini", {"-s", "-e", "143", "--", "sh", "-c", "kill $$"}},
      {"ExpectedTwice", "tini", {"-s", "-e3", "-e7", "--", "sh", "-c", exit_7}},
      {"ExpectedOfAFailedExec", "tini", {"-s", "-e", "127", "no-such-program"}},
      {"ExpectedMissing", "tini", {"-e"}},
      {"ExpectedEmpty", "tini", {"-s", "-e", "", "--", "sh", "-c", exit_7}},
      {"ExpectedText", "tini", {"-e", "x", "true"}},
      {"ExpectedTooLarge", "tini", {"-e", "256", "true"}},
      {"ExpectedNegative", "tini", {"-e", "-1", "true"}},
      {"ExpectedHuge", "tini", {"-e", "99999999999999999999", "true"}},
      {"ExpectedWithTail", "tini", {"-e", "7x", "true"}},
      {"ExpectedWithBlankAndSign", "tini", {"-s", "-e", " +7", "--", "sh", "-c", exit_7}},
      {"ExpectedHexadecimal", "tini", {"-e", "0x7", "true"}},
      {"NoSubreaper", "tini", {"true"}},
      {"Subreaper", "tini", {"-s", "true"}},
      {"SubreaperByVariable", "tini", {"true"}, {"TINI_SUBREAPER="}},
      {"Quiet", "tini", {"true"}, {"TINI_VERBOSITY=0"}},
      {"QuietByWords", "tini", {"-vvv", "true"}, {"TINI_VERBOSITY=none"}},
      {"Info", "tini", {"-sv", "true"}},
      {"InfoOfASignal", "tini", {"-sv", "--", "sh", "-c", "kill -USR1 $$"}},
      {"InfoOfARealTimeSignal", "tini", {"-sv", "--", "sh", "-c", "kill -37 $$"}},
      {"NotFound", "tini", {"-s", "no-such-program"}},
      {"NotFoundPath", "tini", {"-s", "/no/such/program"}},
      {"NotExecutable", "tini", {"-s", "/etc/passwd"}},
      {"Directory", "tini", {"-s", "/etc"}},
      {"NotADirectory", "tini", {"-s", "/etc/passwd/x"}},
      {"NoPath", "tini", {"-s", "true"}, {"PATH="}},
      {"Environment", "tini", {"-s", "env"}, {"TINI_VERBOSITY=1", "A=b"}},
      {"Signalled", "tini", {"-s", "--", "sh", "-c", "kill -KILL $$"}},
      {"WarnsOfReaped", "tini", {"-sw", "--", "sh", "-c", "(exec true)& wait; exit 7"}},
  };
}

std::vector<Case> dumb_init() {
  const Words hi = {"echo", "hi"};
  auto rewrite = [](const std::string& value) { return Words{"-r", value, "echo", "hi"}; };
  return {
      {"Version", "dumb-init", {"--version"}},
      {"VersionShort", "dumb-init", {"-V"}},
      {"VersionAbbreviated", "dumb-init", {"--versi"}},
      {"Help", "dumb-init", {"--help"}},
      {"HelpAbbreviated", "dumb-init", {"--h"}},
      {"HelpInACluster", "dumb-init", {"-cvh"}},
      {"Nothing", "dumb-init", {}},
      {"OnlyDoubleDash", "dumb-init", {"--"}},
      {"OnlyOptions", "dumb-init", {"-c", "-v"}},
      {"UnknownOption", "dumb-init", {"-q", "true"}},
      {"UnknownLongOption", "dumb-init", {"--yolo", "true"}},
      {"UnknownLongOptionWithValue", "dumb-init", {"--yolo=1", "true"}},
      {"Ambiguous", "dumb-init", {"--ver", "true"}},
      {"AmbiguousWithValue", "dumb-init", {"--v=1", "true"}},
      {"AmbiguousWithoutAName", "dumb-init", {"--=1", "true"}},
      {"ValueThatIsNotAllowed", "dumb-init", {"--single-child=1", "true"}},
      {"RewriteMissing", "dumb-init", {"-r"}},
      {"RewriteMissingLong", "dumb-init", {"--rewrite"}},
      {"RewriteTakesTheProgram", "dumb-init", {"-r", "echo", "hi"}},
      {"RewriteEmpty", "dumb-init", rewrite("")},
      {"RewriteWithoutColon", "dumb-init", rewrite("15")},
      {"RewriteOneSide", "dumb-init", rewrite("15:")},
      {"RewriteOtherSide", "dumb-init", rewrite(":15")},
      {"RewriteNames", "dumb-init", rewrite("TERM:INT")},
      {"RewriteOfNone", "dumb-init", rewrite("0:15")},
      {"RewriteToNone", "dumb-init", rewrite("15:0")},
      {"RewriteNegative", "dumb-init", rewrite("15:-1")},
      {"RewriteOfTheLast", "dumb-init", rewrite("31:1")},
      {"RewriteOfRealTime", "dumb-init", rewrite("32:1")},
      {"RewriteToRealTime", "dumb-init", rewrite("1:32")},
      {"RewriteWithTail", "dumb-init", rewrite("15:12x")},
      {"RewriteWithBlanks", "dumb-init", rewrite(" 15: 12")},
      {"RewriteWithABlankBeforeTheColon", "dumb-init", rewrite("15 :12")},
      {"RewriteWithSigns", "dumb-init", rewrite("+15:+12")},
      {"RewriteHexadecimal", "dumb-init", rewrite("0xf:1")},
      {"RewriteLong", "dumb-init", {"--rewrite=15:2", "echo", "hi"}},
      {"RewriteLongAbbreviated", "dumb-init", {"--re", "15:2", "echo", "hi"}},
      {"RewriteAttached", "dumb-init", {"-r15:2", "echo", "hi"}},
      {"OptionsEndAtTheProgram", "dumb-init", {"echo", "-c", "--help"}},
      {"DoubleDash", "dumb-init", {"--", "echo", "--", "-c"}},
      {"DashIsAProgram", "dumb-init", {"-"}},
      {"NotFound", "dumb-init", {"no-such-program"}},
      {"NotExecutable", "dumb-init", {"/etc/passwd"}},
      {"Directory", "dumb-init", {"/etc"}},
      {"ExitCode", "dumb-init", {"sh", "-c", "exit 7"}},
      {"Signalled", "dumb-init", {"sh", "-c", "kill -KILL $$"}},
      {"DebugOfASingleChild", "dumb-init", {"-vc", "true"}},
      {"DebugByVariables", "dumb-init", hi, {"DUMB_INIT_DEBUG=1", "DUMB_INIT_SETSID=0"}},
      {"NoDebugByOtherValues", "dumb-init", hi, {"DUMB_INIT_DEBUG=true", "DUMB_INIT_SETSID=no"}},
      {"DebugOfASignal", "dumb-init", {"-vc", "sh", "-c", "kill -USR1 $$"}},
      {"DebugOfForwarding",
       "dumb-init",
       {"-vc", "-r", "1:0", "-r", "10:15", "sh", "-c",
        "kill -HUP $PPID; kill -USR1 $PPID; sleep 99"}},
      // It is stopped, gets a signal, and its command ends before it goes on.
      {"DebugOfADeathBehindASignal",
       "dumb-init",
       {"-vc", "sh", "-c",
        "trap '' USR1 TERM; kill -STOP $PPID; kill -USR1 $PPID; { until read -r _ _ state _ "
        "</proc/$$/stat && [ \"$state\" = Z ]; do :; done; kill -CONT $PPID; } & exit 3"}},
      {"Environment", "dumb-init", {"env"}, {"DUMB_INIT_DEBUG=0", "A=b"}},
  };
}

std::vector<Case> catatonit() {
  return {
      {"Version", "catatonit", {"--version"}},
      {"VersionShort", "catatonit", {"-V"}},
      {"VersionAbbreviated", "catatonit", {"--v"}},
      {"VersionWithValue", "catatonit", {"--version=1"}},
      {"VersionWithoutAName", "catatonit", {"--=1"}},
      {"VersionBehindTheProgram", "catatonit", {"true", "-V"}},
      {"Nothing", "catatonit", {}},
      {"OnlyDoubleDash", "catatonit", {"--"}},
      {"OnlyAnOption", "catatonit", {"-g"}},
      {"UnknownOption", "catatonit", {"-x", "true"}},
      {"UnknownLongOption", "catatonit", {"--help", "true"}},
      {"UnknownBehindTheProgram", "catatonit", {"sh", "-c", "exit 3"}},
      {"PosixOrder", "catatonit", {"sh", "-c", "exit 7"}, {"POSIXLY_CORRECT=1"}},
      {"DoubleDash", "catatonit", {"--", "sh", "-c", "exit 7"}},
      {"ProgramThenDoubleDash", "catatonit", {"-g", "sh", "--", "-c", "exit 7"}},
      {"Log", "catatonit", {"true"}, {"CATATONIT_LOG=1"}},
      {"LogBeforeHelp", "catatonit", {"-V"}, {"CATATONIT_LOG="}},
      {"NotFound", "catatonit", {"no-such-program"}},
      {"NotExecutable", "catatonit", {"/etc/passwd"}},
      {"Directory", "catatonit", {"/etc"}},
      {"Signalled", "catatonit", {"--", "sh", "-c", "kill -KILL $$"}},
      {"SignalledByRealTime", "catatonit", {"--", "sh", "-c", "kill -37 $$"}},
      {"ListenPid", "catatonit", {"--", "sh", "-c", "echo $LISTEN_PID"}, {"LISTEN_PID=12"}},
      {"ListenPidOfNoNumber",
       "catatonit",
       {"--", "sh", "-c", "echo $LISTEN_PID"},
       {"LISTEN_PID=x"}},
      {"Environment", "catatonit", {"env"}, {"A=b"}},
  };
}

INSTANTIATE_TEST_SUITE_P(Tini, Peer, testing::ValuesIn(tini()), name_of);
INSTANTIATE_TEST_SUITE_P(DumbInit, Peer, testing::ValuesIn(dumb_init()), name_of);
INSTANTIATE_TEST_SUITE_P(Catatonit, Peer, testing::ValuesIn(catatonit()), name_of);

// Started with a signal that waits: it ends by TERM or INT, and by nothing else.
rules::Result run_pause(const std::string& path, const Words& env,
                        const std::vector<int>& waiting) {
  auto wait_with = [waiting] {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    for (const int signal : waiting) ::raise(signal);
  };
  return rules::run({.args = {"catatonit", "-P", "no-such-program"},
                     .env = env,
                     .pid1 = false,
                     .before = wait_with,
                     .program = path});
}

TEST(Pause, EndsWellByTermOrInt) {
  const std::string installed = "/usr/bin/catatonit";
  if (::access(installed.c_str(), X_OK) != 0) GTEST_SKIP() << "no catatonit installed";
  const std::vector<std::vector<int>> cases = {{SIGTERM}, {SIGINT}, {SIGHUP, SIGUSR1, SIGTERM}};
  for (const auto& waiting : cases) {
    for (const std::string& path : {installed, rules::trainit()}) {
      const rules::Result result = run_pause(path, {}, waiting);
      EXPECT_EQ(result.code, 0) << path;
      EXPECT_EQ(result.err, "") << path;
    }
  }
}

// docker-init is no program of its own, so nothing is beside it. `docker info` shows the part after
// "git.", `docker version` both.
TEST(DockerInit, SaysWhoItIs) {
  const Case one{"Version", "docker-init", {"--version"}};
  EXPECT_EQ(run(rules::trainit(), one).out, "tini version 0.19.0 - git.trainit\n");
}

TEST(Names, AreTheLastPartOfTheFirstWord) {
  auto version_as = [](const std::string& name, const std::string& option) {
    const rules::Result result =
        rules::run({.args = {name, option}, .env = {}, .pid1 = false, .program = rules::trainit()});
    return result.out + result.err;
  };
  EXPECT_EQ(version_as("/sbin/tini", "--version"), "tini version 0.19.0\n");
  EXPECT_EQ(version_as("./dumb-init", "--version"), "dumb-init v1.2.5\n");
  EXPECT_EQ(version_as("/a/tini/catatonit", "--version"), "tini version 0.1.7_catatonit\n");
  EXPECT_THAT(version_as("tini-x", "--version"), testing::StartsWith("trainit "));
}

}  // namespace
}  // namespace dropin
