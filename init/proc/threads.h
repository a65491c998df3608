#pragma once
// The threads of a process, by what /proc shows of them without ptrace. A file that may not be read
// leaves its part empty.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace proc {

struct Thread {
  pid_t tid = 0;
  std::string name;
  char state = '?';
  std::string wait;             // the kernel's function that it sleeps in; "" = none
  std::int64_t used_ticks = 0;  // of CPU time, in user mode and in the kernel
};

// The main thread first, at most so many; none of a process that is gone.
std::vector<Thread> threads_of(pid_t pid, std::size_t most);

// The signals of a process, bit n-1 for signal n.
struct SignalMasks {
  std::uint64_t pending = 0;  // for any of its threads
  std::uint64_t caught = 0;
  std::uint64_t blocked = 0;  // of this thread
};
SignalMasks signal_masks(pid_t pid, pid_t tid);

// Whether descriptor `fd` of the process is the open file of this device and inode. False too where
// that may not be seen: only its own user, or root with CAP_SYS_PTRACE, may.
bool holds_open(pid_t pid, int fd, std::uint64_t device, std::uint64_t inode);

// Whether an accelerator's device is open in it; true where that may not be seen.
bool holds_accelerator(pid_t pid);

}  // namespace proc
