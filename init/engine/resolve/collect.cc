#include "init/engine/resolve/collect.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "envgen/platform/table_location.h"
#include "init/proc/child_run.h"
#include "init/proc/privileged.h"
#include "init/sandbox/prepare.h"
#include "init/sys/as_user.h"
#include "init/sys/safe_path.h"

namespace engine {
namespace {

// Limit of the rounds; no resolution needs as many. In each round the paths are examined that
// resolve() wanted in the round before.
constexpr int kMaxRounds = 16;

envgen::PathState ask_npu_smi(const base::Environ& start) {
  constexpr std::int64_t kLimitMs = 10'000;
  constexpr std::size_t kMaxBytes = 256UL * 1024;
  const auto tool = proc::find_driver_tool("npu-smi", start);
  if (!tool) return {};
  auto answered =
      proc::capture(*tool, {"info", "-t", "topo"}, {.time_ms = kLimitMs, .most_bytes = kMaxBytes});
  envgen::PathState state;
  if (!answered) return state;
  state.kind = answered->late ? envgen::PathState::Kind::kError : envgen::PathState::Kind::kFile;
  state.error = answered->late ? ETIMEDOUT : 0;
  if (!answered->late) state.content = std::move(answered->output);
  return state;
}

// Returns the job's user if trainit is root and --user is given, otherwise nullopt. If that user is
// not found, also nullopt: the start fails later for that reason.
std::optional<envgen::Identity> job_of(const envgen::Request& request) {
  if (request.sandbox.user.empty() || ::geteuid() != 0) return std::nullopt;
  envgen::SandboxRequest user;
  user.user = request.sandbox.user;
  const auto prepared = sandbox::prepare(user, false);
  return prepared ? prepared->sandbox.identity : std::nullopt;
}

}  // namespace

envgen::Answer collect_and_resolve(envgen::Snapshot& snapshot, const envgen::Request& request) {
  envgen::Answer answer;
  const std::optional<envgen::Identity> job = job_of(request);
  envgen::TableMemo memo;
  for (int round = 0; round < kMaxRounds; ++round) {
    answer = envgen::resolve(snapshot, request, &memo);
    const std::vector<envgen::Want> wants = std::move(answer.wants);
    if (wants.empty()) return answer;
    auto* planned = std::get_if<envgen::Planned>(&answer.outcome);
    if (planned != nullptr && planned->plan.cluster) {
      memo.take_back(std::move(planned->plan.cluster->nodes));
    }
    answer = {};  // frees the plan before the next one is made, as a large job's plan is large
    for (const envgen::Want& want : wants) {
      // Use the rights of the job's user: the content of an input can get into messages and into
      // files that the job may read.
      envgen::PathState state =
          want.path == envgen::kNpuTopologyCommand
              ? ask_npu_smi(snapshot.env)
              : sys::inspect_as(job ? &*job : nullptr, want.path, want.content);
      // Set the size to that of the content. If the file has shrunk meanwhile, resolve() would
      // otherwise want it again and again.
      if (want.content && state.kind == envgen::PathState::Kind::kFile) {
        state.size_bytes = state.content.size();
      }
      snapshot.paths[want.path] = std::move(state);
    }
  }
  answer.outcome = base::Error{"resolving the job", "", "a resolution that never ends",
                               "this is a defect of trainit: report it with `trainit snapshot`"};
  return answer;
}

}  // namespace engine
