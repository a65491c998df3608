#pragma once
// Reads a seccomp profile and keeps only the rules whose conditions are true on one host. seccomp.h
// compiles it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sandbox {

// The facts that the conditions of a profile can test.
struct Host {
  std::string arch;  // "amd64", "arm64"
  int kernel_major = 0;
  int kernel_minor = 0;
  std::uint64_t capabilities = 0;  // capabilities that the job may have
};

enum class Action : std::uint8_t { kKillProcess, kKillThread, kTrap, kErrno, kTrace, kLog, kAllow };

struct SyscallRule {
  Action action = Action::kAllow;
  std::uint16_t number = 0;  // for kErrno the errno, otherwise the value that a tracer gets

  bool operator==(const SyscallRule&) const = default;
};
// Returns true if the kernel executes the call. Otherwise the call fails with an errno or is
// answered by a tracer, or its caller is killed.
[[nodiscard]] constexpr bool lets_through(const SyscallRule& verdict) {
  return verdict.action == Action::kAllow || verdict.action == Action::kLog;
}

enum class Compare : std::uint8_t { kNe, kLt, kLe, kEq, kGe, kGt, kMaskedEq };

struct Condition {
  unsigned argument = 0;  // index of the argument, 0 to 5
  Compare compare = Compare::kEq;
  std::uint64_t value = 0;      // kMaskedEq: the mask
  std::uint64_t value_two = 0;  // kMaskedEq: the value under the mask
};

struct Rule {
  std::vector<std::string> calls;
  SyscallRule verdict;
  std::vector<Condition> conditions;
  std::string where;  // place in the profile: "FILE: syscalls[3]"
};

struct Profile {
  SyscallRule default_verdict;
  std::vector<std::string> architectures;  // further architectures, "SCMP_ARCH_X86", ...; the
                                           // host's own is always included
  std::vector<Rule> rules;
  std::vector<std::string> warnings;
};

// Reads a profile. Fails for a text that has neither moby's nor OCI's form. The error says where:
// `where` and the place in the text.
base::Result<Profile> read_profile(std::string_view json, const Host& host, std::string_view where);

// Returns what the profile answers to `call`. By libseccomp's rule, the first rule decides that
// looks at no argument and differs from the default, wherever the other rules for the call are. If
// there is no such rule, a rule with conditions counts if it lets the call through, because the
// arguments are not known.
SyscallRule verdict_of(const Profile& profile, std::string_view call);

}  // namespace sandbox
