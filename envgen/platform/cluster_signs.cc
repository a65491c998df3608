#include "envgen/platform/cluster_signs.h"

#include <algorithm>
#include <utility>

#include "base/constants/packed_texts.h"
#include "base/constants/platform_variables.h"
#include "base/text.h"
#include "envgen/formats/hosts.h"
#include "envgen/plan/given_names.h"
#include "envgen/platform/platform_common.h"
#include "envgen/ranktable/hccn.h"

namespace envgen {
namespace {

// Which values of a variable are a sign of several nodes or processes.
enum class When : unsigned char {
  kAboveOne,   // a number of nodes or processes above 1; for a range ("1:4") its maximum
  kAboveZero,  // the number of this node or process, above 0
  kSeveral,    // a list of more than one host, separated by blanks, commas or semicolons
  kSet,
};

// The advice for a sign. Several signs can have the same.
enum class Fix : unsigned char { kByOptions, kByEnv, kStartedByMpi, kSlurm, kTpu, kOwn };
using enum Fix;

std::string_view text_of(Fix fix) {
  switch (fix) {
    case kByEnv:
      return "set NNODES, NODE_RANK and MASTER_ADDR, or say which node this is with --nodes, "
             "--node-rank and --master-addr";
    case kStartedByMpi:
      return "a launcher has started this process: let it start trainit once on each node, and say "
             "which node this is with --nodes, --node-rank and --master-addr; or start trainit "
             "without it, with --framework mpi where mpirun is to start the ranks";
    case kSlurm:
      return "start trainit with srun and pass on all SLURM_* variables, SLURM_JOB_NODELIST too";
    case kTpu:
      return "JAX finds the nodes of TPUs by itself: --framework single; or say which node this is "
             "with --nodes, --node-rank and --master-addr";
    default:
      return "say which node this is with --nodes, --node-rank and --master-addr";
  }
}

struct Sign {
  std::string_view variable;
  When when;
  Fix fix = kByOptions;
  std::string_view own = {};  // the advice for kOwn
};

constexpr std::string_view kBare =
    "that platform finds no other node here: give --platform bare with --nodes, --node-rank and "
    "--master-addr";

// The table of signs. The error names the first sign found, so variables that count nodes come
// before those that are only hints.
constexpr Sign kRows[] = {
    {"WORLD_SIZE", When::kAboveOne, kByEnv},
    {"NNODES", When::kAboveOne, kByEnv},
    {"PET_NNODES", When::kAboveOne, kOwn,
     "set PET_NODE_RANK and PET_MASTER_ADDR as well, or --nodes, --node-rank and --master-addr"},
    {"GROUP_WORLD_SIZE", When::kAboveOne},
    {"SLURM_STEP_NUM_NODES", When::kAboveOne, kSlurm},
    {"SLURM_JOB_NUM_NODES", When::kAboveOne, kSlurm},
    {"SLURM_NNODES", When::kAboveOne, kSlurm},
    {"OMPI_COMM_WORLD_SIZE", When::kAboveOne, kStartedByMpi},
    {"PMI_SIZE", When::kAboveOne, kStartedByMpi},
    {"MV2_COMM_WORLD_SIZE", When::kAboveOne, kStartedByMpi},
    {"HOROVOD_SIZE", When::kAboveOne, kStartedByMpi},
    {"AZUREML_NODE_COUNT", When::kAboveOne, kOwn,
     "choose the job's distribution pytorch, which sets NODE_RANK and MASTER_ADDR, or say which "
     "node this is with --nodes, --node-rank and --master-addr"},
    {"AZ_BATCH_HOST_LIST", When::kSeveral},
    {"AZ_BATCH_NODE_LIST", When::kSeveral},
    {"MLP_WORKER_NUM", When::kAboveOne, kOwn, "pass on all MLP_* variables, MLP_ROLE_INDEX too"},
    {"PBS_NUM_NODES", When::kAboveOne, kOwn,
     "pass on PBS_NODEFILE, and let the container see that file"},
    {"FLUX_JOB_NNODES", When::kAboveOne},
    {"FLUX_JOB_SIZE", When::kAboveOne, kStartedByMpi},
    {"SLURM_STEP_NUM_TASKS", When::kAboveOne, kSlurm},
    {"SLURM_NTASKS", When::kAboveOne, kSlurm},
    {"NHOSTS", When::kAboveOne},  // Grid Engine
    {"JSM_NAMESPACE_SIZE", When::kAboveOne, kStartedByMpi},
    {"_CONDOR_NPROCS", When::kAboveOne},
    {"AWS_BATCH_JOB_NUM_NODES", When::kAboveOne},
    {"LEPTON_JOB_TOTAL_WORKERS", When::kAboveOne},
    {"NGC_ARRAY_SIZE", When::kAboveOne},
    {"NUM_NODES", When::kAboveOne},  // Lightning, RunPod
    {"MA_NUM_HOSTS", When::kAboveOne, kOwn, "pass on all MA_* and VC_* variables"},
    {"PADDLE_NNODES", When::kAboveOne},
    {"PADDLE_TRAINERS_NUM", When::kAboveOne},
    {"PADDLE_ELASTIC_NP", When::kAboveOne},
    {"PADDLE_TRAINER_ENDPOINTS", When::kSeveral},
    {"TF_WORKER_HOSTS", When::kSeveral, kOwn,
     "pass on MA_TASK_NAME and VC_TASK_INDEX, or set TF_CONFIG"},
    {"TPU_WORKER_HOSTNAMES", When::kSeveral, kTpu},
    {"MEGASCALE_NUM_SLICES", When::kAboveOne, kTpu},
    {"NUM_PROCESSES", When::kAboveOne},  // JAXJob
    {"MS_WORKER_NUM", When::kAboveOne},
    {"DMLC_NUM_WORKER", When::kAboveOne},
    {"JAX_NUM_PROCESSES", When::kAboveOne},
    {"RANK", When::kAboveZero, kByEnv},
    {"NODE_RANK", When::kAboveZero, kByEnv},
    {"GROUP_RANK", When::kAboveZero},
    {"PET_NODE_RANK", When::kAboveZero, kOwn, "set PET_NNODES and PET_MASTER_ADDR as well"},
    {"SLURM_NODEID", When::kAboveZero, kSlurm},
    {"PALS_NODEID", When::kAboveZero, kStartedByMpi},
    {"SLURM_PROCID", When::kAboveZero, kSlurm},
    {"OMPI_COMM_WORLD_RANK", When::kAboveZero, kStartedByMpi},
    {"PMI_RANK", When::kAboveZero, kStartedByMpi},
    {"MLP_ROLE_INDEX", When::kAboveZero, kOwn, "pass on all MLP_* variables, MLP_WORKER_NUM too"},
    {"JAX_PROCESS_ID", When::kAboveZero},
    {"PADDLE_TRAINER_ID", When::kAboveZero},
    {"FLUX_TASK_RANK", When::kAboveZero},
    {"PMIX_RANK", When::kAboveZero, kStartedByMpi},
    {"CLUSTER_SPEC", When::kSet, kOwn,
     "say which node this is with --nodes, --node-rank and --master-addr"},
    {"SM_HOSTS", When::kSet, kOwn, "pass on SM_CURRENT_HOST as well"},
    {"PAI_TASK_ROLE_LIST", When::kSet, kOwn,
     "pass on all PAI_* variables, PAI_CURRENT_TASK_ROLE_NAME and its index too"},
    {"PAI_CURRENT_TASK_ROLE_NAME", When::kSet, kOwn,
     "pass on all PAI_* variables, PAI_TASK_ROLE_LIST and those of each task too"},
    {"DLC_JOB_ID", When::kSet, kOwn,
     "pass on the variables of a DLC job of several nodes: MASTER_ADDR, WORLD_SIZE and RANK, or "
     "TF_CONFIG"},
};
constexpr base::PackedTable<kRows, &Sign::variable, &Sign::own> kSigns;
static_assert(std::ranges::all_of(kRows,
                                  [](const Sign& sign) {
                                    return base::is_platform_variable(sign.variable.data(),
                                                                      sign.variable.size());
                                  }),
              "add the variable of the sign to base/constants/platform_variables.h");

constexpr const char* kAlone = "; where the job is of this node alone: --nodes 1";

bool is_sign(std::string_view value, When when) {
  if (value.empty()) return false;
  if (when == When::kSet) return true;
  if (when == When::kSeveral) {
    const std::string_view list = base::trimmed(value);
    return list.find_first_of(" \t\n,;") < list.find_last_not_of(" \t\n,;");
  }
  const auto number = base::parse_count<int>(base::trimmed(value.substr(value.rfind(':') + 1)));
  // A value that is not a number is no evidence.
  return number && *number > (when == When::kAboveOne ? 1 : 0);
}

base::Error error_of(std::string where, std::string_view found, std::string_view fix) {
  return {"planning a job of one node", std::move(where),
          std::string(found) + ", a sign of several", std::string(fix) + kAlone};
}
std::unexpected<base::Error> sign_error(std::string where, std::string_view found,
                                        std::string_view fix) {
  return std::unexpected(error_of(std::move(where), found, fix));
}

// Returns the error for --devices with several nodes.
std::unexpected<base::Error> devices_of_one_host(const Request& request) {
  const auto listed = parse_device_list(request.devices, "--devices");
  const std::string slots = listed ? std::to_string(listed->size()) : "N";
  const bool ascend = request.framework.empty() || request.framework == "ascend";
  return base::fail(
      "planning a job of several nodes", "--devices",
      base::quoted(request.devices) + ", which names the devices of one host",
      "for " + std::to_string(*request.nodes) + " nodes give " +
          (ascend ? "a rank table, or --ascend-launcher msrun or dynamic with " : "") + "--slots " +
          slots + " instead of --devices");
}

// Returns whether variables say that the job has one node. NUM_NODES counts only beside NODE_RANK,
// because alone it may count the nodes of a graph.
bool is_one_node(const Inputs& inputs) {
  return inputs.variable("NNODES") == "1" ||
         (inputs.variable("NUM_NODES") == "1" && inputs.variable("NODE_RANK") == "0");
}

// Returns whether an address or name is this machine's.
bool is_here(const Inputs& inputs, std::string_view address) {
  if (is_loopback(address)) return true;
  Node node;
  node.host = address;
  return !nodes_like_local({node}, inputs).empty();
}

// Returns whether the master is another machine, which is a sign. It is not if a variable counts
// one node.
bool is_other_master(const Inputs& inputs, std::string_view master) {
  if (master.empty() || is_here(inputs, master)) return false;
  for (const char* count : {"WORLD_SIZE", "PET_NNODES"}) {
    if (inputs.variable(count) == "1") return false;
  }
  return !is_one_node(inputs);
}

// Returns whether another variable shows that this sign means nothing.
bool is_settled(const Inputs& inputs, std::string_view sign) {
  // A step of one node in an allocation of several: `srun -N1`
  if (sign == "SLURM_JOB_NUM_NODES" || sign == "SLURM_NNODES") {
    return inputs.variable("SLURM_STEP_NUM_NODES") == "1";
  }
  // Several tasks on one node
  if (sign == "SLURM_NTASKS") {
    return inputs.variable("SLURM_NNODES") == "1" || inputs.variable("SLURM_JOB_NUM_NODES") == "1";
  }
  // Several processes on one node
  if (sign == "WORLD_SIZE") {
    const std::string_view master = inputs.variable("MASTER_ADDR");
    const bool by_agent = inputs.variable("PET_NNODES") == "1" &&
                          inputs.variable("PET_NPROC_PER_NODE") == inputs.variable(sign);
    return by_agent || (is_one_node(inputs) && (master.empty() || is_here(inputs, master)));
  }
  // Workers of MindSpore on one machine
  if (sign == "MS_WORKER_NUM") return is_loopback(inputs.variable("MS_SCHED_HOST"));
  // Scripts use this name for other purposes too
  if (sign == "NUM_NODES") return inputs.variable("NODE_RANK").empty();
  if (sign == "NUM_PROCESSES") return inputs.variable("COORDINATOR_ADDRESS").empty();
  // A TFJob with one replica has no TF_CONFIG.
  if (sign == "DLC_JOB_ID") {
    return inputs.variable("WORLD_SIZE") == "1" || inputs.request().framework == "tensorflow";
  }
  return false;
}

// The following functions are for platforms that have variables of their own for the same facts.

// Returns advice about variables that the profile still needs: "pass on A and B as well".
std::string missing_names(const Inputs& inputs, const GivenNames& names) {
  std::string missing;
  const bool listed = names.leader.empty();  // the list gives the count
  for (const std::string_view name :
       {listed ? "" : names.count, names.own, listed ? names.hosts : names.leader}) {
    if (name.empty() || !inputs.variable(name).empty()) continue;
    missing += (missing.empty() ? "" : " and ") + std::string(name);
  }
  return missing.empty() ? std::string(text_of(kByOptions)) : "pass on " + missing + " as well";
}

base::Status check_names(const Inputs& inputs, const GivenNames& names) {
  const auto value = [&inputs](std::string_view name) {
    return name.empty() ? std::string_view() : inputs.variable(name);
  };
  if (value(names.count) == "1" || (names.leaders && value(names.leader).empty())) return {};
  const bool leader = !value(names.leader).empty() && !is_loopback(value(names.leader));
  for (const auto& [name, is] :
       {std::pair(names.count, is_sign(value(names.count), When::kAboveOne)),
        std::pair(names.hosts, is_sign(value(names.hosts), When::kSeveral)),
        std::pair(names.own, is_sign(value(names.own), When::kAboveZero)),
        std::pair(names.leader, leader)}) {
    if (is)
      return sign_error(std::string(name), base::quoted(value(name)), missing_names(inputs, names));
  }
  return {};
}

}  // namespace

bool is_said_to_be_alone(const Request& request) {
  return request.platform == "local" || request.nodes == 1;
}

bool has_sign_row(std::string_view variable) {
  for (std::size_t row = 0; row < kGivenNames; ++row) {
    const GivenNames names = given_names(row);
    for (const std::string_view name : {names.count, names.own, names.leader, names.hosts}) {
      if (name == variable) return true;
    }
  }
  return std::ranges::any_of(kSigns.all(),
                             [variable](const Sign& sign) { return sign.variable == variable; });
}

std::string lone_warning(std::string why) {
  return std::move(why) +
         "; trainit plans a job of this node alone: give --nodes 1 to confirm, or " +
         std::string(text_of(kByOptions));
}

base::Error sign_of_several(std::string where, std::string_view found) {
  return error_of(std::move(where), found, text_of(kByOptions));
}

base::Status check_alone(const Inputs& inputs) {
  const Request& request = inputs.request();
  if (!request.devices.empty() && request.nodes.value_or(1) > 1) {
    return devices_of_one_host(request);
  }
  if (request.nodes || request.node_rank.value_or(0) > 0) {
    const char* option = request.nodes ? "--nodes" : "--node-rank";
    // A platform that was found, and not named, ignores complete options as well.
    const bool complete = request.nodes && request.node_rank;
    return sign_error(option, std::to_string(request.nodes ? *request.nodes : *request.node_rank),
                      request.platform.empty() && !complete ? text_of(kByOptions) : kBare);
  }
  for (std::size_t row = 0; row < kGivenNames; ++row) TRY(check_names(inputs, given_names(row)));
  for (const Sign& sign : kSigns.all()) {
    const std::string_view value = inputs.variable(sign.variable);
    if (!is_sign(value, sign.when) || is_settled(inputs, sign.variable)) continue;
    return sign_error(std::string(sign.variable), base::quoted(value),
                      sign.fix == kOwn ? sign.own : text_of(sign.fix));
  }
  const std::string_view master = inputs.variable("MASTER_ADDR");
  if (is_other_master(inputs, master))
    return sign_error("MASTER_ADDR", base::quoted(master), text_of(kByEnv));
  return {};
}

}  // namespace envgen
