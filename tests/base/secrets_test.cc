#include "base/secrets/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace base {
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

TEST(Secrets, OfManyEnvironmentsAreMaskedAsThoseOfOne) {
  EntryMask mask;
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(mask.of("HF_TOKEN=abc"), "HF_TOKEN=***");
    EXPECT_EQ(mask.of("HF_HOME=abc"), "HF_HOME=abc");
    EXPECT_EQ(mask.of("no assignment"), "no assignment");
    EXPECT_EQ(mask.of("RANK=" + std::to_string(rank)), "RANK=" + std::to_string(rank));
  }
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

TEST(Secrets, InWhatIsPrintedAreMasked) {
  for (const char* text :
       {"running python a.py --password canary1 --lr 1", "+ login --hf-token canary1",
        "secret_key: canary1", "x: 1\n  - api_key: canary1\n", "[rank3]: access_key: canary1",
        "[3] password: 'canary1 canary1'", "token: canary1  # of the hub", "HF_TOKEN=canary1"}) {
    EXPECT_THAT(mask_printed(text), Not(HasSubstr("canary1"))) << text;
    EXPECT_EQ(mask_printed(mask_printed(text)), mask_printed(text));
  }
  for (const char* text : {"the token: not found", "Invalid token: it has expired", "KeyError: 'x'",
                           "key:", "max_tokens: 100", "lr: 0.1", "--token: expected one argument",
                           "usage: a.py [--token]"}) {
    EXPECT_EQ(mask_printed(text), text);
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

// What stands in a plan or a snapshot: a script in one argument, the command's words, a variable's
// value.
void expect_masked(const char* script) {
  EXPECT_THAT(masked_arguments({"sh", "-c", script})[2],
              testing::AllOf(Not(HasSubstr("canary")), HasSubstr("***")))
      << script;
  EXPECT_THAT(masked_value("COMMAND", script), Not(HasSubstr("canary"))) << script;
}

TEST(Secrets, OfALoginAreMaskedHoweverTheyAreQuoted) {
  for (const char* form :
       {"wandb login %; python a.py", "wandb login \"%\"", "(cd /x && wandb login %)",
        "wandb login '%'&&python a.py", "sh -c \"wandb login \\\"%\\\"\"",
        "wandb login --host https://wandb.example.cn %", "/opt/bin/huggingface-cli login %|cat",
        "`wandb login %`"}) {
    std::string script = form;
    script.replace(script.find('%'), 1, "canary-0f1e2d3c4b5a69788796a5b4");
    expect_masked(script.c_str());
  }
  EXPECT_EQ(masked_entry("A=wandb login 0123456789abcdef0123456789abcdef01234567; python a.py"),
            "A=wandb login ***; python a.py");
}

TEST(Secrets, OfAddressesWithoutASchemeAreMasked) {
  EXPECT_EQ(masked_entry("http_proxy=bob:x@proxy:3128"), "http_proxy=***@proxy:3128");
  EXPECT_EQ(masked_entry("HTTPS_PROXY=bob:x/y@z@10.0.0.1:80"), "HTTPS_PROXY=***@10.0.0.1:80");
  EXPECT_EQ(masked_entry("all_proxy=socks5://bob:x#y@proxy:80"), "all_proxy=socks5://***@proxy:80");
  EXPECT_EQ(mask_secrets("pip --proxy bob:x1@proxy.cn:80 install"),
            "pip --proxy ***@proxy.cn:80 install");
  EXPECT_EQ(mask_secrets("export PIP_PROXY=bob:p=1@proxy"), "export PIP_PROXY=***@proxy");
  EXPECT_EQ(mask_secrets("a 'bob:x@[::1]:80', b:c@h"), "a '***@[::1]:80', ***@h");
  EXPECT_EQ(mask_secrets("http://bob:a#b?c@proxy:80/x"), "http://***@proxy:80/x");
  for (const char* text :
       {"git@github.com:org/repo.git", "user@host:/path", "mailto:bob@example.com",
        "ubuntu:22.04@sha256:0123456789abcdef", "node1:8@rack2", "registry/name:tag@sha256:0a",
        "+model:big@_global_:x", "a: b@c", "0:4@1.5", "http://[::1]:80/a@b", "http://h:80/x:y@z"}) {
    EXPECT_EQ(mask_secrets(text), text);
  }
}

TEST(Secrets, OfConnectionStringsAreMasked) {
  EXPECT_EQ(mask_secrets("Server=db;Uid=bob;Pwd=canary;Database=x"),
            "Server=db;Uid=bob;Pwd=***;Database=x");
  EXPECT_EQ(masked_entry("DB=DRIVER=x;UID=bob;PWD=/canary"), "DB=DRIVER=x;UID=bob;PWD=***");
  EXPECT_EQ(mask_secrets("pwd='canary'"), "pwd='***'");
  for (const char* text : {"PWD=/home/ma-user", "cd /x && PWD=/y sh", "OLDPWD=/a", "PWD=$HOME",
                           "\"PWD\": \"/home\""}) {
    EXPECT_EQ(mask_secrets(text), text);
  }
}

TEST(Secrets, OfAnAuthorizationAreMasked) {
  EXPECT_EQ(masked_entry("AUTHORIZATION=Basic canary"), "AUTHORIZATION=***");
  for (const char* script :
       {"export AUTHORIZATION=Bearer\\ canary", "AUTHORIZATION=\"Bearer canary1\" python a.py",
        "curl -H 'Authorization: Bearer canary1' h", "--header 'Authorization=Basic canary1'",
        "x Bearer canary-1", "--auth \"bearer canary1\"", "h: bearer CANARYcanary"}) {
    expect_masked(script);
  }
  for (const char* text :
       {"the bearer token has expired", "bearer of the ring", "Bearer", "a bearer",
        "WWW-Authenticate: Bearer realm=\"x\"", "Basic training begins"}) {
    EXPECT_EQ(mask_secrets(text), text);
  }
}

TEST(Secrets, OfTheNamesThatPlatformsGiveAreKnown) {
  for (const char* name : {"TOKEN_1",
                           "HF_TOKEN2",
                           "API_KEY_2",
                           "KEY1",
                           "TOKEN_01",
                           "AWS_CREDS",
                           "REGISTRY_CREDS",
                           "CREDS",
                           "GCP_CREDS_JSON",
                           "awsCreds",
                           "DBPASS",
                           "MYSQL_PASS",
                           "dbPass",
                           "REDISPASS",
                           "PASS",
                           "PASS_1",
                           "DB_PASS_PROD",
                           "ID_RSA",
                           "SSH_ID_RSA",
                           "ID_ED25519",
                           "GIT_ID_RSA_B64",
                           "DOCKERCONFIGJSON",
                           ".dockerconfigjson",
                           "DOCKER_CONFIG_JSON",
                           "AUTHORIZATION",
                           "HTTP_AUTHORIZATION",
                           "FEISHU_WEBHOOK",
                           "DINGTALK_SECRET",
                           "BEARER"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name : {"BYPASS",           "COMPASS",        "KERNEL_BYPASS",
                           "COMPASS_DATA",     "BYPASS_CACHE",   "LOWPASS",
                           "FORWARD_PASS",     "PASSES",         "PASSIVE",
                           "PASS_RATE",        "PASS_AT_1",      "PASSENGERS",
                           "COMPASSES",        "MONKEY",         "TOKENIZERS_PARALLELISM",
                           "EOS_TOKEN",        "pad-token",      "TOKENIZE",
                           "TOKEN_COUNT",      "num_tokens_2",   "num_key_value_heads",
                           "key_padding_mask", "SSH_PUBLIC_KEY", "ID_RSA_PUB",
                           "input_key",        "DOCKER_CONFIG",  "CREDITS",
                           "SACRED",           "ACCREDITED",     "PYTHONPATH",
                           "RANK_1",           "AUTHOR",         "HCCL_WHITELIST_DISABLE",
                           "NCCL_IB_PKEYS",    "MASTER_PORT",    "KEYS",
                           "LS_COLORS"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(Secrets, OfWebhooksAreMasked) {
  EXPECT_EQ(mask_secrets("post https://hooks.slack.com/services/T0/B0/canary now"),
            "post https://hooks.slack.com/*** now");
  EXPECT_EQ(masked_entry("NOTIFY=https://open.feishu.cn/open-apis/bot/v2/hook/canary-1"),
            "NOTIFY=https://open.feishu.cn/open-apis/bot/v2/hook/***");
  EXPECT_EQ(
      masked_entry("NOTIFY=https://oapi.dingtalk.com/robot/send?access_token=canary&timestamp=1"),
      "NOTIFY=https://oapi.dingtalk.com/robot/send?access_token=***&timestamp=1");
  for (const char* script : {"curl hooks.slack.com/services/T0/B0/canary",
                             "\"https://open.larksuite.com/open-apis/bot/hook/canary\"",
                             "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=canary",
                             "https://discord.com/api/webhooks/1/canary",
                             "https://api.telegram.org/botcanary/sendMessage",
                             "https://oapi.dingtalk.com/robot/send?access_token=canary&sign=1"}) {
    expect_masked(script);
  }
  EXPECT_EQ(mask_secrets("https://open.feishu.cn/open-apis/docs"),
            "https://open.feishu.cn/open-apis/docs");
}

TEST(Secrets, ThatAToolTakesWithoutANameAreMasked) {
  for (const char* script : {"curl -u bob:canary https://h/x",
                             "curl -sSu bob:canary h",
                             "curl -fL -ubob:canary h",
                             "curl --user 'bob:can ary canary' h",
                             "curl -x p:1 -U \"bob:canary\" h",
                             "curl --proxy-user bob:canary h",
                             "curl 'https://h?a=1&b=2' -u bob:canary",
                             "sshpass -p canary ssh h",
                             "sshpass -p 'my canary' scp a b",
                             "sshpass -pcanary ssh h",
                             "sshpass -p'my canary' ssh h",
                             "sudo /usr/bin/sshpass -p !canary ssh h",
                             "mysql -h db -u bob -pcanary x",
                             "mysqldump -pcanary! x",
                             "mariadb -p'a canary'",
                             "obsutil config -i=canary1 -k=canary2 -e=obs.cn",
                             "./obsutil cp a b -i canary -k canary -t=canary",
                             "ossutil64 cp a b -i canary -k canary",
                             "redis-cli -h h -a canary ping",
                             "docker login -u bob -p canary reg.cn",
                             "aws configure set aws_secret_access_key canary",
                             "aws configure set aws_access_key_id 'canary'",
                             "aws configure set profile.x.aws_session_token canary",
                             "npm config set my-token canary",
                             "cd /x; curl -u bob:canary h; ls"}) {
    expect_masked(script);
  }
  EXPECT_THAT(masked_arguments({"curl", "-u", "bob:x", "h"}),
              ElementsAre("curl", "-u", "***", "h"));
  EXPECT_THAT(masked_arguments({"sshpass", "-p", "a b", "ssh"}),
              ElementsAre("sshpass", "-p", "***", "ssh"));
  EXPECT_THAT(masked_arguments({"mysql", "-px", "db"}), ElementsAre("mysql", "-p***", "db"));
  EXPECT_THAT(masked_arguments({"obsutil", "config", "-i=x", "-k=y"}),
              ElementsAre("obsutil", "config", "-i=***", "-k=***"));
  EXPECT_THAT(masked_arguments({"aws", "configure", "set", "aws_secret_access_key", "x"}),
              ElementsAre("aws", "configure", "set", "aws_secret_access_key", "***"));
}

TEST(Secrets, AreNotSeenInOrdinaryCommands) {
  for (const char* script : {"docker run -p 80:80 -u 1000:1000 image",
                             "python -u train.py",
                             "python -u a:b",
                             "curl -o out.u h",
                             "curl -u $BOB h",
                             "mysql -p db",
                             "mysql --port=3306 -h db",
                             "mkdir -p /data/x",
                             "ssh -p 22 host",
                             "cp -a x y",
                             "curl h; docker run -p 80:80 x",
                             "set -o pipefail",
                             "git config set user.name bob",
                             "export HF_TOKEN=$HF_TOKEN",
                             "wandb login $KEY",
                             "python a.py --token ${HF_TOKEN}",
                             "TOKEN=$(cat /run/token) python a.py",
                             "ssh login python train.py",
                             "obsutil cp -r a b -f",
                             "docker login registry.cn-hangzhou.aliyuncs.com",
                             "python a.py --num_key_value_heads 8",
                             "make -k -i",
                             "aws configure set region cn-north-1",
                             "login to a_directory_of_many_letters"}) {
    EXPECT_EQ(masked_arguments({"sh", "-c", script})[2], script);
  }
}

// What a refusal tells the user to type.
TEST(Secrets, AreNoStandIns) {
  const std::string example = "use: bash -c \"KEY=VALUE python3 train.py\"";
  EXPECT_EQ(mask_secrets(example), example);
  EXPECT_THAT(masked_arguments({"KEY=VALUE", "python3"}), ElementsAre("KEY=VALUE", "python3"));
  EXPECT_EQ(mask_secrets("bash -c 'HF_TOKEN=$TOKEN python3'"), "bash -c 'HF_TOKEN=$TOKEN python3'");
  EXPECT_EQ(mask_secrets("PASSWORD=$ecret1"), "PASSWORD=***");
}

}  // namespace
}  // namespace base
