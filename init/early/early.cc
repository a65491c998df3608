// This file runs before libc is ready: it uses no libc function and no thread-local storage, and no
// constructor has run. The file is compiled without builtins (CMakeLists.txt), and consists of
// system calls and loops. .ci/layers checks that it calls nothing else.

#if !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns")  // a loop must not become a call of memset
#endif

#include "init/early/early.h"

#include <asm/unistd.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/constants/default_path.h"
#include "base/exit_codes.h"
#include "base/hook_condition.h"
#include "init/early/early_options.h"
#include "init/early/environment_prefixes.h"

// The entry point of the program, in place of libc's. It calls early_stage() with the stack that
// the kernel has made, then jumps to libc's entry point with the same stack.
#if defined(__x86_64__)
asm(R"(
    .pushsection .text.trainit_start,"ax",@progbits
    .globl trainit_start
    .type trainit_start,@function
trainit_start:
    xor %ebp, %ebp
    mov %rsp, %rbx
    mov %rsp, %rdi
    and $-16, %rsp
    call early_stage
    mov %rbx, %rsp
    xor %edx, %edx
    jmp _start
    .size trainit_start, .-trainit_start

    .globl early_clone
    .type early_clone,@function
early_clone:                       // (flags, top of the child's stack, body, its argument)
    mov %rdx, %r8
    mov %rcx, %r9
    mov $56, %eax
    xor %edx, %edx
    xor %r10d, %r10d
    syscall
    test %rax, %rax
    jnz 1f
    xor %ebp, %ebp
    mov %r9, %rdi
    call *%r8
    ud2
1:  ret
    .size early_clone, .-early_clone
    .popsection
)");
#elif defined(__aarch64__)
asm(R"(
    .pushsection .text.trainit_start,"ax",@progbits
    .globl trainit_start
    .type trainit_start,@function
trainit_start:
    mov x29, #0
    mov x30, #0
    mov x19, sp
    mov x0, sp
    bl early_stage
    mov sp, x19
    mov x0, #0
    b _start
    .size trainit_start, .-trainit_start

    .globl early_clone
    .type early_clone,@function
early_clone:                       // (flags, top of the child's stack, body, its argument)
    mov x9, x2
    mov x10, x3
    mov x2, #0
    mov x3, #0
    mov x4, #0
    mov x8, #220
    svc #0
    cbnz x0, 1f
    mov x29, #0
    mov x0, x10
    blr x9
    brk #0
1:  ret
    .size early_clone, .-early_clone
    .popsection
)");
#else
#error "add this machine's entry"
#endif

namespace early {
namespace {

constexpr std::uint64_t kAll = ~0ULL;
constexpr int kStackBytes = 16 * 1024;
constexpr int kPathBytes = 4096;
constexpr int kMaxVariables =
    1000;  // limit for the variables, if those of trainit's own must be removed
// Time for the command to exit, so that the program can end from here. During it, main() does not
// compete with the command for a processor.
constexpr long kPatienceNs = 20'000'000;

Handover g_handover;

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
#if defined(__x86_64__)
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
               : "rcx", "r11", "memory");
  return result;
#else
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
#endif
}

template <class T>
long address(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

// The same struct as in init/proc/signals.cc.
struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

enum class Called : unsigned char { kElse, kTrainit, kTini };

// The command, and how it must be started.
struct Command {
  Called called = Called::kElse;
  char** argv = nullptr;
  char** envp = nullptr;   // environment of the command
  bool main_ends = false;  // main() must end the program, even if the command exits at once
  const char* search_path = nullptr;  // used if argv[0] has no '/'
  pid_t self = 0;
  bool adopts = true;  // true: orphans must be adopted, if this process is not PID 1
  volatile bool failed = false;
};

bool contains(const char* text, char wanted) {
  for (; *text != '\0'; ++text) {
    if (*text == wanted) return true;
  }
  return false;
}

// Returns the program by its name. Only the most frequent drop-in is recognised. The names are
// those in init/dropin/dropin.cc, whose table of pointers cannot be used before relocation.
Called called_as(const char* argv0) {
  const char* base = argv0;
  for (const char* at = argv0; *at != '\0'; ++at) {
    if (*at == '/') base = at + 1;
  }
  if (equal(base, "docker-init") || equal(base, "tini") || equal(base, "tini-static")) {
    return Called::kTini;
  }
  return begins_with(base, "trainit") ? Called::kTrainit : Called::kElse;
}

// Reads `trainit -- COMMAND`, `trainit /COMMAND`, `docker-init -- COMMAND` or `tini -s -- COMMAND`.
// Returns false if main() must read the arguments.
bool take_words(long argc, char** argv, Command& command) {
  if (argc < 2) return false;
  command.called = called_as(argv[0]);
  if (command.called == Called::kElse) return false;
  const bool tini = command.called == Called::kTini;
  char** word = argv + 1;
  const bool subreaper = tini && equal(*word, "-s");
  if (subreaper) ++word;
  // Without -s, tini warns that it cannot adopt orphans, unless it is PID 1. main() does that.
  if (tini && !subreaper && command.self != 1) return false;
  if (*word != nullptr && equal(*word, "--")) {
    ++word;
  } else if (tini || (*word)[0] != '/') {
    return false;
  }
  if (*word == nullptr || (*word)[0] == '\0') return false;
  command.argv = word;
  command.adopts = !tini || subreaper;
  return tini || !may_be_conda(*word);
}

// Returns false if a variable may require resolving. Puts the variables for the command into
// `kept`, without those of trainit's own options.
bool take_environment(char** envp, char** kept, Command& command) {
  command.envp = envp;
  const char* path = nullptr;
  int own = 0;
  for (char** entry = envp; *entry != nullptr; ++entry) {
    const bool tini = command.called == Called::kTini;
    const Option option = tini ? Option::kNone : option_of(*entry);
    if (option != Option::kNone) {
      ++own;
      command.main_ends = command.main_ends || option == Option::kTakenToTheEnd;
    } else if (tini ? begins_with(*entry, "TINI_") : has_known_prefix(*entry)) {
      return false;
    }
    if (path == nullptr && begins_with(*entry, "PATH=")) path = *entry + 5;
  }
  if (own > 0) {
    int count = 0;
    for (char** entry = envp; *entry != nullptr; ++entry) {
      if (option_of(*entry) != Option::kNone) continue;
      if (count == kMaxVariables) return false;
      kept[count++] = *entry;
    }
    kept[count] = nullptr;
    command.envp = kept;
  }
  if (!contains(command.argv[0], '/')) {
    command.search_path = path != nullptr ? path : base::kDefaultPath;
  }
  return true;
}

// Returns true if 0, 1 and 2 are open. If one is closed, main() starts the command, because it
// opens /dev/null first.
bool has_standard_fds() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (call(__NR_fcntl, fd, F_GETFD) < 0) return false;
  }
  return true;
}

// Calls `each` with each name in a directory, and with whether it may be a link, until `each`
// returns false. Returns false then, and also if the directory cannot be read.
template <class Each>
bool each_name(long directory, Each each) {
  constexpr int kLengthAt = 16;  // offsets in struct linux_dirent64
  constexpr int kTypeAt = 18;
  constexpr int kNameAt = 19;
  constexpr char kUnknownType = 0;
  constexpr char kLinkType = 10;
  alignas(8) char buffer[2048];
  while (true) {
    const long size = call(__NR_getdents64, directory, address(buffer), sizeof buffer);
    if (size <= 0) return size == 0;
    for (long at = 0; at < size;) {
      const char* name = buffer + at + kNameAt;
      const char type = buffer[at + kTypeAt];
      const bool link = type == kUnknownType || type == kLinkType;
      if (!equal(name, ".") && !equal(name, "..") && !each(name, link)) return false;
      at += *reinterpret_cast<const unsigned short*>(buffer + at + kLengthAt);
    }
  }
}

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

template <class Each>
bool each_name_of(const char* path, Each each) {
  const long directory = call(__NR_openat, AT_FDCWD, address(path), kOpenDirectory);
  if (directory < 0) return false;
  const bool all = each_name(directory, each);
  call(__NR_close, directory);
  return all;
}

// Returns whether a word of a hook's condition is true. A single command without a platform has one
// node and one rank.
bool holds(hook_condition::Need need, const hook_condition::Word& word, char** envp) {
  using hook_condition::Need;
  if (need == Need::kNodes || need == Need::kRanks) return false;
  if (need == Need::kDevices) {
    return !each_name_of(
        "/dev", [](const char* name, bool /*link*/) { return !hook_condition::is_device(name); });
  }
  if (hook_condition::is_given(word)) return true;
  for (; *envp != nullptr; ++envp) {
    if (hook_condition::sets(*envp, word)) return true;
  }
  return false;
}

// Returns true if only root and this user can change the file; main() judges the other cases. A
// directory must also be on the file system of /etc, because another one could hang, and trainit
// with it.
bool is_plainly_ours(long fd, dev_t device) {
  struct stat status{};
  if (call(__NR_fstat, fd, address(&status)) != 0) return false;
  if (status.st_uid != 0 && status.st_uid != static_cast<uid_t>(call(__NR_geteuid))) return false;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return false;
  if (S_ISDIR(status.st_mode)) return status.st_dev == device;
  return S_ISREG(status.st_mode) && (status.st_mode & S_IXUSR) != 0;
}

bool may_apply(long directory, const char* name, char** envp) {
  constexpr int kOpen = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const long hook = call(__NR_openat, directory, address(name), kOpen);
  if (hook < 0) return true;
  char head[hook_condition::kMaxBytes];
  const long size =
      is_plainly_ours(hook, 0) ? call(__NR_read, hook, address(head), sizeof head) : -1;
  call(__NR_close, hook);
  return hook_condition::applies(head, size, [envp](hook_condition::Need need, const auto& word) {
    return holds(need, word, envp);
  });
}

// Returns true if certainly no hook of the event runs. With `later`, hooks are allowed, if PID 1
// itself can look at them after a failure.
bool passes(long hooks, const char* event, bool later, dev_t device, char** envp) {
  constexpr int kMaxHooks = 256;  // main() refuses more
  const long directory = call(__NR_openat, hooks, address(event), kOpenDirectory | O_NOFOLLOW);
  if (directory < 0) return false;
  int count = 0;
  const bool passed =
      is_plainly_ours(directory, device) && each_name(directory, [&](const char* hook, bool link) {
        if (link || ++count > kMaxHooks) return false;
        return later || !may_apply(directory, hook, envp);
      });
  call(__NR_close, directory);
  return passed;
}

// Returns false if a hook may have to run before or during the command, because main() runs these.
// Hooks for a failure or a stall run later; `any` is set if there may be some.
bool leaves_start_alone(char** envp, bool& any) {
  const long hooks =
      call(__NR_openat, AT_FDCWD, address(kHooksDirectory), kOpenDirectory | O_NOFOLLOW);
  if (hooks == -ENOENT) return true;
  if (hooks < 0) return false;
  any = true;
  struct stat etc{};
  const bool alone = call(__NR_newfstatat, AT_FDCWD, address("/etc"), address(&etc), 0) == 0 &&
                     is_plainly_ours(hooks, etc.st_dev) &&
                     each_name(hooks, [&](const char* name, bool link) {
                       if (equal(name, "README.md")) return !link;
                       const bool later = equal(name, "on-failure.d") || equal(name, "stall.d");
                       if (!later && !equal(name, "pre-start.d")) return false;
                       return passes(hooks, name, later, etc.st_dev, envp);
                     });
  call(__NR_close, hooks);
  return alone;
}

// Returns true if there is a terminal. main() must then start the command: ^Z could stop the child
// before its exec, and so block trainit.
bool has_terminal() {
  int group = 0;
  for (int fd = 0; fd <= 2; ++fd) {
    if (call(__NR_ioctl, fd, TIOCGPGRP, address(&group)) == 0) return true;
  }
  return false;
}

// Returns true if this process can wait for the child and its orphans. PID 1 adopts orphans without
// a call. If SIGCHLD is ignored, the kernel would reap the child.
bool may_be_parent(const Command& command) {
  KernelAction action{};
  if (call(__NR_rt_sigaction, SIGCHLD, 0, address(&action), sizeof action.mask) != 0) return false;
  if (action.handler == SIG_IGN || (action.flags & SA_NOCLDWAIT) != 0) return false;
  if (command.self == 1 || !command.adopts) return true;
  return call(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1) == 0;
}

// Joins the search path up to the next ':' with `name`, by the rules of base/search_path.h (that
// code allocates memory). Returns nullptr if the result is too long.
const char* join(char* buffer, const char* directory, long length, const char* name) {
  long at = 0;
  for (; at < length; ++at) {
    if (at >= kPathBytes - 2) return nullptr;
    buffer[at] = directory[at];
  }
  if (at == 0) buffer[at++] = '.';
  buffer[at++] = '/';
  for (; *name != '\0'; ++name) {
    if (at >= kPathBytes - 1) return nullptr;
    buffer[at++] = *name;
  }
  buffer[at] = '\0';
  return buffer;
}

void execute(const Command& command) {
  auto run = [&command](const char* file) {
    return call(__NR_execve, address(file), address(command.argv), address(command.envp));
  };
  if (command.search_path == nullptr) {
    run(command.argv[0]);
    return;
  }
  char buffer[kPathBytes];
  const char* directory = command.search_path;
  while (true) {
    long length = 0;
    while (directory[length] != '\0' && directory[length] != ':') ++length;
    const char* file = join(buffer, directory, length, command.argv[0]);
    if (file == nullptr) return;
    const long error = run(file);
    // Returns after any error except a missing file: main() handles it.
    if (error != -ENOENT && error != -ENOTDIR) return;
    if (directory[length] == '\0') return;
    directory += length + 1;
  }
}

// Runs in the child, on its own stack but in the parent's memory. The parent is suspended
// meanwhile.
void child_main(void* argument) {
  Command& command = *static_cast<Command*>(argument);
  if (command.self != 1 && command.called == Called::kTrainit) {
    call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL);
    if (call(__NR_getppid) != command.self) call(__NR_exit_group, exit_code::kSignalBase + SIGKILL);
  }
  call(__NR_setpgid, 0, 0);
  call(__NR_rt_sigprocmask, SIG_SETMASK, address(&g_handover.mask), 0, sizeof g_handover.mask);
  execute(command);
  command.failed = true;
  call(__NR_exit_group, exit_code::kNotFound);
  __builtin_trap();
}

}  // namespace

extern "C" long early_clone(unsigned long flags, char* stack_top, void (*body)(void*),
                            void* argument);

namespace {

// Starts the command. Returns 0 if it was not started.
[[gnu::noinline]] pid_t start(Command& command) {
  // The child's stack, inside the frame of this function.
  alignas(16) char stack[kStackBytes];
  const long pid =
      early_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, stack + kStackBytes, child_main, &command);
  if (pid <= 0) return 0;
  if (!command.failed) return static_cast<pid_t>(pid);
  // The start failed. main() tries again.
  call(__NR_wait4, pid, 0, __WALL, 0);
  return 0;
}

// Exits the program if the command succeeded and no other child is left.
void end_if_done(pid_t child) {
  siginfo_t info{};
  if (call(__NR_waitid, P_PID, child, address(&info), WEXITED | WNOHANG | WNOWAIT) != 0) return;
  if (info.si_pid != child || info.si_code != CLD_EXITED || info.si_status != 0) return;
  call(__NR_wait4, child, 0, __WALL, 0);
  g_handover.ended_well = true;
  // Other children are leftovers of the command, which main() stops.
  if (call(__NR_waitid, P_ALL, 0, address(&info), WEXITED | WNOHANG | WNOWAIT | __WALL) ==
      -ECHILD) {
    call(__NR_exit_group, 0);
  }
}

// Exits with the exit code of the command, as tini does, even if other processes are left.
void end_with(pid_t child) {
  siginfo_t info{};
  if (call(__NR_waitid, P_PID, child, address(&info), WEXITED | WNOHANG | WNOWAIT) != 0) return;
  if (info.si_pid != child) return;
  call(__NR_exit_group,
       info.si_code == CLD_EXITED ? info.si_status : exit_code::kSignalBase + info.si_status);
}

// Waits a short time for the command to exit.
void wait_a_moment(const Command& command, pid_t child) {
  const timespec patience{0, kPatienceNs};
  siginfo_t info{};
  const long signal =
      call(__NR_rt_sigtimedwait, address(&kAll), address(&info), address(&patience), sizeof kAll);
  if (signal <= 0) return;
  g_handover.received = true;
  g_handover.signal = info;
  if (signal != SIGCHLD) return;
  if (command.called == Called::kTini) return end_with(child);
  end_if_done(child);
}

// Returns true for a program with the set-user-ID bit or with file capabilities, which main()
// refuses. If the user is root, AT_SECURE only means that a security module has changed the domain.
// `vector` is the auxiliary vector after the environment.
bool may_be_borrowed(const long* vector) {
  long uid = 0;
  long effective_uid = 0;
  long gid = 0;
  long effective_gid = 0;
  bool secure = false;
  for (; vector[0] != AT_NULL; vector += 2) {
    if (vector[0] == AT_SECURE) secure = vector[1] != 0;
    if (vector[0] == AT_UID) uid = vector[1];
    if (vector[0] == AT_EUID) effective_uid = vector[1];
    if (vector[0] == AT_GID) gid = vector[1];
    if (vector[0] == AT_EGID) effective_gid = vector[1];
  }
  return secure && (uid != 0 || uid != effective_uid || gid != effective_gid);
}

}  // namespace

// Starts the command if possible. `stack` is as the kernel leaves it: argc, argv, nullptr, envp,
// nullptr, the auxiliary vector.
extern "C" void early_stage(long* stack) {
  call(__NR_rt_sigprocmask, SIG_SETMASK, address(&kAll), address(&g_handover.mask), sizeof kAll);
  g_handover.blocked = true;
  g_handover.parent = static_cast<pid_t>(call(__NR_getppid));
  Command command;
  const long argc = stack[0];
  auto** argv = reinterpret_cast<char**>(stack + 1);
  command.self = static_cast<pid_t>(call(__NR_getpid));
  char** rest = argv + argc + 1;
  while (*rest != nullptr) ++rest;
  if (may_be_borrowed(reinterpret_cast<const long*>(rest + 1))) return;
  if (!take_words(argc, argv, command)) return;
  char* kept[kMaxVariables + 1];
  if (!take_environment(argv + argc + 1, kept, command)) return;
  if (command.called == Called::kTrainit &&
      (!has_standard_fds() || !leaves_start_alone(argv + argc + 1, g_handover.hooks))) {
    return;
  }
  if (!may_be_parent(command)) return;
  if (has_terminal()) return;
  g_handover.started = start(command);
  if (g_handover.started != 0 && !command.main_ends) wait_a_moment(command, g_handover.started);
}

const Handover& handover() { return g_handover; }

}  // namespace early
