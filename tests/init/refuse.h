#pragma once
// A kernel, or a seccomp profile, that refuses system calls.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace refuse {

// These calls get `action`, a value of seccomp(2), for the caller and all below it.
inline bool filter(std::initializer_list<long> numbers, unsigned action) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long number : numbers) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, action));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Makes these calls fail with `error`.
inline bool calls(std::initializer_list<long> numbers, int error) {
  return filter(numbers, SECCOMP_RET_ERRNO | static_cast<unsigned>(error));
}

// In place of these calls the handler of SIGSYS runs, which says what they answer.
inline bool trap(std::initializer_list<long> numbers) { return filter(numbers, SECCOMP_RET_TRAP); }
inline void answer(void* context, int error) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  registers.gregs[REG_RAX] = -error;
#else
  registers.regs[0] = static_cast<unsigned long long>(-static_cast<long long>(error));
#endif
}

}  // namespace refuse
