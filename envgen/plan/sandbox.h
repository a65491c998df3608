#pragma once
// The sandbox of a job's processes: identity, capabilities, seccomp filter, limits. PID 1 itself
// has one with --untrusted-image alone (init/sandbox/give_up.h). The request is what the user
// wrote; the sandbox is what the resolver made of it (names looked up in the image's passwd, the
// profile compiled), complete, so that a forked child has only system calls left to make.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace envgen {

// What nothing has to be looked up for: the same in the request and in what is made of it.
struct ProcessSettings {
  bool no_new_privs = false;
  // trainit gave up its own rights for the job's: what it was started with is another user's.
  bool given_up = false;
  std::optional<std::uint32_t> umask;
  std::optional<int> nice;
  std::optional<int> oom_score_adj;

  bool operator==(const ProcessSettings&) const = default;
};
inline void fields(FieldVisitor& v, ProcessSettings& settings) {
  v("no_new_privs", settings.no_new_privs);
  v("given_up", settings.given_up);
  v("umask", settings.umask);
  v("nice", settings.nice);
  v("oom_score_adj", settings.oom_score_adj);
}

// As written on the command line; empty or unset = not asked for.
struct SandboxRequest {
  std::string user;     // NAME|UID[:GROUP|GID]
  std::string caps;     // "none", "net_raw,kill" to keep, "-mknod,-net_raw" to take away
  std::string ambient;  // capabilities that survive the exec of a non-root user: "net_raw,..."
  std::string seccomp;  // a profile's file, in moby's or OCI's JSON
  std::vector<std::string> limits;  // "nofile=1024:4096", "core=0", "memlock=unlimited"
  ProcessSettings settings;

  // True if the job gets less than trainit has, so that it must not change trainit.
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
inline void fields(FieldVisitor& v, ResourceLimit& limit) {
  v("resource", limit.resource, {.least = 0, .most = kResources - 1});
  v("soft", limit.soft);
  v("hard", limit.hard);
}

struct Identity {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;  // supplementary, the primary one included
  std::string name;                   // "" where the passwd has none
  std::string home;                   // "/" where the passwd has none

  bool operator==(const Identity&) const = default;
};
inline void fields(FieldVisitor& v, Identity& who) {
  v("name", who.name);
  v("uid", who.uid);
  v("gid", who.gid);
  v("groups", who.groups);
  v("home", who.home);
}

struct Sandbox {
  std::optional<Identity> identity;
  // Bit n = capability n, as in linux/capability.h. What may be kept: the bounding set; the
  // permitted, effective and inheritable ones of a root process follow from it.
  std::optional<std::uint64_t> capabilities;
  std::uint64_t ambient = 0;
  std::string filter;   // struct sock_filter[], in the machine's own byte order; "" = none
  std::string profile;  // where the filter came from
  std::vector<ResourceLimit> limits;
  ProcessSettings settings;

  [[nodiscard]] bool empty() const { return *this == Sandbox{}; }
  bool operator==(const Sandbox&) const = default;
};
inline void fields(FieldVisitor& v, Sandbox& sandbox) {
  v("user", sandbox.identity);
  v("capabilities", sandbox.capabilities);
  v("ambient", sandbox.ambient);
  v("filter", sandbox.filter);
  v("profile", sandbox.profile);
  v("limits", sandbox.limits, {.most_items = kResources});
  fields(v, sandbox.settings);
}

// "nofile" for RLIMIT_NOFILE, as in limits.conf and docker's --ulimit; "" for none.
std::string_view resource_name(int resource);

}  // namespace envgen
