// What trainit prints and saves holds no credential of the job: a canary stands wherever real jobs
// have one, and every output is searched for it.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/rules/job.h"
#include "tests/rules/shell.h"

namespace {

using rules::joined;
using rules::Result;
using rules::Words;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kCanary = "canary-0f1e2d3c4b5a69788796a5b4";

class Secrets : public rules::JobTest {
 protected:
  // The environment of a job that logs in everywhere.
  [[nodiscard]] Words env_with_secrets() const {
    const std::string canary = kCanary;
    return joined(
        env(),
        {"HF_TOKEN=" + canary,
         "WANDB_API_KEY=" + canary,
         "AWS_SECRET_ACCESS_KEY=" + canary,
         "AWS_ACCESS_KEY_ID=" + canary,
         "MA_SECURITY_TOKEN=" + canary,
         "OBS_SK=" + canary,
         "MLFLOW_TRACKING_PASSWORD=" + canary,
         "DB_URL=mysql://bob:" + canary + "@db/x",
         "http_proxy=http://bob:" + canary + "@proxy:3128",
         "DATA=https://bucket/x?Signature=" + canary,
         "EXTRA_ARGS=--lr 1 --token " + canary,
         "DOCKER_AUTH_CONFIG={\"auths\":{\"r\":{\"auth\":\"" + canary + "\"}}}",
         "TRAIN_CONFIG={\"hub\": {\"api_key\": \"" + canary + "\"}}",
         "ftp_proxy=bob:" + canary + "@proxy:3128",
         "AUTHORIZATION=Bearer " + canary,
         "TOKEN_1=" + canary,
         "REGISTRY_CREDS=" + canary,
         "DBPASS=" + canary,
         "ID_RSA=" + canary,
         "DOCKERCONFIGJSON=" + canary,
         "DB=Server=db;Uid=bob;Pwd=" + canary + ";Database=x",
         "NOTIFY=https://hooks.slack.com/services/T0/B0/" + canary,
         "TOKENS=" + canary,
         "MFA_OTP=" + canary,
         "TLS_PEM=" + canary,
         "KUBECONFIG_DATA=" + canary,
         "TOKEN_V2=" + canary,
         "HEADERS={'Authorization': 'Basic " + canary + "', 'X-Auth-Token': '" + canary + "'}",
         "TOKEN_LIST={\"tokens\": [\"" + canary + "\"]}",
         "PAIR=('password', '" + canary + "')",
         "NOTE=log in with password: " + canary + " as bob",
         "SETUP=wandb login \"" + canary + "\"; sshpass -p " + canary + " ssh host"});
  }

  // A command that is given them as well; they are arguments that the payload passes by.
  [[nodiscard]] static Words command_with_secrets(Words command) {
    const std::string canary = kCanary;
    return joined(std::move(command),
                  {"--token=" + canary,
                   "--api-key",
                   canary,
                   "HUB_TOKEN=" + canary,
                   "https://bob:" + canary + "@host/data",
                   "+hub.password=" + canary,
                   "+a={api_key:" + canary + ",lr:1}",
                   "{password: " + canary + "}",
                   "passwd:" + canary,
                   "{'X-Auth-Token': '" + canary + "'}",
                   "export HF_TOKEN=" + canary + "; python a.py --secret " + canary,
                   "(wandb login " + canary + ")",
                   "obsutil config -i=" + canary + " -k=" + canary,
                   "curl -u bob:" + canary + " https://h",
                   "aws",
                   "configure",
                   "set",
                   "aws_secret_access_key",
                   canary,
                   "sshpass",
                   "-p",
                   canary,
                   "mysql",
                   "-p" + canary});
  }

  [[nodiscard]] Result run(Words args) const {
    return rules::run({.args = std::move(args), .env = env_with_secrets(), .pid1 = false});
  }

  // Every file that is there now.
  void expect_no_file_with_canary() const {
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(""))) {
      if (!entry.is_regular_file()) continue;
      ++files;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      EXPECT_THAT(text, Not(HasSubstr(kCanary))) << entry.path();
    }
    EXPECT_GT(files, 0);
  }

  static void expect_none(const Result& result) {
    EXPECT_THAT(result.out, Not(HasSubstr(kCanary)));
    EXPECT_THAT(result.err, Not(HasSubstr(kCanary)));
  }
};

TEST_F(Secrets, AreInNoPlanAndNoSnapshot) {
  for (const Words& start : {Words{"plan"}, Words{"plan", "--json"}, Words{"snapshot"}}) {
    for (const Words& rest :
         {joined({"--"}, command_with_secrets({"python", "train.py"})),
          ranks(2, command_with_secrets({"python", "train.py"})),
          joined({"--framework", "pytorch", "--hosts", "a:2,b:2", "--node-rank", "0", "--"},
                 command_with_secrets({"python", "train.py"}))}) {
      const Result result = run(joined(start, rest));
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_THAT(result.out, HasSubstr("***"));
      expect_none(result);
    }
  }
}

TEST_F(Secrets, AreInNoLogStateOrSavedEnvironmentOfRanksThatFail) {
  const Result result = run(joined(
      {"--log-level", "debug"}, ranks(2, command_with_secrets({rules::payload(), "exit", "3"}))));
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(read(path("run/logs/rank-1.env")), HasSubstr("HF_TOKEN=***"));
  EXPECT_THAT(read(path("run/state.json")), HasSubstr("rank-0"));
  expect_none(result);
  expect_no_file_with_canary();
}

// What a rank prints of them, as the cause and as its last lines.
TEST_F(Secrets, ThatARankPrintsAreInNoStateEventReportOrTerminationMessage) {
  if (!rules::may_unshare()) GTEST_SKIP() << "needs a mount namespace";
  for (const std::string line :
       {"RuntimeError: log in with password: % as bob", "ValueError: {'Authorization': 'Basic %'}",
        "RuntimeError: {'X-Auth-Token': '%'}", "KeyError: ('passwd', '%')",
        "RuntimeError: {\\\"tokens\\\": [\\\"%\\\"]}", "RuntimeError: bad a={api_key:%}",
        "RuntimeError: the api key 0123456789abcdef0123456789abcdef01234567 is not known"}) {
    std::string printed = line;
    if (const std::size_t at = printed.find('%'); at != std::string::npos) {
      printed.replace(at, 1, kCanary);
    }
    const std::string script = "echo \"" + printed + "\" >&2; exit 3";
    // The mounts are the namespace's own.
    const std::string all =
        "mount -t tmpfs none /dev && mknod /dev/null c 1 3 && : > /dev/termination-log && "
        "\"$0\" --output files --log-format json -- /bin/sh -c \"$1\"; "
        "cat /dev/termination-log; cd \"$TRAINIT_RUN_DIR\" && "
        "cat state.json events.jsonl plan.txt metrics.prom; "
        "\"$0\" status; \"$0\" report; \"$0\" report --format html; true";
    const Result result = rules::run(
        {.args = {"sh", "-c", all, rules::trainit(), script}, .env = env(), .program = "/bin/sh"});
    EXPECT_THAT(result.out, HasSubstr("***")) << result.err;
    EXPECT_THAT(result.out, HasSubstr("first_failure"));
    EXPECT_THAT(result.out, Not(HasSubstr("0123456789abcdef0123456789abcdef01234567")));
    expect_none(result);
  }
}

// Forty secrets in as many notations as logs have; NAME and VALUE stand for those of a row.
constexpr const char* kPlanted[] = {"NAME=VALUE",
                                    "NAME[]=VALUE",
                                    "NAME[0]=VALUE",
                                    "a=1&NAME%3DVALUE",
                                    "{\"NAME\"\\u003a \"VALUE\"}",
                                    "{\"name\":\"NAME\",\"value\":\"VALUE\"}",
                                    "{\"value\":\"VALUE\",\"key\":\"NAME\"}",
                                    "<add key=\"NAME\" value=\"VALUE\"/>",
                                    "- name: NAME value: VALUE",
                                    "setenv NAME VALUE",
                                    "export NAME VALUE",
                                    "\"NAME\" \"VALUE\"",
                                    "NAME('VALUE')",
                                    "NAME ~ VALUE",
                                    "[NAME] VALUE",
                                    "the NAME was set to VALUE",
                                    "{&quot;NAME&quot;: &quot;VALUE&quot;}",
                                    "run --NAME VALUE",
                                    "('NAME', 'VALUE')",
                                    "NAME: !!str VALUE"};
constexpr const char* kNamesOfPlanted[] = {"DB_PASSWORD", "API_KEY"};

Words planted() {
  Words texts;
  for (const char* name : kNamesOfPlanted) {
    for (std::string text : kPlanted) {
      text.replace(text.find("NAME"), 4, name);
      text.replace(text.find("VALUE"), 5, "c4nary" + std::to_string(100 + texts.size()) + "x");
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

int planted_in(std::string_view text) {
  int count = 0;
  for (int i = 0; i < 40; ++i) count += text.contains("c4nary" + std::to_string(100 + i) + "x");
  return count;
}

TEST_F(Secrets, InTwentyNotationsAreInNothingThatAJobLeaves) {
  if (!rules::may_unshare()) GTEST_SKIP() << "needs a mount namespace";
  const Words texts = planted();
  constexpr std::size_t kLines = 5;  // as many as the last lines of a rank have
  for (std::size_t first = 0; first < texts.size(); first += kLines) {
    Words env_of_job = env();
    std::string lines;
    for (std::size_t i = first; i < first + kLines; ++i) {
      env_of_job.push_back("ENTRY_" + std::to_string(i) + "=" + texts[i]);
      lines += texts[i] + "\n";
    }
    lines += "RuntimeError: " + texts[first] + "\n";
    const std::string all =
        "mount -t tmpfs none /dev && mknod /dev/null c 1 3 && : > /dev/termination-log && "
        "script='cat \"$LINES_FILE\" >&2; exit 3 # '\"$1\"; "
        "\"$0\" plan -- sh -c \"$script\" \"$@\"; \"$0\" snapshot -- sh -c \"$script\" \"$@\"; "
        "\"$0\" --output files --log-level debug -- sh -c \"$script\" \"$@\"; "
        "cat /dev/termination-log; cd \"$TRAINIT_RUN_DIR\" && "
        "cat state.json events.jsonl plan.txt metrics.prom logs/*.env; "
        "\"$0\" status; \"$0\" report; \"$0\" report --format html; true";
    env_of_job.push_back("LINES_FILE=" + write("lines", lines));
    Words args = {"sh", "-c", all, rules::trainit()};
    args.insert(args.end(), texts.begin() + static_cast<std::ptrdiff_t>(first),
                texts.begin() + static_cast<std::ptrdiff_t>(first + kLines));
    const Result result = rules::run({.args = args, .env = env_of_job, .program = "/bin/sh"});
    EXPECT_THAT(result.out, HasSubstr("first_failure")) << result.err;
    EXPECT_EQ(planted_in(result.out), 0) << result.out;
    EXPECT_EQ(planted_in(result.err), 0) << result.err;
  }
}

TEST_F(Secrets, AreInNoMessageAboutWhatCannotBeStarted) {
  const std::string canary = kCanary;
  for (const Words& command :
       {Words{"HF_TOKEN=" + canary, "python"},  // as a shell would take it
        Words{"/opt/HF_TOKEN=" + canary}, Words{"https://bob:" + canary + "@host/program"},
        // A line that is one word, in whose quotes a credential is.
        Words{"PASSWORD='" + canary + "' python3 train.py"},
        Words{"python3 train.py --api-key='" + canary + "' && true"},
        Words{"python3 train.py --password '" + canary + " word'"},
        Words{"conda activate e && HF_TOKEN='" + canary + "' python3 train.py"},
        // Too much for the stack, so that the longest is named.
        Words{rules::payload(), "--token=" + canary + std::string(110'000, 'x'),
              std::string(100'000, 'x')}}) {
    for (const char* format : {"human", "json"}) {
      const Result result = run(
          joined({"--log-format", format, "--log-level", "debug", "--rlimit", "stack=64k", "--"},
                 command));
      EXPECT_THAT(result.code, testing::AnyOf(126, 127)) << result.err;
      EXPECT_THAT(result.err, HasSubstr("***"));
      expect_none(result);
      EXPECT_THAT(read(path("run/state.json")), HasSubstr("first_failure"));
      expect_no_file_with_canary();
    }
  }
}

TEST_F(Secrets, AreInNoMessageAboutBadInput) {
  const std::string canary = kCanary;
  for (const Words& options :
       {Words{"--password=" + canary}, Words{"--rank-table", "https://bob:" + canary + "@h/t.json"},
        Words{"--user", "HF_TOKEN=" + canary}, Words{"--hosts", "a,HF_TOKEN=" + canary + ":x"}}) {
    const Result result = run(
        joined(options, {"--rank-table-timeout", "100ms", "--framework", "pytorch", "--", "true"}));
    EXPECT_NE(result.code, 0) << testing::PrintToString(options);
    EXPECT_THAT(result.err, HasSubstr("error"));
    expect_none(result);
  }
}

TEST_F(Secrets, LeaveTheLineThatARefusalSaysToType) {
  const Result example =
      run({"plan", "--platform", "vk", "--", "KEY=VALUE", "python3", "train.py"});
  EXPECT_THAT(example.err, HasSubstr("use: bash -c \"KEY=VALUE python3 train.py\"\n"));
  const Result secret =
      run({"plan", "--platform", "vk", "--", "HF_TOKEN=" + std::string(kCanary), "python3"});
  EXPECT_THAT(secret.err, HasSubstr("use: bash -c \"HF_TOKEN=*** python3\" (*** stands for"));
  expect_none(secret);
}

TEST_F(Secrets, AreInNoStatus) {
  EXPECT_EQ(run({"--", "HF_TOKEN=" + std::string(kCanary)}).code, 127);
  for (const Words& args : {Words{"status"}, Words{"status", "--json"}}) {
    const Result result = tool(args);
    EXPECT_THAT(result.out, HasSubstr("***"));
    expect_none(result);
  }
}

}  // namespace
