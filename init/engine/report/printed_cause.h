#pragma once
// The cause of a job's failure in the last output of its processes. A worker looks for the last
// lines of the failed process and for the line that names the cause. Another process may have
// printed that line.

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

// Catalog rows of the image, *.json in the order of their names.
inline constexpr const char* kFailuresDirectory = "/etc/trainit/failures.d";

struct PrintedBy {
  std::string task;
  std::function<LastBytes()> read;
};

// How the first failed process ended, as far as it matters for the cause.
struct FailedHow {
  bool by_sigbus = false;
  bool by_oom = false;
  envgen::HowEnded own;  // set if the output is of the process itself, not a launcher's
};

// Returns the program's rows and those of `directory`. Faults in `directory` are added to
// `warnings`.
envgen::FailureCatalog failure_catalog(const std::string& directory,
                                       std::vector<std::string>* warnings);

// Returns the cause according to this output alone.
std::optional<FailureCause> cause_in(std::string_view printed,
                                     const envgen::FailureCatalog& catalog,
                                     const envgen::HowEnded& how = {});
// Returns whether the cause is known from the kernel, and not from printed output.
bool is_by_kernel(const FailureCause& cause);

// Reports the last lines of `first` and the cause in them. If another process printed the cause,
// reports again. May hang, so it is for a worker.
void look_for_cause(const PrintedBy& first, const std::vector<PrintedBy>& others, FailedHow how,
                    const envgen::FailureCatalog& catalog,
                    const std::function<void(const PrintedEnd&)>& tell);

// Returns the role of a failed process in its job's failure. `cause` is from its own output;
// `signal` ended it ("SIGKILL", "" for an exit). The loss of a peer kills no process: a victim
// exits, aborts or dies of SIGPIPE.
lifecycle::NodeFailure::Role role_of(const std::optional<FailureCause>& cause,
                                     std::string_view signal);

// Returns the index of the likely first failure among processes that failed at the same time.
// `roles` has the order in which their ends were seen. The first process is chosen, unless it is a
// victim. In that case the first root is chosen, or the first of open role if no root is found.
std::size_t likely_first(const std::vector<lifecycle::NodeFailure::Role>& roles);

// Returns the state of /dev/shm for a process that died of SIGBUS; "" if it has room.
std::string shm_text(std::uint64_t total_bytes, std::uint64_t free_bytes);

}  // namespace engine
