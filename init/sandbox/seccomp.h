#pragma once
// The compiler of seccomp profiles to the filter that the kernel takes, based on libseccomp. There
// are two formats:
//   - moby's (profiles/seccomp/default.json): archMap, syscalls[] with names, args, includes and
//     excludes by arches, caps, minKernel
//   - OCI's (runtime-spec config-linux): architectures, syscalls[] of names, action, errnoRet, args
// Both may have the old form with a single `name` each.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "init/sandbox/profile.h"

namespace sandbox {

Host this_host(std::uint64_t capabilities);

struct Filter {
  std::string program;                // struct sock_filter[]
  std::vector<std::string> warnings;  // calls and architectures unknown to libseccomp
};

// The kernel's limit (BPF_MAXINSNS).
inline constexpr std::size_t kMaxInstructions = 4096;

// Compiles a profile; `where` names it in errors. Unknown calls are warnings, or errors with
// `strict`.
//
// Two kinds of calls get ENOSYS instead of another error, so that libcs fall back to older calls.
// One is clone3, also if only a default that kills refuses it. The other is every call newer than
// all that the profile knows (as in runc's filters).
//
// Errors: the text is not such a profile, the filter has more than kMaxInstructions, or the profile
// denies execve or exit_group. No program could start or end without these two calls.
base::Result<Filter> compile_profile(std::string_view json, const Host& host, bool strict,
                                     std::string_view where);

}  // namespace sandbox
