// Any variables, a line each, as what a platform injected: no crash, and a plan that comes out of
// them has no rank twice, a command in each process, and survives the way to PID 1.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/plan.h"
#include "envgen/resolve/resolve.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check(const envgen::Plan& plan) {
  std::set<int> ranks;
  for (const envgen::Process& process : plan.processes) {
    require(!process.argv.empty());
    if (process.rank >= 0) require(ranks.insert(process.rank).second);
  }
  require(!plan.processes.empty());
  auto decoded = envgen::decode_plan(envgen::encode_plan(plan));
  require(decoded && decoded->processes == plan.processes && decoded->env == plan.env);
}

// Every path that is asked for is a file with the same content, or none is there.
void resolve(envgen::Snapshot snapshot, const envgen::Request& request, bool files) {
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    envgen::Answer answer = envgen::resolve(snapshot, request);
    if (answer.wants.empty()) {
      if (const auto* planned = std::get_if<envgen::Planned>(&answer.outcome)) check(planned->plan);
      return;
    }
    for (const envgen::Want& want : answer.wants) {
      envgen::PathState& state = snapshot.paths[want.path];
      if (!files) continue;
      state.kind = envgen::PathState::Kind::kFile;
      state.content = "a\nb\nc\n";
      state.size_bytes = state.content.size();
    }
  }
}

}  // namespace

TRAINIT_FUZZER(platforms) {
  constexpr std::array kPlatforms = {
      "",           "modelarts", "dlc",     "vk",       "volcano",   "kubeflow", "slurm",
      "indexed",    "bare",      "local",   "vertex",   "sagemaker", "azureml",  "skypilot",
      "dstack",     "beaker",    "baseten", "metaflow", "mlp",       "lws",      "openpai",
      "determined", "lsf",       "pbs",     "tfconfig", "env"};
  constexpr std::array kFrameworks = {"",           "ascend",  "pytorch", "deepspeed",
                                      "tensorflow", "horovod", "mpi",     "single"};
  if (size < 2) return 0;
  envgen::Request request;
  request.platform = kPlatforms[data[0] % kPlatforms.size()];
  request.framework = kFrameworks[data[1] % kFrameworks.size()];
  if (data[1] > 127) request.torch_launcher = envgen::TorchLauncher::kFanOut;
  request.command = {"python", "train.py"};
  std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::vector<std::string> entries;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    entries.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  envgen::Snapshot snapshot;
  snapshot.env = base::Environ(std::move(entries));
  snapshot.facts.cwd = "/srv/job";
  snapshot.facts.host_name = "a";
  snapshot.facts.run_dir = "/run/trainit";
  snapshot.facts.program = "/trainit";
  resolve(snapshot, request, data[0] > 127);
  return 0;
}
