#pragma once
// The rank that failed first below a launcher, by what that printed and by the files of its ranks.
// For a worker: it parses what came from outside, and may hang on a mount.

#include <cstdint>
#include <string_view>

#include "envgen/failure/failure_catalog.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/sandbox.h"
#include "init/engine/state/failure.h"

namespace engine {

// `printed`: the end of the launcher's output. `process`: the launcher; its rank_dir is looked
// through for files that were written since `since_ms` (wall clock). `job_user`: the job's
// user, where it is another: all of it is done with that user's rights, so only in a process with a
// single thread, as sys::AsUser.
FoundRank find_rank(std::string_view printed, const envgen::Process& process,
                    const envgen::Identity* job_user, std::int64_t since_ms,
                    const envgen::FailureCatalog& catalog);

}  // namespace engine
