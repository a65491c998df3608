#pragma once
// Finds the cause of a job's failure in the last output of its processes. A worker reads the last
// lines of the failed process, and looks for the line that names the cause. A different process may
// have printed that line.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "envgen/failure/find_cause.h"
#include "init/engine/report/output_tail.h"
#include "init/engine/state/failure.h"
#include "lifecycle/node_messages.h"

namespace engine {

// Directory with the image's own rows of the failure catalogue: *.json, read in the order of their
// names.
inline constexpr const char* kFailuresDirectory = "/etc/trainit/failures.d";

struct PrintedBy {
  std::string task;
  std::function<LastBytes()> read;
};

// How the process that failed first ended, as far as it matters for the cause.
struct FailedHow {
  bool by_sigbus = false;
  bool by_oom = false;
  envgen::HowEnded own;  // how it ended; set only if the output is its own, not that of a launcher
};

// Returns the catalogue: trainit's own rows and those in `directory`. Adds faults in `directory` to
// `warnings`.
envgen::FailureCatalog failure_catalog(const std::string& directory,
                                       std::vector<std::string>* warnings);

// Returns the cause that this output names; nullopt: none.
std::optional<FailureCause> cause_in(std::string_view printed,
                                     const envgen::FailureCatalog& catalog,
                                     const envgen::HowEnded& how = {});
// Returns whether the cause comes from the kernel (the OOM killer, SIGBUS), not from printed
// output.
bool is_by_kernel(const FailureCause& cause);

// Reports the last lines of `first` and the cause in them to `tell`. If a process of `others`
// printed the cause, reports again. May hang, so it is for a worker.
void look_for_cause(const PrintedBy& first, const std::vector<PrintedBy>& others, FailedHow how,
                    const envgen::FailureCatalog& catalog,
                    const std::function<void(const PrintedEnd&)>& tell);

// Returns the role of a failed process in its job's failure. `cause`: from the process's own
// output. `signal`: the signal that ended it, such as "SIGKILL"; "": it exited. The loss of a peer
// kills no process: a victim exits, aborts or dies of SIGPIPE.
lifecycle::NodeFailure::Role role_of(const std::optional<FailureCause>& cause,
                                     std::string_view signal);

// Returns the index of the likely first failure among processes that failed at the same time.
// `roles`: their roles, in the order in which trainit saw their ends. That is the first process,
// unless it is a victim. In that case it is the first root, or without a root the first of open
// role.
std::size_t likely_first(const std::vector<lifecycle::NodeFailure::Role>& roles);

// Returns why /dev/shm may be the reason for a SIGBUS: it is full, or small; "": it is neither.
std::string shm_text(std::uint64_t total_bytes, std::uint64_t free_bytes);

}  // namespace engine
