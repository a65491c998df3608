// The texts of a peer: sshd_config, environments, the client's command, hosts, accounts.

#include <gmock/gmock.h>

#include "init/sshd/account.h"
#include "init/sshd/config.h"
#include "init/sshd/sessions.h"
#include "init/sshd/tool.h"

namespace {

using base::Environ;
using sshd::Paths;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Paths kPaths("/run/trainit/ssh");

std::string config_of(const Paths& paths, const std::string& program) {
  const auto config = sshd::sshd_config(paths, 2222, program);
  return config ? *config : "error: " + to_line(config.error());
}

TEST(PeerConfig, ListensOnThePortAndRunsEverySessionThroughThisProgram) {
  const std::string text = config_of(kPaths, "/opt/trainit");
  EXPECT_THAT(text, HasSubstr("Port 2222\n"));
  EXPECT_THAT(text,
              HasSubstr("ForceCommand exec /opt/trainit peer session --dir /run/trainit/ssh\n"));
  EXPECT_THAT(text, HasSubstr("HostKey \"/run/trainit/ssh/host_key\"\n"));
}

TEST(PeerConfig, LetsKeysInAndNothingElse) {
  const std::string text = config_of(kPaths, "/opt/trainit");
  for (const char* line : {"PasswordAuthentication no\n", "KbdInteractiveAuthentication no\n",
                           "PubkeyAuthentication yes\n", "PermitRootLogin prohibit-password\n",
                           "UsePAM no\n", "DisableForwarding yes\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(PeerConfig, QuotesPathsForTheShellAndForSshd) {
  const std::string text = config_of(Paths("/tmp/a b%h"), "/opt/it's/trainit");
  EXPECT_THAT(text, HasSubstr("ForceCommand exec '/opt/it'\\''s/trainit' peer session --dir "
                              "'/tmp/a b%h'\n"));
  EXPECT_THAT(text, HasSubstr("AuthorizedKeysFile \"/tmp/a b%%h/authorized_keys\"\n"));
}

TEST(PeerConfig, RefusesPathsThatALineCannotHold) {
  for (const char* path : {"relative", "/a\nPermitRootLogin yes", "/a\"b", "/a\\b", ""}) {
    EXPECT_THAT(config_of(kPaths, path), HasSubstr("error: writing sshd_config")) << path;
    EXPECT_THAT(config_of(Paths(path), "/trainit"), HasSubstr("error: ")) << path;
  }
}

TEST(PeerConfig, QuotesAWordOnlyWhereAShellNeedsIt) {
  EXPECT_EQ(sshd::shell_word("/a-b_c.d"), "/a-b_c.d");
  EXPECT_EQ(sshd::shell_word(""), "''");
  EXPECT_EQ(sshd::shell_word("a b"), "'a b'");
  EXPECT_EQ(sshd::shell_word("$(x)"), "'$(x)'");
  EXPECT_EQ(sshd::shell_word("it's"), "'it'\\''s'");
}

TEST(PeerEnvironment, GoesToTheSessionWithoutWhatBelongsToOneProcess) {
  const Environ own({"A=1", "MULTI=two\nlines", "PWD=/x", "OLDPWD=/y", "SHLVL=3", "_=/bin/x",
                     "LISTEN_FDS=1", "LISTEN_PID=7", "PATH=/conda/bin:/bin"});
  const Environ session = sshd::session_environ(sshd::to_environment_file(own), Environ());
  EXPECT_THAT(session.entries(),
              ElementsAre("A=1", "MULTI=two\nlines", "PATH=/conda/bin:/bin", "SHLVL=1"));
}

TEST(PeerEnvironment, OfTheLoginIsWhatSshdSays) {
  const std::string file = sshd::to_environment_file(
      Environ({"HOME=/plan", "USER=plan", "SSH_CONNECTION=stale", "TERM=dumb", "A=1"}));
  const Environ session = sshd::session_environ(
      file, Environ({"HOME=/root", "USER=root", "SSH_CONNECTION=10.0.0.1 1 10.0.0.2 22",
                     "PATH=/sshd/default"}));
  EXPECT_EQ(session.get_or("HOME", ""), "/root");
  EXPECT_EQ(session.get_or("USER", ""), "root");
  EXPECT_EQ(session.get_or("SSH_CONNECTION", ""), "10.0.0.1 1 10.0.0.2 22");
  EXPECT_EQ(session.get_or("A", ""), "1");
  EXPECT_FALSE(session.get("TERM")) << "a session without a terminal";
  EXPECT_FALSE(session.get("PATH")) << "sshd's default is nobody's plan";
}

TEST(PeerEnvironment, OfOpenSshIsFreeOfTheJobsLibraries) {
  const Environ tool = sshd::tool_environ(
      Environ({"PATH=/bin", "LD_LIBRARY_PATH=/conda/lib", "LD_PRELOAD=/x.so", "HOME=/root"}));
  EXPECT_THAT(tool.entries(), ElementsAre("PATH=/bin", "HOME=/root"));
}

TEST(PeerClient, NeverAsksAndNeverTakesAHostForAnOption) {
  const auto argv = sshd::client_argv(2222, "/d/key", 5, "-oProxyCommand=x", "trainit-peer-ping");
  EXPECT_THAT(argv, Contains("BatchMode=yes"));
  EXPECT_THAT(argv, Contains("ConnectTimeout=5"));
  EXPECT_THAT(argv, Contains("/d/key"));
  EXPECT_THAT(std::vector(argv.end() - 3, argv.end()),
              ElementsAre("--", "-oProxyCommand=x", "trainit-peer-ping"));
  EXPECT_THAT(sshd::client_argv(22, "", 5, "h", "x"), Not(Contains("-i")));
}

TEST(PeerHosts, AreTheFirstWordsOfLines) {
  EXPECT_THAT(sshd::parse_hosts("a\nb slots=2\n\n# c\n  d # e\r\nf"),
              ElementsAre("a", "b", "d", "f"));
  EXPECT_TRUE(sshd::parse_hosts("").empty());
}

TEST(PeerAccount, IsTheFirstLineOfTheUid) {
  const std::string text =
      "# comment\nshort:x:7\nodd:x:1000x:1::/:/bin/sh\nuser:x:1000:1000:A B:/home/u:/bin/zsh\n"
      "later:x:1000:1::/:/bin/sh\nplain:x:5:5::/p:\n";
  EXPECT_EQ(sshd::find_account(text, 1000), (sshd::Account{"user", "/home/u", "/bin/zsh"}));
  EXPECT_EQ(sshd::find_account(text, 5), (sshd::Account{"plain", "/p", "/bin/sh"}));
  EXPECT_EQ(sshd::find_account(text, 7), std::nullopt);
  EXPECT_EQ(sshd::find_account("", 0), std::nullopt);
}

TEST(PeerAccount, IsLockedWhenItsPasswordStartsWithAnExclamationMark) {
  const std::string text = "root:!locked::0:\nfree:*:1:\nwithout::1:\n";
  EXPECT_TRUE(sshd::is_locked(text, "root"));
  EXPECT_FALSE(sshd::is_locked(text, "free"));
  EXPECT_FALSE(sshd::is_locked(text, "without"));
  EXPECT_FALSE(sshd::is_locked(text, "absent"));
}

TEST(PeerAccount, NeedsAShellThatRunsCommands) {
  EXPECT_TRUE(sshd::check_shell({"a", "/", "/bin/sh"}));
  EXPECT_FALSE(sshd::check_shell({"a", "/", "/no/such/shell"}));
  EXPECT_FALSE(sshd::check_shell({"a", "/", "/bin/false"}));
}

TEST(PeerSessions, KnowAProcessByItsStartTime) {
  const std::string rest = " 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 2 3\n";
  EXPECT_EQ(sshd::start_time_in_stat("7 (a b) c) S" + rest), 12345U);
  EXPECT_EQ(sshd::start_time_in_stat("7 (sh) Z" + rest), 0U) << "a zombie has ended";
  for (const char* text : {"", "7", "7 (sh)", "7 (sh) S 1 2 3"}) {
    EXPECT_EQ(sshd::start_time_in_stat(text), 0U) << text;
  }
}

}  // namespace
