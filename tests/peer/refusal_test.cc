// A serve that cannot work says so before it begins, and what to do.

#include <gmock/gmock.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <utility>
#include <vector>

#include "tests/peer/machine.h"

namespace {

using peers::kRoot;
using peers::kWorker;
using rules::Instance;
using rules::Result;
using testing::AllOf;
using testing::HasSubstr;

class Refusal : public peers::PeerTest {
 protected:
  void SetUp() override {
    if (!peers::why_not().empty()) GTEST_SKIP() << peers::why_not();
  }

  [[nodiscard]] rules::Spec spec() const {
    return peer("serve",
                {"--port", std::to_string(port()), "--key", key(), "--launcher-timeout-ms", "1"});
  }

  // With a mount namespace of its own, in which `change` may do anything.
  [[nodiscard]] Result after(const std::function<void()>& change) const {
    rules::Spec changed = spec();
    changed.before = [who = user(), change] {
      if (::unshare(CLONE_NEWNS) != 0) ::_exit(99);
      change();
      peers::become(who);
    };
    return rules::run(changed);
  }

  static void replace(const char* file, const std::string& content) {
    std::ofstream("/run/replacement", std::ios::binary) << content;
    if (::mount("/run/replacement", file, nullptr, MS_BIND, nullptr) != 0) ::_exit(98);
  }

  static void expect(const Result& result, int code, const std::string& found,
                     const std::string& fix) {
    EXPECT_EQ(result.code, code);
    EXPECT_THAT(result.err, AllOf(HasSubstr(found), HasSubstr(fix)));
  }
};

INSTANTIATE_TEST_SUITE_P(As, Refusal, testing::Values(kRoot, kWorker), peers::name_of_user);

TEST_P(Refusal, OfADirectoryInUse) {
  const auto first = worker({"--launcher-timeout-ms", "0"});
  expect(rules::run(spec()), 125, "another peer serve", "TRAINIT_RUN_DIR");
  EXPECT_EQ(ssh("true").code, 0) << "the first one goes on";
}

TEST_P(Refusal, OfAPortInUse) {
  const sys::Fd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port()));
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(taken.get(), 1), 0);
  expect(rules::run(spec()), 125,
         "port " + std::to_string(port()) + ": found Address already in use", "--ssh-port");
}

TEST_P(Refusal, OfAnImageWithoutSshd) {
  expect(after([] { ::mount("/dev/null", "/usr/sbin/sshd", nullptr, MS_BIND, nullptr); }), 127,
         "looking for sshd", "openssh-server");
}

TEST_P(Refusal, OfAnImageWithoutSshKeygen) {
  expect(after([] { ::mount("/dev/null", "/usr/bin/ssh-keygen", nullptr, MS_BIND, nullptr); }), 127,
         "looking for ssh-keygen", "openssh-client");
}

TEST_P(Refusal, OfAUserWithoutAnEntry) {
  expect(after([] { replace("/etc/passwd", "sshd:x:101:65534::/run/sshd:/usr/sbin/nologin\n"); }),
         125, "no entry for uid " + std::to_string(user().uid), "useradd");
}

TEST_P(Refusal, OfAShellThatRunsNothing) {
  const auto id = std::to_string(user().uid);
  const std::string line = std::string(user().name) + ":x:" + id + ":" + id + "::" + home();
  expect(after([&] { replace("/etc/passwd", line + ":/usr/sbin/nologin\n"); }), 125, "nologin",
         "usermod -s");
  expect(after([&] { replace("/etc/passwd", line + ":/no/shell\n"); }), 125, "/no/shell",
         "usermod -s");
}

TEST_P(Refusal, OfAKeyThatIsNone) {
  write("job_key", "hello\n");
  expect(rules::run(spec()), 125, directory() + "/key", "without a passphrase");
}

TEST_P(Refusal, OfAKeyThatIsNotThere) {
  rules::Spec absent = spec();
  absent.args[7] = path("absent");
  expect(rules::run(absent), 125, path("absent"), "same key on every node");
}

TEST_P(Refusal, OfAKeyWithAPassphrase) {
  ASSERT_EQ(rules::run({.args = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f",
                                 path("locked")},
                        .env = {"HOME=/home/root"},
                        .pid1 = false,
                        .program = "/usr/bin/ssh-keygen"})
                .code,
            0);
  write("job_key", read(path("locked")));
  expect(rules::run(spec()), 125, "incorrect passphrase", "without a passphrase");
}

TEST_P(Refusal, OfNoKeyAtAll) {
  rules::Spec keyless = spec();
  keyless.args.erase(keyless.args.begin() + 6, keyless.args.begin() + 8);
  expect(rules::run(keyless), 125, home() + "/.ssh/authorized_keys", "--ssh-key");
}

// sshd's own check is off. Each way to write another key into the file.
TEST_P(Refusal, OfKeysThatOthersMayWrite) {
  const std::string folder = home() + "/.ssh";
  const std::string file = folder + "/authorized_keys";
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  std::ofstream(file, std::ios::binary) << "ssh-ed25519 AAAA somebody\n";
  give(file);
  give(folder);
  rules::Spec keyless = spec();
  keyless.args.erase(keyless.args.begin() + 6, keyless.args.begin() + 8);
  for (const auto& [weak, mode] : std::vector<std::pair<std::string, mode_t>>{
           {home(), 0777}, {home(), 0720}, {folder, 0777}, {folder, 0770}, {file, 0666}}) {
    struct stat before{};
    ASSERT_EQ(::stat(weak.c_str(), &before), 0);
    ASSERT_EQ(::chmod(weak.c_str(), mode), 0);
    expect(rules::run(keyless), 125, "others may write " + weak + ", mode 0", "chmod go-w");
    // The job's key is enough.
    const Result with_key = rules::run(spec());
    EXPECT_EQ(with_key.code, 69);
    EXPECT_THAT(with_key.err, HasSubstr("others may write " + weak));
    ASSERT_EQ(::chmod(weak.c_str(), before.st_mode & 07777), 0);
  }
  EXPECT_TRUE(sys::remove_tree(folder));
}

TEST_P(Refusal, OfAFullDisk) {
  const auto full = [this] {
    ::mkdir(directory().c_str(), 0700);
    if (::mount("none", directory().c_str(), "tmpfs", 0, "size=4k,mode=0777") != 0) ::_exit(98);
    std::ofstream(directory() + "/filler") << std::string(4096, 'x');
    if (::chown(directory().c_str(), user().uid, user().uid) != 0) ::_exit(97);
  };
  expect(after(full), 125, "ENOSPC", "make room");
}

TEST_P(Refusal, OfADirectoryOfAnotherUser) {
  ASSERT_EQ(::mkdir(directory().c_str(), 0777), 0);
  ASSERT_EQ(::chown(directory().c_str(), 4711, 4711), 0);
  expect(rules::run(spec()), 125, "another user's directory", "TRAINIT_RUN_DIR");
}

class AsRoot : public Refusal {};
INSTANTIATE_TEST_SUITE_P(As, AsRoot, testing::Values(kRoot), peers::name_of_user);

TEST_P(AsRoot, OfALockedAccount) {
  expect(after([] { replace("/etc/shadow", "root:!locked:1::::::\n"); }), 125, "root locked",
         "usermod -p '*' root");
}

TEST_P(AsRoot, OfNoUserForPrivilegeSeparation) {
  expect(after([] { replace("/etc/passwd", "root:x:0:0:root:/home/root:/bin/sh\n"); }), 125,
         "Privilege separation user sshd does not exist", "useradd -r");
}

TEST_P(AsRoot, OfAReadOnlyRunWithoutSshdsDirectory) {
  const auto read_only = [] { ::mount("none", "/run", "tmpfs", MS_RDONLY, nullptr); };
  expect(after(read_only), 125, "/run/sshd: found Read-only file system", "RUN mkdir -p /run/sshd");
}

TEST_P(AsRoot, OfMissingCapabilities) {
  expect(after([] { ::prctl(PR_CAPBSET_DROP, CAP_SYS_CHROOT, 0, 0, 0); }), 125, "no SYS_CHROOT",
         "a user other than root");
}

class Odd : public Refusal {
 protected:
  // The job's public key as ~/.ssh/authorized_keys.
  void authorize() const {
    const std::string folder = home() + "/.ssh";
    ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
    const Result half = rules::run({.args = {"ssh-keygen", "-y", "-f", key()},
                                    .env = {"HOME=/home/root"},
                                    .pid1 = false,
                                    .program = "/usr/bin/ssh-keygen"});
    std::ofstream(folder + "/authorized_keys", std::ios::binary) << half.out;
    give(folder + "/authorized_keys");
    give(folder);
  }
};
INSTANTIATE_TEST_SUITE_P(As, Odd, testing::Values(kRoot, kWorker), peers::name_of_user);

// Each of these works, until nobody comes.
TEST_P(Odd, WithoutHome) {
  rules::Spec homeless = spec();
  homeless.env = {"PATH=/usr/bin:/bin"};
  EXPECT_EQ(rules::run(homeless).code, 69);
}

TEST_P(Odd, WithoutProc) {
  const Result result = after([] { ::mount("none", "/proc", "tmpfs", 0, nullptr); });
  EXPECT_EQ(result.code, 69) << result.err;
}

TEST_P(Odd, WithAHostKeyThatWasCutShort) {
  ASSERT_EQ(::mkdir(directory().c_str(), 0700), 0);
  give(directory());
  write("ssh/host_key", "-----BEGIN OPENSSH PRIVATE KEY-----\n", 0600);
  give(directory() + "/host_key");
  const auto serve = worker();
  EXPECT_EQ(ssh("true").code, 0);
}

// As Kubernetes mounts a secret: a sticky directory for all, read-only, of links.
TEST_P(Odd, WithAuthorizedKeysInAMountedSecret) {
  ::chmod(key().c_str(), 0600);
  authorize();
  const std::string folder = home() + "/.ssh";
  ASSERT_EQ(::mkdir((folder + "/..data").c_str(), 0755), 0);
  ASSERT_EQ(
      ::rename((folder + "/authorized_keys").c_str(), (folder + "/..data/authorized_keys").c_str()),
      0);
  ASSERT_EQ(::symlink("..data/authorized_keys", (folder + "/authorized_keys").c_str()), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 01777), 0);
  rules::Spec serve =
      peer("serve", {"--port", std::to_string(port()), "--launcher-timeout-ms", "1"});
  serve.before = [folder, who = user()] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        ::mount(nullptr, folder.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) {
      ::_exit(98);
    }
    peers::become(who);
  };
  const Result result = rules::run(serve);
  EXPECT_EQ(result.code, 69) << result.err;
  EXPECT_THAT(result.err, testing::Not(HasSubstr("others may write")));
  EXPECT_THAT(read(directory() + "/authorized_keys"), HasSubstr("ssh-ed25519 "));
  EXPECT_TRUE(sys::remove_tree(folder));
}

TEST_P(Odd, ForwardsNothing) {
  const auto serve = worker();
  rules::Spec forward = client("true");
  forward.args.insert(forward.args.begin() + 1,
                      {"-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:1"});
  EXPECT_EQ(rules::run(forward).code, 255);
  EXPECT_EQ(ssh("true").code, 0);
}

TEST_P(Odd, WithTheClientsDefaultKeyInsteadOfOneOfTheJob) {
  const std::string folder = home() + "/.ssh";
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  std::ofstream(folder + "/id_ed25519", std::ios::binary) << read(key());
  ASSERT_EQ(::chmod((folder + "/id_ed25519").c_str(), 0600), 0);
  give(folder + "/id_ed25519");
  give(folder);
  Instance serve(peer("serve", {"--port", std::to_string(port())}));
  await_answer(serve);
  EXPECT_EQ(ssh("echo in").out, "in\n");
  EXPECT_TRUE(sys::remove_tree(folder));
}

}  // namespace
