#pragma once
// A seccomp profile as its author wrote it, reduced to the rules whose conditions hold on one host.
// This unit only reads; seccomp.h compiles.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sandbox {

// The facts that the conditions of a profile test.
struct Host {
  std::string arch;  // "amd64", "arm64"
  int kernel_major = 0;
  int kernel_minor = 0;
  std::uint64_t capabilities = 0;  // capabilities that the job may have
};

enum class Action : std::uint8_t { kKillProcess, kKillThread, kTrap, kErrno, kTrace, kLog, kAllow };

struct SyscallRule {
  Action action = Action::kAllow;
  std::uint16_t number = 0;  // errno of kErrno, or value for the tracer

  bool operator==(const SyscallRule&) const = default;
};
// Returns whether the call is made. Otherwise it gets an answer, or its caller is killed.
[[nodiscard]] constexpr bool lets_through(const SyscallRule& verdict) {
  return verdict.action == Action::kAllow || verdict.action == Action::kLog;
}

enum class Compare : std::uint8_t { kNe, kLt, kLe, kEq, kGe, kGt, kMaskedEq };

struct Condition {
  unsigned argument = 0;  // 0 to 5
  Compare compare = Compare::kEq;
  std::uint64_t value = 0;      // kMaskedEq: the mask
  std::uint64_t value_two = 0;  // kMaskedEq: the value under the mask
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

// Reads a profile. Fails for a text in neither moby's nor OCI's form, with the place below `where`.
base::Result<Profile> read_profile(std::string_view json, const Host& host, std::string_view where);

// Returns what the profile answers to `call`. The first rule that looks at no argument and differs
// from the default decides, wherever the other rules on the call are (libseccomp's rule). If no
// such rule exists, a rule with conditions counts if it lets the call through, because the
// arguments are unknown.
SyscallRule verdict_of(const Profile& profile, std::string_view call);

}  // namespace sandbox
