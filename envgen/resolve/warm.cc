#include "envgen/resolve/warm.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/constants/words.h"
#include "envgen/plan/command.h"
#include "envgen/plan/parsed_command.h"

namespace envgen {
namespace {

// Variables that may differ between two starts, because no module reads them during its import: the
// number of starts, the rendezvous of the ranks, and what a socket activation passed to the first
// start.
constexpr auto kFree = base::words("TRAINIT_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT",
                                   "MASTER_PORT", "JAX_COORDINATOR_PORT", "JAX_COORDINATOR_ADDRESS",
                                   "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES");

bool is_free(std::string_view name, const std::vector<std::string>& free) {
  if (std::ranges::find(kFree, name) != kFree.end()) return true;
  return std::ranges::any_of(free, [name](std::string_view one) {
    if (!one.ends_with('*')) return one == name;
    one.remove_suffix(1);
    return name.starts_with(one);
  });
}

std::string_view name_of_entry(std::string_view entry) { return entry.substr(0, entry.find('=')); }

// Letters of Python options with which a spare cannot work: Python would not load sitecustomize,
// would ignore PYTHONPATH, or would read its program differently.
constexpr std::string_view kHindering = "EIShVix?";

// Returns why the process cannot have a spare; "" = it can.
std::string find_cold_reason(const Process& process, WarmProcess& warm) {
  const ParsedCommand command(process.argv);
  if (command.launcher()) {
    return "its command is a launcher, which starts the ranks by itself";
  }
  const auto& python = command.python();
  if (!python || python->text) return "its command is no Python script or module";
  if (const std::size_t at = python->letters.find_first_of(kHindering); at != std::string::npos) {
    return std::string("Python's option -") + python->letters[at] +
           " keeps it from loading what warms it";
  }
  warm = {.operand = static_cast<int>(python->operand), .module = python->module};
  return {};
}

}  // namespace

void plan_warm(const Inputs& inputs, Plan& plan) {
  const Request& request = inputs.request();
  const bool restarts = plan.policy.max_restarts > 0 || plan.policy.elastic;
  if (request.warm.empty()) return;
  WarmPlan& warm = plan.warm;
  warm.modules = request.warm;
  warm.free = request.warm_free;
  if (!inputs.facts().run_dir.empty()) warm.directory = join_path(inputs.facts().run_dir, "warm");
  for (const Process& process : plan.processes) {
    WarmProcess one;
    std::string reason = restarts ? find_cold_reason(process, one) : "the job is not restarted";
    if (!reason.empty() && warm.cold.empty()) warm.cold = process.name + ": " + reason;
    warm.processes.push_back(one);
  }
  if (!warm.cold.empty()) {
    plan.warnings.push_back("--warm: " + warm.cold + ", so a restart of it is a cold one");
  }
}

std::string warm_difference(const WarmStart& kept, const WarmStart& now,
                            const std::vector<std::string>& free) {
  const auto is_same = [](const WarmStart& a, const WarmStart& b, std::size_t at) {
    return at < a.argv.size() && at < b.argv.size() && a.argv[at] == b.argv[at];
  };
  if (!is_same(kept, now, 0)) return "its interpreter is another one";
  if (kept.argv != now.argv) return "its command is another one";
  if (kept.cwd != now.cwd) return "its working directory is another one";
  if (kept.cpus != now.cpus) return "its CPUs are others";
  std::set<std::string_view> names;
  for (const base::Environ* env : {&kept.env, &now.env}) {
    for (const std::string& entry : env->entries()) names.insert(name_of_entry(entry));
  }
  for (const std::string_view name : names) {
    if (kept.env.get(name) == now.env.get(name) || is_free(name, free)) continue;
    return std::string(name) + " is another one";
  }
  return {};
}

std::vector<std::string> warm_edits(const base::Environ& kept, const base::Environ& now) {
  std::vector<std::string> edits;
  for (const std::string& entry : now.entries()) {
    const std::string_view name = name_of_entry(entry);
    if (name.size() < entry.size() && kept.get(name) != now.get(name)) edits.push_back(entry);
  }
  for (const std::string& entry : kept.entries()) {
    const std::string_view name = name_of_entry(entry);
    if (!name.empty() && !now.get(name)) edits.emplace_back(name);
  }
  return edits;
}

base::Environ warm_environment(const base::Environ& env, const WarmPlan& warm, int channel) {
  base::Environ result = env;
  const auto path = env.get("PYTHONPATH");
  const std::string rest = path ? "=" + std::string(*path) : "-";
  result.apply({base::EnvEdit::Kind::kPutInFront, "PYTHONPATH", warm.directory});
  result.set(kWarmVariable, "probe " + std::to_string(channel) + " " + rest);
  return result;
}

std::vector<std::string> warm_command(const std::vector<std::string>& argv,
                                      const WarmProcess& process) {
  // Exits if the spare does not work: with an older Python, or with a wrapper that drops
  // PYTHONPATH.
  constexpr std::string_view kProbe =
      "import os, sys\n"
      "getattr(sys, '_trainit_warm', None) or sys.exit(3)\n"
      "os.execvpe(sys.argv[1], sys.argv[1:], sys._trainit_warm)\n";
  std::vector<std::string> command(argv.begin(), argv.begin() + process.operand);
  if (process.module) command.back().pop_back();  // removes the "m" of "-m" or "-um"
  if (command.back() == "--" || command.back() == "-") command.pop_back();
  command.emplace_back("-c");
  command.emplace_back(kProbe);
  command.insert(command.end(), argv.begin(), argv.end());
  return command;
}

}  // namespace envgen
