#pragma once
// The messages about a job, in sentences: what it starts, what failed and why as far as the kernel
// tells.

#include <cstdint>
#include <optional>
#include <string>

#include "envgen/plan/plan.h"
#include "init/engine/state/failure.h"
#include "init/engine/tasks/job.h"
#include "lifecycle/machine.h"

namespace engine {

// " on node 1", behind what the message of a job of several nodes says of a file: the other nodes
// print it too. "" otherwise.
std::string on_node(const envgen::Plan& plan);

// One command on one node, of no platform: that it starts, and that it ended well, need not be
// said.
bool is_plain(const envgen::Plan& plan);
// Whether the container's exit code is news behind what was said of the failure.
bool says_exit_code(const Job& job, int exit_code);

// Why a program did not start, what to do first: the rest may be as long as a PATH.
std::string start_text(const proc::StartFailure& failure);

// "vk/mpi: node 0 of 2, starting mpirun, services: sshd"
std::string starting_text(const envgen::Plan& plan);

// Warns of a service, a post-stop process or a hook that may fail: its end is no failure of the
// job.
void warn_of_end(const Job& job, const TaskRecord& record);

// The one message about what failed first: who, how, when, why as far as the kernel tells, where
// its output is, who was stopped because of it, what to do.
std::string describe_failure(const Job& job, const lifecycle::Machine& machine,
                             std::optional<std::uint64_t> oom_kills_now);

// Whether that tells no more than the exit code does: the only process of the only node has ended
// with it, and nobody knows why.
bool is_bare(const Job& job, const lifecycle::Machine& machine,
             std::optional<std::uint64_t> oom_kills_now);

// The same as a value, as far as it is known when it has happened.
FailureDetail detail_of(const Job& job, const lifecycle::Machine& machine,
                        std::optional<std::uint64_t> oom_kills_now);

// "rank-8: SIGTERM", of a task that was stopped because another one failed.
std::string torn_down_text(const TaskRecord& record);

// For a job without a failure: the kernel killed something for its memory; "" where it did not.
std::string oom_warning(const Job& job, std::optional<std::uint64_t> oom_kills_now);

}  // namespace engine
