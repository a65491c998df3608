// Those who change the course of a job that runs: checkpoint and extend. The debug window's are in
// run_dir_test.cc.

#include <gmock/gmock.h>
#include <signal.h>

#include "base/json.h"
#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class Control : public rules::JobTest {
 protected:
  // One command, which says "ready" once it may be asked.
  [[nodiscard]] rules::Spec job(const std::string& script, const Words& options = {}) const {
    return spec(joined(options, joined({"--"}, rules::shell(script))));
  }
  void await_state(const std::string& text) const {
    await_file("run", "state.json");
    Instance watch({.args = {"status", "--json", "--watch"}, .env = env(), .pid1 = false});
    ASSERT_TRUE(watch.await_out(text));
  }
  [[nodiscard]] std::int64_t state_number(const char* name) const {
    auto state = envgen::json::Document::parse(read(path("run/state.json")), "state.json");
    if (!state) return -1;
    auto value = state->root().find(name);
    return value ? value->integer().value_or(-1) : -1;
  }
  void expect_refusal(const Words& args, const std::string& why) const {
    const Result result = tool(args);
    EXPECT_EQ(result.code, 1) << args[0];
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, HasSubstr(why));
  }
};

constexpr const char* kSaves = "trap 'echo saved; exit 0' USR1; sleep 1000 & echo ready; wait";
constexpr const char* kSavesAndGoesOn =
    "trap 'echo saved' USR1; sleep 1000 & echo ready; while :; do wait; done";

// --- checkpoint ---

TEST_F(Control, ACheckpointEndsTheJobForItToBeScheduledAgain) {
  Instance instance(job(kSaves));
  instance.await_out("ready");
  await_state("\"phase\": \"running\"");
  const Result result = tool({"checkpoint"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("exit code 75"));
  EXPECT_EQ(instance.wait(), 75);
  EXPECT_THAT(instance.out(), HasSubstr("saved"));
  EXPECT_THAT(tool({"status"}).out,
              AllOf(HasSubstr("state stopped"), HasSubstr("to be scheduled again")));
}

TEST_F(Control, ACheckpointLeavesTheJobRunningOnRequest) {
  Instance instance(job(kSavesAndGoesOn));
  instance.await_out("ready");
  await_state("\"phase\": \"running\"");
  EXPECT_EQ(tool({"checkpoint", "--keep-running"}).code, 0);
  EXPECT_TRUE(instance.await_out("saved"));
  EXPECT_THAT(tool({"status"}).out, HasSubstr("phase running"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

TEST_F(Control, ThereIsOneCheckpointAtATime) {
  Instance instance(job(kSavesAndGoesOn, {"--max-duration", "1h"}));
  instance.await_out("ready");
  await_state("\"phase\": \"running\"");
  EXPECT_EQ(tool({"checkpoint"}).code, 0);
  EXPECT_THAT(tool({"status"}).out,
              AllOf(HasSubstr("checkpoint under way, "), HasSubstr("phase checkpointing")));
  expect_refusal({"checkpoint"}, "under way");
  expect_refusal({"checkpoint", "--keep-running"}, "under way");
  expect_refusal({"extend", "--for", "1h"}, "being ended");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 75);
}

TEST_F(Control, ACheckpointDoesNotEndAJobThatRestarts) {
  Instance instance(job(kSavesAndGoesOn, {"--max-restarts", "1"}));
  instance.await_out("ready");
  await_state("\"phase\": \"running\"");
  expect_refusal({"checkpoint"}, "--max-restarts");
  EXPECT_EQ(tool({"checkpoint", "--keep-running"}).code, 0);
  EXPECT_TRUE(instance.await_out("saved"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

// --- extend ---

TEST_F(Control, AnExtensionMovesTheLimitAndNothingElse) {
  Instance instance(job("echo ready; exec sleep 1000", {"--max-duration", "1h"}));
  instance.await_out("ready");
  await_state("\"phase\": \"running\"");
  EXPECT_THAT(tool({"status"}).out, HasSubstr("59m "));
  const std::int64_t before = state_number("expires_ms");
  ASSERT_GT(before, 0);
  const pid_t main = instance.only_child();
  for (const Words& args : std::vector<Words>{{"extend", "--for", "2h"}, {"extend", "30m"}}) {
    const Result result = tool(args);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("the job's time limit ends it in "));
  }
  EXPECT_NEAR(static_cast<double>(state_number("expires_ms") - before), 2.5 * 3600'000, 1000);
  EXPECT_EQ(instance.only_child(), main);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

TEST_F(Control, AnExtensionNeedsALimit) {
  Instance instance(job("echo ready; exec sleep 1000"));
  instance.await_out("ready");
  await_state("\"phase\": \"running\"");
  expect_refusal({"extend", "1h"}, "without a time limit");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

TEST_F(Control, AnExtensionIsNotForAJobThatIsHeld) {
  Instance instance(job("exit 3", {"--hold", "1h", "--max-duration", "1h"}));
  await_state("\"phase\": \"hold\"");
  expect_refusal({"extend", "1h"}, "trainit hold --for");
  expect_refusal({"checkpoint"}, "no longer runs");
  EXPECT_EQ(tool({"release"}).code, 0);
  EXPECT_EQ(instance.wait(), 3);
}

// --- What is said of a job that starts again, or stands still ---

TEST_F(Control, StatusShowsAProcessThatIsStopped) {
  Instance instance(job("echo ready; while :; do sleep 0.01; done"));
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

TEST_F(Control, StatusTellsWhenTheNextStartIs) {
  Instance instance(job("exit 3", {"--max-restarts", "2", "--restart-delay", "1h"}));
  await_state("\"restarts\": 1,\n  \"most_restarts\": 2,\n  \"restart_at_ms\": 1");
  EXPECT_THAT(tool({"status"}).out,
              AllOf(HasSubstr("restart 2 of 2 in "), HasSubstr("main exited with code 3")));
  instance.signal(SIGTERM);
  instance.wait();
}

TEST_F(Control, EndsWith2AndSaysSoWithoutAnInstance) {
  for (const Words& args : std::vector<Words>{{"checkpoint"}, {"extend", "--for", "1h"}}) {
    const Result result = tool(args);
    EXPECT_EQ(result.code, 2) << args[0];
    EXPECT_THAT(result.err, HasSubstr("trainit: error: "));
  }
}

}  // namespace
