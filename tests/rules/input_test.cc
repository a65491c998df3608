// Rules 9, 10 and 12: what comes from outside is read by a child, and no input of any kind costs
// more than a clear error.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <filesystem>

#include "tests/rules/job.h"
#include "tests/test_timeout.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Input : public rules::EitherWay {
 protected:
  // A job that waits for its table, or takes it.
  [[nodiscard]] Spec waiting(const Words& options = {}) const {
    return spec(
        joined(joined({"--rank-table", path("table.json"), "--work-dir", path("home")}, options),
               {"--", rules::payload(), "sleep-forever"}));
  }
};
RULES_EITHER_WAY(Input);

// --- 9. A resolver that hangs ---

TEST_P(Input, ThatHangsDelaysNoStop) {
  Instance instance(waiting({"--grace", "5m"}));
  instance.await_err("waiting for");
  ASSERT_EQ(::kill(instance.only_child(), SIGSTOP), 0);  // as in a read of a dead mount
  const auto before = instance.age_ms();
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_LT(instance.age_ms() - before, kAtOnceMs);
}

TEST_P(Input, ThatHangsIsGivenUpAtTheDeadline) {
  // Stopped before it gives up by itself; on a slow machine it has more time for that.
  for (const char* timeout : {"2s", "20s", "60s"}) {
    Instance instance(waiting(
        {"--rank-table-timeout", timeout, "--script-timeout", "100ms", "--peer-timeout", "100ms"}));
    instance.await_err("waiting for");
    const std::vector<pid_t> children = rules::children_of(instance.pid());
    const bool in_time = children.size() == 1 && ::kill(children.front(), SIGSTOP) == 0;
    EXPECT_EQ(instance.wait(), 69);
    if (!in_time || instance.lines_with("hangs") == 0) continue;
    EXPECT_EQ(instance.lines_with("hangs"), 1);
    EXPECT_EQ(instance.lines_with(path("table.json")), 2);  // the wait, the failure
    return;
  }
  FAIL() << "it was not given up as one that hangs";
}

TEST_P(Input, ThatIsAwaitedEndsAtOnceOnAStop) {
  Instance instance(waiting({"--grace", "5m"}));
  instance.await_err("waiting for");
  const auto before = instance.age_ms();
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_LT(instance.age_ms() - before, kAtOnceMs);
}

TEST_P(Input, ThatNeverComesEndsWith69) {
  Instance instance(waiting({"--rank-table-timeout", "200ms"}));
  EXPECT_EQ(instance.wait(), 69);
  EXPECT_EQ(instance.lines_with("error"), 1);
  EXPECT_EQ(instance.lines_with("--rank-table-timeout"), 1);
  EXPECT_EQ(instance.lines_with("found after 0.2 s still"), 1);
}

TEST_P(Input, ThatComesLaterStartsTheJob) {
  Instance instance(waiting({"--grace", "5m"}));
  instance.await_err("waiting for");
  write("new", rules::rank_table(2));
  std::filesystem::rename(path("new"), path("table.json"));
  await_told("ready-1");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

// --- 10. A resolver that dies, a table that is bad ---

TEST_P(Input, ThatCrashesTheResolverIsAnErrorOfOurs) {
  Instance instance(waiting({"--grace", "5m"}));
  instance.await_err("waiting for");
  ASSERT_EQ(::kill(instance.only_child(), SIGSEGV), 0);
  EXPECT_EQ(instance.wait(), 125);
  EXPECT_EQ(instance.lines_with("the resolver was killed by SIGSEGV"), 1);
}

struct BadTable {
  const char* name;
  std::string content;
  std::string text;  // of the one message
};

std::string template2(const std::string& devices, const std::string& pod = "job-0") {
  return R"({"status": "completed", "group_count": "1", "group_list": [{"group_name": "job",
"device_count": "1", "instance_count": "1", "instance_list": [{"pod_name": ")" +
         pod + R"(", "server_id": "10.0.0.1", "devices": [)" + devices + "]}]}]}";
}
std::string template1(const std::string& devices) {
  return R"({"version":"1.0","server_count":"1","status":"completed","server_list":[
{"server_id":"10.0.0.1","device":[)" +
         devices + "]}]}";
}
std::string device(const char* id, const char* ip, const char* rank) {
  return std::string(R"({"device_id":")") + id + R"(","device_ip":")" + ip + R"(","rank_id":")" +
         rank + "\"}";
}

// Side by side, as each error has to stand for a second.
TEST_P(Input, ThatIsBadIsOneMessageBeforeAnyRankStarts) {
  const BadTable tables[] = {
      {"not-json", "hello\n", "line 1, column 1"},
      {"comments", "{\n  // of 2 machines\n  \"status\": \"completed\"\n}", "//"},
      {"duplicate-rank",
       template1(device("0", "10.1.0.1", "0") + "," + device("1", "10.1.0.2", "0")), "rank"},
      {"gap", template1(device("0", "10.1.0.1", "0") + "," + device("1", "10.1.0.2", "2")), "rank"},
      {"same-ip", template1(device("0", "10.1.0.1", "0") + "," + device("1", "10.1.0.1", "1")),
       "10.1.0.1"},
      {"dashes", template1(device("0", "-.-.-.-", "0")), "-.-.-.-"},
      {"no-servers",
       R"({"version":"1.0","server_count":"0","status":"completed","server_list":[]})",
       "server_list"},
      {"null-groups", R"({"status":"completed","group_count":"1","group_list":null})",
       "group_list"},
      {"other-job", template2(R"({"device_id":"0","device_ip":"10.1.0.1"})", "other-3"), "other-3"},
      {"huge", "", "200 MiB"},
      {"loop", "", "circle"},
      {"directory", "", "directory"},
  };
  std::vector<std::unique_ptr<Instance>> instances;
  for (const BadTable& table : tables) {
    const std::string name = table.name;
    const std::string file = path(name + ".json");
    if (name == "loop") {
      std::filesystem::create_symlink(file, file);
    } else if (name == "directory") {
      std::filesystem::create_directory(file);
    } else {
      write(name + ".json", table.content);
    }
    if (name == "huge") std::filesystem::resize_file(file, 200ULL << 20);
    Spec bad = spec({"--platform", "modelarts", "--work-dir", path("home"), "--rank-table", file,
                     "--run-dir", path("run-" + name), "--", rules::payload(), "report"});
    bad.env.emplace_back("MA_CURRENT_INSTANCE_NAME=job-0");
    instances.push_back(std::make_unique<Instance>(bad));
  }
  for (std::size_t i = 0; i < instances.size(); ++i) {
    SCOPED_TRACE(tables[i].name);
    EXPECT_EQ(instances[i]->wait(), 125);
    EXPECT_THAT(instances[i]->err(), HasSubstr(tables[i].text));
    EXPECT_EQ(instances[i]->lines_with("error"), 1) << instances[i]->err();
    EXPECT_EQ(instances[i]->lines_with(path(std::string(tables[i].name) + ".json")), 1);
    EXPECT_THAT(instances[i]->out(), IsEmpty());
  }
  EXPECT_THAT(read(path("home/device0")), IsEmpty());
}

// What PID 1 keeps: a plan, not a table.
TEST_P(Input, OfAnySizeLeavesPid1Small) {
  constexpr int kNodes = 4000;
  std::string instances;
  for (int node = 0; node < kNodes; ++node) {
    const std::string high = std::to_string(node / 250) + "." + std::to_string(node % 250 + 1);
    std::string devices;
    for (int i = 0; i < 8; ++i) {
      devices += (i == 0 ? "" : ",") + std::string(R"({"device_id":")") + std::to_string(i) +
                 R"(","device_ip":"172.)" + std::to_string(16 + i) + "." + high + "\"}";
    }
    instances += (node == 0 ? "" : ",") + std::string(R"({"pod_name":"job-)") +
                 std::to_string(node) + R"(","server_id":"10.9.)" + high + R"(","devices":[)" +
                 devices + "]}";
  }
  write("table.json", R"({"status":"completed","group_count":"1","group_list":[{"group_name":"job",
"device_count":")" + std::to_string(8 * kNodes) +
                          R"(","instance_count":")" + std::to_string(kNodes) +
                          R"(","instance_list":[)" + instances + "]}]}");
  Spec job = waiting({"--platform", "modelarts"});
  job.env.emplace_back("MA_CURRENT_INSTANCE_NAME=job-7");
  Instance instance(job);
  await_told("ready-56");
  EXPECT_LT(instance.status_kb("VmHWM"), 8 * 1024);
  EXPECT_LT(instance.status_kb("RssAnon"), 2 * 1024);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

TEST_P(Input, ThatIsFarTooLargeLeavesPid1Small) {
  std::filesystem::resize_file(write("table.json", ""), 200ULL << 20);
  Instance instance(waiting({"--hold", "1h"}));
  instance.await_err("200 MiB");
  EXPECT_LT(instance.status_kb("VmHWM"), 8 * 1024);
  EXPECT_LT(instance.status_kb("RssAnon"), 2 * 1024);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 125);
}

TEST_P(Input, ThatIsAwaitedEndsAlsoOnAHangUpAndAQuit) {
  for (const int signal : {SIGHUP, SIGQUIT}) {
    Instance instance(waiting({"--grace", "5m"}));
    instance.await_err("waiting for");
    instance.signal(signal);
    EXPECT_EQ(instance.wait(), 128 + signal);
  }
}

TEST_P(Input, AFileSizeLimitIsAnErrorThatNamesThePathOrNoneOfTheRanks) {
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{1500}}) {
    Spec limited = spec(ranks(2, rules::shell("exit 4")));
    limited.env.push_back("LARGE=" + std::string(2000, 'x'));  // its file is larger than the limit
    limited.before = [bytes] {
      const rlimit few{bytes, bytes};
      ::setrlimit(RLIMIT_FSIZE, &few);
    };
    const Result result = rules::run(limited);
    EXPECT_EQ(result.code, bytes == 0 ? 125 : 4) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("SIGXFSZ")));
    EXPECT_THAT(result.err, HasSubstr("EFBIG"));
  }
}

// --- 12. A full disk ---

constexpr const char* kFill =
    "mount -t tmpfs -o size=64k none $TRAINIT_RUN_DIR && "
    "{ cat /dev/zero > $TRAINIT_RUN_DIR/filler; \"$@\"; } 2>&1 | "
    "grep -v 'cat: write error'; exit ${PIPESTATUS[0]}";

class FullDisk : public rules::JobTest {
 protected:
  // As its PID 1 does not matter here, a shell is it, and mounts.
  [[nodiscard]] Result run_on_it(const Words& args) const {
    return rules::run(
        {.args = joined({"bash", "-o", "pipefail", "-c", kFill, "bash", rules::trainit()}, args),
         .env = env(),
         .program = "/bin/bash"});
  }
};

TEST_F(FullDisk, IsAWarningForTheStateFileSaidOnce) {
  if (!rules::may_unshare()) GTEST_SKIP() << "may not mount";
  const Result result = run_on_it({"--", "/bin/sh", "-c", "exit 6"});
  EXPECT_EQ(result.code, 6);
  const std::string line = path("run/state.json") + ": found No space left on device (ENOSPC)";
  EXPECT_THAT(result.out, HasSubstr(line));
  EXPECT_EQ(result.out.find(line), result.out.rfind(line)) << result.out;
}

TEST_F(FullDisk, OfAJobThatFilledItShowsStillHowItEnded) {
  if (!rules::may_unshare()) GTEST_SKIP() << "may not mount";
  const std::string script =
      "mount -t tmpfs -o size=64k none $TRAINIT_RUN_DIR || exit 99; "
      "$0 -- /bin/sh -c 'until [ -s $TRAINIT_RUN_DIR/state.json ]; do :; done; "
      "cat /dev/zero > $TRAINIT_RUN_DIR/filler; exit 2' 2> /dev/null; $0 status";
  const Result result = rules::run(
      {.args = {"bash", "-c", script, rules::trainit()}, .env = env(), .program = "/bin/bash"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("exit code 2"));
}

TEST_F(FullDisk, IsAStartErrorForTheRankTable) {
  if (!rules::may_unshare()) GTEST_SKIP() << "may not mount";
  const Result result =
      run_on_it(ranks(2, rules::shell("echo started"), {"--log-dir", path("home/logs")}));
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.out, HasSubstr("run/rank_table"));
  EXPECT_THAT(result.out, HasSubstr("ENOSPC"));
  EXPECT_THAT(result.out, Not(HasSubstr("started")));
}

TEST_F(FullDisk, OfTheRanksLogLetsTheJobGoOnAndShowsTheOutput) {
  std::filesystem::create_directories(path("run/logs/rank-1.log"));  // not to be opened, too
  const Result result = rules::run(spec(ranks(2, rules::shell("echo said by $RANK_ID"))));
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr(path("run/logs/rank-1.log")));
  EXPECT_THAT(result.out, HasSubstr("[rank-1] said by 1\n"));
}

}  // namespace
