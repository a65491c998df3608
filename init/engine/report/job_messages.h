#pragma once
// The messages about a job, as sentences: what it starts, what failed, and why as far as the kernel
// reports the reason.

#include <cstdint>
#include <optional>
#include <string>

#include "envgen/plan/plan.h"
#include "init/engine/state/failure.h"
#include "init/engine/tasks/job.h"
#include "lifecycle/machine.h"

namespace engine {

// Returns " on node 1" for a job of several nodes, and "" otherwise. The text follows a file name
// in a message that the other nodes print too.
std::string on_node(const envgen::Plan& plan);

// Returns whether the job is one command on one node and of no platform. Its start and a successful
// end are then not logged.
bool is_plain(const envgen::Plan& plan);
// Returns whether the container's exit code is new information after the message about the failure.
bool says_exit_code(const Job& job, int exit_code);

// Returns why a program did not start, without the word "starting".
std::string start_text(const proc::StartFailure& failure);

// Returns for example "vk/mpi: node 0 of 2, starting mpirun, services: sshd".
std::string starting_text(const envgen::Plan& plan);

// Warns of the failed end of a service, a post-stop process or a hook that may fail. Such an end is
// not a failure of the job.
void warn_of_end(const Job& job, const TaskRecord& record);

// Returns the one message about the first failure: which process failed, how, when, and why as far
// as the kernel reports it. The message also names the file of its output, the processes stopped
// because of it, and what to do.
std::string describe_failure(const Job& job, const lifecycle::Machine& machine,
                             std::optional<std::uint64_t> oom_kills_now);

// Returns whether that message has no more facts than the exit code. The only process of the only
// node ended with this code, and no reason is known.
bool is_bare(const Job& job, const lifecycle::Machine& machine,
             std::optional<std::uint64_t> oom_kills_now);

// Returns the facts of that message as a value, as far as they are known at the failure.
FailureDetail detail_of(const Job& job, const lifecycle::Machine& machine,
                        std::optional<std::uint64_t> oom_kills_now);

// Returns for example "rank-8: SIGTERM", for a task that was stopped because another task failed.
std::string torn_down_text(const TaskRecord& record);

// Returns a warning for a job without a failure if the OOM killer has killed a process; ""
// otherwise.
std::string oom_warning(const Job& job, std::optional<std::uint64_t> oom_kills_now);

}  // namespace engine
