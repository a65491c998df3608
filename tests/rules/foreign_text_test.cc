// No text of others can forge a line of trainit's or repaint a terminal: names of files, values of
// options, and contents with line ends and escapes in them, in everything that is printed.

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/characters/utf8.h"
#include "tests/rules/job.h"

namespace {

using rules::joined;
using rules::Result;
using rules::Words;
using testing::HasSubstr;

// A line end, ESC, a carriage return, the C1 form of ESC [, and what reverses and ends a line.
constexpr const char* kForged =
    "a\ntrainit: forged\x1b[2K\rtrainit: forged\xc2\x9b"
    "2K\u202e\u2028\u2066\u2029trainit: forged";

void expect_honest(std::string_view text) {
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(1)) {
    if (rest[0] != '\n' && rest[0] != '\x9b') EXPECT_FALSE(base::is_control(rest)) << text;
    EXPECT_FALSE(rest.starts_with("\ntrainit: forged")) << text;
    if (testing::Test::HasFailure()) return;
  }
}

class ForeignText : public rules::JobTest {
 protected:
  [[nodiscard]] Result run(Words args, const Words& more = {}) const {
    return rules::run({.args = std::move(args), .env = joined(env(), more), .pid1 = false});
  }
  // Returns what was printed.
  static std::string expect_honest_result(const Result& result) {
    expect_honest(result.out);
    expect_honest(result.err);
    EXPECT_THAT(result.out + result.err, HasSubstr("forged"));
    return result.out + result.err;
  }
};

TEST_F(ForeignText, ForgesNoLineOfAPlan) {
  const std::string forged = kForged;
  std::filesystem::create_directory(path(forged));
  for (const Words& options :
       {Words{"--", "python", forged}, Words{"--progress", forged + "{step}", "--", "true"},
        Words{"--log-dir", path(forged), "--framework", "pytorch", "--", "python", "x.py"},
        Words{"--data", path(forged) + "=" + path("b"), "--", "true"},
        Words{"--ready-file", path(forged), "--", "true"},
        Words{"--rank-table", path(forged), "--", "true"}}) {
    for (const Words& plan : {Words{"plan"}, Words{"plan", "--json"}, Words{"snapshot"}}) {
      const Result result = run(joined(plan, options), {"PET_X=" + forged, "FORGED=" + forged});
      expect_honest(result.out);
      expect_honest(result.err);
    }
  }
  expect_honest_result(run({"plan", "--", "python", forged}));
}

TEST_F(ForeignText, ForgesNoLineOfAKeptPlan) {
  const Result result = run(ranks(1, {"sh", "-c", "exit 0", kForged}, {"--log-level", "debug"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(read(path("run/plan.txt")), HasSubstr("forged"));
  expect_honest(read(path("run/plan.txt")));
  expect_honest(result.err);
}

TEST_F(ForeignText, ForgesNoLineOfAChecker) {
  const std::string forged = kForged;
  const std::string table =
      write("table.json",
            "{\"status\": \"completed\", \"version\": \"1.0\", \"server_count\": \"1\", "
            "\"server_list\": [{\"server_id\": \"a\\ntrainit: forged\\u001b[2K\\u009b2K\", "
            "\"device\": [{\"device_id\": \"x\\ntrainit: forged\\u001b\", "
            "\"device_ip\": \"y\\ntrainit: forged\\u001b\", \"rank_id\": \"0\"}]}]}");
  expect_honest_result(run({"ranktable", "check", table}));
  expect_honest_result(run({"ranktable", "check", write(forged, rules::rank_table(1))}));
  expect_honest_result(run({"ranktable", "check", write(forged, "{")}));
  expect_honest_result(run({"ranktable", "convert", write(forged, "{")}));
  const std::string hosts = write("hosts",
                                  "a slots=x\x1b[2K\xc2\x9b"
                                  "2K\rtrainit: forged\n");
  expect_honest(run({"hostfile", "check", hosts}).out);
  expect_honest_result(run({"hostfile", "check", write(forged, "a slots=1\n")}));
  expect_honest_result(run({"hostfile", "check", write(forged, "a\rtrainit slots=1\n")}));
}

TEST_F(ForeignText, ForgesNoLineOfTheOtherCommands) {
  const std::string forged = kForged;
  std::filesystem::create_directory(path("src" + forged));
  expect_honest_result(run({"copy", path("src" + forged), path("dst" + forged)}));
  expect_honest_result(run({"install", path("bin" + forged)}));
  expect_honest_result(run({"doctor", "--rank-table", path(forged)}));
  expect_honest_result(run({"status", "--run-dir", path(forged)}));
  expect_honest_result(run({"report", path(forged)}));
  expect_honest_result(run({forged}));
}

// The names of a job's files and what its rank printed last, in all that says how the job went.
TEST_F(ForeignText, ForgesNoLineOfWhatSaysHowAJobWent) {
  const std::string forged = kForged;
  const Result job = run(ranks(1, {"sh", "-c", "printf '%s\\n' \"Error: $0\" >&2; exit 3", forged},
                               {"--log-level", "debug", "--log-dir", path(forged)}));
  EXPECT_EQ(job.code, 3) << job.err;
  for (const Words& args : {Words{"status"}, Words{"status", "--json"}, Words{"report"}}) {
    EXPECT_EQ(expect_honest_result(tool(args)).find("\u202e"), std::string::npos);
  }
  for (const char* file : {"run/state.json", "run/events.jsonl", "run/plan.txt"}) {
    expect_honest(read(path(file)));
  }
}

// The files of a rank's stack are the job's, and so are those that the answer comes in.
TEST_F(ForeignText, ForgesNoLineOfTheStacks) {
  if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "needs python3";
  const std::string forged = kForged;
  write(forged, "import time\ntime.sleep(1000)\n");
  rules::Instance instance(
      {.args = ranks(2, {"/usr/bin/python3", path(forged)}, {"--output", "files"}),
       .env = env(),
       .pid1 = false});
  await_file("run", "state.json");
  Result text = tool({"stacks"});
  while (text.code == 2) text = tool({"stacks"});
  expect_honest(text.out);
  expect_honest(tool({"stacks", "--json"}).out);
  instance.signal(SIGTERM);
  instance.wait();
}

}  // namespace
