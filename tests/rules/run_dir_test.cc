// The run directory, and what `trainit status` tells of the instance in it.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <regex>

#include "base/json.h"
#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

class RunDir : public rules::JobTest {
 protected:
  [[nodiscard]] Spec sleeper() const { return spec({"--", rules::payload(), "sleep-forever"}); }
  // Until the state says so.
  void await_state(const std::string& text) const {
    await_file("run", "state.json");
    Instance watch({.args = {"status", "--json", "--watch"}, .env = env(), .pid1 = false});
    ASSERT_TRUE(watch.await_out(text));
  }
};

// Hooks and ranks may have another working directory than trainit.
TEST_F(RunDir, ThatIsMissingHasItsLogsBelowTheWorkingDirectory) {
  fs::create_directories(path("hooks/pre-start.d"));
  write("hooks/pre-start.d/a", "#!/bin/sh\necho logs: $TRAINIT_LOG_DIR\n", 0755);
  Spec spec = this->spec({"--framework", "pytorch", "--slots", "2", "--hooks-dir", path("hooks"),
                          "--output", "files", "--", "echo", "said"});
  spec.env = {"PATH=/usr/bin:/bin", "TRAINIT_RUN_DIR=/proc/none"};
  spec.before = [here = path("")] {
    if (::chdir(here.c_str()) != 0) ::_exit(rules::kCannotStart);
  };
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("logs: " + path("logs") + "\n"));
}

// The second run is a command that trainit only starts: it has a state, but no timeline.
TEST_F(RunDir, OfALaterCommandHasTheReportOfTheRunBefore) {
  EXPECT_EQ(rules::run(spec({"--framework", "pytorch", "--slots", "2", "--", "false"})).code, 1);
  EXPECT_EQ(rules::run(spec({"--", "true"})).code, 0);
  const Result report = tool({"report", path("run")});
  EXPECT_THAT(report.out, HasSubstr("exited with code 1")) << report.err;
  EXPECT_THAT(report.out, Not(HasSubstr("ended well")));
  EXPECT_THAT(report.out, HasSubstr("is of a later command, `true`"));
}

// --- status ---

TEST_F(RunDir, WithoutAnInstanceIsStatus2) {
  const Result result = tool({"status"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr(path("run")));
}

TEST_F(RunDir, OfARunningJobIsStatus0AndShowsIt) {
  Instance instance(spec(ranks(2, {rules::payload(), "sleep-forever"})));
  await_told("ready-0");
  await_told("ready-1");
  await_state("\"phase\": \"running\"");
  const Result result = tool({"status"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("state running"), HasSubstr("world size 2"),
                                HasSubstr("rank-1"), HasSubstr(path("run/logs/rank-1.log"))));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_EQ(tool({"status"}).code, 1);
}

TEST_F(RunDir, OfAJobThatEndedIsStatus0Or1) {
  EXPECT_EQ(rules::run(spec({"--", "true"})).code, 0);
  Result result = tool({"status"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("state success"));
  EXPECT_EQ(rules::run(spec({"--", "false"})).code, 1);
  result = tool({"status"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("state error"), HasSubstr("main exited with code 1")));
}

TEST_F(RunDir, OfAnInstanceThatWasKilledIsStatus2) {
  Instance instance(sleeper());
  await_told("ready-0");
  await_state("\"phase\": \"running\"");
  instance.signal(SIGKILL);
  EXPECT_EQ(instance.wait(), 137);
  const Result result = tool({"status"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.out, HasSubstr("it was killed before"));
}

TEST_F(RunDir, ShowsAProcessThatIsStopped) {
  Instance instance(spec(joined({"--"}, rules::shell("echo ready; while :; do sleep 0.01; done"))));
  instance.await_out("ready");
  await_state("\"phase\": \"running\"");
  const pid_t main = instance.only_child();
  ::kill(main, SIGSTOP);
  await_state("\"state\": \"stopped\"");
  EXPECT_THAT(tool({"status"}).out, testing::ContainsRegex("main .* stopped "));
  ::kill(main, SIGCONT);
  await_state("\"kind\": \"main\",\n      \"state\": \"running\"");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

TEST_F(RunDir, OfAJobThatWaitsShowsForWhat) {
  Instance instance(spec({"--rank-table", path("absent.json"), "--", "true"}));
  instance.await_err("waiting for");
  await_state("\"waiting_for\": \"" + path("absent.json"));
  const Result result = tool({"status"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("waiting for " + path("absent.json")));
  instance.signal(SIGTERM);
  instance.wait();
}

TEST_F(RunDir, GivesItsStateAsTheJsonOfTheFile) {
  EXPECT_EQ(rules::run(spec(ranks(2, {rules::payload(), "exit", "0"}))).code, 0);
  const Result result = tool({"status", "--json"});
  // The file says nothing of a time that passes by itself.
  const std::regex output_time("\"last_output_ms\": [0-9]+");
  EXPECT_EQ(std::regex_replace(result.out, output_time, "\"last_output_ms\": null"),
            read(path("run/state.json")));
  auto json = base::json::Document::parse(result.out, "status");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->root().find("exit_code")->integer(), 0);
  EXPECT_EQ(json->root().find("tasks")->size(), 3U);
}

TEST_F(RunDir, IsWatchedUntilTheJobEnds) {
  Instance instance(sleeper());
  await_told("ready-0");
  await_state("\"phase\": \"running\"");
  Instance watch({.args = {"status", "--watch"}, .env = env(), .pid1 = false});
  watch.await_out("phase running");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_EQ(watch.wait(), 1);
  EXPECT_THAT(watch.out(), HasSubstr("exit code 143"));
}

TEST_F(RunDir, IsNamedByAnOptionToo) {
  EXPECT_EQ(rules::run(spec({"--run-dir", path("other"), "--", "true"})).code, 0);
  EXPECT_EQ(tool({"status"}).code, 2);
  EXPECT_EQ(tool({"status", "--run-dir", path("other")}).code, 0);
  EXPECT_EQ(tool({"status", "--run-dir=" + path("other")}).code, 0);
}

// The ranks have directories of their own.
TEST_F(RunDir, ThatIsRelativeCountsFromWhereTrainitStarted) {
  for (const bool by_option : {true, false}) {
    Spec job = spec(ranks(2, rules::shell("cat $RANK_TABLE_FILE; echo $TRAINIT_RUN_DIR")));
    job.env = {"PATH=/usr/bin:/bin"};
    if (by_option) {
      job.args.insert(job.args.begin(), {"--run-dir", "home/../run"});
    } else {
      job.env.emplace_back("TRAINIT_RUN_DIR=home/../run");
    }
    job.before = [directory = path("")] { ::chdir(directory.c_str()); };
    const Result result = rules::run(job);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("server_list"), HasSubstr(path("home/../run") + "\n")));
    EXPECT_THAT(log_of(1), HasSubstr("server_list"));
    job.args = {"status", "--run-dir", "run"};
    EXPECT_EQ(rules::run(job).code, 0);
  }
}

TEST_F(RunDir, TellsTheJobWhereItIs) {
  const Result result = rules::run(
      spec(joined({"--run-dir", path("other")}, ranks(1, {rules::trainit(), "status", "--json"}))));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"pid\": 1,"));
}

TEST_F(RunDir, RefusesWordsThatAreNoOption) {
  for (const char* command : {"status", "release"}) {
    const Result result = tool({command, "now"});
    EXPECT_EQ(result.code, 125) << command;
    EXPECT_THAT(result.err, HasSubstr("now"));
  }
}

TEST_F(RunDir, CommandsHaveHelp) {
  for (const Words& args : std::vector<Words>{{"--help"},
                                              {"-h"},
                                              {"help"},
                                              {"run", "--help"},
                                              {"plan", "-h"},
                                              {"status", "--help"},
                                              {"release", "--help"},
                                              {"hold", "--help"},
                                              {"snapshot", "--help"},
                                              {"--strict", "--help"}}) {
    const Result result = tool(args);
    EXPECT_EQ(result.code, 0) << args[0];
    EXPECT_THAT(result.out, HasSubstr("trainit ")) << args[0];
    EXPECT_THAT(result.err, IsEmpty()) << args[0];
  }
  EXPECT_THAT(tool({"help", "all"}).out, HasSubstr("--rank-table-timeout DURATION"));
  EXPECT_THAT(tool({"help", "ascend"}).out, HasSubstr("--rank-table-timeout DURATION"));
  EXPECT_EQ(tool({"help", "copy"}).out, tool({"copy", "--help"}).out);
  EXPECT_THAT(tool({"help", "cache", "gc"}).out, StartsWith("trainit cache gc [OPTIONS]\n"));
  const std::string grace = tool({"help", "grace"}).out;
  EXPECT_THAT(grace, StartsWith("  --grace DURATION "));
  EXPECT_EQ(tool({"help", "--grace"}).out, grace);
  EXPECT_EQ(tool({"help", "TRAINIT_GRACE"}).out, grace);
  EXPECT_THAT(tool({"help", "--to"}).out, StartsWith("hostfile convert:\n  --to DIALECT"));
  EXPECT_THAT(tool({"help", "75"}).out, StartsWith("  75 "));
  EXPECT_THAT(tool({"help", "127"}).out, HasSubstr("was not found"));
  EXPECT_THAT(tool({"help", "139"}).out, HasSubstr("SIGSEGV"));
  EXPECT_THAT(tool({"help", "7"}).out, HasSubstr("first rank that failed"));
  EXPECT_THAT(tool({"help", "exit", "codes"}).out, HasSubstr("128+n"));
  for (const char* word : {"torchrun", "gpu", "platforms", "signals"}) {
    EXPECT_THAT(tool({"help", word}).out, HasSubstr("  --")) << word;
  }
  EXPECT_EQ(tool({"help", "xyzzy"}).code, 125);
  const Result alone = tool({});
  EXPECT_EQ(alone.out, tool({"--help"}).out);
  EXPECT_EQ(alone.code, 125) << "a container without a command has not done its job";
  EXPECT_THAT(alone.err, HasSubstr("name the program to run"));
  EXPECT_THAT(tool({"--version"}).out, testing::MatchesRegex("trainit [0-9.]+\n"));
  EXPECT_THAT(tool({"--strict", "-V"}).out, testing::MatchesRegex("trainit [0-9.]+\n"));
}

// --- Whose it is ---

TEST_F(RunDir, InUseIsLeftToItsInstance) {
  Instance first(sleeper());
  await_told("ready-0");
  await_state("\"phase\": \"running\"");
  const std::string state = read(path("run/state.json"));
  const Result second = rules::run(spec({"--", "/bin/sh", "-c", "exit 6"}));
  EXPECT_EQ(second.code, 6);
  EXPECT_THAT(second.err, HasSubstr("in use"));
  EXPECT_EQ(read(path("run/state.json")), state);
  EXPECT_THAT(read(path("run/2/state.json")), HasSubstr("\"exit_code\": 6"));
  const Result job = rules::run(spec(ranks(2, rules::shell("echo $RANK_TABLE_FILE"))));
  EXPECT_EQ(job.code, 0);
  EXPECT_THAT(job.out, testing::MatchesRegex(path("run/2/rank_table/") + ".*json\n"));
  EXPECT_EQ(tool({"release"}).code, 1);  // the first one's socket still answers
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 143);
}

// Under Slurm, or with a /tmp of the host, a user's jobs share the directory.
TEST_F(RunDir, OfTheJobThatAsksAnswers) {
  Instance first(spec(ranks(2, {rules::payload(), "sleep-forever"})));
  await_told("ready-0");
  await_told("ready-1");
  // A rank can be faster than the first look at it: its instance is "preparing" until then. The
  // trap: a shell blocks all signals for moments, and counts as a process that handles USR1 then.
  const std::string ask = "trap : USR1; until " + rules::trainit() +
                          " status | grep 'world size'; do sleep 0.1; done; " + rules::trainit() +
                          " checkpoint --keep-running; echo code $?; exec sleep 1000";
  for (const bool pid1 : {true, false}) {
    Spec spec = this->spec(joined({"--fan-out", "--slots", "1", "--"}, rules::shell(ask)));
    spec.pid1 = pid1;
    Instance second(spec);
    ASSERT_TRUE(second.await_out("code "));
    EXPECT_THAT(second.out(), HasSubstr("world size 1"));
    // Nothing tells a third process which one it means.
    const Result third = tool({"status"});
    EXPECT_EQ(third.code, 125);
    EXPECT_THAT(third.err, AllOf(HasSubstr("2 instances: " + path("run") + " "),
                                 HasSubstr(path("run/2")), HasSubstr("--run-dir")));
    EXPECT_THAT(tool({"status", "--run-dir", path("run")}).out, HasSubstr("world size 2"));
    EXPECT_THAT(tool({"status", "--run-dir", path("run/2")}).out, HasSubstr("world size 1"));
    second.signal(SIGTERM);
    second.wait();
  }
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 143);
}

TEST_F(RunDir, OfAnInstanceThatWasKilledIsTakenOver) {
  {
    Instance killed(sleeper());
    await_told("ready-0");
    await_state("\"phase\": \"running\"");
    killed.signal(SIGKILL);
    killed.wait();
  }
  const Result next = rules::run(spec({"--hold", "1h", "--", "true"}));
  EXPECT_EQ(next.code, 0);
  EXPECT_THAT(next.err, Not(HasSubstr("in use")));
  EXPECT_EQ(tool({"status"}).code, 0);
}

TEST_F(RunDir, OfAnotherUserIsNotUsed) {
  if (!child::is_root()) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chown(path("run").c_str(), 1234, 1234), 0);
  ASSERT_EQ(::chmod(path("run").c_str(), 0777), 0);
  const Result single = rules::run(spec({"--", "/bin/sh", "-c", "exit 6"}));
  EXPECT_EQ(single.code, 6);
  EXPECT_THAT(single.err, HasSubstr("belongs to uid 1234"));
  EXPECT_FALSE(fs::exists(path("run/state.json")));
  const Result job = rules::run(spec(ranks(2, {rules::payload(), "exit", "0"})));
  EXPECT_EQ(job.code, 125);
  EXPECT_THAT(job.err, HasSubstr("TRAINIT_RUN_DIR"));
}

TEST_F(RunDir, ThatOthersMayWriteIsUsedWhereItIsSaidAndOurs) {
  ASSERT_EQ(::chmod(path("run").c_str(), 0777), 0);  // an emptyDir
  EXPECT_EQ(rules::run(spec({"--", "true"})).code, 0);
  EXPECT_TRUE(fs::exists(path("run/state.json")));
}

// A container of any user: /run is root's, and nobody has to read about it.
TEST_F(RunDir, IsChosenWithoutAWordWhereTheFirstChoiceIsNotOurs) {
  if (!rules::may_unshare()) GTEST_SKIP() << "may not mount";
  Spec nobody{
      .args = {"--", "/bin/sh", "-c", "until [ -e $DIR/state.json ]; do :; done; echo $DIR"},
      .env = {"PATH=/usr/bin:/bin", "DIR=/tmp/trainit-65534"},
      .before = [] {
        ::mount("tmpfs", "/run", "tmpfs", 0, "mode=755");
        child::become_nobody();
      }};
  const Result result = rules::run(nobody);
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, HasSubstr("trainit-65534"));
  fs::remove_all("/tmp/trainit-65534");
}

TEST_F(RunDir, HoldsNothingThatOutlivesTheJob) {
  EXPECT_EQ(rules::run(spec({"--", "true"})).code, 0);
  EXPECT_FALSE(fs::exists(path("run/control")));
  for (const auto& entry : fs::directory_iterator(path("run"))) {
    EXPECT_THAT(entry.path().filename(), testing::AnyOf("state.json", "lock"));
  }
}

}  // namespace
