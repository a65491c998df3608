#pragma once
// Searches for the rank that failed first below a launcher, in the launcher's output and in the
// files of its ranks. For a worker: the search parses data from outside, and may hang on a mount.

#include <cstdint>
#include <string_view>

#include "envgen/failure/failure_catalog.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/sandbox.h"
#include "init/engine/state/failure.h"

namespace engine {

// Returns the rank that failed first below the launcher `process`. If no rank was found, its `text`
// is "". `printed`: the end of the launcher's output. Files in Process::rank_dir count if they were
// written since `since_ms` (wall clock). `job_user`: the job's user; nullptr if it is trainit's
// own. The search uses that user's rights (sys::AsUser), so the caller must have a single thread.
FoundRank find_rank(std::string_view printed, const envgen::Process& process,
                    const envgen::Identity* job_user, std::int64_t since_ms,
                    const envgen::FailureCatalog& catalog);

}  // namespace engine
