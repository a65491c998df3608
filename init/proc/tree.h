#pragma once
// The processes below this one, as /proc lists them, whatever parent, group or session they have
// now. A process that `docker exec` has started has no parent in the container, so it is not
// included.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proc {

// Reads a small file of /proc in one read, at most 4096 bytes. Returns "" if it cannot be read.
std::string read_small(const std::string& path);

// Returns true if /proc is mounted and is that of this pid namespace. In another /proc, a number
// means another process.
bool has_own_proc();

struct Member {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  char state = '?';         // as in /proc/PID/stat; 'T' is stopped until a SIGCONT
  bool exits = false;       // exiting or a zombie, so signals have no effect on it
  std::uint64_t start = 0;  // start time, in clock ticks since boot
  int depth = 0;  // number of steps from this process down to it; 1: a child of this process
};

// Parses the text of /proc/<pid>/stat, which does not give the depth. Returns nullopt for any other
// text.
std::optional<Member> parse_member(std::string_view stat);
// Returns the process; nullopt if it does not exist, or /proc is not mounted.
std::optional<Member> find_member(pid_t pid);

// Returns all pids of this pid namespace, in any order; empty if its /proc is not mounted.
std::vector<pid_t> all_pids();
// Returns all processes of this pid namespace, without their depths.
std::vector<Member> all_processes();
// Returns all processes below this one, the nearest first. Leaves out those in `spared`, and all
// below them. Processes that are forked meanwhile may be missing. Returns nullopt if no /proc of
// this pid namespace is mounted.
std::optional<std::vector<Member>> descendants(const std::vector<pid_t>& spared);
// Returns all processes of these process groups.
std::vector<Member> members_of(const std::vector<pid_t>& groups);

// Sends the signal to the process, and never to a later process with the same pid. Before Linux 5.3
// a short race remains: another process may reap the child, and the kernel may use its pid again.
// Returns false if trainit is not allowed to signal it (EPERM).
bool signal_member(const Member& member, int signal);

// Returns true if this process may send signals to processes of other users.
bool has_cap_kill();
// A message about processes that trainit may not signal: "cannot signal main (pid 12, user 1000):
// EPERM", and the advice.
struct Refused {
  std::string what;
  std::string fix;
};
Refused refused_text(const std::string& name, pid_t pid);

// The reaction of a process to a signal, as its status in /proc shows it.
enum class SignalUse : unsigned char {
  kNone,        // dies of the signal, ignores it, or has exited
  kAwaits,      // catches the signal, or blocks it and few others (sigwait, signalfd)
  kBlocksMost,  // blocks nearly all signals and does not catch this one
};
// Returns what the process does with the signal. kBlocksMost does not show whether the process
// would die of it, because shells and C libraries block all signals for a moment around a fork. If
// a thread waits in sigwait right now, the result is kNone.
SignalUse signal_use(pid_t pid, int signal);

// Describes a process as far as /proc reports it: "pid 12 (python), state D in
// nfs_wait_on_request". Of several threads, the one that hangs is described. Returns "" for a
// zombie or a process that has exited.
std::string state_text(pid_t pid);

}  // namespace proc
