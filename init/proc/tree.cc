#include "init/proc/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <map>

#include "base/stable_sort.h"
#include "init/sys/fd.h"

namespace proc {

std::string read_small(const std::string& path) {
  // Enough for a whole stat or wchan file, and for a status file up to its signals.
  constexpr std::size_t kMaxBytes = 4096;
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, kMaxBytes> text;
  const ssize_t count = fd.valid() ? ::read(fd.get(), text.data(), text.size()) : -1;
  return count <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(count));
}

namespace {

std::string stat_path(pid_t pid) { return "/proc/" + std::to_string(pid) + "/stat"; }

template <class T>
bool read_number(std::string_view text, T* number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && stop == text.data() + text.size();
}

// Returns the numbers among a directory's names.
std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> numbers;
  const sys::Dir directory(::opendir(path.c_str()));
  if (!directory) return numbers;
  while (const dirent* entry = ::readdir(directory.get())) {
    pid_t number = 0;
    if (read_number(entry->d_name, &number)) numbers.push_back(number);
  }
  return numbers;
}

// A snapshot of all processes. If a parent started or exited while the snapshot was made, its
// process is read a second time.
class Table {
 public:
  Table() {
    for (const Member& member : all_processes()) members_[member.pid] = member;
  }

  // Returns how many steps a process is below this one. Returns 0 if it is not below, or if it is
  // one of `spared` or below one of them.
  int depth_of(pid_t pid, const std::vector<pid_t>& spared) {
    const pid_t self = ::getpid();
    int depth = 0;
    for (pid_t at = pid; at != self; ++depth) {
      const bool leaves = at <= 0 || std::ranges::find(spared, at) != spared.end();
      if (leaves || depth > kDeepest) return 0;
      at = parent_of(at);
    }
    return depth;
  }

  [[nodiscard]] const std::map<pid_t, Member>& members() const { return members_; }

 private:
  static constexpr int kDeepest = 1 << 16;

  // Returns the parent of `pid`. If the parent has died since the snapshot, returns the process
  // that has adopted `pid`.
  pid_t parent_of(pid_t pid) {
    const auto known = [this](pid_t one) -> const Member* {
      const auto found = members_.find(one);
      if (found != members_.end()) return &found->second;
      const auto member = find_member(one);
      return member ? &(members_[one] = *member) : nullptr;
    };
    const Member* member = known(pid);
    if (member == nullptr) return 0;
    const pid_t parent = member->parent;
    if (parent <= 0 || known(parent) != nullptr) return parent;
    const auto again = find_member(pid);
    if (!again) return 0;
    members_[pid] = *again;
    return again->parent;
  }

  std::map<pid_t, Member> members_;
};

}  // namespace

bool has_own_proc() {
  std::array<char, 32> target;
  const ssize_t size = ::readlink("/proc/self", target.data(), target.size());
  return size > 0 && std::string_view(target.data(), static_cast<std::size_t>(size)) ==
                         std::to_string(::getpid());
}

std::optional<Member> parse_member(std::string_view stat) {
  // Fields after the name in "pid (name) state parent group session ...". The name may contain
  // blanks and parentheses.
  constexpr int kState = 3;
  constexpr int kParent = 4;
  constexpr int kGroup = 5;
  constexpr int kFlags = 9;
  constexpr int kStart = 22;
  constexpr std::uint64_t kExiting = 4;  // PF_EXITING of include/linux/sched.h
  const std::size_t end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos) return std::nullopt;
  Member member;
  bool ok = read_number(stat.substr(0, stat.find(' ')), &member.pid);
  std::string_view rest = stat.substr(end_of_name + 1);
  for (int field = 3; field <= kStart; ++field) {
    if (!ok || !rest.starts_with(' ')) return std::nullopt;
    rest.remove_prefix(1);
    const std::string_view value = rest.substr(0, rest.find_first_of(" \n"));
    rest.remove_prefix(value.size());
    if (field == kState) member.state = value.empty() ? '?' : value.front();
    if (field == kParent) ok = read_number(value, &member.parent);
    if (field == kGroup) ok = read_number(value, &member.group);
    if (field == kFlags) {
      std::uint64_t flags = 0;
      ok = read_number(value, &flags);
      member.exits = (flags & kExiting) != 0 || member.state == 'Z';
    }
    if (field == kStart) ok = read_number(value, &member.start);
  }
  return ok ? std::optional(member) : std::nullopt;
}

std::optional<Member> find_member(pid_t pid) { return parse_member(read_small(stat_path(pid))); }

std::vector<pid_t> all_pids() {
  return has_own_proc() ? numbers_in("/proc") : std::vector<pid_t>();
}

std::vector<Member> all_processes() {
  std::vector<Member> all;
  for (const pid_t pid : all_pids()) {
    if (const auto member = find_member(pid)) all.push_back(*member);
  }
  return all;
}

std::optional<std::vector<Member>> descendants(const std::vector<pid_t>& spared) {
  Table table;
  if (table.members().empty()) return std::nullopt;
  std::vector<Member> below;
  // Copies the members, because depth_of() adds entries to the table.
  const std::map<pid_t, Member> seen = table.members();
  for (const auto& [pid, member] : seen) {
    const int depth = table.depth_of(pid, spared);
    if (depth == 0) continue;
    below.push_back(member);
    below.back().depth = depth;
  }
  base::stable_sort(below, std::less(), &Member::depth);
  return below;
}

std::vector<Member> members_of(const std::vector<pid_t>& groups) {
  std::vector<Member> members = all_processes();
  std::erase_if(members, [&groups](const Member& member) {
    return std::ranges::find(groups, member.group) == groups.end();
  });
  return members;
}

bool signal_member(const Member& member, int signal) {
  // Opens the descriptor first. After the check of the start time, it then certainly means this
  // process.
  const sys::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, member.pid, 0)));
  const auto now = find_member(member.pid);
  if (!now || now->start != member.start) return true;
  if (pidfd.valid() && ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0) {
    return true;
  }
  return ::kill(member.pid, signal) == 0 || errno != EPERM;
}

Refused refused_text(const std::string& name, pid_t pid) {
  struct stat status{};
  const bool known = ::stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0;
  const std::string user = known ? ", user " + std::to_string(status.st_uid) : "";
  return {"cannot signal " + name + " (pid " + std::to_string(pid) + user + "): EPERM",
          has_cap_kill() ? "a seccomp profile or a security module refuses it: allow kill"
                         : "trainit lacks CAP_KILL: grant it (docker run --cap-add KILL), or run "
                           "trainit as that user"};
}

bool has_cap_kill() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  return ::syscall(SYS_capget, &header, data.data()) == 0 &&
         (data[0].effective & (1U << CAP_KILL)) != 0;
}

SignalUse signal_use(pid_t pid, int signal) {
  // Number of blocked signals up to which a process may wait for them. A signalfd or sigwait blocks
  // few; sigfillset() blocks about 60 of the 64.
  constexpr int kMost = 32;
  const std::string status = read_small("/proc/" + std::to_string(pid) + "/status");
  const auto mask_of = [&status](std::string_view name) {
    std::uint64_t mask = 0;
    const std::size_t at = status.find(name);
    if (at == std::string::npos) return mask;
    const std::size_t begin = at + name.size();
    const std::string_view digits =
        std::string_view(status).substr(begin, status.find('\n', begin) - begin);
    std::from_chars(digits.data(), digits.data() + digits.size(), mask, 16);
    return mask;
  };
  const std::uint64_t bit = std::uint64_t{1} << (signal - 1);
  if ((mask_of("\nSigCgt:\t") & bit) != 0) return SignalUse::kAwaits;
  const std::uint64_t blocked = mask_of("\nSigBlk:\t");
  if ((blocked & bit) == 0) return SignalUse::kNone;
  return std::popcount(blocked) < kMost ? SignalUse::kAwaits : SignalUse::kBlocksMost;
}

std::string state_text(pid_t pid) {
  const std::string base = "/proc/" + std::to_string(pid);
  char state = 'Z';
  std::string where;
  std::string name;
  for (const pid_t thread : numbers_in(base + "/task")) {
    const std::string task = base + "/task/" + std::to_string(thread);
    const std::string stat = read_small(task + "/stat");
    const std::size_t open = stat.find('(');
    const std::size_t end = stat.rfind(") ");
    if (open == std::string::npos || end == std::string::npos || end + 2 >= stat.size()) continue;
    const char its = stat[end + 2];
    if (name.empty()) name = stat.substr(open + 1, end - open - 1);
    const bool worse = its == 'D' || state == 'Z' || state == 'X';
    if (its == 'Z' || its == 'X' || state == 'D' || !worse) continue;
    state = its;
    where = read_small(task + "/wchan");
  }
  if (state == 'Z') return "";
  std::string text = "pid " + std::to_string(pid) + " (" + name + "), state " + state;
  // "0": the thread runs, or the kernel does not report it.
  if (!where.empty() && where != "0") text += " in " + where;
  return text;
}

}  // namespace proc
