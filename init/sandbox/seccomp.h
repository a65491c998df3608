#pragma once
// Compiles seccomp profiles to the filter that the kernel takes, with libseccomp. There are two
// formats:
//  - moby's (profiles/seccomp/default.json): archMap, syscalls[] with names, args, includes and
//    excludes by arches, caps, minKernel
//  - OCI's (runtime-spec config-linux): architectures, syscalls[] of names, action, errnoRet, args
// In both, each rule may have a single `name` instead of a list (the old form).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "init/sandbox/profile.h"

namespace sandbox {

Host this_host(std::uint64_t capabilities);

struct Filter {
  std::string program;                // the filter, struct sock_filter[]
  std::vector<std::string> warnings;  // about calls and architectures that libseccomp does not know
};

// Maximum size of a filter in the kernel (BPF_MAXINSNS).
inline constexpr std::size_t kMaxInstructions = 4096;

// Compiles a profile; `where` names it in errors. A call that libseccomp does not know is a
// warning, or an error with `strict`.
//
// Two kinds of refused calls fail with ENOSYS instead of the profile's error, so that libcs fall
// back to older calls. One is clone3, even if only a default that kills refuses it. The other is
// every call that is newer than all calls in the profile, as in runc's filters.
//
// Fails if the text is not such a profile, if the filter has more than kMaxInstructions, or if the
// profile denies execve or exit_group: no program could start or end.
base::Result<Filter> compile_profile(std::string_view json, const Host& host, bool strict,
                                     std::string_view where);

}  // namespace sandbox
