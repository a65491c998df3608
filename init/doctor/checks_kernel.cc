// Checks of the kernel: its version, the calls that it or a seccomp profile refuses, its clocks,
// and this process's user.

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "init/doctor/checks.h"
#include "init/doctor/machine.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace doctor {
namespace {

// Returns 0 if the kernel has the call, even if these arguments are wrong. Otherwise returns the
// errno with which the kernel or a seccomp profile refused it.
int refusal(long result) {
  if (result >= 0) return 0;
  return errno == ENOSYS || errno == EPERM || errno == EACCES ? errno : 0;
}

int try_signalfd() {
  sigset_t set;
  sigemptyset(&set);
  return refusal(::signalfd(-1, &set, SFD_CLOEXEC));
}
int try_timerfd() { return refusal(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)); }
int try_epoll() { return refusal(::epoll_create1(EPOLL_CLOEXEC)); }
int try_subreaper() { return refusal(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)); }
int try_memfd() { return refusal(::syscall(SYS_memfd_create, "trainit", 1U)); }
int try_clone3() { return refusal(::syscall(SYS_clone3, nullptr, 0)); }
int try_pidfd_open() { return refusal(::syscall(SYS_pidfd_open, -1, 0)); }
int try_mbind() { return refusal(::syscall(SYS_mbind, nullptr, 0, 0, nullptr, 0, 0)); }
int try_set_mempolicy() { return refusal(::syscall(SYS_set_mempolicy, 0, nullptr, 0)); }
int try_ptrace() { return refusal(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }

struct Probe {
  std::string_view name;
  int (*answer)();
  const char* found;  // the effect of a refusal; nullptr = no effect on a job
  const char* fix;
};

constexpr std::array<Probe, 5> kKernelProbes = {{
    {"signalfd", try_signalfd, "trainit does with handlers instead", "update the runtime"},
    {"timerfd", try_timerfd, "trainit does with poll's time instead", "update the runtime"},
    {"epoll", try_epoll, "most servers and event loops need it", "allow it in the profile"},
    {"subreaper", try_subreaper, "orphans of the job are lost unless trainit is PID 1",
     "start trainit as the entrypoint itself"},
    {"memfd_create", try_memfd, "frameworks share tensors by it", "allow it in the profile"},
}};

// Calls that the default profiles of container engines refuse, and that most jobs do not need.
constexpr std::array<Probe, 5> kSeccompProbes = {{
    {"clone3", try_clone3, nullptr, nullptr},
    {"pidfd_open", try_pidfd_open, nullptr, nullptr},
    {"mbind", try_mbind, nullptr, nullptr},
    {"set_mempolicy", try_set_mempolicy, nullptr, nullptr},
    {"ptrace", try_ptrace, nullptr, nullptr},
}};

// Runs each probe in a child, because a seccomp profile can kill the process that makes a call, and
// ptrace changes the relation to the parent.
Results answers_of(std::span<const Probe> probes, std::int64_t limit_ms) {
  std::vector<Part> parts;
  parts.reserve(probes.size());
  for (const Probe& probe : probes) {
    parts.push_back({.check = {}, .place = std::string(probe.name), .run = [&probe] {
                       const int error = probe.answer();
                       CheckResult result = ok("", probe.name);
                       if (error != 0) result.found = sys::errno_text(error);
                       return Results{std::move(result)};
                     }});
  }
  return run_all(parts, limit_ms);
}

// Returns a result for each refusal that matters to a job. `said` gets the other refusals.
Results judge(std::span<const Probe> probes, const Results& answers,
              std::vector<std::string>& said) {
  Results results;
  for (std::size_t i = 0; i < probes.size() && i < answers.size(); ++i) {
    const CheckResult& answer = answers[i];
    if (answer.verdict == CheckStatus::kFailed) {
      results.push_back(answer);
    } else if (answer.found.empty()) {
      continue;
    } else if (probes[i].found == nullptr) {
      said.push_back(answer.place + " " + answer.found);
    } else {
      results.push_back(
          warning(answer.found + ": " + probes[i].found, probes[i].fix, answer.place));
    }
  }
  return results;
}

std::vector<std::string> capability_digits(const std::string& status) {
  return {"effective " + std::string(field_of(status, "CapEff")),
          "bounding " + std::string(field_of(status, "CapBnd"))};
}

bool is_older(std::string_view release, int major, int minor) {
  const auto own_major = number_in(release.substr(0, release.find('.')));
  if (!own_major || release.find('.') == std::string_view::npos) return false;
  release.remove_prefix(release.find('.') + 1);
  const auto own_minor = number_in(release.substr(0, release.find_first_not_of("0123456789")));
  if (!own_minor) return false;
  return std::pair(*own_major, *own_minor) <
         std::pair(static_cast<std::uint64_t>(major), static_cast<std::uint64_t>(minor));
}

// Returns true for gVisor, whose version says nothing about its features. The version is
// "4.19.0-gvisor", earlier 4.4.0 with the line below (pkg/sentry/syscalls/linux/linux64.go).
bool is_gvisor(const utsname& name) {
  return std::string_view(name.release).find("gvisor") != std::string_view::npos ||
         std::string_view(name.version) == "#1 SMP Sun Jan 10 15:06:54 PST 2016";
}

}  // namespace

Results check_kernel(const Context& context) {
  utsname name{};
  ::uname(&name);
  const std::string release = name.release;
  std::vector<std::string> said;
  Results results =
      judge(kKernelProbes, answers_of(kKernelProbes, context.limit_ms * 8 / 10), said);
  const bool gvisor = is_gvisor(name);
  if (!gvisor && is_older(release, 4, 19)) {
    results.push_back(warning("Linux " + release, "use a host with Linux 4.19 or newer"));
  }
  if (results.empty()) {
    results.push_back(ok((gvisor ? "gVisor, as Linux " : "Linux ") + release + " " + name.machine));
  }
  return results;
}

Results check_seccomp(const Context& context) {
  const std::string status = text_of(context, "/proc/self/status");
  const std::string_view mode = field_of(status, "Seccomp");
  std::vector<std::string> said;
  const Results answers = answers_of(kSeccompProbes, context.limit_ms * 8 / 10);
  Results results = judge(kSeccompProbes, answers, said);
  // glibc from 2.34 on calls clone3, and falls back to the old call only after ENOSYS, not after
  // EPERM.
  if (!answers.empty() && answers[0].found.find("EPERM") != std::string::npos) {
    results.push_back(failed("EPERM: programs of glibc 2.34 or newer cannot start threads",
                             "update the container runtime (Docker 20.10.10), whose profile "
                             "answers ENOSYS",
                             "clone3"));
  }
  if (!results.empty()) return results;
  std::string found = mode == "2"   ? "a profile filters calls"
                      : mode == "0" ? "no profile"
                                    : "mode " + std::string(mode.empty() ? "not known" : mode);
  if (!said.empty()) found += "; refused: " + listed(said);
  const bool binds = found.find("mempolicy") == std::string::npos;
  if (!binds) found += "; numactl --membind would need the capability SYS_NICE";
  return {ok(std::move(found))};
}

Results check_clock(const Context& context) {
  constexpr std::int64_t kFirstMs = 1'700'000'000'000;  // November 2023
  constexpr std::int64_t kLastMs = 4'102'444'800'000;   // 2100
  constexpr std::int64_t kSlackMs = 60'000;
  const char* fix = "set the host's clock (chrony, ntpd): certificates and tokens depend on it";
  const std::int64_t now_ms = sys::wall_ms();
  const std::string text = sys::utc_text(now_ms);
  if (now_ms < kFirstMs || now_ms > kLastMs) return {failed(text, fix)};
  struct stat program{};
  if (::stat("/proc/self/exe", &program) == 0 &&
      std::int64_t{program.st_ctim.tv_sec} * 1000 > now_ms + kSlackMs) {
    return {warning(text + ", before this program's own file was written", fix)};
  }
  const std::int64_t before_ms = sys::monotonic_ms();
  sys::sleep_ms(5);
  const std::int64_t passed_ms = sys::monotonic_ms() - before_ms;
  if (passed_ms < 1) {
    return {failed("the monotonic clock stands still", "this host cannot run a job: reboot it")};
  }
  const std::string source =
      text_of(context, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  return {ok(text + (source.empty() ? "" : ", source " + source))};
}

Results check_user(const Context& context) {
  const std::string status = text_of(context, "/proc/self/status");
  std::string found = "uid " + std::to_string(::geteuid()) + ", gid " + std::to_string(::getegid());
  if (field_of(status, "NoNewPrivs") == "1") found += ", no new privileges";
  if (!status.empty()) found += "; capabilities: " + listed(capability_digits(status));
  const std::string home(context.env.get_or("HOME", ""));
  if (!home.empty() && home != "/" && ::access((context.root + home).c_str(), W_OK) != 0) {
    return {warning(found + "; HOME " + home + " cannot be written: " + sys::errno_text(errno),
                    "set HOME to a directory of this user: caches of frameworks lie there")};
  }
  return {ok(std::move(found))};
}

}  // namespace doctor
