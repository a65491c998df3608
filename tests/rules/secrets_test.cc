// What trainit prints and saves holds no credential of the job: a canary stands wherever real jobs
// have one, and every output is searched for it.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/rules/job.h"

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
    return joined(env(),
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

TEST_F(Secrets, AreInNoMessageAboutWhatCannotBeStarted) {
  const std::string canary = kCanary;
  for (const Words& command :
       {Words{"HF_TOKEN=" + canary, "python"},  // as a shell would take it
        Words{"/opt/HF_TOKEN=" + canary}, Words{"https://bob:" + canary + "@host/program"},
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
