#pragma once
// What a worker finds in what the processes of a failed job printed last: the last lines of the one
// that failed, and the line that says why, which another one may have printed that died in the same
// breath.

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

// Rows of the image's own, *.json in the order of their names.
inline constexpr const char* kFailuresDirectory = "/etc/trainit/failures.d";

struct PrintedBy {
  std::string task;
  std::function<LastBytes()> read;
};

// How the first of them ended, as far as it matters here.
struct FailedHow {
  bool by_sigbus = false;
  bool by_oom = false;
  envgen::HowEnded own;  // of a process whose output is its own, and no launcher's
};

// The program's rows and those of `directory`. What is wrong there is added to `warnings`.
envgen::FailureCatalog failure_catalog(const std::string& directory,
                                       std::vector<std::string>* warnings);

// The cause by this output alone.
std::optional<FailureCause> cause_in(std::string_view printed,
                                     const envgen::FailureCatalog& catalog,
                                     const envgen::HowEnded& how = {});
// It is what the kernel knows, and not what was printed.
bool is_by_kernel(const FailureCause& cause);

// Tells what the first has printed, and once more where another one printed the cause. For a
// worker: it may hang.
void look_for_cause(const PrintedBy& first, const std::vector<PrintedBy>& others, FailedHow how,
                    const envgen::FailureCatalog& catalog,
                    const std::function<void(const PrintedEnd&)>& tell);

// Part of a failed process in its job's failure, by its last words and the signal that ended it
// ("SIGKILL", "" for an exit). A peer that has gone kills no process: a victim exits, aborts or
// dies of SIGPIPE.
lifecycle::NodeFailure::Role role_of(const std::optional<FailureCause>& cause,
                                     std::string_view signal);

// Index of the first failure among processes that failed at the same time, whose roles come in the
// order in which their ends were seen: the earliest, unless it is a victim; then a root, else one
// of open role.
std::size_t likely_first(const std::vector<lifecycle::NodeFailure::Role>& roles);

// Of /dev/shm, for a process that died of SIGBUS: "" where it has room.
std::string shm_text(std::uint64_t total_bytes, std::uint64_t free_bytes);

}  // namespace engine
