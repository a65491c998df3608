#pragma once
// A seccomp profile compiled to the filter that the kernel takes, by libseccomp. Two formats:
// moby's (profiles/seccomp/default.json: archMap, syscalls[] with names, args, includes and
// excludes by arches, caps, minKernel) and OCI's (runtime-spec config-linux: architectures,
// syscalls[] of names, action, errnoRet, args), with the old form of a single `name` each.

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
  std::vector<std::string> warnings;  // calls that libseccomp does not know, architectures likewise
};

// What the kernel takes (BPF_MAXINSNS).
inline constexpr std::size_t kMaxInstructions = 4096;

// `where` names the profile in errors. Unknown calls are warnings, or errors with `strict`. Two
// answers are ENOSYS where the profile says another error, so that libcs fall back to older calls:
// to clone3, and to calls newer than every call that the profile knows (as runc's filters do).
// Refused: what is not such a profile, more than kMaxInstructions, and a profile that denies
// execve or exit_group, by which no program could be started or end.
envgen::Result<Filter> compile_profile(std::string_view json, const Host& host, bool strict,
                                       std::string_view where);

}  // namespace sandbox
