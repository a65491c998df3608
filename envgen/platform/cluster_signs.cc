#include "envgen/platform/cluster_signs.h"

#include <algorithm>

#include "base/constants/packed_texts.h"
#include "base/text.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

// What makes a variable's value a sign.
enum class When : unsigned char {
  kAboveOne,   // a number of nodes or processes; of a range ("1:4") the most
  kAboveZero,  // the number of one of them
  kSeveral,    // a list, at whose blanks, commas or semicolons more than one host stands
  kSet,
};

struct Sign {
  std::string_view variable;
  When when;
  std::string_view fix;
};

constexpr std::string_view kByOptions =
    "say which node this is with --nodes, --node-rank and --master-addr";
constexpr std::string_view kByEnv =
    "set RANK, WORLD_SIZE and MASTER_ADDR, or say which node this is with --nodes, --node-rank and "
    "--master-addr";
constexpr std::string_view kStartedByMpi =
    "a launcher has started each of its processes: start trainit once on each node instead, with "
    "--framework mpi where mpirun is to start the ranks";
constexpr std::string_view kSlurm =
    "start trainit with srun and pass on all SLURM_* variables, SLURM_JOB_NODELIST too";
constexpr std::string_view kTpu =
    "JAX finds the nodes of TPUs by itself: --framework single; or say which node this is with "
    "--nodes, --node-rank and --master-addr";

// The first that is found is named: what counts nodes stands before what only hints at them.
constexpr Sign kRows[] = {
    {"WORLD_SIZE", When::kAboveOne, kByEnv},
    {"NNODES", When::kAboveOne,
     "set NODE_RANK and MASTER_ADDR as well, or --nodes, --node-rank "
     "and --master-addr"},
    {"PET_NNODES", When::kAboveOne,
     "set PET_NODE_RANK and PET_MASTER_ADDR as well, or --nodes, "
     "--node-rank and --master-addr"},
    {"GROUP_WORLD_SIZE", When::kAboveOne, kByOptions},
    {"SLURM_STEP_NUM_NODES", When::kAboveOne, kSlurm},
    {"SLURM_JOB_NUM_NODES", When::kAboveOne, kSlurm},
    {"SLURM_NNODES", When::kAboveOne, kSlurm},
    {"OMPI_COMM_WORLD_SIZE", When::kAboveOne, kStartedByMpi},
    {"PMI_SIZE", When::kAboveOne, kStartedByMpi},
    {"MV2_COMM_WORLD_SIZE", When::kAboveOne, kStartedByMpi},
    {"HOROVOD_SIZE", When::kAboveOne, kStartedByMpi},
    {"AZUREML_NODE_COUNT", When::kAboveOne,
     "choose the job's distribution pytorch, which sets NODE_RANK, or say which node this is with "
     "--nodes, --node-rank and --master-addr"},
    {"SKYPILOT_NUM_NODES", When::kAboveOne,
     "pass on SKYPILOT_NODE_RANK and SKYPILOT_NODE_IPS as well"},
    {"SKYPILOT_NODE_IPS", When::kSeveral, "pass on SKYPILOT_NODE_RANK as well"},
    {"AZ_BATCH_HOST_LIST", When::kSeveral, kByOptions},
    {"AZ_BATCH_NODE_LIST", When::kSeveral, kByOptions},
    {"MLP_WORKER_NUM", When::kAboveOne, "pass on all MLP_* variables, MLP_ROLE_INDEX too"},
    {"LWS_GROUP_SIZE", When::kAboveOne, "pass on LWS_LEADER_ADDRESS and LWS_WORKER_INDEX as well"},
    {"PBS_NUM_NODES", When::kAboveOne, "pass on PBS_NODEFILE, and let the container see that file"},
    {"FLUX_JOB_NNODES", When::kAboveOne, kByOptions},
    {"FLUX_JOB_SIZE", When::kAboveOne, kStartedByMpi},
    {"SLURM_STEP_NUM_TASKS", When::kAboveOne, kSlurm},
    {"NHOSTS", When::kAboveOne, kByOptions},  // Grid Engine
    {"JSM_NAMESPACE_SIZE", When::kAboveOne, kStartedByMpi},
    {"_CONDOR_NPROCS", When::kAboveOne, kByOptions},
    {"AWS_BATCH_JOB_NUM_NODES", When::kAboveOne, kByOptions},
    {"LEPTON_JOB_TOTAL_WORKERS", When::kAboveOne, kByOptions},
    {"DSTACK_NODES_NUM", When::kAboveOne, kByOptions},
    {"NGC_ARRAY_SIZE", When::kAboveOne, kByOptions},
    {"BEAKER_REPLICA_COUNT", When::kAboveOne, kByOptions},
    {"MF_PARALLEL_NUM_NODES", When::kAboveOne, kByOptions},  // Metaflow
    {"NUM_NODES", When::kAboveOne, kByOptions},              // Lightning, RunPod
    {"MA_NUM_HOSTS", When::kAboveOne, "pass on all MA_* and VC_* variables"},
    {"PADDLE_NNODES", When::kAboveOne, kByOptions},
    {"PADDLE_TRAINERS_NUM", When::kAboveOne, kByOptions},
    {"PADDLE_TRAINER_ENDPOINTS", When::kSeveral, kByOptions},
    {"TF_WORKER_HOSTS", When::kSeveral, "pass on MA_TASK_NAME and VC_TASK_INDEX, or set TF_CONFIG"},
    {"TPU_WORKER_HOSTNAMES", When::kSeveral, kTpu},
    {"MEGASCALE_NUM_SLICES", When::kAboveOne, kTpu},
    {"NUM_PROCESSES", When::kAboveOne, kByOptions},  // JAXJob
    {"MS_WORKER_NUM", When::kAboveOne, kByOptions},
    {"DMLC_NUM_WORKER", When::kAboveOne, kByOptions},
    {"JAX_NUM_PROCESSES", When::kAboveOne, kByOptions},
    {"RANK", When::kAboveZero, kByEnv},
    {"NODE_RANK", When::kAboveZero, kByEnv},
    {"GROUP_RANK", When::kAboveZero, kByOptions},
    {"PET_NODE_RANK", When::kAboveZero, "set PET_NNODES and PET_MASTER_ADDR as well"},
    {"SLURM_NODEID", When::kAboveZero, kSlurm},
    {"PALS_NODEID", When::kAboveZero, kStartedByMpi},
    {"SLURM_PROCID", When::kAboveZero, kSlurm},
    {"OMPI_COMM_WORLD_RANK", When::kAboveZero, kStartedByMpi},
    {"PMI_RANK", When::kAboveZero, kStartedByMpi},
    {"SKYPILOT_NODE_RANK", When::kAboveZero, "pass on SKYPILOT_NODE_IPS as well"},
    {"MLP_ROLE_INDEX", When::kAboveZero, "pass on all MLP_* variables, MLP_WORKER_NUM too"},
    {"LWS_WORKER_INDEX", When::kAboveZero, "pass on LWS_LEADER_ADDRESS and LWS_GROUP_SIZE as well"},
    {"JAX_PROCESS_ID", When::kAboveZero, kByOptions},
    {"PADDLE_TRAINER_ID", When::kAboveZero, kByOptions},
    {"FLUX_TASK_RANK", When::kAboveZero, kByOptions},
    {"PMIX_RANK", When::kAboveZero, kStartedByMpi},
    {"LWS_LEADER_ADDRESS", When::kSet, "pass on LWS_GROUP_SIZE and LWS_WORKER_INDEX as well"},
    {"CLUSTER_SPEC", When::kSet,
     "say which node this is with --nodes, --node-rank and --master-addr"},
    {"SM_HOSTS", When::kSet, "pass on SM_CURRENT_HOST as well"},
    {"PAI_TASK_ROLE_LIST", When::kSet,
     "pass on all PAI_* variables, PAI_CURRENT_TASK_ROLE_NAME and its index too"},
    {"PAI_CURRENT_TASK_ROLE_NAME", When::kSet,
     "pass on all PAI_* variables, PAI_TASK_ROLE_LIST and those of each task too"},
    {"DLC_JOB_ID", When::kSet,
     "a DLC job of several nodes has MASTER_ADDR, or TF_CONFIG: pass it on"},
};
constexpr PackedTable<kRows, &Sign::variable, &Sign::fix> kSigns;

constexpr const char* kAlone = "; where the job is of this node alone: --nodes 1";

bool is_sign(std::string_view value, When when) {
  if (value.empty()) return false;
  if (when == When::kSet) return true;
  if (when == When::kSeveral) {
    const std::string_view list = trimmed(value);
    return list.find_first_of(" \t\n,;") < list.find_last_not_of(" \t\n,;");
  }
  const auto number = parse_count<int>(trimmed(value.substr(value.rfind(':') + 1)));
  // What is no number says nothing that could be gone by.
  return number && *number > (when == When::kAboveOne ? 1 : 0);
}

Error error_of(std::string where, std::string_view found, std::string_view fix) {
  return {"planning a job of one node", std::move(where),
          std::string(found) + ", a sign of several", std::string(fix) + kAlone};
}
std::unexpected<Error> sign_error(std::string where, std::string_view found, std::string_view fix) {
  return std::unexpected(error_of(std::move(where), found, fix));
}

// One address among its own is no sign, and neither is one beside a count of one.
bool is_other_master(const Inputs& inputs, std::string_view master) {
  if (master.empty() || is_loopback(master) || master == "0.0.0.0") return false;
  for (const char* count : {"WORLD_SIZE", "NNODES", "PET_NNODES"}) {
    if (inputs.variable(count) == "1") return false;
  }
  Node node;
  node.host = master;
  return nodes_like_local({node}, inputs).empty();
}

// What another variable says of the same more exactly.
bool is_settled(const Inputs& inputs, std::string_view sign) {
  // `srun -N1` of an allocation of several nodes
  if (sign == "SLURM_JOB_NUM_NODES" || sign == "SLURM_NNODES") {
    return inputs.variable("SLURM_STEP_NUM_NODES") == "1";
  }
  // MindSpore's workers of one machine
  if (sign == "MS_WORKER_NUM") return is_loopback(inputs.variable("MS_SCHED_HOST"));
  // A count of one says so.
  if (sign == "LWS_LEADER_ADDRESS") return inputs.variable("LWS_GROUP_SIZE") == "1";
  // A word that scripts use for other things, too
  if (sign == "NUM_NODES") return inputs.variable("NODE_RANK").empty();
  if (sign == "NUM_PROCESSES") return inputs.variable("COORDINATOR_ADDRESS").empty();
  // Replicas without a leader are jobs of their own.
  if (sign == "BEAKER_REPLICA_COUNT") {
    return inputs.variable("BEAKER_LEADER_REPLICA_HOSTNAME").empty();
  }
  // A TFJob of one replica has no TF_CONFIG.
  if (sign == "DLC_JOB_ID") {
    return inputs.variable("WORLD_SIZE") == "1" || inputs.request().framework == "tensorflow";
  }
  return false;
}

}  // namespace

bool is_said_to_be_alone(const Request& request) {
  return request.platform == "local" || request.nodes == 1;
}

bool has_sign_row(std::string_view variable) {
  return std::ranges::any_of(kSigns.all(),
                             [variable](const Sign& sign) { return sign.variable == variable; });
}

Error sign_of_several(std::string where, std::string_view found) {
  return error_of(std::move(where), found, kByOptions);
}

Status check_alone(const Inputs& inputs) {
  const Request& request = inputs.request();
  if (request.nodes || request.node_rank.value_or(0) > 0) {
    const char* option = request.nodes ? "--nodes" : "--node-rank";
    return sign_error(option, std::to_string(request.nodes ? *request.nodes : *request.node_rank),
                      kByOptions);
  }
  for (const Sign& sign : kSigns.all()) {
    const std::string_view value = inputs.variable(sign.variable);
    if (!is_sign(value, sign.when) || is_settled(inputs, sign.variable)) continue;
    return sign_error(std::string(sign.variable), quoted(value), sign.fix);
  }
  const std::string_view master = inputs.variable("MASTER_ADDR");
  if (is_other_master(inputs, master)) return sign_error("MASTER_ADDR", quoted(master), kByEnv);
  return {};
}

}  // namespace envgen
