#include "init/engine/collect.h"

#include <cerrno>

#include "init/proc/capture.h"
#include "init/proc/driver_tool.h"
#include "init/sys/files.h"

namespace engine {
namespace {

// A resolution asks for the table's place, the table, then the arguments: three rounds.
constexpr int kMostRounds = 16;

envgen::PathState ask_npu_smi(const envgen::Environ& base) {
  constexpr std::int64_t kLimitMs = 10'000;
  constexpr std::size_t kMostBytes = 256UL * 1024;
  const auto tool = proc::find_driver_tool("npu-smi", base);
  if (!tool) return {};
  envgen::Environ env = tool->env;
  // Where the runtime mounts what it is linked with.
  for (const char* directory :
       {"/usr/local/Ascend/driver/lib64/common", "/usr/local/Ascend/driver/lib64/driver"}) {
    env.apply({envgen::EnvEdit::Kind::kPrependPath, "LD_LIBRARY_PATH", directory});
  }
  auto told = proc::capture({tool->path, "info", "-t", "topo"}, env, kLimitMs, kMostBytes);
  envgen::PathState state;
  if (!told) return state;
  state.kind = told->late ? envgen::PathState::Kind::kError : envgen::PathState::Kind::kFile;
  state.error = told->late ? ETIMEDOUT : 0;
  if (!told->late) state.content = std::move(told->output);
  return state;
}

envgen::PathState look_at(const envgen::Want& want, const envgen::Environ& env) {
  if (want.path == envgen::kNpuTopologyCommand) return ask_npu_smi(env);
  return sys::look(want.path, want.content);
}

}  // namespace

envgen::Answer collect_and_resolve(envgen::Snapshot& snapshot, const envgen::Request& request) {
  envgen::Answer answer;
  for (int round = 0; round < kMostRounds; ++round) {
    answer = envgen::resolve(snapshot, request);
    if (answer.wants.empty()) return answer;
    for (const envgen::Want& want : answer.wants) {
      envgen::PathState state = look_at(want, snapshot.env);
      // What was read is what counts: a file that shrinks meanwhile must not be wanted forever.
      if (want.content && state.kind == envgen::PathState::Kind::kFile) {
        state.size_bytes = state.content.size();
      }
      snapshot.paths[want.path] = std::move(state);
    }
  }
  answer.outcome = envgen::Error{"resolving the job", "", "a resolution that never ends",
                                 "this is a defect of trainit: report it with `trainit snapshot`"};
  return answer;
}

}  // namespace engine
