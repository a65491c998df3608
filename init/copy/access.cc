#include "init/copy/access.h"

namespace copy {
namespace {

constexpr mode_t kSetIds = S_ISUID | S_ISGID;

}  // namespace

void narrow(const Worker& worker, struct stat& status) {
  const Owner owner = owner_for(worker, status);
  const bool same = owner.uid == status.st_uid && owner.gid == status.st_gid;
  if (!same || !worker.job.options->set_ids) status.st_mode &= ~kSetIds;
}

}  // namespace copy
