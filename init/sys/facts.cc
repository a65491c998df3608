#include "init/sys/facts.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "envgen/formats/cpu_list.h"
#include "init/sys/cgroup.h"
#include "init/sys/files.h"
#include "init/sys/safe_path.h"

namespace sys {
namespace {

struct Free {
  void operator()(char* text) const { ::free(text); }
};

std::string host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

// Returns the address as text. Returns nullopt for loopback and link-local addresses: every node
// has these, so they identify no node.
std::optional<std::string> address_text(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const in_addr& ip = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    const std::uint32_t number = ntohl(ip.s_addr);
    if (number >> 24 == 127 || number >> 16 == 0xA9FE) return std::nullopt;
    return ::inet_ntop(AF_INET, &ip, text.data(), text.size());
  }
  if (address.sa_family == AF_INET6) {
    const in6_addr& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_LOOPBACK(&ip) || IN6_IS_ADDR_LINKLOCAL(&ip)) return std::nullopt;
    return ::inet_ntop(AF_INET6, &ip, text.data(), text.size());
  }
  return std::nullopt;
}

std::vector<std::string> interface_addresses() {
  std::vector<std::string> result;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return result;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (auto text = address_text(*each->ifa_addr)) result.push_back(std::move(*text));
  }
  std::ranges::sort(result);
  const auto doubles = std::ranges::unique(result);
  result.erase(doubles.begin(), doubles.end());
  return result;
}

// Returns the CPUs that this process may use. Tries larger and larger masks, because the kernel
// refuses a mask smaller than its own, without reporting the size.
envgen::CpuList usable_cpus() {
  envgen::CpuList usable;
  for (int cpus = 1024; cpus <= envgen::kMaxCpus; cpus *= 2) {
    const std::size_t size = CPU_ALLOC_SIZE(cpus);
    std::vector<unsigned long> mask(size / sizeof(unsigned long));
    auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
    if (::sched_getaffinity(0, size, set) == 0) {
      for (int cpu = 0; cpu < cpus; ++cpu) {
        if (CPU_ISSET_S(cpu, size, set)) usable.push_back(cpu);
      }
      break;
    }
    if (errno != EINVAL) break;
  }
  return usable;
}

// Returns the path of this program; "" if /proc does not provide it, or the file was removed.
std::string own_program() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0 || size == static_cast<ssize_t>(sizeof path)) return "";
  std::string program(path, static_cast<std::size_t>(size));
  return program.ends_with(" (deleted)") ? "" : program;
}

struct Candidate {
  std::string path;
  bool given = false;  // TRAINIT_RUN_DIR names it
};

std::vector<Candidate> run_dir_candidates(const base::Environ& env) {
  const std::string_view given = env.get_or("TRAINIT_RUN_DIR", "");
  if (!given.empty()) return {{std::string(given), true}};
  const std::string name = "trainit-" + std::to_string(::geteuid());
  return {{"/run/trainit"}, {"/tmp/" + name}, {"/dev/shm/" + name}};
}

// Returns why the candidate is not trusted; nullopt if it is. Other users who can write to a
// directory, as to many below /tmp, could create links in it.
std::optional<std::string> distrust(const Candidate& candidate, const struct stat& status) {
  if (candidate.given && (status.st_uid == ::geteuid() || status.st_uid == 0)) return std::nullopt;
  if (status.st_uid != ::geteuid()) {
    return candidate.path + " belongs to uid " + std::to_string(status.st_uid);
  }
  if ((status.st_mode & 022) != 0) return candidate.path + " is writable for others";
  return std::nullopt;
}

Fd open_directory(const Candidate& candidate) {
  const int follow = candidate.given ? 0 : O_NOFOLLOW;
  return Fd(::open(candidate.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow));
}

// Creates the directory. Errors show when the caller opens it.
void create_given(const std::string& path, const base::Result<SafePath>& way) {
  constexpr mode_t kMode = 0700;
  if (way) {
    ::mkdirat(way->directory.get(), way->name.c_str(), kMode);
  } else {  // the parent is missing too
    std::ignore = make_directories(path, kMode);
  }
}

int create(const std::string& path) {
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

// Takes the lock. Returns false if another instance holds it. run_dir_in_use() also holds the lock
// for a moment, so tries again for 20 ms; only a second instance waits that long.
bool take_lock(int fd) {
  constexpr int kAttempts = 10;
  constexpr timespec kPause{0, 2'000'000};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    ::nanosleep(&kPause, nullptr);
  }
  return false;
}

Fd open_lock(const Fd& directory) {
  return Fd(::openat(directory.get(), "lock",
                     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
}

// The lowest number of a directory below the run directory of another instance.
constexpr int kFirstNumber = 2;
constexpr int kLastNumber = 99;

// Takes the first directory below `result->path` whose lock is free.
void take_numbered(RunDir* result) {
  for (int number = kFirstNumber; number <= kLastNumber; ++number) {
    const std::string name = std::to_string(number);
    if (::mkdirat(result->directory.get(), name.c_str(), 0700) != 0 && errno != EEXIST) return;
    const Candidate candidate{result->path + "/" + name};
    Fd directory(::openat(result->directory.get(), name.c_str(),
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!directory.valid() || ::fstat(directory.get(), &status) != 0) continue;
    if (distrust(candidate, status)) continue;  // e.g. another user's, in a directory for all
    Fd lock = open_lock(directory);
    if (!lock.valid() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    result->note += ", so this one uses " + candidate.path;
    result->path = candidate.path;
    result->directory = std::move(directory);
    result->lock = std::move(lock);
    return;
  }
}

// Returns why the candidate cannot be used; nullopt if it was opened and `result` is set.
std::optional<std::string> try_run_dir(const Candidate& candidate, RunDir* result) {
  auto refused = [&candidate](int error) { return candidate.path + ": " + errno_text(error); };
  if (candidate.given) {
    const auto way = resolve_safely(candidate.path, {.follow_last = true});
    if (!way && is_foreign_link(way.error())) {
      return candidate.path + ": " + way.error().found;
    }
    create_given(candidate.path, way);
  } else if (const int error = create(candidate.path); error != 0) {
    return refused(error);
  }
  Fd directory = open_directory(candidate);
  if (!directory.valid()) return refused(errno);
  struct stat status{};
  if (::fstat(directory.get(), &status) != 0) return refused(errno);
  if (auto reason = distrust(candidate, status)) return reason;
  // An emptyDir of Kubernetes belongs to root and has mode 0777. The others' write permission is
  // removed, so that they cannot change trainit's files.
  constexpr mode_t kOthers = S_IWGRP | S_IWOTH;
  const bool shared = (status.st_mode & S_ISVTX) != 0;  // a directory such as /tmp itself
  if (candidate.given && ::geteuid() == 0 && !shared && (status.st_mode & kOthers) != 0) {
    std::ignore = ::fchmod(directory.get(), status.st_mode & 07777U & ~kOthers);
  }
  Fd lock = open_lock(directory);
  if (!lock.valid()) return refused(errno);
  result->path = candidate.path;
  result->directory = std::move(directory);
  if (take_lock(lock.get())) {
    result->lock = std::move(lock);
  } else {
    result->note = candidate.path + " is in use by another trainit";
    result->second = true;
    take_numbered(result);
  }
  return std::nullopt;
}

// Returns whether open_run_dir() would reach the lock of this candidate.
bool would_open(const Candidate& candidate) {
  const Fd directory = open_directory(candidate);
  struct stat status{};
  if (directory.valid()) {
    return ::fstat(directory.get(), &status) == 0 && !distrust(candidate, status) &&
           inspect(candidate.path, false).writable;
  }
  if (errno != ENOENT) return false;
  std::string above = parent_of(candidate.path);
  while (candidate.given && above.size() > 1 &&
         inspect(above, false).kind == envgen::PathState::Kind::kAbsent) {
    above = parent_of(above);
  }
  return inspect(above, false).writable;
}

bool trusted(const Candidate& candidate) {
  const Fd directory = open_directory(candidate);
  struct stat status{};
  return directory.valid() && ::fstat(directory.get(), &status) == 0 &&
         !distrust(candidate, status);
}

}  // namespace

std::string working_directory() {
  const std::unique_ptr<char, Free> path(::getcwd(nullptr, 0));
  // Older C libraries return "(unreachable)/..." for a directory outside of the process's root.
  return path && *path == '/' ? path.get() : "";
}

envgen::Facts gather_facts() {
  envgen::Facts facts;
  facts.cwd = working_directory();
  facts.uid = ::geteuid();
  facts.gid = ::getegid();
  facts.host_name = host_name();
  facts.addresses = interface_addresses();
  const envgen::CpuList cpus = usable_cpus();
  facts.cpu_list = envgen::cpu_list_text(cpus);
  facts.cpus = cpus_within_quota(static_cast<std::uint32_t>(
      cpus.empty() ? std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L) : std::ssize(cpus)));
  facts.program = own_program();
  return facts;
}

RunDir open_run_dir(const base::Environ& env) {
  RunDir result;
  for (const Candidate& candidate : run_dir_candidates(env)) {
    const std::optional<std::string> refusal = try_run_dir(candidate, &result);
    if (!refusal) break;
    result.note += (result.note.empty() ? "" : "; ") + *refusal;
  }
  return result;
}

std::string find_run_dir(const base::Environ& env) {
  const std::vector<Candidate> candidates = run_dir_candidates(env);
  for (const Candidate& candidate : candidates) {
    if (trusted(candidate) && run_dir_in_use(candidate.path)) return candidate.path;
  }
  for (const Candidate& candidate : candidates) {
    if (would_open(candidate)) return candidate.path;
  }
  return {};
}

bool run_dir_in_use(const std::string& run_dir) {
  const Fd lock(::open((run_dir + "/lock").c_str(),
                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!lock.valid()) return false;
  return ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::vector<std::string> run_dirs_in_use(const base::Environ& env) {
  std::vector<std::string> all;
  for (const Candidate& candidate : run_dir_candidates(env)) {
    if (!trusted(candidate)) continue;
    if (run_dir_in_use(candidate.path)) all.push_back(candidate.path);
    for (int number = kFirstNumber; number <= kLastNumber; ++number) {
      const Candidate numbered{candidate.path + "/" + std::to_string(number)};
      struct stat status{};
      if (::lstat(numbered.path.c_str(), &status) != 0) break;
      if (trusted(numbered) && run_dir_in_use(numbered.path)) all.push_back(numbered.path);
    }
  }
  return all;
}

}  // namespace sys
