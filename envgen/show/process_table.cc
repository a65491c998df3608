#include "envgen/show/process_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/constants/words.h"
#include "base/stable_sort.h"
#include "base/text.h"
#include "envgen/plan/env_delta.h"
#include "envgen/show/plan_parts.h"
#include "envgen/show/rank_pattern.h"

namespace envgen {
namespace {

constexpr const char* kNoValue = "-";
constexpr std::size_t kMaxCellBytes = 16;  // of a variable with a column of its own
constexpr std::size_t kMaxColumns = 6;     // before that of the output

// Beginnings of names in the order in which variables are shown. The others follow.
constexpr auto kOrder =
    base::words("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
                "ROLE_", "MASTER_", "PET_", "TORCHELASTIC_", "TF_", "JAX_", "MS_", "PADDLE_",
                "DEVICE_", "ASCEND_", "HCCL_", "NCCL_", "TORCH_", "GLOO_");

// Settings for all engines that an image can have. A summary counts them.
constexpr auto kEnginePrefixes = base::words("OMPI_", "PRTE_", "HYDRA_", "I_MPI_");
constexpr std::string_view kEngines = "settings of Open MPI, MPICH and Intel MPI (--verbose)";
constexpr std::size_t kMaxEngineNames = 6;

std::size_t place_of(std::string_view name) {
  std::size_t place = 0;
  while (place < kOrder.size() && !name.starts_with(kOrder[place])) ++place;
  return place;
}

bool is_engine_setting(std::string_view name) {
  return std::ranges::any_of(kEnginePrefixes,
                             [name](auto prefix) { return name.starts_with(prefix); });
}

using Values = std::map<std::string, std::vector<std::string>>;  // by name, for each process

struct Environments {
  std::vector<EnvDelta> deltas;
  std::vector<std::string> names;  // in the order in which they are shown
};

Environments environments_of(const Plan& plan, const base::Environ& base) {
  Environments all;
  Deltas deltas(plan.env, base);
  std::set<std::string> names;
  for (const Process& process : plan.processes) {
    all.deltas.push_back(deltas.of(process.env));
    for (const auto& [name, value] : all.deltas.back().set) names.insert(name);
  }
  all.names.assign(names.begin(), names.end());
  base::stable_sort(all.names, std::less<>(),
                    [](const std::string& name) { return place_of(name); });
  return all;
}

// Returns the values of `name`; kNoValue for a process that does not get it.
std::vector<std::string> values_of(const Environments& all, const std::string& name) {
  std::vector<std::string> values;
  for (const EnvDelta& delta : all.deltas) {
    const auto found = delta.set.find(name);
    values.push_back(found == delta.set.end() ? kNoValue : found->second);
  }
  return values;
}

bool are_equal(const std::vector<std::string>& values) {
  return std::ranges::all_of(values, [&](const std::string& value) { return value == values[0]; });
}

// Puts a variable that differs into a pattern, or into a column if its values are short. A process
// that is no rank, as a scheduler, may lack what all ranks have.
void add_differing(const std::string& name, std::vector<std::string> values, ProcessTable& table) {
  std::vector<std::string> present = values;
  const bool lacks = std::erase(present, kNoValue) > 0;
  const std::string pattern = pattern_of(present);
  for (std::string& value : values) value = value_text(value);
  const bool fits =
      table.columns.size() < kMaxColumns &&
      std::ranges::all_of(values, [](const auto& value) { return value.size() <= kMaxCellBytes; });
  if (!pattern.empty()) {
    table.patterns.push_back(
        base::concat({name, " ", value_text(pattern), lacks ? " (not all)" : ""}));
  } else if (fits) {
    table.columns.push_back({name, std::move(values)});
  } else {
    table.patterns.push_back(name + " (differs: --verbose)");
  }
}

void add_variables(const Plan& plan, const base::Environ& base, ProcessTable& table) {
  const Environments all = environments_of(plan, base);
  const auto engine_count = std::ranges::count_if(all.names, is_engine_setting);
  const bool counted = static_cast<std::size_t>(engine_count) > kMaxEngineNames;
  for (const std::string& name : all.names) {
    if (counted && is_engine_setting(name)) continue;
    std::vector<std::string> values = values_of(all, name);
    if (!are_equal(values)) {
      add_differing(name, std::move(values), table);
    } else if (is_free_port(plan, name)) {
      table.shared.push_back(name + std::string(kFreePort));
    } else {
      table.shared.push_back(base::concat({name, "=", value_text(values[0])}));
    }
  }
  if (counted) table.settings = base::concat({std::to_string(engine_count), " ", kEngines});
  std::set<std::string> unset;
  for (const EnvDelta& delta : all.deltas) unset.insert(delta.unset.begin(), delta.unset.end());
  table.unset.assign(unset.begin(), unset.end());
}

// Returns the directory of all files, if it is only one; "" otherwise.
std::string common_directory(const std::vector<Process>& processes) {
  std::string common;
  for (const Process& process : processes) {
    if (process.log.empty()) continue;
    const std::string directory = process.log.substr(0, process.log.rfind('/'));
    if (!common.empty() && directory != common) return {};
    common = directory;
  }
  return common;
}

void add_output(const Plan& plan, ProcessTable& table) {
  Column column{"output", {}};
  table.log_directory = common_directory(plan.processes);
  const std::string& directory = table.log_directory;
  for (const Process& process : plan.processes) {
    std::string text = output_of(process);
    if (!directory.empty() && text.starts_with(directory)) text.erase(0, directory.size() + 1);
    column.cells.push_back(std::move(text));
  }
  table.columns.push_back(std::move(column));
}

// Adds the columns that say which process a row is.
void add_identity(const Plan& plan, ProcessTable& table) {
  Column rank{"rank", {}};
  Column local{"local rank", {}};
  Column device{"device", {}};
  int index = 0;
  for (const Process& process : plan.processes) {
    const bool is_rank = process.rank >= 0;
    rank.cells.push_back(is_rank ? std::to_string(process.rank) : process.name);
    local.cells.push_back(is_rank ? std::to_string(index++) : "-");
    device.cells.push_back(process.device >= 0 ? std::to_string(process.device) : "-");
  }
  const bool has_devices = std::ranges::any_of(
      plan.processes, [](const Process& process) { return process.device >= 0; });
  table.columns.push_back(std::move(rank));
  table.columns.push_back(std::move(local));
  if (has_devices) table.columns.push_back(std::move(device));
}

void add_cpus(const Plan& plan, ProcessTable& table) {
  Column cpus{"CPUs", {}};
  std::vector<std::string> reasons;
  for (const Process& process : plan.processes) {
    cpus.cells.push_back(process.cpus.empty() ? "all" : process.cpus);
    reasons.push_back(process.cpus_reason);
  }
  std::vector<std::string> present = reasons;
  std::erase(present, "");
  if (present.empty()) return;
  present = differing_words(present, table.cpus_reason);
  table.columns.push_back(std::move(cpus));
  if (are_equal(present)) return;
  Column from{"of", {}};
  auto next = present.begin();
  for (const std::string& reason : reasons) {
    from.cells.push_back(reason.empty() ? kNoValue : std::move(*next++));
  }
  table.columns.push_back(std::move(from));
}

}  // namespace

std::string output_of(const Process& process) {
  if (process.log.empty()) return "stdout and stderr";
  return process.log + (process.echo ? ", stdout and stderr" : "");
}

ProcessTable table_of(const Plan& plan, const base::Environ& base) {
  ProcessTable table;
  if (plan.processes.size() > 1) {
    add_identity(plan, table);
    add_cpus(plan, table);
  }
  add_variables(plan, base, table);
  if (plan.processes.size() > 1) add_output(plan, table);
  return table;
}

}  // namespace envgen
