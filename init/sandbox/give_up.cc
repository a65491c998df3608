#include "init/sandbox/give_up.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <utility>

#include "base/text.h"
#include "init/sandbox/apply.h"
#include "init/sandbox/capabilities.h"
#include "init/sandbox/passwd.h"
#include "init/sys/fd.h"

namespace sandbox {
namespace {

using base::Result;
using envgen::Identity;
using envgen::SandboxRequest;

std::unexpected<base::Error> refuse_user(std::string found) {
  return base::fail("reading the options", "--user", std::move(found),
                    "give --user UID:GID in numbers on the command line, not 0: with "
                    "--untrusted-image neither the image's variables nor its passwd choose it");
}

Result<Identity> identity_of(const std::string& user) {
  const bool numbers = user.find_first_not_of("0123456789:") == std::string::npos;
  if (!numbers || !user.contains(':')) return refuse_user(base::quoted(user));
  TRY_ASSIGN(auto identity, find_identity(user, "", "", "--user"));
  if (identity.uid == 0) return refuse_user("uid 0");
  return identity;
}

std::string lost_groups(const Identity& identity) {
  std::string lost;
  for (const std::uint32_t gid : present_groups()) {
    if (gid == identity.gid || gid == ::getegid()) continue;
    lost += (lost.empty() ? "" : ", ") + std::to_string(gid);
  }
  return lost;
}

bool has_terminal() {
  return sys::Fd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)).valid();
}

// Leaves the controlling terminal of another session, because with a terminal a process can type
// text (TIOCSTI) that its reader executes.
base::Status leave_terminal() {
  if (::getsid(0) == ::getpid()) return {};
  const sys::Fd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  // Also tries the standard streams, because there may be no /dev/tty.
  for (const int fd : {terminal.get(), STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fd >= 0 && ::ioctl(fd, TIOCNOTTY) == 0) return {};
  }
  if (!has_terminal()) return {};
  return base::fail("giving up the rights", "/dev/tty", "a controlling terminal that stays",
                    "start trainit without a terminal");
}

}  // namespace

Result<std::string> give_up_rights(const SandboxRequest& asked,
                                   const std::function<void(const Identity&)>& before_drop) {
  envgen::Sandbox rights;
  rights.settings.no_new_privs = true;
  std::string lost;
  if (asked.user.empty() && ::geteuid() == 0) return refuse_user("no user");
  if (!asked.user.empty()) {
    TRY_ASSIGN(rights.identity, identity_of(asked.user));
    lost = lost_groups(*rights.identity);
  }
  TRY_ASSIGN(const std::uint64_t permitted, permitted_capabilities());
  const std::uint64_t bounding = bounding_capabilities();
  std::uint64_t kept = 0;
  if (!asked.caps.empty()) {
    TRY_ASSIGN(kept, keep_capabilities(asked.caps, bounding, "--caps"));
  }
  if (!asked.ambient.empty()) {
    TRY_ASSIGN(rights.ambient, keep_capabilities(asked.ambient, permitted, "--ambient"));
    kept |= rights.ambient;
  }
  // Without CAP_SETPCAP the bounding set stays; no_new_privs prevents that a program gains a
  // capability from it.
  const bool may_drop = (permitted & capability_bit(CAP_SETPCAP)) != 0;
  rights.capabilities = may_drop ? kept : bounding;
  if (rights.identity) before_drop(*rights.identity);
  sys::close_descriptors(STDERR_FILENO + 1, {});
  TRY(drop_privileges(rights));
  TRY(leave_terminal());
  TRY(set_capabilities(rights.ambient, rights.ambient, rights.ambient));
  TRY(raise_ambient(rights.ambient));
  // Makes the process dumpable. Otherwise root would own the files in /proc/self.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  return lost.empty() ? lost
                      : "--untrusted-image: leaving the supplementary groups " + lost +
                            ", which the image's files may have given";
}

}  // namespace sandbox
