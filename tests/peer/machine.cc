#include "tests/peer/machine.h"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace peers {
namespace {

using rules::Words;

bool has(const char* program) { return ::access(program, X_OK) == 0; }

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

bool tmpfs(const char* where) { return ::mount("none", where, "tmpfs", 0, "mode=0755") == 0; }

std::string make_machine() {
  if (!has("/usr/sbin/sshd") || !has("/usr/bin/ssh") || !has("/usr/bin/ssh-keygen")) {
    return "OpenSSH (openssh-server and openssh-client) is not installed";
  }
  if (::geteuid() != 0 || ::unshare(CLONE_NEWNS) != 0) return "may not make a mount namespace";
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || !tmpfs("/etc") ||
      !tmpfs("/run") || !tmpfs("/home")) {
    return "may not mount";
  }
  write_file("/etc/passwd",
             "root:x:0:0:root:/home/root:/bin/sh\n"
             "sshd:x:101:65534::/run/sshd:/usr/sbin/nologin\n"
             "worker:x:12345:12345::/home/worker:/bin/sh\n");
  // Only root's sshd looks here.
  write_file("/etc/shadow", "root:*:1::::::\nsshd:!:1::::::\nworker:!:1::::::\n");
  write_file("/etc/group", "root:x:0:\nnogroup:x:65534:\nworker:x:12345:\n");
  write_file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n");
  write_file("/etc/hosts", "127.0.0.1 localhost\n");
  ::chmod("/etc/shadow", 0600);
  for (const User& user : {kRoot, kWorker}) {
    const std::string home = std::string("/home/") + user.name;
    ::mkdir(home.c_str(), 0700);
    if (::chown(home.c_str(), user.uid, user.uid) != 0) return "may not change owners";
  }
  return "";
}

}  // namespace

std::string why_not() {
  static const std::string reason = make_machine();
  return reason;
}

void become(const User& user) {
  if (user.uid == 0) return;
  if (::setgroups(0, nullptr) != 0 || ::setgid(user.uid) != 0 || ::setuid(user.uid) != 0) {
    ::_exit(99);
  }
}

PeerTest::PeerTest() {
  if (!why_not().empty()) return;
  give(path(""));
  // As a mounted secret has it.
  static const std::string content = [this] {
    rules::run({.args = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path("made")},
                .env = {"HOME=/home/root"},
                .pid1 = false,
                .program = "/usr/bin/ssh-keygen"});
    return read(path("made"));
  }();
  write("job_key", content, 0644);
}

std::string PeerTest::home() const { return std::string("/home/") + user().name; }

Words PeerTest::env(const Words& more) const {
  Words words = {"PATH=/usr/bin:/bin", "HOME=" + home(), std::string("USER=") + user().name};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

rules::Spec PeerTest::peer(const std::string& verb, const Words& args,
                           const Words& variables) const {
  Words words = {"peer", verb, "--dir", directory()};
  words.insert(words.end(), args.begin(), args.end());
  rules::Spec spec{.args = words, .env = env(variables), .pid1 = false};
  spec.before = [who = user()] { become(who); };
  return spec;
}

std::unique_ptr<rules::Instance> PeerTest::started_worker(const Words& more) {
  Words args = {"--port", std::to_string(port()), "--key", key()};
  args.insert(args.end(), more.begin(), more.end());
  auto serve = std::make_unique<rules::Instance>(
      peer("serve", args, {"PLANNED=by the plan", "LD_LIBRARY_PATH=/job/lib"}));
  return serve;
}

std::unique_ptr<rules::Instance> PeerTest::worker(const Words& more) {
  auto serve = started_worker(more);
  await_answer(*serve);
  return serve;
}

void PeerTest::await_answer(rules::Instance& serve) const {
  TestTimeout timeout;
  while (serve.alive() && ssh("trainit-peer-ping").code != 0) {
    ASSERT_TRUE(timeout.is_left()) << "no answer";
  }
  ASSERT_TRUE(serve.alive()) << (serve.wait(), serve.err());
}

rules::Spec PeerTest::client(const std::string& command) const {
  rules::Spec spec{
      .args = {"ssh", "-p", std::to_string(port()), "-i", directory() + "/key", "-o",
               "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o",
               "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "127.0.0.1", command},
      .env = env(),
      .pid1 = false,
      .program = "/usr/bin/ssh"};
  spec.before = [who = user()] { become(who); };
  return spec;
}

rules::Result PeerTest::ssh(const std::string& command) const {
  return rules::run(client(command));
}

void PeerTest::make_fifo(const std::string& name) const {
  ASSERT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
  give(path(name));
}

std::unique_ptr<rules::Instance> PeerTest::open_session(const std::string& fifo) const {
  make_fifo(fifo);
  auto session = std::make_unique<rules::Instance>(client("echo open; cat " + path(fifo)));
  EXPECT_TRUE(session->await_out("open"));
  return session;
}

void PeerTest::close_session(const std::string& fifo) const {
  // Waits for the reader, which may not have come yet.
  const sys::Fd fd(::open(path(fifo).c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_TRUE(fd.valid());
}

rules::Result PeerTest::end(int code, const std::string& hosts) const {
  const std::string file = write("hosts", hosts);
  return rules::run(peer("end",
                         {"--hosts-file", file, "--port", std::to_string(port()), "--key", key()},
                         {"TRAINIT_EXIT_CODE=" + std::to_string(code)}));
}

void PeerTest::give(const std::string& file) const {
  EXPECT_EQ(::chown(file.c_str(), user().uid, user().uid), 0) << file;
}

}  // namespace peers
