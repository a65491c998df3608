#pragma once
// A seccomp profile as it was written, with its conditions answered for one host: what remains are
// the rules that hold there. Reading only; seccomp.h compiles it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sandbox {

// What the conditions of a profile are asked about.
struct Host {
  std::string arch;  // "amd64", "arm64"
  int kernel_major = 0;
  int kernel_minor = 0;
  std::uint64_t capabilities = 0;  // that the job may have
};

enum class Action : std::uint8_t { kKillProcess, kKillThread, kTrap, kErrno, kTrace, kLog, kAllow };

struct SyscallRule {
  Action action = Action::kAllow;
  std::uint16_t number = 0;  // kErrno: the errno; kTrace: what the tracer gets

  bool operator==(const SyscallRule&) const = default;
};
// The call is made; otherwise it is answered, or its caller is killed.
[[nodiscard]] constexpr bool lets_through(const SyscallRule& verdict) {
  return verdict.action == Action::kAllow || verdict.action == Action::kLog;
}

enum class Compare : std::uint8_t { kNe, kLt, kLe, kEq, kGe, kGt, kMaskedEq };

struct Condition {
  unsigned argument = 0;  // 0 to 5
  Compare compare = Compare::kEq;
  std::uint64_t value = 0;      // kMaskedEq: the mask
  std::uint64_t value_two = 0;  // kMaskedEq: what remains under the mask
};

struct Rule {
  std::vector<std::string> calls;
  SyscallRule verdict;
  std::vector<Condition> conditions;
  std::string where;  // "FILE: syscalls[3]"
};

struct Profile {
  SyscallRule default_verdict;
  std::vector<std::string> architectures;  // "SCMP_ARCH_X86", ...; the host's own is implied
  std::vector<Rule> rules;
  std::vector<std::string> warnings;
};

// Fails for what is neither moby's nor OCI's form, with the place below `where`.
envgen::Result<Profile> read_profile(std::string_view json, const Host& host,
                                     std::string_view where);

// What the profile answers to `call`. The first rule that looks at no argument and says something
// else than the default wins over all others on the call, wherever they stand (libseccomp's rule).
// Without one a rule with conditions counts when it lets through, as arguments are not known.
SyscallRule verdict_of(const Profile& profile, std::string_view call);

}  // namespace sandbox
