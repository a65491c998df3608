#include <algorithm>
#include <utility>

#include "base/printed_text.h"
#include "base/secrets/secrets.h"
#include "base/shown_lines.h"
#include "base/text.h"
#include "envgen/framework/ssh.h"
#include "envgen/plan/dataset_json.h"
#include "envgen/plan/observation_json.h"
#include "envgen/plan/policy_json.h"
#include "envgen/plan/sandbox_json.h"
#include "envgen/show/paragraph.h"
#include "envgen/show/plan_parts.h"
#include "envgen/show/plan_text.h"
#include "envgen/show/process_table.h"
#include "envgen/show/rank_pattern.h"

namespace envgen {
namespace {

constexpr std::size_t kMaxFileLines = 8;
constexpr std::size_t kMaxFileBytes = 4096;
constexpr std::uint32_t kRunBits = 0111;  // a script of trainit's own
constexpr std::size_t kMaxValueLines = 2;
constexpr std::size_t kMaxJsonLines = 8;
constexpr std::size_t kMaxTableRanks = 64;  // a rank table of more ranks has no 8 lines
constexpr std::size_t kLabelColumns = 8;
constexpr std::size_t kRoom = kColumns - kLabelColumns;

std::string count_of(std::size_t count, std::string_view one, std::string_view many) {
  return base::concat({std::to_string(count), " ", count == 1 ? one : many});
}

class Summary {
 public:
  Summary(const Plan& plan, const base::Environ& base, const SummaryFacts& facts)
      : plan_(plan), base_(base), facts_(facts) {}

  void add_place();
  void add_warnings();
  void add_start();
  void add_files();
  void add_hooks();
  void add_helpers();
  void add_end();
  [[nodiscard]] base::ShownLines take() { return std::move(lines_); }

 private:
  void add(std::string_view head, std::string_view text) { add_paragraph(lines_, head, text); }
  // Adds one line, whose end is cut if it is too long.
  void add_line(std::string_view text);
  // Adds each line of a part as a paragraph. Its later lines are indented by two columns.
  void add_part(const base::ShownLines& part);
  void add_items(std::string_view label, const std::vector<std::string>& items,
                 std::string_view separator);
  [[nodiscard]] std::string other_nodes() const;
  void add_commands();
  void add_table(const ProcessTable& table);
  void add_file(const PlannedFile& file);
  [[nodiscard]] std::string success_text(std::string_view fails) const;
  void add_success();

  const Plan& plan_;
  const base::Environ& base_;
  const SummaryFacts& facts_;
  base::ShownLines lines_;
};

void Summary::add_line(std::string_view text) {
  const std::string shown = base::escaped_text(base::mask_secrets(text));
  lines_.add({cut_to(shown, kColumns)});
}

void Summary::add_part(const base::ShownLines& part) {
  std::string_view rest = part.text();
  while (!rest.empty()) {
    const std::string_view line = base::take_line(rest);
    const std::size_t head = std::min<std::size_t>(line.find_first_not_of(' ') + 2, line.size());
    add(line.substr(0, head), line.substr(head));
  }
}

// Adds the platform, this node's place among the others, and what the plan waits for.
void Summary::add_place() {
  base::ShownLines place;
  place.add(
      {"platform ", plan_.platform, " (", plan_.platform_reason, "), framework ", plan_.framework});
  if (plan_.local_node) {
    const auto rank = static_cast<std::size_t>(plan_.local_node->node_rank);
    const std::string& reason = plan_.local_node->reason;
    std::string host;
    if (plan_.cluster && rank < plan_.cluster->nodes.size()) {
      host = plan_.cluster->nodes[rank].host;
    }
    const auto line = [&](std::string_view name) {
      return base::concat({"node ", std::to_string(rank), " of ", std::to_string(plan_.node_count),
                           " (", name, name.empty() ? "" : "; ", reason, "), world size ",
                           std::to_string(plan_.world_size)});
    };
    std::string own = line(host);
    // The name is less than the world size, which scripts look for in the same line.
    if (reason.contains(host) || columns_of(own) > kColumns) own = line("");
    const std::string others = other_nodes();
    const bool fits = others.empty() || columns_of(own) + 2 + columns_of(others) <= kColumns;
    place.add({own, fits && !others.empty() ? "; " : "", fits ? others : ""});
    if (!fits) place.add({others});
  }
  add_part(place);
  for (const Wait& wait : plan_.waits) {
    if (wait.why.empty()) {
      add("", base::concat({"waited for ", wait.path, ": it is ready"}));
    } else {
      add("waits ", base::concat({"for ", wait.path, ", at most ", base::seconds(wait.timeout_ms),
                                  ": ", wait.why}));
    }
  }
}

// Returns the other nodes, as many as fit in one line.
std::string Summary::other_nodes() const {
  if (!plan_.cluster || !plan_.local_node || plan_.cluster->nodes.size() < 2) return {};
  const std::vector<Node>& nodes = plan_.cluster->nodes;
  std::string line = nodes.size() == 2 ? "other node:" : "other nodes:";
  constexpr std::size_t kMoreColumns = 18;  // ", and 10000 more"
  std::size_t shown = 0;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const Node& node = nodes[rank];
    if (std::cmp_equal(rank, plan_.local_node->node_rank) || node.host.empty()) continue;
    const std::string before =
        base::concat({line, shown == 0 ? " " : ", ", std::to_string(rank), " "});
    const std::string role =
        node.role.empty() || node.role == "worker" ? "" : base::concat({" (", node.role, ")"});
    const std::size_t taken = columns_of(before) + columns_of(role) + kMoreColumns;
    const std::size_t room = kColumns - std::min(taken, kColumns);
    if (shown > 0 && columns_of(node.host) > room) break;
    line = base::concat({before, shortened(node.host, room), role});
    ++shown;
  }
  if (shown == 0) return {};
  const std::size_t more = nodes.size() - 1 - shown;
  if (more > 0) line += " and " + std::to_string(more) + " more";
  return line;
}

void Summary::add_warnings() {
  for (const std::string& warning : plan_.warnings) add("warning: ", warning);
}

// Adds items behind a label. The value of a long item is cut.
void Summary::add_items(std::string_view label, const std::vector<std::string>& items,
                        std::string_view separator) {
  std::string text;
  for (const std::string& item : items) {
    std::string shown = item;
    // The parts of an object in JSON are readable if its lines break between them.
    const bool object = shown.contains("={") || shown.contains("='{");
    if (object && columns_of(shown) > kRoom) {
      for (std::size_t at = 0; (at = shown.find(",\"", at)) != std::string::npos; at += 2) {
        shown.insert(at + 1, " ");
      }
    }
    const std::size_t most = (object ? kMaxJsonLines - 1 : kMaxValueLines) * kRoom;
    text += base::concat({text.empty() ? "" : separator, shortened(shown, most)});
  }
  std::string head = "  " + std::string(label);
  head.resize(kLabelColumns, ' ');
  if (!text.empty()) add(head, text);
}

void Summary::add_commands() {
  std::vector<std::string> commands;
  commands.reserve(plan_.processes.size());
  for (const Process& process : plan_.processes) {
    commands.push_back(base::shown_command(process.argv));
  }
  const std::string pattern = pattern_of(commands);
  const std::string given = base::shown_command(facts_.command);
  const bool changed = !facts_.command.empty() && given != pattern;
  std::string note;
  if (changed && !is_worker(plan_)) note = base::concat({"  (given: ", given, ")"});
  const bool fits = columns_of(pattern) + columns_of(note) + 2 <= kColumns;
  for (std::size_t i = 0; i < commands.size() && (pattern.empty() || i == 0); ++i) {
    const std::string text = pattern.empty()
                                 ? base::concat({plan_.processes[i].name, ": ", commands[i]})
                                 : base::concat({pattern, fits ? note : ""});
    add_paragraph(lines_, "  ", text, LongWord::kKeep);
  }
  if (!changed || (fits && !note.empty() && !pattern.empty())) return;
  add_paragraph(lines_, is_worker(plan_) ? "  the launcher starts here: " : "  given: ", given,
                LongWord::kKeep);
}

void Summary::add_start() {
  const std::vector<Process>& processes = plan_.processes;
  if (processes.empty()) {
    add("", "starts nothing before this wait ends, then plans the command:");
    add_paragraph(lines_, "  ", base::shown_command(facts_.command), LongWord::kKeep);
    return;
  }
  const bool ranks = std::ranges::all_of(processes, [](const auto& p) { return p.rank >= 0; });
  std::vector<std::string> directories;
  directories.reserve(processes.size());
  for (const Process& process : processes) directories.push_back(process.cwd);
  std::string where = pattern_of(directories);
  if (where.empty()) where = directories[0] + " and others (--verbose)";
  const bool one = processes.size() == 1;
  add("",
      base::concat(
          {"starts ",
           one ? processes[0].name
               : base::concat({std::to_string(processes.size()), ranks ? " ranks" : " processes"}),
           one && processes[0].device >= 0
               ? base::concat({" (device ", std::to_string(processes[0].device), ")"})
               : "",
           " in ", where, one ? ", output to " : "", one ? output_of(processes[0]) : ""}));
  add_commands();
  if (!plan_.sandbox.empty()) add("  confined: ", sandbox_text(plan_.sandbox));
  if (one && !processes[0].cpus.empty()) {
    add("  CPUs  ", base::concat({processes[0].cpus, ": ", processes[0].cpus_reason}));
  }
  const ProcessTable table = table_of(plan_, base_);
  add_items(one ? "sets" : "all", table.shared, " ");
  add_items("each", table.patterns, ", ");
  add_items("unset", table.unset, " ");
  if (!table.settings.empty()) add("  and   ", table.settings);
  add_table(table);
  if (plan_.scheduler) add("", plan_.scheduler->host + " becomes an address at the start");
}

void Summary::add_table(const ProcessTable& table) {
  if (table.columns.empty()) return;
  const std::string& directory = table.log_directory;
  std::vector<Column> columns = table.columns;
  if (!directory.empty()) columns.back().title += " (files in " + directory + ")";
  const bool fits = width_of(columns) <= kColumns;
  add_columns(lines_, fits ? columns : table.columns);
  if (!fits && !directory.empty()) add("  files in ", directory);
  if (!table.cpus_reason.empty()) add("  CPUs of: ", table.cpus_reason);
}

void Summary::add_file(const PlannedFile& file) {
  const auto size = file.content.size();
  std::string content;
  const bool small =
      size ? *size <= kMaxFileBytes : std::cmp_less_equal(plan_.world_size, kMaxTableRanks);
  if (small && file.copy_of.empty() && (file.mode & kRunBits) == 0)
    content = base::mask_secrets(file.content.text());
  if (content.ends_with('\n')) content.pop_back();
  const auto line_ends = static_cast<std::size_t>(std::ranges::count(content, '\n'));
  const bool shows = !content.empty() && line_ends < kMaxFileLines;
  std::string head = base::concat({"writes ", file.path, shows ? ":" : ""});
  std::string inline_text = " " + content;
  for (std::size_t at = 0; (at = inline_text.find('\n', at)) != std::string::npos; at += 3) {
    inline_text.replace(at, 1, " | ");
  }
  if (shows && columns_of(head) + columns_of(inline_text) <= kColumns) {
    add("", head + inline_text);
  } else if (shows && columns_of(content) <= kMaxFileLines * kRoom) {
    add("", head);
    for (const std::string_view line : base::split(content, '\n')) {
      add("    ", line);
    }
  } else {
    add("", base::concat({"writes ", file.path,
                          size ? base::concat({", ", std::to_string(*size), " bytes"}) : ""}));
  }
}

void Summary::add_files() {
  std::vector<std::string> emptied;
  for (const PlannedDirectory& directory : plan_.directories) {
    const bool own = !facts_.run_dir.empty() && directory.path.starts_with(facts_.run_dir + "/");
    if (directory.clean && !own) emptied.push_back(directory.path);
  }
  if (const std::string pattern = pattern_of(emptied); !pattern.empty()) {
    add("", "empties " + pattern);
  } else {
    for (const std::string& path : emptied) add("", "empties " + path);
  }
  for (const PlannedFile& file : plan_.files) add_file(file);
  add_part(script_lines(plan_));
}

// Adds the hooks that run on this node, an event a line.
void Summary::add_hooks() {
  const base::Budget stop = stop_budget(plan_);
  for (const HookGroup& group : plan_.hooks) {
    if (!can_happen(plan_, group.event)) continue;
    const std::string event(name_of(group.event));
    std::vector<std::string> hooks;
    for (const std::string& path : group.paths) {
      if (facts_.hooks.idle.contains(path)) continue;
      const auto when = facts_.hooks.when.find(path);
      hooks.push_back(path);
      if (path == group.script) hooks.back() += " " + event;
      if (when != facts_.hooks.when.end()) hooks.back() += " (" + when->second + ")";
    }
    if (hooks.empty()) continue;
    add("hooks ", base::concat({"at ", event, ": ", base::joined(hooks, ", "),
                                hooks.size() > 1 ? "; each at most " : "; at most ",
                                base::seconds(group.timeout_ms),
                                within_stop_text(stop, group.event, group.timeout_ms),
                                group.fatal ? "; a failure ends the job" : ""}));
  }
  add_part(hook_right_lines(plan_));
}

// Adds the copies and the processes beside and behind the job.
void Summary::add_helpers() {
  add_part(data_text(plan_.datasets, plan_.data));
  add_part(preflight_lines(plan_));
  for (const auto* processes : {&plan_.services, &plan_.post_stop}) {
    for (const Process& process : *processes) {
      std::vector<std::string> argv = process.argv;
      // The path of trainit's own program says nothing new.
      if (!argv.empty()) argv[0].erase(0, argv[0].rfind('/') + 1);
      const bool beside = processes == &plan_.services;
      add_line(base::concat({beside ? "beside it: " : "afterwards: ", process.name, ": ",
                             base::shown_command(argv)}));
    }
  }
}

// Returns what the end of the job depends on. `fails` is a failure that ends it too.
std::string Summary::success_text(std::string_view fails) const {
  const std::size_t count = plan_.processes.size();
  const bool serves = plan_.policy.success == base::SuccessPolicy::kServe;
  const char* served = serves ? "; to die of the stop signal is a success" : "";
  std::string text;
  if (is_worker(plan_)) {
    text = "with the exit code that the launcher's node sends";
  } else if (plan_.policy.success == base::SuccessPolicy::kFirst) {
    text = "with the exit code of the first process that exits";
  } else if (count > 1) {
    if (fails.empty()) fails = "one fails";
    return base::concat({"when all ", std::to_string(count), " exit with 0 or ", fails, served});
  } else {
    text = "with " + plan_.processes[0].name + "'s exit code";
  }
  return base::concat({text, fails.empty() ? "" : " or when ", fails, served});
}

void Summary::add_success() {
  if (!plan_.link) {
    add("ends ", success_text(""));
    return;
  }
  const NodeLink& link = *plan_.link;
  const std::string place = base::concat(
      {" (link ", link.address, ":", std::to_string(link.port),
       link.secret_file.empty() ? ", no --job-secret" : ", secret ", link.secret_file, ")"});
  if (link.stops) {
    add("ends ", success_text("a node fails") + place);
  } else {
    add("ends ", base::concat({success_text(""), "; failures of other nodes are reported", place}));
  }
}

void Summary::add_end() {
  if (plan_.peers) {
    add("waits ", base::concat({"for the sshd of ",
                                count_of(plan_.peers->hosts.size(), "other node", "other nodes"),
                                ", at most ", base::seconds(plan_.peers->timeout_ms)}));
  }
  if (!plan_.processes.empty()) add_success();
  add_part(brief_policy_text(plan_.policy, stop_budget(plan_)));
  add_part(watches_text(plan_.observe));
  add_part(device_wait_lines(plan_));
  add_part(warm_lines(plan_));
}

}  // namespace

base::ShownLines plan_summary(const Plan& plan, const base::Environ& base,
                              const SummaryFacts& facts) {
  Summary summary(plan, base, facts);
  summary.add_place();
  summary.add_warnings();
  summary.add_start();
  summary.add_files();
  summary.add_hooks();
  summary.add_helpers();
  summary.add_end();
  return summary.take();
}

}  // namespace envgen
