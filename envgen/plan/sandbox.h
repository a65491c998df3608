#pragma once
// The sandbox of a job's processes: identity, capabilities, seccomp filter, limits. PID 1 itself
// has a sandbox only with --untrusted-image (init/sandbox/give_up.h). SandboxRequest is what the
// user wrote. Sandbox is the complete result of the resolver: names are looked up in the image's
// passwd, and the profile is compiled. So a forked child only makes system calls.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace envgen {

// Settings that need no lookup, so SandboxRequest and Sandbox share them.
struct ProcessSettings {
  bool no_new_privs = false;
  // True if trainit itself gave up its rights and has only those of the job (--untrusted-image).
  // Objects that it has held since its start then belong to another user.
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
  std::string caps;     // "none", a list of those to keep ("net_raw,kill") or to remove
                        // ("-mknod,-net_raw")
  std::string ambient;  // capabilities that a non-root user keeps after exec: "net_raw,..."
  std::string seccomp;  // profile file, in moby's or OCI's JSON
  std::vector<std::string> limits;  // "nofile=1024:4096", "core=0", "memlock=unlimited"
  ProcessSettings settings;

  // Returns true if the job has fewer rights than trainit. The sandbox is then a security boundary:
  // the job must not be able to change trainit.
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
  // Capabilities that the job may keep: the bounding set, bit n = capability n, as in
  // linux/capability.h. The permitted, effective and inheritable sets of a root process are
  // computed from it.
  std::optional<std::uint64_t> capabilities;
  std::uint64_t ambient = 0;
  std::string filter;   // struct sock_filter[] in the byte order of the machine; "" = none
  std::string profile;  // where the filter comes from, for messages
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

// Returns the name of a RLIMIT_* number, as in limits.conf and docker's --ulimit: "nofile" for
// RLIMIT_NOFILE. Returns "" for an unknown number.
std::string_view resource_name(int resource);

}  // namespace envgen
