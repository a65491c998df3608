// A table of secrets in a table of notations: no secret is in any text that trainit shows. Innocent
// texts stay as they are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <string_view>
#include <tuple>

#include "base/secrets/secrets.h"

namespace base {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Secret {
  std::string_view name;
  std::string_view value;
};

constexpr Secret kSecrets[] = {
    {"HF_TOKEN", "hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567"},
    {"DATABRICKS_TOKEN", "dapi0123456789abcdef0123456789abcdef"},
    {"GOOGLE_TOKEN", "ya29.a0AfH6SMBx-1_2abcdefghijklmnop"},
    {"GROQ_API_KEY", "gsk_0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijAB"},
    {"REPLICATE_API_TOKEN", "r8_0123456789abcdefghijABCDEFGHIJ0123456"},
    {"VAULT_TOKEN", "hvs.CAESIJ-0123_456789abcdefghijklmn"},
    {"TENCENT_AK", "AKID0123456789abcdefghijABCDEFGHIJ01"},
    {"VOLC_ACCESSKEY", "AKLTNjQ0YTk1MGE0ZDRlNDVjNWFhYzQ5ZGE"},
    {"WANDB_API_KEY", "0123456789abcdef0123456789abcdef01234567"},
    {"SWANLAB_KEY", "4b5a69788796a5b40f1e2d3c4b5a69788796a5b4"},
    {"TOKENS", "tk9f8e7d6c5b4a39281706"},
    {"API_TOKENS", "q7w8e9r0t1y2u3i4o5p6"},
    {"OTP", "492039"},
    {"MFA_OTP", "118822"},
    {"OTP_CODE", "771203"},
    {"PEM", "MIIEvQIBADANBgkqhkiG9w0BAQEF"},
    {"TLS_PEM", "MIIEpAIBAAKCAQEA04up8hoqzS1"},
    {"KUBECONFIG_DATA", "YXBpVmVyc2lvbjogdjEKY2x1c3RlcnM6"},
    {"KUBE_CONFIG_B64", "YXBpVmVyc2lvbjogdjEKa2luZDog"},
    {"TOKEN_V2", "v2x0y1z2a3b4c5d6e7f8"},
    {"TOKEN_B64", "c2VjcmV0LXRva2VuLTEyMzQ1Njc4"},
    {"password", "hunter2"},
    {"passwd", "s3cr3t!"},
    {"DB_PASSWORD", "Tr0ub4dor"},
    {"MYSQL_PWD", "qwe123RTY"},
    {"passphrase", "c0rrect-h0rse"},
    {"client_secret", "GOCSPX-0123456789abcdefghij_kl"},
    {"secret_key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
    {"AWS_SECRET_ACCESS_KEY", "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY"},
    {"AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"},
    {"OBS_SK", "Zq1Xw2Ce3Vr4Bt5Ny6Mu7"},
    {"SK", "Pl0Ok9Ij8Uh7Yg6Tf5"},
    {"api_key", "k3y0f7h3h0us3"},
    {"OPENAI_API_KEY", "sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789"},
    {"GIT_PAT", "ghp_0123456789abcdefghijklmnopqrstuvwxyz"},
    {"GITLAB_TOKEN", "glpat-0123456789abcdefghij"},
    {"SLACK_TOKEN", "xoxb-0123456789-0123456789-abcdefghijkl"},
    {"REFRESH_TOKEN", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc"},
    {"AZURE_CREDS", "9f8e7d6c-5b4a-3928-1706-f5e4d3c2b1a0"},
    {"access-key", "LTAI5tQz0123456789abcd"},
};

// NAME and VALUE stand for those of a row.
constexpr std::string_view kNotations[] = {
    "NAME=VALUE",
    "export NAME='VALUE'; python a.py",
    "NAME = VALUE",
    "run --NAME VALUE --lr 1",
    "run --NAME=VALUE",
    R"({"NAME": "VALUE", "lr": 1})",
    R"({\"NAME\": \"VALUE\"})",
    "{'NAME': 'VALUE', 'lr': 1}",
    "{'a': {'NAME': b'VALUE'}}",
    "{\"NAME\": [\"VALUE\", \"VALUE\"]}",
    "('NAME', 'VALUE')",
    "[(\"NAME\", \"VALUE\"), (b'NAME', b'VALUE')]",
    "['run', '--NAME', 'VALUE', '--lr', '1']",
    "{NAME: VALUE}",
    "+a={NAME:VALUE}",
    "+a={lr:1,NAME:VALUE,b:2}",
    "config['NAME'] = 'VALUE'",
    "map[NAME]=VALUE",
    "Config(lr=1, NAME=\"VALUE\")",
    "'NAME' => 'VALUE'",
    "NAME := \"VALUE\"",
    "<NAME>VALUE</NAME>",
    R"({"name": "NAME", "value": "VALUE"})",
    "- name: NAME\n  value: VALUE\n",
    "https://host/x?a=1&NAME=VALUE&b=2",
    "NAME[]=VALUE",
    "NAME[0]=VALUE",
    "NAME['a'][1] = 'VALUE'",
    "https://host/x?NAME%5B%5D=VALUE&b=2",
    "next=%2Fa%3FNAME%3DVALUE",
    "a%253D1%2526NAME%253DVALUE",
    "%7B%22NAME%22%3A%20%22VALUE%22%7D",
    R"({\u0022NAME\u0022: \u0022VALUE\u0022})",
    R"({"NAME"\u003a "VALUE"})",
    "{&quot;NAME&quot;: &quot;VALUE&quot;}",
    "&#34;NAME&#x22; &#61; &#34;VALUE&#34;",
    R"(<add key="NAME" value="VALUE" />)",
    R"(<add value="VALUE" key="NAME" />)",
    R"(<property name='NAME' value='VALUE'/>)",
    "- name: NAME value: VALUE",
    "{name: NAME, value: VALUE}",
    "- value: VALUE\n  name: NAME\n",
    R"([{"name":"NAME","value":"VALUE"}])",
    R"({"Value":"VALUE","Key":"NAME"})",
    R"({"name":"NAME","type":"plain","value":"VALUE"})",
    "**NAME**: VALUE",
    "Name=NAME,Value=VALUE",
    "setenv NAME VALUE",
    R"("NAME" "VALUE")",
    R"('NAME' 'VALUE')",
    R"("NAME"\t"VALUE")",
    "NAME\uff1dVALUE",
    "\uff02NAME\uff02\uff1a\uff02VALUE\uff02",
    "{\u201cNAME\u201d\uff1a\u201cVALUE\u201d}",
    "\x1b[32m'NAME'\x1b[0m: \x1b[32m'VALUE'\x1b[0m",
    "\x1b[1mNAME\x1b[0m=VALUE",
    "NAME ?= VALUE",
    R"(a\nNAME=VALUE\nb)",
    "env=export%20NAME%3DVALUE",
    "NAME: !!str VALUE",
    "exit 3 # NAME: !!str VALUE",
    "NAME: !!str \"VALUE\"",
    "NAME: &anchor VALUE",
    "NAME: >-\n  VALUE\nlr: 1\n",
    "a:\n  - NAME: |\n      VALUE\n",
    "NAME:\n  - VALUE\n  - VALUE\n",
    "<NAME a=\"1\">VALUE</NAME>",
    "<ns:NAME><![CDATA[VALUE]]></ns:NAME>",
    "<entry key=\"NAME\">VALUE</entry>",
    "<property>\n <name>NAME</name>\n <value>VALUE</value>\n</property>",
    "<key>NAME</key><string>VALUE</string>",
    "&lt;NAME&gt;VALUE&lt;/NAME&gt;",
    "Config(NAME=SecretStr('VALUE'), lr=1)",
    "NAME=$'VALUE'",
    "**NAME:** VALUE",
    "NAME: Optional[str] = 'VALUE'",
    "let NAME: &str = \"VALUE\";",
    "NAME === 'VALUE'",
    "<NAME value=\"VALUE\"/>",
    "run --NAME \\\n  VALUE --lr 1",
    "<b>NAME</b>: VALUE",
    "<b>NAME:</b> 'VALUE'",
    "<NAME>\n  VALUE\n</NAME>",
    "[\"NAME\"]=>\n  string(7) \"VALUE\"",
    "\u00abNAME\u00bb: \u00abVALUE\u00bb",
    "NAME%3A%20VALUE",
};

// Of names that no sentence has for something else.
constexpr std::string_view kSentences[] = {"login failed with NAME: VALUE for bob",
                                           "cannot log in (NAME:VALUE)",
                                           "NAME: VALUE",
                                           "the NAME is VALUE.",
                                           "retry with NAME: 'VALUE' now",
                                           "bob's NAME: VALUE, try again"};

constexpr std::string_view kHeaders[] = {
    "{'Authorization': 'Basic VALUE'}",    "{\"Authorization\": \"Bearer VALUE\", \"a\": 1}",
    "{'X-Auth-Token': 'VALUE'}",           "[('X-Auth-Token', 'VALUE')]",
    "(b'authorization', b'Bearer VALUE')", "{'Cookie': 'session=VALUE; a=b'}",
    "curl -H 'X-Api-Key: VALUE' h",        "curl -H \"Authorization: token VALUE\" h",
    "headers: Authorization: Basic VALUE", "Authorization: \"Basic VALUE\"",
    "Set-Cookie: sid=VALUE; Path=/",       "map[Authorization:[Basic VALUE]]"};

std::string filled(std::string_view notation, const Secret& secret) {
  std::string text(notation);
  const auto replace = [&text](std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  replace("NAME", secret.name);
  replace("VALUE", secret.value);
  return text;
}

void expect_hidden(const std::string& text, std::string_view value) {
  const std::string secret(value);
  EXPECT_THAT(mask_secrets(text), Not(HasSubstr(secret))) << text;
  EXPECT_THAT(mask_printed(text), Not(HasSubstr(secret))) << text;
  EXPECT_EQ(mask_printed(mask_printed(text)), mask_printed(text));
  EXPECT_THAT(masked_value("X", text), Not(HasSubstr(secret))) << text;
  EXPECT_THAT(masked_arguments({"sh", "-c", text})[2], Not(HasSubstr(secret))) << text;
  EXPECT_THAT(masked_arguments({"run", text})[1], Not(HasSubstr(secret))) << text;
}

TEST(SecretNotations, HideEverySecret) {
  for (const Secret& secret : kSecrets) {
    for (const std::string_view notation : kNotations) {
      expect_hidden(filled(notation, secret), secret.value);
    }
    EXPECT_EQ(masked_entry(filled("NAME=VALUE", secret)), filled("NAME=***", secret));
  }
}

TEST(SecretNotations, HideEverySecretInASentence) {
  for (const Secret& secret : kSecrets) {
    for (const std::string_view sentence : kSentences) {
      expect_hidden(filled(sentence, secret), secret.value);
    }
  }
}

// A name that no sentence has for something else needs no sign behind it.
TEST(SecretNotations, HideWhatStandsBehindANameAlone) {
  for (const Secret& secret : kSecrets) {
    if (kind_of_name(secret.name) != NameKind::kSecret) continue;
    for (const std::string_view notation : {
             "NAME\tVALUE",
             "a  NAME    VALUE",
             "NAME('VALUE')",
             "set_NAME(\"VALUE\")",
             "| a | b |\n| NAME | VALUE |",
             "NAME -> VALUE",
             "\u2502 NAME \u2502 VALUE \u2502",
             "NAME ~ VALUE",
             "[NAME] VALUE",
             "NAME was VALUE",
             "the NAME was 'VALUE'",
             "NAME set to VALUE",
             "your NAME is: VALUE",
             "the NAME given: VALUE",
             "NAME|VALUE",
             "the NAME is now \"VALUE\"",
             "the NAME of bob: VALUE",
             "NAME !=VALUE",
             "NAME ..... : VALUE",
             "put --name NAME --value VALUE",
         }) {
      expect_hidden(filled(notation, secret), secret.value);
    }
  }
  for (const Secret& secret : kSecrets) {
    for (const std::string_view notation :
         {"NAME ~ VALUE", "NAME, VALUE", "[NAME] VALUE", "NAME was VALUE", "(NAME, VALUE)",
          "('NAME', 'VALUE', 3)", "NAME - VALUE", "NAME \u2014 VALUE", "NAME \u279c VALUE",
          "\u2551 NAME \u2551 VALUE \u2551", "NAME; VALUE", "invalid NAME \"VALUE\"",
          "the NAME (VALUE) has expired", "NAME has been set to VALUE"}) {
      const bool key =
          secret.value.size() > 15 && !secret.value.contains('/') && !secret.value.contains('.');
      if (kind_of_name(secret.name) == NameKind::kSecret || key) {
        expect_hidden(filled(notation, secret), secret.value);
      }
    }
  }
  for (const std::string_view text : {"api-key k3y0f7h3h0us3", "passphrase c0rrect-h0rse",
                                      "password hunter2", "passwd s3cr3t!"}) {
    expect_hidden(std::string(text), text.substr(text.find(' ') + 1));
    EXPECT_EQ(masked_arguments({"run", std::string(text.substr(0, text.find(' '))),
                                std::string(text.substr(text.find(' ') + 1))})[2],
              "***");
  }
  EXPECT_THAT(masked_arguments({"setenv", "TOKEN", "x1", "y"}),
              testing::ElementsAre("setenv", "TOKEN", "***", "y"));
  for (const char* text : {"export TOKEN x1y2", "ENV HF_TOKEN x1y2", "set -gx HF_TOKEN x1y2"}) {
    expect_hidden(text, "x1y2");
  }
}

TEST(SecretNotations, ReadNamesInAnySpelling) {
  for (const char* name :
       {"密码", "数据库密码", "口令", "密钥", "令牌", "p\u200bassword", "PIN", "user_pin",
        "one_time_code", "oneTimeCode", "seed_phrase", "seedPhrase", "dbPwd", "API KEY",
        "pass\\u0077ord", "\\u5bc6\\u7801", "%E5%AF%86%E7%A0%81", "ｐａｓｓｗｏｒｄ"}) {
    const std::string key(name);
    expect_hidden(key + "=x1y2z3", "x1y2z3");
    expect_hidden(key + "：x1y2z3a4b5c6", "x1y2z3a4b5c6");
    expect_hidden("{\"" + key + "\": \"x1y2z3\"}", "x1y2z3");
    EXPECT_EQ(masked_value(name, "x1y2z3"), "***") << name;
  }
  expect_hidden("the seed phrase: apple b1rd tree cat9", "cat9");
  expect_hidden("your verification code is 482913", "482913");
  expect_hidden("secret access key: x1y2", "x1y2");
  expect_hidden("密码为 x1y2z3", "x1y2z3");
  expect_hidden("create user bob identified by 'x1y2z3'", "x1y2z3");
  expect_hidden("the password for bob: x1y2z3", "x1y2z3");
  expect_hidden("password (of bob): x1y2z3", "x1y2z3");
  expect_hidden("token = \"x1y2z3\"", "x1y2z3");
  expect_hidden("the token is abcdefghijklmnopq12", "abcdefghijklmnopq12");
  expect_hidden("the token is abc1234567890", "abc1234567890");
  expect_hidden("password: Some(\"x1y2z3\"),", "x1y2z3");
}

TEST(SecretNotations, HideEverySecretInAHeader) {
  for (const Secret& secret : kSecrets) {
    for (const std::string_view header : kHeaders) {
      expect_hidden(filled(header, secret), secret.value);
    }
  }
}

TEST(SecretNotations, KeepWhatStandsBesideASecret) {
  EXPECT_EQ(mask_secrets("{'Authorization': 'Basic x1'}, 3"), "{'Authorization': '***'}, 3");
  EXPECT_EQ(mask_secrets("{\"tokens\": [\"x1y\"], \"lr\": 1}"), "{\"tokens\": [***], \"lr\": 1}");
  EXPECT_EQ(mask_secrets("+a={api_key:x1,lr:0.1}"), "+a={api_key:***,lr:0.1}");
  EXPECT_EQ(mask_secrets("<password>x1</password><a>1</a>"), "<password>***</password><a>1</a>");
  EXPECT_EQ(mask_secrets("bad password: x1 for bob"), "bad password: *** for bob");
  EXPECT_EQ(mask_secrets("PASSWORD='a'b1 next"), "PASSWORD='*** next");
  EXPECT_EQ(mask_secrets("PASSWORD=a\\ b1 next"), "PASSWORD=*** next");
  EXPECT_EQ(mask_secrets("HF_TOKEN=\"\" A=\"b\""), "HF_TOKEN=\"\" A=\"b\"");
}

// A word, an abbreviation or a number instead of a key.
TEST(SecretNotations, LeaveInnocentTextsAsTheyAre) {
  for (const char* text : {"tokens: 4096",
                           "token_type: bearer",
                           "num_tokens=5",
                           "tokens=4.1B, tokens/s: 12k",
                           "{\"tokens\": 4096, \"lr\": 0.1}",
                           "{\"tokens\": [101, 2023, 102]}",
                           "{\"tokens\": [\"hello\", \"world\"]}",
                           "max_tokens: 4096 tokens_per_second: 3.5",
                           "HEAD is now at 0123456789abcdef0123456789abcdef01234567",
                           "commit: 0123456789abcdef0123456789abcdef01234567",
                           "git_hash=0123456789abcdef0123456789abcdef01234567",
                           "{'password': None, 'use_auth_token': True}",
                           "incorrect password: it has expired",
                           "NoCredentialsError: Unable to locate credentials",
                           "InvalidAccessKeyId: The key does not exist",
                           "/usr/lib/python3/secrets.py:12: in choice",
                           "File \"secrets.py\", line 12",
                           "image: registry/secret:latest",
                           "docker run -v my-secret:/mnt x",
                           "columns = ['input_ids', 'token', 'labels']",
                           "key: (32, 128, 64)",
                           "missing key: layer.0.weight",
                           "Unexpected key(s) in state_dict: \"layer.0.weight\"",
                           "std::secret::value",
                           "sort key: name",
                           "the password is incorrect",
                           "${TOKEN:?not set}",
                           "key = self.k_proj(x)",
                           "self.password = self.other_password",
                           "password = getpass()",
                           "pat = re.compile(x)",
                           "pip install tokenizers==0.15",
                           "cache key 12",
                           "token 12 of 100",
                           "key value size",
                           "key value: 3",
                           "password prompts are disabled",
                           "token  12  of  100",
                           "epoch\ttokens\tloss",
                           "1\t4096\t0.5",
                           "| tokens | 4096 |",
                           "tokens[0]: 4096, tokens[1]: 4096",
                           "error code: 5, exit code: 1",
                           "pin_memory=True --pin-memory",
                           "value: 3, name: loss",
                           "KeyError('layer')",
                           "self.tokenizer('abc', 3)",
                           "loss%3D0.5 50%|##| 5/10",
                           "\"key\" \"value\"",
                           "password for bob: not given",
                           "key * value",
                           "set token limit to 5",
                           "export TOKEN before the start",
                           "\x1b[31mtokens\x1b[0m: 4096",
                           "令牌数：4096",
                           "max_tokens: 4096",
                           "tokens: 8192",
                           "num_tokens=1024",
                           "key: value",
                           "auth: none",
                           "password file not found",
                           "password prompts on node12",
                           "credentials of user bob2",
                           "tokenizer=LlamaTokenizerFast",
                           "Token indices sequence length is longer (5120 > 4096)",
                           "tokens, 12 of them",
                           "token ~ 4 characters",
                           "[tokens] 4096",
                           "[key] pressed",
                           "[auth] user bob logged in from 10.0.0.1",
                           "[secret] mounted at /run/secrets/x",
                           "auth, 3 retries",
                           "password, user and host",
                           "token expired at 2026-11-28T10:00:00Z",
                           "token of rank3 expired after 3600s",
                           "the token was not found",
                           "key layer0_weight of rank 3 has size 12",
                           "password was changed on 2026-11-28",
                           "password must have 8 characters",
                           "password authentication failed for user bob2",
                           "ssh -i /root/.ssh/id_rsa ubuntu@node12",
                           "ssh -i key.pem ubuntu@host1",
                           "kubectl get secret wandb-2 -o yaml",
                           "/etc/passwd 0644 root",
                           "keys:\n  - alpha\n  - beta",
                           "secrets:\n  name: wandb\n  type: opaque",
                           "tokens:\n  max: 4096",
                           "usage: a.py [--token TOKEN] [--hf-token HF_TOKEN]",
                           "password = getpass('Password: ')",
                           "50%|\u2588\u2588\u258f  | 5/10 tokens",
                           "attention(q=query, k=key, v=value)",
                           "key: Tensor = inputs",
                           "vector<token> tokens; map<key, int> m;",
                           "if (a<token && b>3) x<2",
                           "login <user> <password>",
                           "NCCL_IB_PKEY=0",
                           "key 0x7f8a9b2c3d4e5f60",
                           "/* the key */ x1y2",
                           "(embed_tokens): Embedding(32000, 4096)",
                           "{rank: 0, lr: 0.1}"}) {
    EXPECT_EQ(mask_secrets(text), text);
    EXPECT_EQ(mask_printed(text), text);
    EXPECT_EQ(masked_value("X", text), text);
  }
  EXPECT_EQ(mask_secrets("use --token FILE or --password"), "use --token FILE or --password");
  EXPECT_EQ(mask_secrets("--ssh-key /x does not exist"), "--ssh-key /x does not exist");
  EXPECT_THAT(masked_arguments({"", "+", "=", "++=x"}), testing::ElementsAre("", "+", "=", "++=x"));
  EXPECT_EQ(masked_entry("TOKENS=4096"), "TOKENS=4096");
  EXPECT_EQ(masked_entry("KUBECONFIG=/root/.kube/config"), "KUBECONFIG=/root/.kube/config");
  EXPECT_THAT(masked_arguments({"run", "--max-tokens", "4096", "--tokens", "8"}),
              testing::ElementsAre("run", "--max-tokens", "4096", "--tokens", "8"));
}

// A text ends anywhere, as in an escape.
TEST(SecretNotations, TakeATextThatIsCutAnywhere) {
  const Secret secret{"HF_TOKEN", "x1&#61;y\\u003dz%253Da&quot;b\xef\xbc\x9d\x1b[31mc"};
  const auto take_each_part = [](const std::string& text) {
    for (std::size_t size = 0; size <= text.size(); ++size) {
      for (const std::string& part : {text.substr(0, size), text.substr(size)}) {
        std::ignore = mask_printed(part);
        std::ignore = masked_value("X", part);
        std::ignore = masked_arguments({"sh", "-c", part});
      }
    }
  };
  for (const std::string_view notation : kNotations) take_each_part(filled(notation, secret));
  for (const char* text : {"a&#x3d;b", "&#", "&#;", "&#x;", "%25", "\\U0000003d", "&apos;&lt;"}) {
    take_each_part(text);
    EXPECT_EQ(mask_printed(text), text);
  }
}

// A text is read once, whatever it repeats.
TEST(SecretNotations, TakeTimeByTheLengthOfATextAlone) {
  for (const std::string_view unit : {"value=",
                                      "value: ",
                                      "value:{",
                                      "token[",
                                      "token[0]",
                                      "token -> ",
                                      "| token ",
                                      "password(",
                                      "password('",
                                      "\"password\" ",
                                      "name=key,value=",
                                      "name=key,a=b,",
                                      "a code ",
                                      "password for ",
                                      "%25",
                                      "&#",
                                      "\\u",
                                      "密码",
                                      "\x1b[",
                                      "\x1b]",
                                      "**token",
                                      "key=\"token\" ",
                                      "token:",
                                      "tokens:12[",
                                      "tokens=1,",
                                      "token: a[",
                                      "<token>",
                                      "password = f(",
                                      "token: a = ",
                                      "<token a",
                                      "password is ",
                                      "password ---- ",
                                      "password: |\n",
                                      "tokens:\n  x1\n"}) {
    std::string text;
    while (text.size() < 40'000) text += unit;
    const std::clock_t before = std::clock();
    std::ignore = mask_printed(text);
    // Where each word reads all behind it, this takes minutes.
    EXPECT_LT((std::clock() - before) / CLOCKS_PER_SEC, 20) << unit;
  }
}

}  // namespace
}  // namespace base
