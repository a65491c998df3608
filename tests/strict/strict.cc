// strict [--errno ENOSYS|EPERM] -- COMMAND [ARG...]: runs COMMAND, and all below it, on a kernel
// that knows no system call newer than Linux 4.19. ENOSYS is what such a kernel answers; EPERM what
// a seccomp profile of its time answers on a newer one (libseccomp before 2.5, Docker
// before 20.10).

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

namespace {

#if defined(__x86_64__)
constexpr unsigned kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArch = AUDIT_ARCH_AARCH64;
#endif

// rseq, of Linux 4.18, is the last call of 4.19 on both: numbers only grow.
constexpr unsigned kLast = SYS_rseq;

int refuse_newer_calls(unsigned error) {
  std::array program = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArch, 0, 3),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kLast, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) return 0;
  // Only those without CAP_SYS_ADMIN: programs below that change user shall work as ever.
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int fail(const char* what) {
  fprintf(stderr, "strict: %s: %s\n", what, strerror(errno));
  return 125;
}

int usage() {
  fputs("usage: strict [--errno ENOSYS|EPERM] -- COMMAND [ARG...]\n", stderr);
  return 125;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned error = ENOSYS;
  int at = 1;
  if (at + 1 < argc && argv[at] == std::string_view("--errno")) {
    const std::string_view name = argv[at + 1];
    if (name != "ENOSYS" && name != "EPERM") return usage();
    error = name == "EPERM" ? EPERM : ENOSYS;
    at += 2;
  }
  if (at + 1 >= argc || argv[at] != std::string_view("--")) return usage();
  if (refuse_newer_calls(error) != 0) return fail("seccomp");
  // A filter that refuses nothing would make every test below it say nothing.
  if (syscall(SYS_pidfd_open, getpid(), 0) != -1 || errno != static_cast<int>(error)) {
    return fail("pidfd_open is not refused");
  }
  execvp(argv[at + 1], argv + at + 1);
  return fail(argv[at + 1]);
}
