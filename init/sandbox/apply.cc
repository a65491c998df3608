#include "init/sandbox/apply.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "init/sandbox/capabilities.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace sandbox {
namespace {

using base::Status;
using envgen::Identity;
using envgen::Sandbox;

Status set_oom_score_adj(const Sandbox& sandbox) {
  if (!sandbox.settings.oom_score_adj) return {};
  constexpr const char* kPath = "/proc/self/oom_score_adj";
  const std::string value = std::to_string(*sandbox.settings.oom_score_adj);
  sys::Fd fd(::open(kPath, O_WRONLY | O_CLOEXEC));
  if (!fd.valid() && errno == EACCES) {  // while this process is not dumpable, the file belongs to
                                         // root
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    fd.reset(::open(kPath, O_WRONLY | O_CLOEXEC));
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  }
  if (fd.valid() && ::write(fd.get(), value.data(), value.size()) >= 0) return {};
  const int error = errno;
  return base::fail("setting oom_score_adj to " + value, kPath, sys::errno_text(error),
                    error == EACCES ? "only CAP_SYS_RESOURCE may lower it: choose a higher value"
                                    : "it needs /proc");
}

Status set_nice(const Sandbox& sandbox) {
  if (!sandbox.settings.nice || ::setpriority(PRIO_PROCESS, 0, *sandbox.settings.nice) == 0)
    return {};
  return base::fail("setting the nice value to " + std::to_string(*sandbox.settings.nice),
                    "setpriority", sys::errno_text(errno),
                    "give the container CAP_SYS_NICE, or choose 0 to 19");
}

Status set_limits(const Sandbox& sandbox) {
  for (const envgen::ResourceLimit& limit : sandbox.limits) {
    const rlimit value{limit.soft, limit.hard};
    if (::setrlimit(static_cast<__rlimit_resource>(limit.resource), &value) == 0) continue;
    return base::fail("setting a limit of the job",
                      std::string(envgen::resource_name(limit.resource)), sys::errno_text(errno),
                      "give the container that limit, or CAP_SYS_RESOURCE");
  }
  return {};
}

void set_umask(const Sandbox& sandbox) {
  if (sandbox.settings.umask) ::umask(static_cast<mode_t>(*sandbox.settings.umask));
}

Status drop_bounding_set(const Sandbox& sandbox) {
  return sandbox.capabilities ? drop_bounding(*sandbox.capabilities) : Status{};
}

// Sets the groups. Does nothing if they are already right, which needs no privilege: a platform may
// start the image as the user that the job names.
Status set_groups(const Identity& who) {
  if (has_groups(who.groups)) return {};
  const std::vector<gid_t> groups(who.groups.begin(), who.groups.end());
  if (::setgroups(groups.size(), groups.data()) == 0) return {};
  const int error = errno;
  if (error == EPERM && counts_as_groups(who.groups)) return {};
  return base::fail("setting the job's groups", "setgroups", sys::errno_text(error),
                    "give the container CAP_SETGID; a user namespace must allow it in "
                    "/proc/self/setgroups");
}

std::string unmapped(const char* kind, int error) {
  if (error != EINVAL) return std::string("give the container CAP_SET") + kind;
  return std::string("the user namespace of this container has no such ") + kind;
}

Status set_gid(const Identity& who) {
  if (::setresgid(who.gid, who.gid, who.gid) == 0) return {};
  const int error = errno;
  return base::fail("becoming the group " + std::to_string(who.gid), "setresgid",
                    sys::errno_text(error), unmapped("GID", error));
}

// Sets the uid. Without KEEPCAPS, no capability would survive the change, so none could become
// ambient.
Status set_uid(const Identity& who) {
  ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
  if (::setresuid(who.uid, who.uid, who.uid) == 0) return {};
  const int error = errno;
  return base::fail("becoming the user " + std::to_string(who.uid), "setresuid",
                    sys::errno_text(error),
                    error == EAGAIN ? "raise RLIMIT_NPROC" : unmapped("UID", error));
}

// Gives the job a new session keyring. A process in the caller's keyring could read its keys,
// whatever its uid is. The new keyring is created while root's quota counts, because that of an
// ordinary user ends at 200 keys. If the kernel has no keys, or a filter refuses the call, the job
// cannot use keys either.
Status leave_session_keyring(const Identity& who) {
  if (who.uid == ::geteuid()) return {};
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0) return {};
  const int error = errno;
  if (error == ENOSYS || error == EPERM) return {};
  return base::fail("making a session keyring for the job", "keyctl", sys::errno_text(error),
                    error == EDQUOT ? "raise kernel.keys.maxkeys" : "");
}

Status set_identity(const Sandbox& sandbox) {
  if (!sandbox.identity) return {};
  TRY(leave_session_keyring(*sandbox.identity));
  TRY(set_groups(*sandbox.identity));
  TRY(set_gid(*sandbox.identity));
  return set_uid(*sandbox.identity);
}

std::uint64_t inheritable_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return 0;
  return data[0].inheritable | static_cast<std::uint64_t>(data[1].inheritable) << 32;
}

// Sets the capability sets. The kernel computes the permitted set after the exec from the
// inheritable and ambient sets and, for root, from the bounding set. The CAP_SYS_ADMIN for the
// filter is in none of them.
Status set_capability_sets(const Sandbox& sandbox) {
  if (!sandbox.identity && !sandbox.capabilities && sandbox.ambient == 0) return {};
  TRY_ASSIGN(auto have, permitted_capabilities());
  const bool changed = sandbox.identity.has_value();
  const bool root = ::geteuid() == 0;
  const std::uint64_t keep = sandbox.capabilities.value_or(~0ULL);
  const std::uint64_t inheritable =
      (changed ? 0 : inheritable_capabilities() & keep) | sandbox.ambient;
  std::uint64_t permitted = changed && !root ? sandbox.ambient : have & keep;
  if (!sandbox.filter.empty() && !sandbox.settings.no_new_privs) {
    permitted |= have & capability_bit(CAP_SYS_ADMIN);
  }
  return set_capabilities(permitted, permitted, inheritable);
}

// Sets the ambient set. If the request names neither a user nor ambient capabilities, the caller's
// stay, as far as they are still permitted.
Status set_ambient(const Sandbox& sandbox) {
  if (!sandbox.identity && sandbox.ambient == 0) return {};
  return raise_ambient(sandbox.ambient);
}

Status set_no_new_privs(const Sandbox& sandbox) {
  if (!sandbox.settings.no_new_privs || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) return {};
  return base::fail("setting no_new_privs", "prctl", sys::errno_text(errno), "");
}

}  // namespace

std::vector<std::uint32_t> present_groups() {
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> present(static_cast<std::size_t>(std::max(count, 0)));
  if (::getgroups(count, present.data()) != count) present.clear();
  return present;
}

bool counts_as_groups(const std::vector<std::uint32_t>& wanted) {
  return present_groups().empty() && std::ranges::equal(wanted, std::array{::getegid()});
}

bool has_groups(std::vector<std::uint32_t> wanted) {
  std::vector<std::uint32_t> present = present_groups();
  std::ranges::sort(wanted);
  std::ranges::sort(present);
  return std::ranges::equal(wanted, present);
}

Status drop_privileges(const Sandbox& sandbox) {
  TRY(set_no_new_privs(sandbox));
  // Prevents tracing: a process of the job that traces this one could run any code in it, without
  // the filter. The exec makes this process dumpable again.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  TRY(set_oom_score_adj(sandbox));
  TRY(set_nice(sandbox));
  TRY(set_limits(sandbox));
  set_umask(sandbox);
  TRY(drop_bounding_set(sandbox));
  TRY(set_identity(sandbox));
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // the change of identity has reset it to fs.suid_dumpable
  TRY(set_capability_sets(sandbox));
  return set_ambient(sandbox);
}

// Installs the filter with SPEC_ALLOW, as runc does. Without that flag, filters since Linux 4.17
// slow down all memory reads of the job on some processors (against Spectre v4). Older kernels and
// gVisor do not know the flag.
Status install_seccomp(const Sandbox& sandbox) {
  if (sandbox.filter.empty()) return {};
  std::vector<sock_filter> steps(sandbox.filter.size() / sizeof(sock_filter));
  std::memcpy(steps.data(), sandbox.filter.data(), steps.size() * sizeof(sock_filter));
  const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) ==
      0) {
    return {};
  }
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return {};
  const int error = errno;
  return base::fail("loading the seccomp profile", sandbox.profile, sys::errno_text(error),
                    error == EACCES   ? "add --no-new-privs, or give the job CAP_SYS_ADMIN"
                    : error == EINVAL ? "this kernel has no seccomp filters"
                                      : "");
}

}  // namespace sandbox
