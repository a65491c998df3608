#pragma once
// The sandbox of a job's processes: identity, capabilities, seccomp filter, limits. PID 1 itself
// has a sandbox only with --untrusted-image (init/sandbox/give_up.h).
// The request is what the user wrote. The sandbox is the resolver's complete result, with names
// looked up in the image's passwd and the profile compiled. So a forked child only has to make
// system calls.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace envgen {

// Settings that need no lookup, so the request and the sandbox share them.
struct ProcessSettings {
  bool no_new_privs = false;
  // True if trainit gave up its own rights and took the job's. Objects that it was started with
  // belong to another user.
  bool given_up = false;
  std::optional<std::uint32_t> umask;
  std::optional<int> nice;
  std::optional<int> oom_score_adj;

  bool operator==(const ProcessSettings&) const = default;
};
inline void fields(base::FieldVisitor& v, ProcessSettings& settings) {
  v("no_new_privs", settings.no_new_privs);
  v("given_up", settings.given_up);
  v("umask", settings.umask);
  v("nice", settings.nice);
  v("oom_score_adj", settings.oom_score_adj);
}

// The options as written on the command line; empty or unset = not requested.
struct SandboxRequest {
  std::string user;     // NAME|UID[:GROUP|GID]
  std::string caps;     // "none", "net_raw,kill" to keep, "-mknod,-net_raw" to remove
  std::string ambient;  // capabilities that survive the exec of a non-root user: "net_raw,..."
  std::string seccomp;  // profile file, in moby's or OCI's JSON
  std::vector<std::string> limits;  // "nofile=1024:4096", "core=0", "memlock=unlimited"
  ProcessSettings settings;

  // Returns true if the job has fewer rights than trainit, so that it must not change trainit.
  [[nodiscard]] bool is_border() const {
    return !user.empty() || !caps.empty() || settings.no_new_privs || !seccomp.empty();
  }
  bool operator==(const SandboxRequest&) const = default;
};

struct ResourceLimit {
  int resource = 0;  // RLIMIT_*
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;  // ~0 = unlimited, as RLIM_INFINITY

  bool operator==(const ResourceLimit&) const = default;
};
inline constexpr int kResources = 16;
inline void fields(base::FieldVisitor& v, ResourceLimit& limit) {
  v("resource", limit.resource, {.least = 0, .most = kResources - 1});
  v("soft", limit.soft);
  v("hard", limit.hard);
}

struct Identity {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;  // supplementary groups, including the primary one
  std::string name;                   // "" if the passwd has none
  std::string home;                   // "/" if the passwd has none

  bool operator==(const Identity&) const = default;
};
inline void fields(base::FieldVisitor& v, Identity& who) {
  v("name", who.name);
  v("uid", who.uid);
  v("gid", who.gid);
  v("groups", who.groups);
  v("home", who.home);
}

struct Sandbox {
  std::optional<Identity> identity;
  // Capabilities that may be kept, as a bounding set: bit n = capability n, as in
  // linux/capability.h. The permitted, effective and inheritable sets of a root process follow from
  // it.
  std::optional<std::uint64_t> capabilities;
  std::uint64_t ambient = 0;
  std::string filter;   // struct sock_filter[], in the machine's byte order; "" = none
  std::string profile;  // name of the filter's source
  std::vector<ResourceLimit> limits;
  ProcessSettings settings;

  [[nodiscard]] bool empty() const { return *this == Sandbox{}; }
  bool operator==(const Sandbox&) const = default;
};
inline void fields(base::FieldVisitor& v, Sandbox& sandbox) {
  v("user", sandbox.identity);
  v("capabilities", sandbox.capabilities);
  v("ambient", sandbox.ambient);
  v("filter", sandbox.filter);
  v("profile", sandbox.profile);
  v("limits", sandbox.limits, {.most_items = kResources});
  fields(v, sandbox.settings);
}

// Returns "nofile" for RLIMIT_NOFILE, as in limits.conf and docker's --ulimit; "" if not known.
std::string_view resource_name(int resource);

}  // namespace envgen
