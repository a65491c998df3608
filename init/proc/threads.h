#pragma once
// The threads of a process, as /proc shows them without ptrace. If a file may not be read, its part
// stays empty.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace proc {

struct Thread {
  pid_t tid = 0;
  std::string name;
  char state = '?';
  std::string wait;             // kernel function that it sleeps in, or ""
  std::int64_t used_ticks = 0;  // CPU time, in user mode and in the kernel
};

// Returns at most `most` threads, the main thread first; empty if the process has exited.
std::vector<Thread> threads_of(pid_t pid, std::size_t most);

// The signals of a process, bit n-1 for signal n.
struct SignalMasks {
  std::uint64_t pending = 0;  // pending for the process or for this thread
  std::uint64_t caught = 0;
  std::uint64_t blocked = 0;  // blocked in this thread
};
SignalMasks signal_masks(pid_t pid, pid_t tid);

// Returns whether descriptor `fd` of the process is the open file with this device and inode. Also
// returns false if that is not visible: only the same user, or root with CAP_SYS_PTRACE, may look.
bool holds_open(pid_t pid, int fd, std::uint64_t device, std::uint64_t inode);

// Returns whether the process has an accelerator's device open; true if that is not visible.
bool holds_accelerator(pid_t pid);

}  // namespace proc
