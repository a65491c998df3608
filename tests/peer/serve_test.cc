// The sshd between nodes, with the real OpenSSH: sessions, and every way in which a worker ends.

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "init/proc/tree.h"
#include "init/sys/clock.h"
#include "tests/peer/machine.h"

namespace {

using peers::kRoot;
using peers::kWorker;
using rules::Instance;
using rules::Result;
using testing::HasSubstr;

class Peer : public peers::PeerTest {
 protected:
  void SetUp() override {
    if (!peers::why_not().empty()) GTEST_SKIP() << peers::why_not();
  }

  // `peer end` of 127.0.0.1, or of these.
  [[nodiscard]] rules::Spec ending(int code, const std::string& hosts = "127.0.0.1\n") const {
    return peer("end", {"--hosts-file", write("hosts", hosts), "--port", std::to_string(port()),
                        "--key", key(), "--code", std::to_string(code)});
  }

  [[nodiscard]] sys::Fd deaf_listener() const {
    sys::Fd deaf(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(deaf.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port()));
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    TestTimeout timeout;
    // An sshd that has just been ended may still listen there.
    while (::bind(deaf.get(), generic, sizeof address) != 0) {
      if (!timeout.is_left()) {
        ADD_FAILURE() << "port " << port() << " does not get free";
        break;
      }
      ::poll(nullptr, 0, 5);
    }
    EXPECT_EQ(::listen(deaf.get(), 8), 0);
    return deaf;
  }

  // The pid of the listener: sshd's process whose parent is serve.
  static pid_t listener_of(const Instance& serve) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const std::string stat = read(entry.path() / "stat");
      const auto member = proc::parse_member(stat);
      if (stat.find("(sshd)") != std::string::npos && member && member->parent == serve.pid()) {
        return static_cast<pid_t>(std::stol(name));
      }
    }
    ADD_FAILURE() << "no sshd";
    return -1;
  }
};

INSTANTIATE_TEST_SUITE_P(As, Peer, testing::Values(kRoot, kWorker), peers::name_of_user);

// --- sessions ---

TEST_P(Peer, ASessionHasThePlansEnvironmentAndItsCommandsCode) {
  const auto serve = worker();
  const Result result = ssh("echo \"$PLANNED|$LD_LIBRARY_PATH|$HOME|$(pwd)\"; exit 7");
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_EQ(result.out, "by the plan|/job/lib|" + home() + "|" + home() + "\n");
}

TEST_P(Peer, ASessionSeesNoDescriptorOfOurs) {
  const auto serve = worker();
  EXPECT_EQ(ssh("cd /proc/self/fd && for n in *; do [ \"$n\" -gt 9 ] || echo $n; done").out,
            "0\n1\n2\n3\n")
      << "3 is the shell's own, of the pattern";
}

TEST_P(Peer, ASignalEndsTheCommandItself) {
  const auto serve = worker();
  EXPECT_EQ(ssh("kill -TERM $$").code, 255) << "sshd reports a death by signal so";
}

TEST_P(Peer, KeepsItsFilesToItsUser) {
  const auto serve = worker();
  for (const char* name : {"key", "host_key", "environment", "sshd_config", "authorized_keys"}) {
    EXPECT_EQ(std::filesystem::status(directory() + "/" + name).permissions(),
              std::filesystem::perms(0600))
        << name;
  }
  EXPECT_EQ(std::filesystem::status(directory()).permissions(), std::filesystem::perms(0700));
}

TEST_P(Peer, TakesThePastedKeyWithForeignLineEnds) {
  std::string pasted = read(key());
  for (std::size_t at = 0; (at = pasted.find('\n', at)) != std::string::npos; at += 2) {
    pasted.replace(at, 1, "\r\n");
  }
  while (pasted.ends_with('\n') || pasted.ends_with('\r')) pasted.pop_back();
  write("job_key", pasted, 0444);
  const auto serve = worker();
  EXPECT_EQ(ssh("true").code, 0);
}

// --- the end ---

TEST_P(Peer, EndsWithTheCodeThatTheLauncherTells) {
  const auto serve = worker();
  const Result told = end(3);
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_EQ(serve->wait(), 3) << serve->err();
  EXPECT_THAT(serve->err(), HasSubstr("the job ended with 3"));
}

TEST_P(Peer, EndsWithTheToldCodeThoughASessionStays) {
  const auto serve = worker();
  const auto session = open_session("open");
  EXPECT_EQ(end(0).code, 0);
  EXPECT_EQ(serve->wait(), 0);
  EXPECT_TRUE(session->alive()) << "what is left is PID 1's to end";
  close_session("open");
  EXPECT_EQ(session->wait(), 0);
}

TEST_P(Peer, ExpiresWhenNobodyComes) {
  Instance serve(peer(
      "serve", {"--port", std::to_string(port()), "--key", key(), "--launcher-timeout-ms", "1"}));
  EXPECT_EQ(serve.wait(), 69);
  EXPECT_THAT(serve.err(), HasSubstr("--launcher-timeout"));
}

// Against one with the same time-out that nobody visits, and which therefore expires earlier.
TEST_P(Peer, DoesNotExpireWhileASessionIsOpen) {
  const auto serve = worker({"--launcher-timeout-ms", "10000"});
  const auto session = open_session("open");
  rules::Spec alone = peer("serve", {"--port", std::to_string(rules::free_port()), "--key", key(),
                                     "--launcher-timeout-ms", "10000"});
  alone.args[3] = path("alone");
  EXPECT_EQ(rules::run(alone).code, 69);
  EXPECT_TRUE(serve->alive());
  close_session("open");
  EXPECT_EQ(serve->wait(), 69);
}

TEST_P(Peer, ExpiresBesideACommandWhoseLauncherWasKilled) {
  const auto serve = worker({"--launcher-timeout-ms", "10000"});
  const auto session = open_session("open");
  session->signal(SIGKILL);
  EXPECT_EQ(session->wait(), 137);
  EXPECT_EQ(serve->wait(), 69);
  close_session("open");
}

TEST_P(Peer, StoppedDoesNotWaitForACommandWhoseLauncherWasKilled) {
  const auto serve = worker({"--launcher-timeout-ms", "0"});
  const auto session = open_session("open");
  session->signal(SIGKILL);
  EXPECT_EQ(session->wait(), 137);
  serve->signal(SIGTERM);
  EXPECT_EQ(serve->wait(), 143);
  close_session("open");
}

TEST_P(Peer, StoppedWithoutASessionEndsAtOnce) {
  const auto serve = worker({"--launcher-timeout-ms", "0"});
  serve->signal(SIGTERM);
  EXPECT_EQ(serve->wait(), 143);
}

TEST_P(Peer, StoppedWaitsForTheSessions) {
  const auto serve = worker({"--launcher-timeout-ms", "0"});
  const auto session = open_session("open");
  serve->signal(SIGTERM);
  EXPECT_EQ(ssh("echo more").out, "more\n") << "the launcher still has things to do here";
  EXPECT_TRUE(serve->alive());
  close_session("open");
  EXPECT_EQ(session->wait(), 0);
  EXPECT_EQ(serve->wait(), 143);
}

TEST_P(Peer, StoppedStillTakesTheLaunchersCode) {
  const auto serve = worker({"--launcher-timeout-ms", "0"});
  const auto session = open_session("open");
  serve->signal(SIGTERM);
  EXPECT_EQ(end(9).code, 0);
  EXPECT_EQ(serve->wait(), 9);
  close_session("open");
}

TEST_P(Peer, AServiceEndsAtOnceWhateverIsOpen) {
  const auto serve = worker();
  const auto session = open_session("open");
  serve->signal(SIGTERM);
  EXPECT_EQ(serve->wait(), 143);
  close_session("open");
}

// As orted --daemonize does.
TEST_P(Peer, ADaemonThatLeftItsSessionKeepsItOpen) {
  const auto serve = worker({"--launcher-timeout-ms", "0"});
  make_fifo("daemon");
  EXPECT_EQ(ssh("setsid cat " + path("daemon") + " </dev/null >/dev/null 2>&1 & echo left").out,
            "left\n");
  serve->signal(SIGTERM);
  EXPECT_EQ(ssh("true").code, 0);
  EXPECT_TRUE(serve->alive());
  close_session("daemon");
  EXPECT_EQ(serve->wait(), 143);
}

TEST_P(Peer, RefusesAnEndMessageWithoutACode) {
  const auto serve = worker();
  const Result result = ssh("trainit-peer-end soon");
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("\"soon\""));
  EXPECT_TRUE(serve->alive());
}

TEST_P(Peer, TakesNewsOfItsLauncher) {
  const auto serve = worker();
  EXPECT_EQ(ssh("trainit-peer-launcher gone").code, 0);
  EXPECT_EQ(ssh("trainit-peer-launcher back").code, 0);
  EXPECT_EQ(ssh("trainit-peer-launcher asleep").code, 125);
  EXPECT_TRUE(serve->alive());
}

// --- what dies ---

TEST_P(Peer, AKilledSshdIsStartedAgainAndItsSessionsLiveOn) {
  const auto serve = worker();
  const auto session = open_session("open");
  EXPECT_EQ(::kill(listener_of(*serve), SIGKILL), 0);
  EXPECT_TRUE(serve->await_err("sshd ended (SIGKILL)"));
  await_answer(*serve);
  EXPECT_TRUE(session->alive());
  close_session("open");
  EXPECT_EQ(session->wait(), 0);
  EXPECT_EQ(end(4).code, 0);
  EXPECT_EQ(serve->wait(), 4);
}

TEST_P(Peer, AKilledServeTakesTheListenerAlongAndLeavesTheSessions) {
  const auto serve = worker();
  const auto session = open_session("open");
  serve->signal(SIGKILL);
  EXPECT_EQ(serve->wait(), 137);
  EXPECT_NE(ssh("trainit-peer-ping").code, 0);
  close_session("open");
  EXPECT_EQ(session->wait(), 0);
  const auto next = worker();
  EXPECT_EQ(ssh("true").code, 0) << "on the directory that the killed one left";
}

TEST_P(Peer, AKilledSessionIsOver) {
  const auto serve = worker({"--launcher-timeout-ms", "0"});
  const Result result = ssh("kill -KILL $$");
  EXPECT_NE(result.code, 0);
  serve->signal(SIGTERM);
  EXPECT_EQ(serve->wait(), 143);
}

TEST_P(Peer, ManySessionsAtOnce) {
  const auto serve = worker({"--launcher-timeout-ms", "0"});
  std::vector<std::unique_ptr<Instance>> sessions;
  sessions.reserve(40);
  for (int i = 0; i < 40; ++i) {
    sessions.push_back(std::make_unique<Instance>(client("exit " + std::to_string(i))));
  }
  for (int i = 0; i < 40; ++i) EXPECT_EQ(sessions[static_cast<std::size_t>(i)]->wait(), i);
  EXPECT_EQ(end(0).code, 0);
  EXPECT_EQ(serve->wait(), 0);
}

// --- telling ---

TEST_P(Peer, EndNamesTheHostsThatItCouldNotTell) {
  const auto serve = worker();
  Instance end(ending(5, "127.0.0.1\nno-such-host.invalid\n"));
  EXPECT_EQ(serve->wait(), 5);
  // The worker is told before its ssh ends. What has ended has no command line.
  const auto calls_it = [](pid_t pid) {
    const std::string command = read("/proc/" + std::to_string(pid) + "/cmdline");
    return command.empty() || command.find("127.0.0.1") != std::string::npos;
  };
  TestTimeout timeout;
  while (std::ranges::any_of(rules::children_of(end.pid()), calls_it)) {
    ASSERT_TRUE(end.alive()) << "its time is its caller's";
    ASSERT_TRUE(timeout.is_left()) << "ssh does not end";
  }
  end.signal(SIGTERM);
  EXPECT_EQ(end.wait(), 1);
  EXPECT_THAT(end.err(), HasSubstr("ended with 5: no-such-host.invalid: found 1 of 2"));
}

// Each call is hung up on, and the pauses grow; then there is a worker.
TEST_P(Peer, EndCallsUntilItIsHeard) {
  const auto before = worker();  // makes the key's copy
  before->signal(SIGTERM);
  EXPECT_EQ(before->wait(), 143);
  sys::Fd deaf = deaf_listener();
  Instance end(ending(3));
  std::vector<std::int64_t> at_ms;
  for (int i = 0; i < 3; ++i) {
    pollfd called{deaf.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&called, 1, 180'000), 1) << i << (end.alive() ? "" : end.err());
    const sys::Fd connection(::accept4(deaf.get(), nullptr, nullptr, SOCK_CLOEXEC));
    at_ms.push_back(sys::monotonic_ms());
  }
  EXPECT_GE(at_ms[1] - at_ms[0], 250);
  EXPECT_GE(at_ms[2] - at_ms[1], 550);
  deaf.reset();
  const auto serve = started_worker();  // may hear the call before it is asked for an answer
  EXPECT_EQ(serve->wait(), 3) << serve->err();
  EXPECT_EQ(end.wait(), 0) << end.err();
}

TEST_P(Peer, EndSaysWhoIsLeftWhenItsOwnTimeIsOver) {
  // Takes the connection into its backlog and never says a word.
  const sys::Fd deaf = deaf_listener();
  Instance end(ending(1));
  pollfd called{deaf.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&called, 1, 180'000), 1);
  end.signal(SIGTERM);
  EXPECT_EQ(end.wait(), 1);
  EXPECT_THAT(end.err(), HasSubstr("127.0.0.1: found 1 of 1"));
}

TEST_P(Peer, EndCallsAgainWhereSshdIsJustBeingStartedAgain) {
  const auto serve = worker();
  EXPECT_EQ(::kill(listener_of(*serve), SIGKILL), 0);
  EXPECT_TRUE(serve->await_err("sshd ended (SIGKILL)"));
  const Result told = end(6);
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_EQ(serve->wait(), 6);
}

TEST_P(Peer, EndNeedsAnExitCodeAndAHostsFile) {
  const rules::Words args = {"--hosts-file", path("absent"), "--port", "22"};
  const Result without_code = rules::run(peer("end", args));
  EXPECT_EQ(without_code.code, 125);
  EXPECT_THAT(without_code.err, HasSubstr("TRAINIT_EXIT_CODE"));
  const Result without_file = rules::run(peer("end", args, {"TRAINIT_EXIT_CODE=0"}));
  EXPECT_EQ(without_file.code, 1);
  EXPECT_THAT(without_file.err, HasSubstr(path("absent")));
}

}  // namespace
