#include "init/sys/as_user.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/exit_codes.h"
#include "init/sys/death.h"
#include "init/sys/files.h"
#include "init/sys/permission.h"
#include "init/sys/safe_path.h"

namespace sys {
namespace {

// Returns whether capabilities would survive a change of the uid. The switch would then not
// restrict anything.
bool keeps_capabilities() {
  const int bits = ::prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
  return bits < 0 || (static_cast<unsigned>(bits) & SECBIT_NO_SETUID_FIXUP) != 0;
}

std::string name_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return ".";
  const std::size_t slash = path.rfind('/', end);
  return path.substr(slash + 1, end - slash);
}

}  // namespace

AsUser::AsUser(const envgen::Identity& who) : group_(::getegid()) {
  if (::geteuid() != 0 || who.uid == 0 || keeps_capabilities()) return;
  int count = ::getgroups(0, nullptr);
  groups_.resize(static_cast<std::size_t>(std::max(count, 0)));
  if (count > 0) count = ::getgroups(count, groups_.data());
  groups_.resize(static_cast<std::size_t>(std::max(count, 0)));
  int death = 0;
  ::prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0);
  const pid_t parent = ::getppid();
  std::vector<gid_t> theirs(who.groups.begin(), who.groups.end());
  std::ranges::sort(theirs);
  std::ranges::sort(groups_);
  // Calls setgroups(), which needs CAP_SETGID, only if the groups differ.
  if (theirs != groups_ && ::setgroups(theirs.size(), theirs.data()) != 0) return;
  // Changes only the effective ids: with that real uid, the user could send signals to trainit.
  switched_ = ::setegid(who.gid) == 0 && ::seteuid(who.uid) == 0;
  changed_groups_ = theirs != groups_;
  // A switch of only a part of the ids is dangerous. Exits if it cannot be undone.
  if (!switched_ && !restore_groups()) ::_exit(exit_code::kOwnFailure);
  die_with(parent, death);
}

bool AsUser::restore_groups() const {
  if (::setegid(group_) != 0) return false;
  return !changed_groups_ || ::setgroups(groups_.size(), groups_.data()) == 0;
}

AsUser::~AsUser() {
  if (!switched_) return;
  const int error = errno;
  int death = 0;
  ::prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0);
  const pid_t parent = ::getppid();
  // Exits, because trainit must never continue with another user's ids.
  if (::seteuid(0) != 0 || !restore_groups()) ::_exit(exit_code::kOwnFailure);
  die_with(parent, death);
  errno = error;
}

bool is_another_user(const envgen::Identity* job_user) {
  return job_user != nullptr && ::geteuid() == 0 && job_user->uid != 0;
}

bool take_rights(const std::optional<envgen::Identity>& job_user, std::optional<AsUser>& rights) {
  if (!is_another_user(job_user ? &*job_user : nullptr)) return true;
  rights.emplace(*job_user);
  return rights->switched();
}

base::Result<SafePath> resolve_safely_as(const envgen::Identity& job_user, const std::string& path,
                                         const SafePathRule& rule) {
  const std::string name = name_of(path);
  if (name != "." && name != "..") {
    const AsUser as(job_user);
    const std::string parent = parent_of(path);
    if (as.switched()) {
      // A failure is ignored: resolve_safely() reports what could not be created.
      if (rule.make_parents) std::ignore = make_directories(parent, *rule.make_parents);
      Fd directory(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      struct stat status{};
      if (directory.valid() && ::fstat(directory.get(), &status) == 0 &&
          may_replace(directory.get(), name)) {
        return SafePath{std::move(directory), name, described(parent, status), false};
      }
    }
  }
  SafePathRule ours = rule;
  ours.job_user = &job_user;
  return resolve_safely(path, ours);
}

base::Status with_rights_of(const envgen::Identity* job_user, const std::string& path,
                            const SafePathRule& rule,
                            const std::function<base::Status(const SafePath&)>& work) {
  base::Status status;
  const bool foreign = is_another_user(job_user);
  if (foreign) {
    const AsUser as(*job_user);
    status = base::fail("acting as the job's user", path,
                        "user " + std::to_string(job_user->uid) + ", whom we cannot become",
                        "give the container CAP_SETUID and CAP_SETGID");
    if (as.switched()) {
      const auto reached = resolve_safely(path, rule);
      status = reached ? work(*reached) : std::unexpected(reached.error());
      if (status) return status;
    }
  }
  SafePathRule ours = rule;
  ours.job_user = job_user;
  const auto reached = resolve_safely(path, ours);
  if (!reached && foreign && is_foreign_link(reached.error())) {
    base::Error error = reached.error();
    error.found += "; as user " + std::to_string(job_user->uid) + ": " + status.error().found;
    return std::unexpected(std::move(error));
  }
  if (!reached) return std::unexpected(reached.error());
  // If the job's user can change what the path means, trainit does not do what that user may not
  // do.
  if (foreign && !reached->untrusted_directory.empty()) return status;
  return work(*reached);
}

envgen::PathState inspect_as(const envgen::Identity* job_user, const std::string& path,
                             bool read_content) {
  if (!is_another_user(job_user)) return inspect(path, read_content);
  const auto reached = resolve_safely(path, {.job_user = job_user, .follow_last = true});
  if (reached && reached->untrusted_directory.empty()) return inspect(path, read_content);
  envgen::PathState state;
  state.kind = envgen::PathState::Kind::kError;
  state.error = EPERM;
  const AsUser as(*job_user);
  if (as.switched()) state = inspect(path, read_content);
  // A path that does not exist for trainit does not exist for the job's user either.
  const bool absent = !reached && is_absent(reached.error());
  if (absent && state.error == EACCES) return {};
  return state;
}

}  // namespace sys
