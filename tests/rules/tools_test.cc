// The commands that look at a job without running one: plan, snapshot, ranktable.

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

#include "base/json.h"
#include "tests/rules/job.h"
#include "tests/test_timeout.h"

namespace {

using rules::joined;
using rules::Result;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Tools : public rules::JobTest {
 protected:
  [[nodiscard]] Result with_env(Words args, const Words& more) const {
    return rules::run({.args = std::move(args), .env = joined(env(), more), .pid1 = false});
  }
};

// --- plan and snapshot ---

TEST_F(Tools, PlanChangesNothing) {
  const Result result = tool(joined({"plan", "--json"}, ranks(2, {"no-such-program"})));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("no-such-program"));
  EXPECT_TRUE(std::filesystem::is_empty(path("run")));
  EXPECT_TRUE(std::filesystem::is_empty(path("home")));
}

TEST_F(Tools, PlanOfATableThatIsNotReadyShowsTheWait) {
  const Result result = tool({"plan", "--json", "--rank-table", path("absent.json"), "--", "x"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("does not exist"));
}

TEST_F(Tools, PlanOfBadInputIsOneError) {
  const Result result = tool({"plan", "--rank-table", write("bad.json", "[}"), "--", "x"});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("bad.json"));
}

TEST_F(Tools, PlanToAFullDiskIsAnError) {
  if (!child::is_root()) GTEST_SKIP() << "may not make a device";
  rules::Spec full{.args = {"plan", "--", "x"}, .env = env(), .pid1 = false};
  ASSERT_EQ(::mknod(path("full").c_str(), S_IFCHR | 0600, makedev(1, 7)), 0);
  full.before = [this] {
    ::dup2(::open(path("full").c_str(), O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
  };
  const Result result = rules::run(full);
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("ENOSPC"));
}

// Rank 0 of a table is the same device in the file that `convert` writes and in a plan.
TEST_F(Tools, ConvertOrdersATableAsAPlanDoes) {
  const std::string table =
      write("jobstart_hccl.json",
            R"({"status":"completed","group_count":"1","group_list":[{"group_name":"worker",)"
            R"("device_count":"2","instance_count":"2","instance_list":[)"
            R"({"pod_name":"job-worker-0","server_id":"10.0.0.9","devices":[)"
            R"({"device_id":"0","device_ip":"10.1.0.9"}]},)"
            R"({"pod_name":"job-worker-1","server_id":"10.0.0.10","devices":[)"
            R"({"device_id":"0","device_ip":"10.1.0.10"}]}]}]})");
  const auto first_server = [](const std::string& text) {
    const std::size_t at = text.find("\"10.0.0.");
    return at == std::string::npos ? text : text.substr(at, text.find('"', at + 1) + 1 - at);
  };
  const auto converted = [&](const Words& variables, const Words& flags) {
    const Result result =
        rules::run({.args = joined(joined({"ranktable", "convert"}, flags), {table}),
                    .env = joined(env(), variables),
                    .pid1 = false});
    EXPECT_EQ(result.code, 0) << result.err;
    return first_server(result.out);
  };
  const auto planned = [&](const Words& variables, const Words& flags) {
    const Result result = rules::run(
        {.args = joined(joined({"plan", "--json"}, flags), {"--node-rank", "0", "--", "true"}),
         .env = joined(env(), variables),
         .pid1 = false});
    EXPECT_EQ(result.code, 0) << result.err;
    return first_server(result.out.substr(result.out.find("\"cluster\"")));
  };
  const Words bare = {"RANK_TABLE_FILE=" + table};
  const Words modelarts = {"RANK_TABLE_FILE=" + path(""), "MA_VJ_NAME=job",
                           "MA_CURRENT_INSTANCE_NAME=job-worker-0"};
  EXPECT_EQ(converted(bare, {}), "\"10.0.0.10\"");
  EXPECT_EQ(planned(bare, {}), "\"10.0.0.10\"");
  EXPECT_EQ(converted(modelarts, {}), "\"10.0.0.9\"");
  EXPECT_EQ(planned(modelarts, {}), "\"10.0.0.9\"");
  EXPECT_EQ(converted({}, {}), "\"10.0.0.10\"") << "HCCL's own order";
  EXPECT_EQ(converted({}, {"--platform", "modelarts"}), "\"10.0.0.9\"");
  EXPECT_EQ(converted(modelarts, {"--rank-order", "server-id"}), "\"10.0.0.10\"");
  EXPECT_EQ(planned(modelarts, {"--rank-order", "server-id"}), "\"10.0.0.10\"");
}

TEST_F(Tools, PlanWarnsOfAProgramOrAScriptThatIsNotThere) {
  write("there.sh", "exit 0\n");
  const struct {
    Words command;
    const char* warning;
  } cases[] = {
      {{"no-such-program"},
       "main would not start: no-such-program: found no such program in PATH="},
      {{"--slots", "4", "sh"},
       "; --slots is an option of trainit: set TRAINIT_SLOTS=4 (docker run -e), or put it before "
       "--"},
      {{path("missing")}, "; correct the path"},
      {{"sh", path("gone.sh")}, " does not exist; correct the path"},
      {{path("there.sh")}, "; chmod +x it"},
      {{"sh", path("there.sh")}, nullptr},
      {{"sh", "-c", "exit 3"}, nullptr},
      {{rules::payload(), "report"}, nullptr},
  };
  for (const auto& [command, warning] : cases) {
    const Result plan = tool(joined({"plan", "--verbose", "--"}, command));
    EXPECT_EQ(plan.code, 0) << plan.err;
    if (warning != nullptr) {
      EXPECT_THAT(plan.out, HasSubstr(warning));
    } else {
      EXPECT_THAT(plan.out, Not(HasSubstr("main would")));
    }
  }
  // Ranks on Ascend run in directories of their own, which is not where the script is searched.
  EXPECT_THAT(tool({"plan", "--verbose", "--framework", "ascend", "--devices", "0-1", "--",
                    "python3", "no-such.py"})
                  .out,
              HasSubstr("rank-0 would fail: found no no-such.py in "));
  EXPECT_THAT(tool({"plan", "statsu"}).out, HasSubstr("; did you mean `trainit status`?"));
  write("train.py", "import argparse  # --output-dir\n");
  EXPECT_THAT(
      tool({"plan", "--verbose", "python3", path("train.py"), "--fan-out", "--slots", "2"}).out,
      HasSubstr("main gets --fan-out, which " + path("train.py") + " does not name"));
  EXPECT_THAT(tool({"plan", "--verbose", "python3", path("train.py"), "--output", "x"}).out,
              Not(HasSubstr("main gets")));
  // As of HfArgumentParser, whose names are in other files.
  const Result noted = tool({"plan", "python3", path("train.py"), "--log-level", "info"});
  EXPECT_THAT(noted.out, Not(HasSubstr("warning")));
  EXPECT_THAT(noted.err, HasSubstr("note: --log-level goes to " + path("train.py")));
  const std::string snapshot = write("s.json", tool({"snapshot", "--", "no-such-program"}).out);
  EXPECT_THAT(tool({"plan", "--verbose", "--snapshot", snapshot}).out, Not(HasSubstr("main would")))
      << "of another machine";
}

TEST_F(Tools, PlanListsOnlyHooksThatRun) {
  const std::string script = "#!/bin/sh\n# trainit-when: ";
  for (const char* name : {"hooks", "hooks/pre-start.d", "hooks/stall.d"}) {
    std::filesystem::create_directory(path(name));
  }
  const struct {
    const char* name;
    const char* text;
  } hooks[] = {{"pre-start.d/10-nodes", "nodes\n"},
               {"pre-start.d/20-ranks", "nodes ranks\n"},
               {"stall.d/30-stacks", "ranks\n"}};
  for (const auto& hook : hooks) {
    const std::string file = write(std::string("hooks/") + hook.name, script + hook.text);
    ::chmod(file.c_str(), 0755);
  }
  for (const Words& form : {Words{"plan"}, Words{"plan", "--verbose"}}) {
    const Words options = joined(form, {"--hooks-dir", path("hooks")});
    const std::string one = tool(joined(options, {"--", "true"})).out;
    EXPECT_THAT(one, Not(HasSubstr("hook")));
    const Words two = {"--stall-timeout", "9s", "--fan-out", "--slots", "2", "--", "true"};
    const std::string both = tool(joined(options, two)).out;
    EXPECT_THAT(both,
                AllOf(HasSubstr("20-ranks"), HasSubstr("30-stacks"), Not(HasSubstr("10-nodes"))));
  }
  EXPECT_THAT(tool({"plan", "--json", "--hooks-dir", path("hooks"), "--", "true"}).out,
              HasSubstr("10-nodes"));
}

TEST_F(Tools, PlanIsAScreenAndVerboseHasTheRest) {
  const Words ranks = {"--fan-out", "--slots", "2", "--", "true"};
  const std::string brief = tool(joined({"plan"}, ranks)).out;
  EXPECT_THAT(brief, AllOf(HasSubstr("starts 2 ranks"), HasSubstr("LOCAL_RANK 0-1"),
                           HasSubstr("MASTER_PORT: a free port, chosen at the start"),
                           Not(HasSubstr("LOCAL_RANK=1"))));
  const std::string all = tool(joined({"plan", "--verbose"}, ranks)).out;
  EXPECT_THAT(all, AllOf(HasSubstr("    LOCAL_RANK=1\n"), HasSubstr("    WORLD_SIZE=2\n"),
                         HasSubstr("    MASTER_PORT: a free port, chosen at the start\n")));
}

TEST_F(Tools, ASnapshotReplaysTheSamePlanByteForByte) {
  const Words command = {rules::payload(), "report"};
  const struct {
    Words options;
    Words variables;
  } cases[] = {
      {{"--", "sh", "-c", "exit 3"}, {"A=\xff", "ODD"}},
      {joined({"--strict", "--grace", "9s"}, ranks(8, command)), {"HF_TOKEN=hf_secret"}},
      {ranks(2, command), {"TRAINIT_OUTPUT=files", "TRAINIT_LOG_DIR=" + path("l")}},
      {{"--rank-table", path("absent.json"), "--", "x"}, {}},
      {joined({"--run-dir", path("other")}, ranks(1, command)), {"DB_PASSWORD=p4ssw0rd"}},
  };
  for (const auto& [options, variables] : cases) {
    const Result plan = with_env(joined({"plan", "--json"}, options), variables);
    EXPECT_EQ(plan.code, 0) << plan.err;
    const Result snapshot = with_env(joined({"snapshot"}, options), variables);
    EXPECT_EQ(snapshot.code, 0) << snapshot.err;
    write("case.json", snapshot.out);
    // Another machine: another environment, none of the files.
    const Result replay = rules::run({.args = {"plan", "--json", "--snapshot", path("case.json")},
                                      .env = {"TRAINIT_GRACE=1s", "RANK_TABLE_FILE=/elsewhere"},
                                      .pid1 = false});
    EXPECT_EQ(replay.code, 0) << replay.err;
    EXPECT_EQ(replay.out, plan.out);
    for (const char* secret : {"hf_secret", "p4ssw0rd"}) {
      EXPECT_THAT(snapshot.out + plan.out, Not(HasSubstr(secret)));
    }
  }
}

TEST_F(Tools, ASnapshotReplaysForAnotherNode) {
  const std::string table =
      write("table.json", R"({"version":"1.0","server_count":"2","status":"completed",
"server_list":[{"server_id":"10.0.0.1","device":[{"device_id":"0","device_ip":"10.1.0.1","rank_id":"0"}]},
{"server_id":"10.0.0.2","device":[{"device_id":"0","device_ip":"10.1.0.2","rank_id":"1"}]}]})");
  write("case.json", tool({"snapshot", "--rank-table", table, "--node-rank", "0", "--", "x"}).out);
  const Result other =
      tool({"plan", "--json", "--snapshot", path("case.json"), "--node-rank", "1"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_THAT(other.out, HasSubstr("rank-1"));
  EXPECT_THAT(other.out, Not(HasSubstr("rank-0")));
}

TEST_F(Tools, ASnapshotOfBadInputIsMade) {
  const Result result = tool({"snapshot", "--rank-table", write("bad.json", "[}"), "--", "x"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("[}"));
}

TEST_F(Tools, ASnapshotThatIsNoneIsAnErrorThatNamesIt) {
  for (const std::string& file : {path("absent"), path("run"), write("text", "hello"),
                                  write("empty", ""), write("other", "{\"a\": 1}")}) {
    const Result result = tool({"plan", "--snapshot", file});
    EXPECT_EQ(result.code, 125) << file;
    EXPECT_THAT(result.err, HasSubstr(file));
  }
}

// --- ranktable ---

TEST_F(Tools, CheckIs0ForATableThatHcclTakesAnd1ForOneThatItRefuses) {
  const std::string good = write("good.json", rules::rank_table(2));
  const std::string bad = write("bad.json", "{\"version\": 1.0}");
  EXPECT_EQ(tool({"ranktable", "check", good}).code, 0);
  const Result refused = tool({"ranktable", "check", bad});
  EXPECT_EQ(refused.code, 1);
  const Result both = tool({"ranktable", "check", good, bad});
  EXPECT_EQ(both.code, 1);
  EXPECT_THAT(both.out, HasSubstr(good + ": "));
}

TEST_F(Tools, CheckOfWhatIsNoFileIs125) {
  for (const std::string& file : {path("absent"), path("run")}) {
    const Result result = tool({"ranktable", "check", file});
    EXPECT_EQ(result.code, 125);
    EXPECT_THAT(result.err, HasSubstr(file));
  }
}

TEST_F(Tools, ConvertWritesToStdoutOrIntoAFile) {
  const std::string table = write("table.json", rules::rank_table(2));
  const Result shown = tool({"ranktable", "convert", table});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\"server_list\""));
  for (const Words& flag :
       std::vector<Words>{{"-o", path("out.json")}, {"--output=" + path("out.json")}}) {
    const Result written = tool(joined({"ranktable", "convert", table}, flag));
    EXPECT_EQ(written.code, 0);
    EXPECT_THAT(written.out, IsEmpty());
    EXPECT_EQ(read(path("out.json")), shown.out);
    std::filesystem::remove(path("out.json"));
  }
}

// /dev/stdout is a link, /dev/full a device: neither may become a file.
TEST_F(Tools, ConvertWritesThroughALinkAndIntoAFifoOrDevice) {
  const std::string table = write("table.json", rules::rank_table(2));
  const std::string wanted = tool({"ranktable", "convert", table}).out;
  std::filesystem::create_symlink(write("target", ""), path("link"));
  EXPECT_EQ(tool({"ranktable", "convert", table, "-o", path("link")}).code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read(path("target")), wanted);
  EXPECT_EQ(tool({"ranktable", "convert", table, "-o", "/proc/self/fd/1"}).out, wanted);

  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  rules::Instance instance(
      {.args = {"ranktable", "convert", table, "-o", path("fifo")}, .env = env(), .pid1 = false});
  EXPECT_EQ(read(path("fifo")), wanted);
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_TRUE(std::filesystem::is_fifo(path("fifo")));

  if (!child::is_root()) return;
  ASSERT_EQ(::mknod(path("full").c_str(), S_IFCHR | 0600, makedev(1, 7)), 0);
  const Result full = tool({"ranktable", "convert", table, "-o", path("full")});
  EXPECT_EQ(full.code, 125);
  EXPECT_THAT(full.err, AllOf(HasSubstr(path("full")), HasSubstr("ENOSPC")));
  EXPECT_TRUE(std::filesystem::is_character_file(path("full")));
}

TEST_F(Tools, ConvertThatFailsLeavesNoFile) {
  const std::string table = write("table.json", R"({"status": "initializing"})");
  const Result result = tool({"ranktable", "convert", table, "-o", path("out.json")});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("initializing"));
  EXPECT_FALSE(std::filesystem::exists(path("out.json")));
  const Result no_place = tool(
      {"ranktable", "convert", write("good.json", rules::rank_table(1)), "-o", path("no/out")});
  EXPECT_EQ(no_place.code, 125);
  EXPECT_THAT(no_place.err, HasSubstr("ENOENT"));
}

TEST_F(Tools, RanktableSaysWhatItDoesNotKnow) {
  for (const Words& args : std::vector<Words>{{},
                                              {"chek"},
                                              {"check"},
                                              {"convert"},
                                              {"convert", "a", "b"},
                                              {"convert", "a", "--rank-ordr", "x"},
                                              {"convert", "a", "-o"},
                                              {"convert", "a", "--rank-order", "x"}}) {
    const Result result = tool(joined({"ranktable"}, args));
    EXPECT_EQ(result.code, 125);
    EXPECT_THAT(result.err, HasSubstr("error"));
  }
  EXPECT_THAT(tool({"ranktable", "--help"}).out, HasSubstr("generate"));
}

class Hccn : public Tools {
 protected:
  Hccn() { ::mkdir(path("bin").c_str(), 0755); }
  // Instead of the driver's, found by PATH.
  void put_tool(const std::string& script) const {
    write("bin/hccn_tool", "#!/bin/sh\n" + script, 0755);
  }
  [[nodiscard]] Result generate(const Words& args) const {
    return rules::run({.args = joined({"ranktable", "generate", "--server-id", "10.0.0.9"}, args),
                       .env = {"PATH=" + path("bin") + ":/usr/bin:/bin"},
                       .pid1 = false});
  }
};

TEST_F(Hccn, ConfIsWhatATableIsGeneratedFrom) {
  const std::string conf =
      write("hccn.conf", "address_0=10.1.0.1\nnetmask_0=255.255.255.0\naddress_1=10.1.0.2\n");
  const Result all = generate({"--hccn-conf", conf, "-o", path("t.json")});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(tool({"ranktable", "check", path("t.json")}).code, 0);
  EXPECT_THAT(generate({"--hccn-conf", conf, "--devices=1"}).out,
              AllOf(HasSubstr("10.1.0.2"), Not(HasSubstr("10.1.0.1"))));
  const std::string twice = write("twice.conf", "address_0=10.1.0.1\naddress_1=10.1.0.1\n");
  const Result refused = generate({"--hccn-conf", twice});
  EXPECT_EQ(refused.code, 125);
  EXPECT_THAT(refused.err, HasSubstr("10.1.0.1"));
  const Result missing = generate({"--hccn-conf", conf, "--devices", "0,5"});
  EXPECT_EQ(missing.code, 125);
  EXPECT_THAT(missing.err, HasSubstr("device 5"));
}

TEST_F(Hccn, ToolIsAskedForEachDeviceWhereThereIsNoConf) {
  if (std::filesystem::exists("/etc/hccn.conf")) GTEST_SKIP() << "this host has one";
  put_tool("[ \"$1 $3 $4\" = '-i -ip -g' ] && echo ipaddr:10.1.0.$2 && echo netmask:255.255.0.0");
  const Result result = generate({"--devices", "3,6"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("10.1.0.3"), HasSubstr("10.1.0.6")));
  EXPECT_EQ(generate({}).code, 125);  // no devices named
}

TEST_F(Hccn, ToolThatIsMissingOrFailsIsAnErrorThatNamesTheDevice) {
  if (std::filesystem::exists("/etc/hccn.conf")) GTEST_SKIP() << "this host has one";
  Result result = generate({"--devices", "3"});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("hccn_tool"), HasSubstr("no such program"), HasSubstr("device 3")));
  put_tool("echo no such device; exit 1");
  result = generate({"--devices", "3"});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("hccn_tool -i 3"));
}

TEST_F(Hccn, ToolThatHangsIsGivenUp) {
  if (std::filesystem::exists("/etc/hccn.conf")) GTEST_SKIP() << "this host has one";
  put_tool("echo ipaddr:10; sleep 1000");
  rules::Instance hanging({.args = {"ranktable", "generate", "--devices", "0"},
                           .env = {"PATH=" + path("bin") + ":/usr/bin:/bin"},
                           .pid1 = false});
  EXPECT_EQ(hanging.wait(), 125);
  EXPECT_EQ(hanging.lines_with("no answer within"), 1) << hanging.err();
  EXPECT_LT(hanging.age_ms(), kAtOnceMs);
}

TEST_F(Hccn, ToolThatClosesItsOutputAndStaysIsNotAwaited) {
  if (std::filesystem::exists("/etc/hccn.conf")) GTEST_SKIP() << "this host has one";
  put_tool("echo ipaddr:10.1.0.7; exec >&- 2>&-; sleep 1000");
  const Result result = generate({"--devices", "0"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("10.1.0.7"));
}

// --- Every sample ---

TEST_F(Tools, RanktableEndsInOrderForEverySample) {
  const char* samples = std::getenv("TRAINIT_SAMPLES");
  if (samples == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(samples) + "/ranktable")) {
    const std::string file = entry.path();
    for (const char* action : {"check", "convert"}) {
      const Result result = tool({"ranktable", action, file});
      EXPECT_THAT(result.code, testing::AnyOf(0, 1, 125)) << file;
      EXPECT_FALSE((result.out + result.err).empty()) << file;
    }
  }
}

}  // namespace
