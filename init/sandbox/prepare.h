#pragma once
// Builds a complete sandbox from a request: users of the image's passwd and group files,
// capabilities, limits, the compiled filter. Runs in the resolver, because it reads files.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"

namespace sandbox {

struct Prepared {
  envgen::Sandbox sandbox;
  std::vector<std::string> warnings;
};

// Parses NAME=SOFT[:HARD], such as "nofile=64k", "core=0:unlimited" or "RLIMIT_STACK=8m". If there
// is only one value, it is both limits. k, m and g are powers of 1024; -1 means unlimited, as in
// Docker's --ulimit.
base::Result<envgen::ResourceLimit> parse_limit(std::string_view text);

// Prepares the sandbox. Everything that would foreseeably fail in the child fails here:
//   - an unknown user, group, capability or limit; one limit named twice
//   - a hard limit above trainit's without CAP_SYS_RESOURCE
//   - a change of user without CAP_SETUID, CAP_SETGID and CAP_KILL (to stop the job)
//   - capabilities taken away without CAP_SETPCAP
//   - ambient capabilities that the job does not keep
//   - a lower nice value without CAP_SYS_NICE
//   - a lower oom_score_adj without CAP_SYS_RESOURCE
// A filter without CAP_SYS_ADMIN implies no_new_privs, and a warning reports it. `root` is put
// before /etc/passwd and /etc/group, for tests; otherwise it is "".
base::Result<Prepared> prepare(const envgen::SandboxRequest& request, bool strict,
                               const std::string& root = {});

}  // namespace sandbox
