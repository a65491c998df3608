// Rows of what comes from the caller: signals, descriptors, directory, the container.

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "tests/behaviour/rows.h"
#include "tests/rules/isolation.h"

namespace behaviour {
namespace {

constexpr int kMarker = SIGWINCH;

struct SignalSets {
  std::uint64_t blocked = 0;
  std::uint64_t ignored = 0;
};

constexpr std::uint64_t bit(int signal) { return std::uint64_t{1} << (signal - 1); }

SignalSets sets_of_child(const Init& init, const Setup& setup) {
  Contained contained(command_line(init, payload({"status", "SigBlk", "SigIgn"})), setup);
  SignalSets sets;
  if (contained.await("SigBlk:")) {
    sets.blocked = std::strtoull(contained.rest_of_line().c_str(), nullptr, 16);
  }
  if (contained.await("SigIgn:")) {
    sets.ignored = std::strtoull(contained.rest_of_line().c_str(), nullptr, 16);
  }
  return sets;
}

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(number));
  return text.data();
}

// Until the init has forwarded something: it is past its set-up then.
bool await_running(Contained& contained) {
  if (!contained.await("ready\n")) return false;
  contained.signal(kMarker);
  return contained.await("signal " + std::to_string(kMarker));
}

std::string link_of(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size < 0 ? "?" : std::string(target.data(), static_cast<std::size_t>(size));
}

std::string place_of(const std::string& directory) {
  if (directory == link_of("/proc/self/cwd")) return "the caller's";
  return directory == "/" ? "/" : "elsewhere: " + directory;
}

}  // namespace

std::string signals_of_the_caller(const Init& init) {
  Setup odd;
  odd.before = [] {
    sigset_t blocked;
    ::sigemptyset(&blocked);
    for (int signal : {SIGUSR2, SIGTSTP, SIGRTMIN + 5}) ::sigaddset(&blocked, signal);
    ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
    for (int signal : {SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  };
  const SignalSets given = sets_of_child(init, odd);
  const SignalSets clean = sets_of_child(init, {});
  const std::uint64_t blocked = bit(SIGUSR2) | bit(SIGTSTP) | bit(SIGRTMIN + 5);
  const std::uint64_t ignored = bit(SIGHUP) | bit(SIGPIPE);
  const bool is_clean = clean.blocked == 0 && clean.ignored == 0;
  return std::string("blk ") + ((given.blocked & blocked) == blocked ? "ok" : "LOST") + " ign " +
         ((given.ignored & ignored) == ignored ? "ok" : "LOST") +
         (is_clean ? " clean ok"
                   : " clean start has blocked " + hexadecimal(clean.blocked) + " ignored " +
                         hexadecimal(clean.ignored));
}

std::string inherited_descriptor(const Init& init) {
  constexpr int kInherited = 7;
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "(no pipe)";
  sys::Fd in(ends[1]);
  const sys::Fd out(ends[0]);
  const std::string pipe = link_of("/proc/self/fd/" + std::to_string(in.get()));
  Setup setup;
  setup.before = [&in] {
    ::dup2(in.get(), kInherited);
    ::fcntl(kInherited, F_SETFD, 0);  // it may have been there already
  };
  const Words command = {"/bin/sh", "-c", "exec 7>&- && exec \"$0\" print-signals", payload({})[0]};
  Contained contained(command_line(init, command), setup);
  in.reset();
  if (!await_running(contained)) return "(did not start)";
  const std::string own = "/proc/" + std::to_string(contained.pid()) + "/fd/";
  return link_of(own + std::to_string(kInherited)) == pipe ? "KEEPS" : "closes";
}

std::string own_directory(const Init& init) {
  Contained contained(command_line(init, payload({"print-signals"})), {});
  if (!await_running(contained)) return "(did not start)";
  return place_of(link_of("/proc/" + std::to_string(contained.pid()) + "/cwd"));
}

std::string directory_of_the_child(const Init& init) {
  Contained contained(command_line(init, {"/bin/pwd", "-P"}), {});
  return place_of(contained.rest_of_line());
}

std::string closed_stdio(const Init& init) {
  Setup setup;
  setup.before = [] {
    for (int fd : {0, 1, 2}) ::close(fd);
  };
  return code_of(command_line(init, payload({"exit", "9"})), setup);
}

std::string bare_container(const Init& init) {
  constexpr int kNobody = 65534;
  Setup setup;
  setup.before = [] {
    const bool bare = ::mount("none", "/proc", "tmpfs", MS_RDONLY, nullptr) == 0 &&
                      ::mount("none", "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
    if (!bare || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(rules::kCannotStart);
  };
  return code_of(command_line(init, payload({"exit", "6"})), setup);
}

std::string listen_pid(const Init& init) {
  Setup setup;
  setup.env = {"LISTEN_PID=1", "LISTEN_FDS=1"};
  const Words command = {"/bin/sh", "-c", "[ \"$LISTEN_PID\" = $$ ] && echo yes || echo no"};
  Contained contained(command_line(init, command), setup);
  return contained.rest_of_line();
}

}  // namespace behaviour
