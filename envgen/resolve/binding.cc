#include "envgen/resolve/binding.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "envgen/formats/cpu_list.h"
#include "envgen/framework/framework.h"
#include "envgen/plan/command.h"
#include "envgen/plan/launch.h"
#include "envgen/resolve/locality.h"

namespace envgen {
namespace {

constexpr std::string_view kThreads = "OMP_NUM_THREADS";

// Returns the binding option of the launcher that `process` is, or that it serves. Returns "" for a
// rank, and for a command that is the whole node.
std::string_view launcher_option(const Plan& plan, const Process& process) {
  if (base_name(process.argv[0]) == "msrun") return "msrun --bind_core";
  const std::string_view framework = ParsedCommand(process.argv).framework();
  const FrameworkLauncher& own = launcher_of(plan.framework);
  // A process without a launcher and a rank is a worker's: the ssh launcher on another node binds
  // its ranks.
  if (framework.empty() && own.needs_ssh_peers && process.rank < 0) return own.bind_option;
  return launcher_of(framework).bind_option;
}

struct Share {
  Process* process = nullptr;
  CpuList cpus;
  std::string reason;  // where `cpus` comes from; if it is empty, why
  bool known = false;  // the place of the rank's device is known
};

std::vector<Process*> bound_processes(Plan& plan) {
  std::vector<Process*> list;
  for (Process& process : plan.processes) {
    if (process.rank >= 0) list.push_back(&process);
  }
  if (list.empty() && plan.processes.size() == 1) list.push_back(plan.processes.data());
  return list;
}

// Returns the CPUs of all devices together, for a command that is no rank.
Locality of_all(const std::vector<Locality>& places) {
  Locality all;
  for (const Locality& place : places) {
    if (place.cpus.empty()) return place;
    CpuList both;
    std::ranges::set_union(all.cpus, place.cpus, std::back_inserter(both));
    all.cpus = std::move(both);
    if (all.reason.find(place.reason) != std::string::npos) continue;
    all.reason += (all.reason.empty() ? "" : ", ") + place.reason;
  }
  return all;
}

std::vector<Share> shares_of(const std::vector<Process*>& processes,
                             const ResolvedCluster& resolved, const std::vector<Locality>& places,
                             const std::optional<CpuList>& usable) {
  std::vector<Share> shares;
  shares.reserve(processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i) {
    std::size_t at = i;
    // If the platform started several tasks on this node, a task may see all devices or only its
    // own.
    if (resolved.platform.own_rank) at = static_cast<std::size_t>(resolved.platform.local_rank);
    if (resolved.platform.own_rank && places.size() == 1) at = 0;
    Locality place;
    if (processes[i]->rank < 0) {
      place = of_all(places);
    } else if (at < places.size()) {
      place = places[at];
    }
    if (place.reason.empty()) {
      place.reason = places.empty()
                         ? "no device whose place is known"
                         : "there are only " + std::to_string(places.size()) + " devices";
    }
    Share share{processes[i], place.cpus, std::move(place.reason), !place.cpus.empty()};
    if (usable) share.cpus = common_cpus(share.cpus, *usable);
    if (share.known && share.cpus.empty()) {
      share.reason +=
          " has the CPUs " + cpu_list_text(place.cpus) + ", none of which this container may use";
    }
    shares.push_back(std::move(share));
  }
  return shares;
}

// Returns the physical cores: each with its CPUs that are in `cpus`, ordered by the first one. If
// the kernel has no data, each CPU is a core.
std::vector<CpuList> cores_of(Inputs& inputs, const CpuList& cpus) {
  std::vector<CpuList> cores;
  std::vector<bool> taken(cpus.empty() ? 0 : static_cast<std::size_t>(cpus.back()) + 1);
  for (const int cpu : cpus) {
    if (taken[static_cast<std::size_t>(cpu)]) continue;
    const PathState* state = inputs.content("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                                            "/topology/thread_siblings_list");
    CpuList core;
    if (state != nullptr) {
      core = common_cpus(parse_cpu_list(state->content).value_or(CpuList()), cpus);
    }
    if (std::ranges::find(core, cpu) == core.end()) core = {cpu};
    for (const int sibling : core) taken[static_cast<std::size_t>(sibling)] = true;
    cores.push_back(std::move(core));
  }
  return cores;
}

// Sets the number as a default: it replaces the launcher's guess, but not a value of the user or
// the platform.
void set_threads(Process& process, std::size_t threads) {
  const std::string value = std::to_string(std::max<std::size_t>(threads, 1));
  for (base::EnvEdit& edit : process.env) {
    if (edit.name != kThreads) continue;
    if (edit.kind == base::EnvEdit::Kind::kSetDefault) edit.value = value;
    return;
  }
  process.env.push_back({base::EnvEdit::Kind::kSetDefault, std::string(kThreads), value});
}

void bind_to(Share& share, const CpuList& cpus, std::string reason) {
  share.process->cpus = cpu_list_text(cpus);
  share.process->cpus_reason = std::move(reason);
}

// Binds the ranks of `group`, which have the same CPUs.
void bind_group(Inputs& inputs, Bind bind, const std::vector<Share*>& group) {
  const std::vector<CpuList> cores = cores_of(inputs, group[0]->cpus);
  const std::size_t ranks = group.size();
  const bool divided = bind == Bind::kCore && ranks > 1 && cores.size() >= ranks;
  for (std::size_t i = 0; i < ranks; ++i) {
    Share& share = *group[i];
    if (!divided) {
      bind_to(share, share.cpus, share.reason);
      set_threads(*share.process, cores.size() / ranks);
      continue;
    }
    const std::size_t first = i * cores.size() / ranks;
    const std::size_t end = (i + 1) * cores.size() / ranks;
    CpuList own;
    for (std::size_t core = first; core < end; ++core) {
      own.insert(own.end(), cores[core].begin(), cores[core].end());
    }
    std::ranges::sort(own);
    bind_to(share, own,
            std::to_string(end - first) + " of " + std::to_string(cores.size()) + " cores, " +
                share.reason);
    set_threads(*share.process, end - first);
  }
}

void bind_all(Inputs& inputs, Bind bind, std::vector<Share>& shares) {
  std::vector<bool> done(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (done[i] || shares[i].cpus.empty()) continue;
    std::vector<Share*> group;
    for (std::size_t j = i; j < shares.size(); ++j) {
      if (shares[j].cpus != shares[i].cpus) continue;
      done[j] = true;
      group.push_back(&shares[j]);
    }
    bind_group(inputs, bind, group);
  }
}

// Adds one warning for each different reason.
void warn_of_unbound(const std::vector<Share>& shares, const std::string& option, Plan& plan) {
  std::vector<std::string_view> told;
  for (const Share& share : shares) {
    if (!share.cpus.empty() || std::ranges::find(told, share.reason) != told.end()) continue;
    told.push_back(share.reason);
    const auto others = std::ranges::count(shares, share.reason, &Share::reason) - 1;
    std::string who = share.process->name;
    if (others > 0) who += " and " + std::to_string(others) + " more";
    plan.warnings.push_back(option + ": " + who + (others > 0 ? " stay" : " stays") +
                            " unbound: " + share.reason);
  }
}

// Divides all usable CPUs evenly among the ranks, if the place of a device is not known.
void share_evenly(std::vector<Share>& shares, const CpuList& usable, Plan& plan) {
  const auto unknown = std::ranges::find(shares, false, &Share::known);
  if (unknown == shares.end()) return;
  plan.warnings.push_back(
      "--bind core: the usable cores are divided evenly, wherever the devices "
      "are: " +
      unknown->reason);
  for (Share& share : shares) {
    share.cpus = usable;
    share.reason = "an even share";
  }
}

}  // namespace

void plan_binding(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan) {
  Bind bind = inputs.request().observe.bind;
  const std::vector<Process*> processes = bound_processes(plan);
  if (bind == Bind::kNone || processes.empty()) return;
  const std::string option = bind == Bind::kNuma ? "--bind numa" : "--bind core";
  const std::string_view others = launcher_option(plan, *processes[0]);
  if (!others.empty()) {
    plan.warnings.push_back(option + " binds nothing: the ranks are started by the launcher, use " +
                            std::string(others));
    return;
  }
  if (bind == Bind::kCore && resolved.platform.own_rank) {
    plan.warnings.emplace_back(
        "--bind core is --bind numa here: the platform starts each rank by itself, and divides "
        "the cores by an option of its own (srun --cpu-bind)");
    bind = Bind::kNuma;
  }
  std::vector<int> npus;
  for (const Process* process : processes) {
    if (process->device >= 0) npus.push_back(process->device);
  }
  const auto places = find_localities(inputs, planned_environment(inputs, plan), npus);
  if (!places) {
    plan.warnings.push_back(option + " binds nothing: " + to_line(places.error()));
    return;
  }
  const auto usable =
      inputs.facts().cpu_list.empty() ? std::nullopt : parse_cpu_list(inputs.facts().cpu_list);
  std::vector<Share> shares = shares_of(processes, resolved, *places, usable);
  if (bind == Bind::kCore && usable) share_evenly(shares, *usable, plan);
  bind_all(inputs, bind, shares);
  warn_of_unbound(shares, option, plan);
}

}  // namespace envgen
