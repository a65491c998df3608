#include "init/engine/host_address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "init/proc/signals.h"
#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace engine {
namespace {

constexpr std::size_t kMostOutputBytes = 64UL * 1024;
constexpr std::size_t kMostAddresses = 16;
constexpr std::string_view kBlanks = " \t\r";

constexpr const char* kFinding = "finding the address of a node";
constexpr const char* kFix = "name the first node by its address with --master-addr";

bool same_name(std::string_view one, std::string_view other) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(one, other, {}, lower, lower);
}

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

void add_address(std::vector<std::string>& list, std::string_view address) {
  if (!is_address(address) || list.size() >= kMostAddresses) return;
  if (std::ranges::find(list, address) == list.end()) list.emplace_back(address);
}

// One run of getent. Ended with it, its children included.
class Lookup {
 public:
  Lookup(const std::string& host, const envgen::Environ& env) {
    spec_.argv = {"getent", "ahosts", host};
    spec_.env = env;
    spec_.no_input = true;
    spec_.new_session = true;
    spec_.die_with_parent = true;
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;
  ~Lookup() { end(); }

  // What it wrote, which is nothing for a name that is not known.
  envgen::Result<std::string> run(std::int64_t limit_ms) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return envgen::fail(kFinding, "pipe", sys::errno_text(errno),
                          "raise the limit on open files");
    }
    const sys::Fd output(ends[0]);
    sys::Fd write_end(ends[1]);
    spec_.output_fd = write_end.get();
    // Its start has to be ours alone; for the rest of the wait a stop signal is to end us at once.
    const proc::SavedSignals saved = proc::take_over_signals();
    auto spawned = proc::spawn(spec_, saved);
    proc::restore_signals(saved);
    if (!spawned) return std::unexpected(spawned.error());
    pid_ = spawned->pid;
    write_end.reset();
    const std::int64_t deadline_ms = sys::monotonic_ms() + limit_ms;
    std::string text = read(output.get(), deadline_ms);
    proc::StartFailure failure;
    if (proc::read_start(spawned->start_pipe, &failure) == proc::StartState::kFailed) {
      return envgen::fail(kFinding, spec_.argv.back(),
                          "that it is not in /etc/hosts, and no getent in the image to ask: " +
                              to_line(failure.error),
                          std::string("install getent (libc-bin), or ") + kFix);
    }
    late_ = sys::monotonic_ms() >= deadline_ms;
    return text;
  }
  [[nodiscard]] bool late() const { return late_; }

 private:
  static std::string read(int fd, std::int64_t deadline_ms) {
    std::string text;
    std::array<char, 4096> part;
    while (text.size() < kMostOutputBytes) {
      const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
      pollfd ready{fd, POLLIN, 0};
      if (left_ms <= 0 || ::poll(&ready, 1, static_cast<int>(left_ms)) == 0) break;
      const ssize_t count = ::read(fd, part.data(), part.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

  void end() const {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // it may not have made its session yet
    // In D state it would keep us.
    constexpr int kMostLooks = 50;
    constexpr int kLookMs = 10;
    for (int look = 0; look < kMostLooks && ::waitpid(pid_, nullptr, WNOHANG) == 0; ++look) {
      ::poll(nullptr, 0, kLookMs);
    }
  }

  proc::SpawnSpec spec_;
  pid_t pid_ = -1;
  bool late_ = false;
};

}  // namespace

bool is_address(std::string_view text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  const std::size_t zone = text.find('%');
  const std::string plain(text.substr(0, zone));
  if (::inet_pton(AF_INET6, plain.c_str(), bytes.data()) == 1) return true;
  return zone == std::string_view::npos && ::inet_pton(AF_INET, plain.c_str(), bytes.data()) == 1;
}

std::vector<std::string> addresses_in_hosts(std::string_view hosts_text, std::string_view host) {
  std::vector<std::string> list;
  while (!hosts_text.empty()) {
    std::string_view line = take_line(hosts_text);
    line = line.substr(0, line.find('#'));
    const std::string_view address = take_word(line);
    for (auto name = take_word(line); !name.empty(); name = take_word(line)) {
      if (same_name(name, host)) add_address(list, address);
    }
  }
  return list;
}

std::vector<std::string> addresses_in_getent(std::string_view output) {
  std::vector<std::string> list;
  while (!output.empty()) {
    std::string_view line = take_line(output);
    add_address(list, take_word(line));
  }
  return list;
}

envgen::Result<HostAddresses> find_addresses(const std::string& host, const envgen::Environ& env,
                                             std::int64_t limit_ms, const std::string& hosts_file) {
  std::string name = host;
  if (name.size() > 2 && name.starts_with('[') && name.ends_with(']')) {
    name = name.substr(1, name.size() - 2);
  }
  if (is_address(name)) return HostAddresses{{name}, ""};
  HostAddresses found;
  found.addresses = addresses_in_hosts(sys::look(hosts_file, true).content, name);
  if (!found.addresses.empty()) return found;
  Lookup lookup(name, env);
  auto output = lookup.run(limit_ms);
  if (!output) return std::unexpected(output.error());
  found.addresses = addresses_in_getent(*output);
  if (found.addresses.empty()) {
    found.why = lookup.late()
                    ? "its name is not resolved within " + std::to_string(limit_ms / 1000) + " s"
                    : "its name is not known";
  }
  return found;
}

}  // namespace engine
