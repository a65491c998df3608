#include "envgen/show/plan_text.h"

#include <utility>

#include "base/text.h"
#include "envgen/plan/dataset_json.h"
#include "envgen/plan/env_delta.h"
#include "envgen/plan/observation_json.h"
#include "envgen/plan/policy_json.h"
#include "envgen/plan/sandbox_json.h"
#include "envgen/show/plan_parts.h"

namespace envgen {
namespace {

class Listing {
 public:
  Listing(const Plan& plan, const base::Environ& base) : plan_(plan), deltas_(plan.env, base) {}

  void add(const base::ShownLines& part) { lines_.add(part); }
  // Adds the platform, this node's place, the waits and the warnings.
  void add_place();
  // Adds the preparations before the first process starts.
  void add_preparations();
  void add_processes();
  void add_hooks(const HookNotes& notes);
  void add_link();
  [[nodiscard]] base::ShownLines take() { return std::move(lines_); }

 private:
  void add_process(const Process& process);

  const Plan& plan_;
  Deltas deltas_;
  base::ShownLines lines_;
};

void Listing::add_place() {
  lines_.add(
      {"platform ", plan_.platform, " (", plan_.platform_reason, "), framework ", plan_.framework});
  if (plan_.local_node) {
    lines_.add({"node ", std::to_string(plan_.local_node->node_rank), " of ",
                std::to_string(plan_.node_count), " (", plan_.local_node->reason, "), world size ",
                std::to_string(plan_.world_size)});
  }
  for (const Wait& wait : plan_.waits) {
    if (wait.why.empty()) {
      lines_.add({"waited for ", wait.path, ": it is ready"});
    } else {
      lines_.add(
          {"waits for ", wait.path, ", at most ", base::seconds(wait.timeout_ms), ": ", wait.why});
    }
  }
  for (const std::string& warning : plan_.warnings) lines_.add({"warning: ", warning});
}

void Listing::add_preparations() {
  lines_.add(data_text(plan_.datasets, plan_.data));
  for (const PlannedDirectory& directory : plan_.directories) {
    lines_.add({"directory ", directory.path, directory.clean ? ", emptied first" : ""});
  }
  for (const PlannedFile& file : plan_.files) {
    const auto size = file.content.size();
    lines_.add({"writes ", file.path, size ? ", " + std::to_string(*size) + " bytes" : ""});
  }
  lines_.add(script_lines(plan_));
  if (plan_.peers) {
    lines_.add({"waits for ", std::to_string(plan_.peers->hosts.size()), " peers, at most ",
                base::seconds(plan_.peers->timeout_ms)});
  }
  lines_.add(preflight_lines(plan_));
}

void Listing::add_process(const Process& process) {
  const EnvDelta delta = deltas_.of(process.env);
  const std::string device =
      process.device >= 0 ? " (device " + std::to_string(process.device) + ")" : "";
  lines_.add({"  ", process.name, device, ": ", base::shown_command(process.argv)});
  const bool both = process.echo && !process.log.empty();
  lines_.add(
      {"    in ", process.cwd, ", output to ",
       process.log.empty() ? "stdout and stderr" : std::string_view(process.log),
       both ? " and stdout and stderr" : "", process.tee ? " through the tee" : "",
       process.prefix.empty() ? "" : base::concat({", lines behind \"", process.prefix, "\""})});
  if (!process.cpus.empty()) {
    lines_.add({"    on CPUs ", process.cpus, ": ", process.cpus_reason});
  }
  for (const auto& [name, value] : delta.set) {
    const bool chosen = is_free_port(plan_, name);
    lines_.add({"    ", name, chosen ? "" : "=", chosen ? kFreePort : value_text(value)});
  }
  for (const std::string& name : delta.unset) lines_.add({"    ", name, " unset"});
}

void Listing::add_processes() {
  lines_.add({"starts ", std::to_string(plan_.processes.size()),
              plan_.processes.size() == 1 ? " process" : " processes"});
  if (!plan_.sandbox.empty()) lines_.add({"  confined: ", sandbox_text(plan_.sandbox)});
  for (const Process& process : plan_.processes) add_process(process);
  if (plan_.scheduler) lines_.add({plan_.scheduler->host, " becomes an address at the start"});
  for (const Process& process : plan_.services) {
    lines_.add({"beside them"});
    add_process(process);
  }
  for (const Process& process : plan_.post_stop) {
    lines_.add({"afterwards"});
    add_process(process);
  }
}

void Listing::add_hooks(const HookNotes& notes) {
  const base::Budget stop = stop_budget(plan_);
  for (const HookGroup& group : plan_.hooks) {
    const std::string_view event = name_of(group.event);
    for (const std::string& path : group.paths) {
      if (!can_happen(plan_, group.event) || notes.idle.contains(path)) continue;
      const auto when = notes.when.find(path);
      const bool is_script = path == group.script;
      lines_.add({"hook at ", event, ": ", path, is_script ? " " : "", is_script ? event : "",
                  when == notes.when.end() ? "" : base::concat({" (", when->second, ")"}),
                  ", at most ", base::seconds(group.timeout_ms),
                  within_stop_text(stop, group.event, group.timeout_ms),
                  group.fatal ? "; its failure ends the job" : ""});
    }
  }
  lines_.add(hook_right_lines(plan_));
}

void Listing::add_link() {
  if (!plan_.link) return;
  const NodeLink& link = *plan_.link;
  lines_.add({"link to node 0 at ", link.address, ":", std::to_string(link.port),
              link.stops ? ": a failure on one node stops all" : ": a failure on one node is told",
              link.secret_file.empty() ? "; " : "; its secret is ",
              link.secret_file.empty() ? kNoSecret : link.secret_file});
}

}  // namespace

base::ShownLines plan_listing(const Plan& plan, const base::Environ& base, const HookNotes& hooks) {
  Listing listing(plan, base);
  listing.add_place();
  listing.add_preparations();
  listing.add_processes();
  listing.add_hooks(hooks);
  listing.add(policy_text(plan.policy, stop_budget(plan)));
  listing.add(watches_text(plan.observe));
  listing.add(device_wait_lines(plan));
  listing.add(warm_lines(plan));
  listing.add_link();
  return listing.take();
}

base::ShownLines plan_to_text(const Plan& plan, const base::Environ& base) {
  return plan_listing(plan, base, {});
}

}  // namespace envgen
