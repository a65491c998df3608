#include "init/sys/borrowed.h"

#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace sys {
namespace {

bool is_ambient(int capability) {
  return ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1;
}

bool has_other_than_ambient() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  for (int capability = 0; capability < 64; ++capability) {
    const auto word = static_cast<std::size_t>(CAP_TO_INDEX(capability));
    if ((sets[word].permitted & CAP_TO_MASK(capability)) != 0 && !is_ambient(capability)) {
      return true;
    }
  }
  return false;
}

}  // namespace

ExecRights exec_rights() {
  ExecRights rights{.secure = ::getauxval(AT_SECURE) != 0,
                    .uid = static_cast<uid_t>(::getauxval(AT_UID)),
                    .effective_uid = static_cast<uid_t>(::getauxval(AT_EUID)),
                    .gid = static_cast<gid_t>(::getauxval(AT_GID)),
                    .effective_gid = static_cast<gid_t>(::getauxval(AT_EGID))};
  // If the caller is root, it gains nothing.
  rights.gains_capabilities = rights.secure && rights.uid != 0 && has_other_than_ambient();
  return rights;
}

std::string borrowed(const ExecRights& rights) {
  if (!rights.secure) return {};
  if (rights.uid != rights.effective_uid) {
    return "the set-user-ID bit: uid " + std::to_string(rights.uid) +
           " would have the rights of uid " + std::to_string(rights.effective_uid);
  }
  if (rights.gid != rights.effective_gid) {
    return "the set-group-ID bit: gid " + std::to_string(rights.gid) +
           " would have the rights of gid " + std::to_string(rights.effective_gid);
  }
  if (rights.gains_capabilities) {
    return "file capabilities, which uid " + std::to_string(rights.uid) + " has not by itself";
  }
  return {};
}

}  // namespace sys
