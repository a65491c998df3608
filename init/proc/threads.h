#pragma once
// The threads of a process as /proc shows them, without ptrace. If a file cannot be read, the
// fields that it would give stay empty.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace proc {

struct Thread {
  pid_t tid = 0;
  std::string name;
  char state = '?';
  std::string wait;  // kernel function in which the thread sleeps; "": none, or not readable
  std::int64_t used_ticks = 0;  // CPU time, in user mode and in the kernel
};

// Returns at most `most` threads, with the main thread first. Returns an empty list if the process
// has exited.
std::vector<Thread> threads_of(pid_t pid, std::size_t most);

// The signals that a process has pending or treats specially; bit n-1 stands for signal n.
struct SignalMasks {
  std::uint64_t pending = 0;  // pending for the process or for this thread
  std::uint64_t caught = 0;
  std::uint64_t blocked = 0;  // blocked in this thread
};
SignalMasks signal_masks(pid_t pid, pid_t tid);

// Returns true if the descriptor `fd` of the process is the file with this device and inode.
// Returns false if that cannot be seen: only the same user, or root with CAP_SYS_PTRACE, may look.
bool holds_open(pid_t pid, int fd, std::uint64_t device, std::uint64_t inode);

// Returns true if the process has the device of an accelerator open, or if that cannot be seen.
bool holds_accelerator(pid_t pid);

}  // namespace proc
