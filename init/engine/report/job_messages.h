#pragma once
// The sentences about a job: what it starts, what failed, and why, as far as the kernel reports the
// reason.

#include <cstdint>
#include <optional>
#include <string>

#include "envgen/plan/plan.h"
#include "init/engine/state/failure.h"
#include "init/engine/tasks/job.h"
#include "lifecycle/machine.h"

namespace engine {

// Returns " on node 1" (this node) for a job of several nodes, otherwise "". The text follows a
// file name in messages that other nodes print too.
std::string on_node(const envgen::Plan& plan);

// Returns whether the job is one command on one node, without a platform. The start and a
// successful end of such a job are not logged.
bool is_plain(const envgen::Plan& plan);
// Returns whether to log the container's exit code. For an is_plain() job, only a code other than 0
// that the message about the failure does not have.
bool says_exit_code(const Job& job, int exit_code);

// Returns why a program did not start; the text has no word "starting".
std::string start_text(const proc::StartFailure& failure);

// Returns the log line about a start, for example "vk/mpi: node 0 of 2, starting mpirun, services:
// sshd".
std::string starting_text(const envgen::Plan& plan);

// Logs a warning if a service, a post-stop process or a hook that may fail has failed. That is no
// failure of the job.
void warn_of_end(const Job& job, const TaskRecord& record);

// Returns the message about the first failure: which process failed, how, when, and why as far as
// the kernel reports it. The message also names the file with its output, the processes that were
// stopped because of it, and what to do.
std::string describe_failure(const Job& job, const lifecycle::Machine& machine,
                             std::optional<std::uint64_t> oom_kills_now);

// Returns whether that message says no more than the exit code: the only process of the only node
// ended with this code, and no reason is known.
bool is_bare(const Job& job, const lifecycle::Machine& machine,
             std::optional<std::uint64_t> oom_kills_now);

// Returns the facts of that message as values, as far as they are known at the time of the failure.
FailureDetail detail_of(const Job& job, const lifecycle::Machine& machine,
                        std::optional<std::uint64_t> oom_kills_now);

// Returns how a task ended that was stopped because another task failed, for example "rank-8:
// SIGTERM".
std::string torn_down_text(const TaskRecord& record);

// Returns a warning for a job without a failure, if the OOM killer has killed a process since this
// start began; otherwise "".
std::string oom_warning(const Job& job, std::optional<std::uint64_t> oom_kills_now);

}  // namespace engine
