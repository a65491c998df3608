#pragma once
// System calls and an entry point for programs without a C library: the least that a start costs.
// x86-64 and arm64.

namespace nolibc {

#if defined(__x86_64__)

enum Call : long {
  kWrite = 1,
  kNanosleep = 35,
  kClone = 56,
  kExecve = 59,
  kExit = 60,
  kWait4 = 61,
  kClockGettime = 228
};

// Inlined, for clone with the caller's memory: the child must not return over its parent's frame.
[[gnu::always_inline]] inline long call(Call number, long a, long b = 0, long c = 0, long d = 0) {
  long result;
  register long fourth asm("r10") = d;
  register long fifth asm("r8") = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
               : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

enum Call : long {
  kWrite = 64,
  kExit = 93,
  kNanosleep = 101,
  kClockGettime = 113,
  kClone = 220,
  kExecve = 221,
  kWait4 = 260
};

[[gnu::always_inline]] inline long call(Call number, long a, long b = 0, long c = 0, long d = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = 0;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}

#else
#error "no system calls for this architecture"
#endif

[[noreturn]] inline void exit(long code) {
  for (;;) call(kExit, code);
}

}  // namespace nolibc

// The program: `stack` is what the kernel put there, argc and then argv.
extern "C" [[noreturn]] void begin(long* stack);

#if defined(__x86_64__)
asm(".globl _start\n_start: xor %ebp, %ebp\nmov %rsp, %rdi\nand $-16, %rsp\ncall begin\n");
#else
asm(".globl _start\n_start: mov x29, #0\nmov x0, sp\nbl begin\n");
#endif
