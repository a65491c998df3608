// Batch systems that list a job's hosts and start the job's script on the first of them. The script
// starts trainit on each host (blaunch, pbsdsh).
// IBM Spectrum LSF has the list in LSB_MCPU_HOSTS ("host slots ..."), or in LSB_HOSTS, with a host
// for each slot. PBS and TORQUE have it in the file that PBS_NODEFILE names, with a line for each
// slot. A node is recognised by its name. The platform is detected only if the user asks for ranks,
// as a job's script is an ordinary command.
// Sources: LSF's "About parallel jobs"; qsub(1B) of TORQUE; openpbs' src/resmom/start_exec.c.

#include <algorithm>
#include <set>

#include "base/text.h"
#include "envgen/formats/nodelist.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/platform_ranks.h"

namespace envgen {
namespace {

// --- LSF ---

constexpr const char* kReadingLsf = "reading LSF's hosts";

base::Result<std::vector<Node>> nodes_of_counts(std::string_view text) {
  std::vector<Node> nodes;
  std::set<std::string_view> seen;
  while (true) {
    const std::string_view host = base::take_word(text);
    if (host.empty()) break;
    const std::string_view slots = base::take_word(text);
    const auto count = base::parse_count<int>(slots);
    const bool twice = !seen.insert(host).second;
    if (!count || *count < 1 || *count > kMaxSlots || twice || nodes.size() >= kMaxHosts) {
      return base::fail(kReadingLsf, "LSB_MCPU_HOSTS",
                        base::quoted(host) + " " + base::quoted(slots),
                        "it has to be each host once, with its number of slots: a 8 b 8");
    }
    Node node;
    node.host = std::string(host);
    node.slots = *count;
    nodes.push_back(std::move(node));
  }
  if (nodes.empty())
    return base::fail(kReadingLsf, "LSB_MCPU_HOSTS", "no host", "is this an LSF job?");
  return nodes;
}

std::vector<std::string> texts_of(std::string_view text) {
  std::vector<std::string> texts;
  for (const std::string_view word : base::words_of(text)) texts.emplace_back(word);
  return texts;
}

std::optional<std::string> detect_lsf(Inputs& inputs) {
  const Variable list = first_set(inputs, {"LSB_MCPU_HOSTS", "LSB_HOSTS"});
  if (list.name.empty() || !asks_for_ranks(inputs.request()) || names_nodes(inputs)) {
    return std::nullopt;
  }
  return std::string(list.name) + " is set";
}

// Returns whether the first node is a launch node, on which no rank runs. Systems with jsrun list
// the node of the job's script first, with one slot. Without jsrun's variables only the list
// decides: the first node has one slot, and several others have the same larger number. Launchers
// of MPI are excluded, as they may use such hosts and start on the first.
bool has_launch_node(const Inputs& inputs, const std::vector<Node>& nodes, bool is_first) {
  if (nodes.size() < 2 || nodes[0].slots != 1) return false;
  const auto others = static_cast<int>(nodes.size()) - 1;
  const int each = nodes[1].slots;
  const bool uneven = each > 1 && std::ranges::count(nodes, each, &Node::slots) == others;
  const auto tasks = base::parse_count<int>(inputs.variable("JSM_NAMESPACE_SIZE"));
  if (tasks || !inputs.variable("CSM_ALLOCATION_ID").empty()) {
    return uneven || (tasks == others && !is_first);
  }
  const std::string& framework = inputs.request().framework;
  return uneven && others > 1 && framework != "mpi" && framework != "horovod" &&
         framework != "deepspeed";
}

// Removes the launch node from the list. Returns a warning about it, or "".
base::Result<std::string> drop_launch_node(const Inputs& inputs, std::vector<Node>& nodes) {
  const std::vector<int> own = nodes_like_local(nodes, inputs);
  const bool is_first = std::ranges::find(own, 0) != own.end();
  if (!has_launch_node(inputs, nodes, is_first)) return std::string();
  std::string found = nodes[0].host + " first, with one slot: a launch node";
  if (is_first) {
    return base::fail(
        kReadingLsf, "the list", std::move(found),
        "start trainit on the other hosts (jsrun, blaunch), or list all with --hosts");
  }
  nodes.erase(nodes.begin());
  return "LSF lists " + found + ", which runs no ranks; where it does, list all with --hosts";
}

Location locate_lsf(Inputs& inputs) {
  const std::string_view counts = inputs.variable("LSB_MCPU_HOSTS");
  auto nodes = counts.empty() ? nodes_of_slots(texts_of(inputs.variable("LSB_HOSTS")))
                              : nodes_of_counts(counts);
  if (!nodes) return nodes.error();
  if (nodes->empty()) {
    return base::Error{kReadingLsf, "LSB_MCPU_HOSTS and LSB_HOSTS", "nothing",
                       "start trainit in an LSF job, or choose another --platform"};
  }
  auto warning = drop_launch_node(inputs, *nodes);
  if (!warning) return warning.error();
  PlatformFacts platform;
  platform.job_id = std::string(inputs.variable("LSB_JOBID"));
  Location location =
      locate_in_batch(inputs, std::move(*nodes), counts.empty() ? "LSB_HOSTS" : "LSB_MCPU_HOSTS",
                      std::move(platform));
  auto* resolved = std::get_if<ResolvedCluster>(&location);
  if (resolved != nullptr && !warning->empty()) resolved->warnings.push_back(std::move(*warning));
  return location;
}

// --- PBS ---

std::optional<std::string> detect_pbs(Inputs& inputs) {
  if (inputs.variable("PBS_NODEFILE").empty() || !asks_for_ranks(inputs.request())) {
    return std::nullopt;
  }
  if (names_nodes(inputs)) return std::nullopt;
  return "PBS_NODEFILE is set";
}

Location locate_pbs(Inputs& inputs) {
  const std::string named(inputs.variable("PBS_NODEFILE"));
  if (named.empty()) {
    return base::Error{"reading PBS' hosts", "PBS_NODEFILE", "nothing",
                       "start trainit in a PBS job, or choose another --platform"};
  }
  const std::string path = join_path(inputs.facts().cwd, named);
  const PathState* file = inputs.content(path);
  if (file == nullptr) return NeedsPaths{};
  std::vector<Node> nodes = nodes_of_slots(texts_of(file->content));
  if (file->kind != PathState::Kind::kFile || nodes.empty()) {
    const bool is_file = file->kind == PathState::Kind::kFile;
    return base::Error{
        "reading PBS' hosts", path, is_file ? "no host in it" : "no file",
        "mount it into the container, or give the hosts with --hosts; where the job is of "
        "this node alone: --nodes 1"};
  }
  PlatformFacts platform;
  platform.job_id = std::string(inputs.variable("PBS_JOBID"));
  return locate_in_batch(inputs, std::move(nodes), path, std::move(platform));
}

}  // namespace

extern const Platform kLsfPlatform = {"lsf", detect_lsf, locate_lsf};
extern const Platform kPbsPlatform = {"pbs", detect_pbs, locate_pbs};

}  // namespace envgen
