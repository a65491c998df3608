#pragma once
// The processes below this one, whoever their parent, group or session is now, as /proc has them.
// What `docker exec` puts into the container has no parent in it and is none of them.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proc {

// A small file of /proc, in one read: at most 4096 bytes, "" where it cannot be read.
std::string read_small(const std::string& path);

// Whether there is a /proc, and it is our pid namespace's: the numbers in another one's are other
// processes here.
bool has_own_proc();

struct Member {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  char state = '?';         // as in stat: 'T' stands still until a SIGCONT
  bool exits = false;       // in exit(2) or a zombie: no signal changes its end any more
  std::uint64_t start = 0;  // in clock ticks since boot: tells it from a later process of this pid
  int depth = 0;            // 1: our child
};

// The text of /proc/<pid>/stat; depth is not in it. nullopt: not such a text.
std::optional<Member> parse_member(std::string_view stat);
// nullopt: there is no such process, or no /proc.
std::optional<Member> find_member(pid_t pid);

// All of our pid namespace, in any order; empty where its /proc is not there.
std::vector<pid_t> all_pids();
// The same, without their depths; empty where its /proc is not there.
std::vector<Member> all_processes();
// All below this process, the nearest first, but those of `spared` and what is below them. Those
// that are forked meanwhile may be missing. nullopt: there is no /proc of our pid namespace.
std::optional<std::vector<Member>> descendants(const std::vector<pid_t>& spared);
// All processes of these groups.
std::vector<Member> members_of(const std::vector<pid_t>& groups);

// Signals this process, and never a later one of the same pid (Linux 5.3; before, a moment is left
// in which somebody else's child may be reaped and its pid used again).
// False: we may not (EPERM).
bool signal_member(const Member& member, int signal);

// Whether this process may signal those of other users.
bool has_cap_kill();
// Of a process that we may not signal: "cannot signal main (pid 12, user 1000): EPERM", and what is
// to be done.
struct Refused {
  std::string what;
  std::string fix;
};
Refused refused_text(const std::string& name, pid_t pid);

// Whether the process catches the signal or blocks it; false for one that would die of it, ignores
// it or is gone. What a thread awaits in sigwait just then is shown as neither.
bool awaits_signal(pid_t pid, int signal);

// "pid 12 (python), state D in nfs_wait_on_request", as far as /proc tells; "" for a process that
// is gone or a zombie. Of several threads the one that hangs.
std::string state_text(pid_t pid);

}  // namespace proc
