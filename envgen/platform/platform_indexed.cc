// Kubernetes Indexed Jobs and JobSets. A pod knows its index and, by its host name, its Job's name.
// It knows the number of pods only if the manifest fills a variable: JOB_COMPLETIONS, or one that a
// launcher or a tracker reads. A single process needs no count (PlatformFacts::uncounted).
// JobSet's own labels reach a container only through variables that the manifest fills from them;
// the names here are the usual ones. Sources: Kubernetes' "Job with Pod-to-Pod Communication",
// jobset_types.go, kubeflow/trainer's plugins/xgboost (DMLC_*).

#include <cstdint>

#include "base/text.h"
#include "envgen/formats/nodelist.h"
#include "envgen/plan/devices.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

constexpr const char* kCounting = "counting the nodes";

struct Indices {
  int completion = 0;
  int job = 0;          // index of this Job among the replicas of a replicated job
  int replicas = 1;     // number of replicas of the replicated job
  bool in_set = false;  // part of a job with several replicas
  std::string source;
};

base::Result<Indices> indices_of(const Inputs& inputs) {
  TRY_ASSIGN(auto completion, number_in(inputs, "JOB_COMPLETION_INDEX"));
  auto job = number_in(inputs, "JOB_INDEX");
  if (!job) return std::unexpected(job.error());
  constexpr Bounds kCounts{.least = 0, .most = static_cast<int>(kMaxHosts)};
  TRY_ASSIGN(auto replicas, number_in(inputs, "REPLICATED_JOB_REPLICAS", kCounts));
  // If the JobSet has only one job, its index over all jobs is that over this job.
  bool one_job =
      replicas && inputs.variable("GLOBAL_REPLICAS") == inputs.variable("REPLICATED_JOB_REPLICAS");
  if (!*job && one_job) {
    job = number_in(inputs, "JOB_GLOBAL_INDEX");
    if (!job) return std::unexpected(job.error());
  }
  if (!completion && !*job) {
    return base::fail("finding this node", "JOB_COMPLETION_INDEX and JOB_INDEX", "nothing",
                      "make it a Job with completionMode Indexed");
  }
  Indices indices;
  indices.completion = completion.value_or(0);
  indices.job = job->value_or(0);
  indices.replicas = replicas.value_or(1);
  indices.in_set = indices.replicas > 1 || indices.job > 0;
  indices.source = !indices.in_set ? "JOB_COMPLETION_INDEX"
                   : completion    ? "JOB_INDEX and JOB_COMPLETION_INDEX"
                                   : "JOB_INDEX";
  if (!indices.in_set) return indices;
  if (!replicas) {
    return base::fail(kCounting, "REPLICATED_JOB_REPLICAS", "nothing, while JOB_INDEX is set",
                      "fill it from the annotation jobset.sigs.k8s.io/replicatedjob-replicas");
  }
  if (*job && indices.job < indices.replicas) return indices;
  return base::fail("finding this node", "JOB_INDEX and REPLICATED_JOB_REPLICAS",
                    (*job ? std::to_string(indices.job) : "nothing") + " of " +
                        std::to_string(indices.replicas) + " replicas",
                    "fill both from this pod's JobSet annotations");
}

struct Count {
  int pods = 0;
  const char* source = "--nodes";
};

// Returns the number of pods of the job, from the user or from variables that the manifest fills.
// Variables of a launcher or a tracker count the pods of the whole JobSet; JOB_COMPLETIONS counts
// those of one of its Jobs. Returns nothing if no source is set.
base::Result<std::optional<Count>> count_of(const Inputs& inputs, const Indices& indices,
                                            int slots) {
  if (inputs.request().nodes) return Count{*inputs.request().nodes};
  // A Job in the set that is not indexed has one pod.
  if (inputs.variable("JOB_COMPLETION_INDEX").empty()) {
    return Count{indices.replicas, "REPLICATED_JOB_REPLICAS"};
  }
  for (const char* name : {"JAX_NUM_PROCESSES", "PET_NNODES", "NNODES"}) {
    // a range of torchrun, not a count
    if (inputs.variable(name).find(':') != std::string_view::npos) continue;
    TRY_ASSIGN(auto pods, number_in(inputs, name));
    if (pods) return Count{*pods, name};
  }
  // Trainer's XGBoost counts a worker for each GPU of a pod.
  TRY_ASSIGN(auto workers, number_in(inputs, "DMLC_NUM_WORKER"));
  if (workers && *workers % slots == 0) return Count{*workers / slots, "DMLC_NUM_WORKER"};
  TRY_ASSIGN(auto completions, number_in(inputs, "JOB_COMPLETIONS"));
  if (!completions) return std::nullopt;
  const std::int64_t pods = std::int64_t{*completions} * indices.replicas;
  if (pods > static_cast<std::int64_t>(kMaxHosts)) {
    return base::fail(kCounting, "JOB_COMPLETIONS", std::to_string(pods) + " pods",
                      "is there a digit too many?");
  }
  return Count{static_cast<int>(pods), "JOB_COMPLETIONS"};
}

base::Error uncounted(const Indices& indices) {
  return {kCounting, indices.source, "an index, but not how many there are",
          "say how many pods the job has with --nodes or TRAINIT_NODES"};
}

// The following functions find the names of pods.

// Returns "job-" for "job-3"; nothing if the Job did not give the name.
std::optional<std::string> prefix_of(std::string_view name, const std::string& ending) {
  if (!name.ends_with(ending) || name.size() == ending.size()) return std::nullopt;
  return std::string(name.substr(0, name.size() - ending.size()));
}

// Names every node, if this pod's own name follows the pattern and its service is known.
void name_nodes(const Inputs& inputs, const Indices& indices, const PathState& hosts_file,
                std::vector<Node>& nodes) {
  const std::string full(inputs.facts().host_name);
  std::string name = full.substr(0, full.find('.'));
  std::string domain = full.substr(name.size());  // not empty if the pod has setHostnameAsFQDN
  if (domain.empty()) domain = own_domain(hosts_file, name);
  // A JobSet by default creates a service with its own name.
  std::string set(inputs.variable("JOBSET_NAME"));
  if (domain.empty() && !set.empty() && name.starts_with(set + "-")) domain = "." + set;
  std::string ending = "-" + std::to_string(indices.completion);
  if (indices.in_set) ending = "-" + std::to_string(indices.job) + ending;
  auto prefix = prefix_of(name, ending);
  if (domain.empty() || !prefix) return;
  std::size_t pods_a_job = nodes.size() / static_cast<std::size_t>(indices.replicas);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].host = *prefix;
    if (indices.in_set) nodes[i].host += "-" + std::to_string(i / pods_a_job);
    nodes[i].host += "-" + std::to_string(indices.in_set ? i % pods_a_job : i) + domain;
  }
}

Location locate_listed(Inputs& inputs, const Indices& indices, int slots) {
  auto nodes = nodes_of_hosts_option(inputs.request(), slots);
  if (!nodes) return nodes.error();
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  auto pods = node_count_of({"--hosts", static_cast<int>(cluster.nodes.size())},
                            {"REPLICATED_JOB_REPLICAS", indices.replicas});
  if (!pods) return pods.error();
  if (indices.completion >= *pods) {
    return base::Error{
        "finding this node", "JOB_COMPLETION_INDEX",
        std::to_string(indices.completion) + " in a job of " + std::to_string(*pods) + " pods",
        "--hosts has to list all pods, a JobSet's job after job"};
  }
  auto local_node = local_node_by_index(cluster.nodes.size(), inputs.request(),
                                        indices.job * *pods + indices.completion, indices.source);
  if (!local_node) return local_node.error();
  return make_resolved_cluster(std::move(cluster), std::move(*local_node), PlatformFacts{}, inputs);
}

std::optional<std::string> detect_indexed(Inputs& inputs) {
  Variable found = first_set(inputs, {"JOB_COMPLETION_INDEX"});
  Variable in_set = first_set(inputs, {"REPLICATED_JOB_NAME", "JOBSET_NAME"});
  if (found.name.empty() && !in_set.name.empty()) {
    found = first_set(inputs, {"JOB_INDEX", "JOB_GLOBAL_INDEX"});
  }
  if (found.name.empty()) return std::nullopt;
  return std::string(found.name) + " is set";
}

Location locate_indexed(Inputs& inputs) {
  auto indices = indices_of(inputs);
  if (!indices) return indices.error();
  auto slots = slots_of_node(inputs, 0);
  const PathState* hosts_file = inputs.content(kHostsFile);
  if (!inputs.request().hosts.empty()) {
    if (!slots) return NeedsPaths{};
    return locate_listed(inputs, *indices, *slots);
  }
  if (!slots) return NeedsPaths{};
  auto told = count_of(inputs, *indices, *slots);
  if (!told) return told.error();
  if (!*told) {
    PlatformFacts platform;
    platform.uncounted = uncounted(*indices);
    return ResolvedCluster{.cluster = {},
                           .local_node = {0, "one process"},
                           .platform = std::move(platform),
                           .waits = {},
                           .warnings = {}};
  }
  const int count = (*told)->pods;
  auto pods_a_job =
      node_count_of({(*told)->source, count}, {"REPLICATED_JOB_REPLICAS", indices->replicas});
  if (!pods_a_job) return pods_a_job.error();
  if (indices->completion >= *pods_a_job) {
    return base::Error{"finding this node", "JOB_COMPLETION_INDEX",
                       std::to_string(indices->completion) + " in a job of " +
                           std::to_string(*pods_a_job) + " pods",
                       std::string((*told)->source) + " has to be the number of all pods"};
  }
  if (hosts_file == nullptr) return NeedsPaths{};

  auto nodes = nameless_nodes(count, *slots, (*told)->source);
  if (!nodes) return nodes.error();
  name_nodes(inputs, *indices, *hosts_file, *nodes);
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  auto local_node =
      local_node_by_index(cluster.nodes.size(), inputs.request(),
                          indices->job * *pods_a_job + indices->completion, indices->source);
  if (!local_node) return local_node.error();
  ResolvedCluster resolved =
      make_resolved_cluster(std::move(cluster), std::move(*local_node), PlatformFacts{}, inputs);
  if (resolved.cluster.nodes.size() > 1 && resolved.cluster.master_addr.empty()) {
    resolved.warnings.push_back(
        "the pods' names are not known: give the job a headless service and set subdomain in the "
        "pod's template, or say --master-addr");
  }
  return resolved;
}

}  // namespace

extern const Platform kIndexedPlatform = {"indexed", detect_indexed, locate_indexed};

}  // namespace envgen
