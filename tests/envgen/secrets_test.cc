#include "envgen/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Secrets, AreMaskedByName) {
  EXPECT_EQ(masked_entry("S3_SECRET_ACCESS_KEY=abc"), "S3_SECRET_ACCESS_KEY=***");
  EXPECT_EQ(masked_entry("hf_token=abc"), "hf_token=***");
  EXPECT_EQ(masked_entry("DB_PASSWORD="), "DB_PASSWORD=***");
  for (const char* name : {"OBS_AK", "OBS_SK", "SK", "DB_PASS", "MYSQL_PWD", "GIT_PAT", "AUTH",
                           "COOKIE", "ENC_KEY", "DSN"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name : {"PWD", "OLDPWD", "MASK", "KEYBOARD", "SKIP", "RANK_ID", "PASSES",
                           "HCCL_CONNECT_TIMEOUT", "TOKENIZERS_PARALLELISM", "MAX_TOKENS"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
  EXPECT_EQ(masked_entry("PATH=/bin"), "PATH=/bin");
  EXPECT_EQ(masked_entry("no assignment"), "no assignment");
}

TEST(Secrets, InAddressesAreMasked) {
  EXPECT_EQ(masked_entry("http_proxy=http://bob:x@p:80"), "http_proxy=http://***@p:80");
  EXPECT_EQ(mask_url_credentials("a s3://k:s@b/p?x=a@b http://h/u@v c"),
            "a s3://***@b/p?x=a@b http://h/u@v c");
  EXPECT_EQ(mask_url_credentials("mysql://u:p@x@h"), "mysql://***@h");
  EXPECT_EQ(mask_url_credentials("no address: a@b"), "no address: a@b");
}

TEST(Secrets, InArgumentsAreMasked) {
  EXPECT_THAT(masked_arguments({"run", "--password=x", "--api-key", "x", "--token", "--lr", "0.1",
                                "http://u:p@h/f", "-k", "v"}),
              ElementsAre("run", "--password=***", "--api-key", "***", "--token", "--lr", "0.1",
                          "http://***@h/f", "-k", "v"));
}

TEST(Secrets, OfTheJobsThatThereAreAreKnownByName) {
  for (const char* name : {"AWS_SECRET_ACCESS_KEY",
                           "AWS_ACCESS_KEY_ID",
                           "AWS_SESSION_TOKEN",
                           "S3_ACCESS_KEY_ID",
                           "OSS_ACCESS_KEY_SECRET",
                           "HF_TOKEN",
                           "HUGGING_FACE_HUB_TOKEN",
                           "WANDB_API_KEY",
                           "SWANLAB_API_KEY",
                           "MODELSCOPE_API_TOKEN",
                           "MA_SECURITY_TOKEN",
                           "X_AUTH_TOKEN",
                           "PGPASSWORD",
                           "MLFLOW_TRACKING_PASSWORD",
                           "AZURE_STORAGE_CONNECTION_STRING",
                           "AZURE_STORAGE_SAS_TOKEN",
                           "GOOGLE_APPLICATION_CREDENTIALS",
                           "DOCKER_AUTH_CONFIG",
                           "SLACK_WEBHOOK_URL",
                           "APPKEY",
                           "NGC_API_KEY",
                           "hub.token",
                           "api-key",
                           "--hub-token",
                           "clientSecret",
                           "accountKey"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name : {"MASTER_ADDR", "HF_HOME", "MAX_TOKENS", "num-tokens", "tokenizer.path",
                           "KEYBOARD_LAYOUT", "WANDB_PROJECT", "MONKEYPATCH", "RANK_TABLE_FILE"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(Secrets, InAnyTextAreMasked) {
  for (const char* text :
       {"env HF_TOKEN=canary1 python", "--token=canary1", "{\"api_key\": \"canary1\"}",
        "{\\\"api_key\\\": \\\"canary1\\\"}", "{'password': 'canary1'}",
        "PASSWORD='canary1 canary1'", "https://b.obs.cn/x?Signature=canary1&Expires=1",
        "AccountKey=canary1==;Suffix=x", "Authorization: Bearer canary1",
        "curl -H \"X-Auth-Token: canary1\"", "https://conda.anaconda.org/t/canary1/main",
        "git+https://oauth2:canary1@github.com/a/b", "redis://:canary1@host:6379/0",
        "+hub.token=canary1", "-Dpassword=canary1",
        "-----BEGIN RSA PRIVATE KEY-----\ncanary1\n-----END RSA PRIVATE KEY-----",
        "\"secret\": canary1, \"x\": 1"}) {
    EXPECT_THAT(mask_secrets(text), Not(HasSubstr("canary1"))) << text;
  }
}

TEST(Secrets, WithAKnownShapeAreMasked) {
  for (const char* token :
       {"hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
        "github_pat_11ABCDEFG0123456789_abcdefgh", "AKIAIOSFODNN7EXAMPLE",
        "glpat-0123456789abcdefghij", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc"}) {
    EXPECT_EQ(mask_secrets(std::string("login with ") + token + ", please"),
              "login with ***, please");
  }
}

TEST(Secrets, LeaveTheRestOfATextAsItIs) {
  for (const char* text :
       {"starting python: PATH=/usr/bin: no such program there; install it, give its path",
        "--ssh-key: no such file; mount it there", "name another with --ssh-key or TRAINIT_RUN_DIR",
        "{\"device_ip\": \"10.1.0.1\", \"rank_id\": \"0\"}", "http://host:80/path?x=1", "sk-learn",
        "hf_datasets_cache_of_this_machine", "max_tokens=100", "127.0.0.1:29500", "a = b", "",
        "Load key \"/home/a/.ssh/key\": incorrect passphrase supplied"}) {
    EXPECT_EQ(mask_secrets(text), text);
  }
}

TEST(Secrets, InCommandsAreMasked) {
  EXPECT_THAT(masked_arguments({"sh", "-c", "export WANDB_API_KEY=x1; python a.py --token x2 -v"}),
              ElementsAre("sh", "-c", "export WANDB_API_KEY=***; python a.py --token *** -v"));
  EXPECT_THAT(masked_arguments({"env", "HF_TOKEN=x1", "python", "+hub.token=x2", "lr=0.1"}),
              ElementsAre("env", "HF_TOKEN=***", "python", "+hub.token=***", "lr=0.1"));
  const std::string key = "0123456789abcdef0123456789abcdef01234567";
  EXPECT_THAT(masked_arguments({"wandb", "login", "--relogin", key}),
              ElementsAre("wandb", "login", "--relogin", "***"));
  EXPECT_THAT(masked_arguments({"sh", "-c", "wandb login " + key + " && python a.py"}),
              ElementsAre("sh", "-c", "wandb login *** && python a.py"));
  EXPECT_EQ(masked_entry("EXTRA_ARGS=--lr 1 --api-key x1"), "EXTRA_ARGS=--lr 1 --api-key ***");
}

}  // namespace
}  // namespace envgen
