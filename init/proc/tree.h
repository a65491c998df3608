#pragma once
// The processes below this one, as /proc lists them, whatever their parent, group or session is
// now. A process that `docker exec` starts has no parent in the container, so it is not among them.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proc {

// Reads a small file of /proc in one read, at most 4096 bytes. Returns "" if it cannot be read.
std::string read_small(const std::string& path);

// Returns whether /proc is mounted and belongs to this pid namespace. The numbers of another
// namespace are other processes here.
bool has_own_proc();

struct Member {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  char state = '?';         // as in stat; 'T' is stopped until a SIGCONT
  bool exits = false;       // exiting or a zombie: signals have no effect any more
  std::uint64_t start = 0;  // start time, in clock ticks since boot
  int depth = 0;            // 1: a child of this process
};

// Parses the text of /proc/<pid>/stat, which does not contain depth. Returns nullopt for any other
// text.
std::optional<Member> parse_member(std::string_view stat);
// Returns the process; nullopt if it does not exist, or /proc is not mounted.
std::optional<Member> find_member(pid_t pid);

// Returns all pids of this pid namespace, in any order; empty if its /proc is not mounted.
std::vector<pid_t> all_pids();
// Returns the same processes, without their depths.
std::vector<Member> all_processes();
// Returns all processes below this one, the nearest first, except those of `spared` and what is
// below them. Processes that are forked meanwhile may be missing. Returns nullopt if no /proc of
// this pid namespace is mounted.
std::optional<std::vector<Member>> descendants(const std::vector<pid_t>& spared);
// Returns all processes of these groups.
std::vector<Member> members_of(const std::vector<pid_t>& groups);

// Signals the process, and never a later one with the same pid. Before Linux 5.3 a short race
// remains: another process may reap the child, and the kernel may use its pid again. Returns false
// if trainit may not signal it (EPERM).
bool signal_member(const Member& member, int signal);

// Returns whether this process may signal those of other users.
bool has_cap_kill();
// The text for a process that trainit may not signal: "cannot signal main (pid 12, user 1000):
// EPERM", and the advice.
struct Refused {
  std::string what;
  std::string fix;
};
Refused refused_text(const std::string& name, pid_t pid);

// The use that a process has for a signal, as its status in /proc shows it.
enum class SignalUse : unsigned char {
  kNone,        // it would die of the signal, ignores it or has exited
  kAwaits,      // it catches the signal, or blocks it among a few (sigwait, signalfd)
  kBlocksMost,  // it blocks nearly all signals and does not catch this one
};
// Returns the use of a process for the signal. Shells and C libraries block all signals for a
// moment around a fork, so kBlocksMost does not show whether the process would die of it. A signal
// that a thread just waits for in sigwait shows as kNone.
SignalUse signal_use(pid_t pid, int signal);

// Describes a process, as far as /proc reports it: "pid 12 (python), state D in
// nfs_wait_on_request". If it has several threads, describes the one that hangs. Returns "" for a
// zombie or a process that has exited.
std::string state_text(pid_t pid);

}  // namespace proc
