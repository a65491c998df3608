#pragma once
// The variables that platforms and launchers give a process, one row a prefix. The sources of
// envgen/platform/ name no other variable of a platform, and neither do the signs of several nodes
// (envgen/platform/cluster_signs.cc). tests/envgen/platform/platform_variables_test.cc proves the
// first, a static_assert the second. The prefixes by which init/early knows a job that must be
// resolved are those of this table (init/early/environment_prefixes.h).
//
// Platforms that only count their nodes have their own table, envgen/plan/given_names.h. Of that
// table, only the counts of the platforms with GivenNames::always are here as well, for their
// prefixes.
//
// Only constants and loops, because code that runs before libc includes this header.

namespace base {

struct PlatformVariables {
  // A command with a variable that begins so is resolved. "": these variables never decide alone
  // whether a plain command is resolved.
  char prefix[16];
  // Names, separated by blanks. A name that ends with '_' is the beginning that a profile compares
  // names with, or completes. is_platform_variable() finds only that beginning, no completed name.
  const char* names;
};

inline constexpr PlatformVariables kPlatformVariables[] = {
    {"ASCEND", "ASCEND_VISIBLE_DEVICES"},
    {"AZUREML_", "AZUREML_NODE_COUNT"},
    {"AZ_BATCH",
     "AZ_BATCHAI_MPI_MASTER_NODE AZ_BATCH_HOST_LIST AZ_BATCH_MASTER_NODE "
     "AZ_BATCH_NODE_LIST"},
    {"BATCH_", "BATCH_CUSTOM0_HOSTS BATCH_TASK_CURRENT_INSTANCE"},
    {"CLOUD_ML_", "CLOUD_ML_JOB_ID"},
    {"CLUSTER_SPEC", "CLUSTER_SPEC"},
    {"CM_", "CM_CHIEF_IP CM_CHIEF_PORT CM_LOCAL_WORKER CM_RANK CM_WORKER_SIZE"},
    {"COORDINATOR_", "COORDINATOR_ADDRESS COORDINATOR_PORT"},
    {"DET_", "DET_ALLOCATION_ID DET_TASK_TYPE"},
    {"DLC_", "DLC_JOB_ID"},
    {"DLS_", "DLS_TASK_INDEX DLS_TASK_NUMBER"},
    {"DMLC_", "DMLC_NUM_WORKER DMLC_TASK_ID DMLC_TRACKER_PORT DMLC_TRACKER_URI"},
    {"GLOBAL_", "GLOBAL_REPLICAS"},
    {"HYDRA_", "HYDRA_HOST_FILE HYDRA_IFACE"},
    {"I_MPI_HYDRA_", "I_MPI_HYDRA_HOST_FILE"},
    {"JAX_", "JAX_COORDINATOR_ADDRESS JAX_NUM_PROCESSES JAX_PROCESS_ID"},
    {"JOB", "JOBSET_NAME JOB_COMPLETIONS JOB_COMPLETION_INDEX JOB_GLOBAL_INDEX JOB_INDEX"},
    {"K_MPI_", "K_MPI_JOB_ROLE"},
    {"LOCAL_", "LOCAL_RANK LOCAL_WORLD_SIZE"},
    {"LSB_", "LSB_HOSTS LSB_JOBID LSB_MCPU_HOSTS"},
    {"LWS_", "LWS_GROUP_SIZE"},  // of given_names.h
    {"MASTER_", "MASTER_ADDR MASTER_PORT"},
    {"MA_",
     "MA_CURRENT_HOST_IP MA_CURRENT_INSTANCE_NAME MA_CURRENT_IP MA_HOME MA_JOB_DIR MA_LOG_DIR "
     "MA_MOUNT_PATH MA_NUM_GPUS MA_NUM_HOSTS MA_SCRIPT_INTERPRETER MA_TASK_NAME MA_VJ_NAME"},
    {"MINDX", "MINDX_SERVER_IP MINDX_TASK_ID"},
    {"MLP_", "MLP_ MLP_ROLE MLP_ROLE_INDEX MLP_TASK_ID MLP_WORKER_0_HOST MLP_WORKER_NUM"},
    {"MPI_", "MPI_HOST"},
    {"MS_", "MS_LOCAL_WORKER MS_NODE_RANK MS_ROLE MS_SCHED_HOST MS_SCHED_PORT MS_WORKER_NUM"},
    {"NNODES", "NNODES"},
    {"NODE_RANK", "NODE_RANK"},
    {"NPROC_", "NPROC_PER_NODE"},
    {"NPU", "NPU_POD"},
    {"NUM_NODES", "NUM_NODES"},
    {"NUM_PROCESS", "NUM_PROCESSES"},
    {"OMPI_",
     "OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE OMPI_COMM_WORLD_RANK "
     "OMPI_COMM_WORLD_SIZE OMPI_MCA_orte_default_hostfile"},
    {"PADDLE_",
     "PADDLE_ELASTIC_NP PADDLE_JOB_ID PADDLE_MASTER PADDLE_NNODES PADDLE_SERVER_NUM "
     "PADDLE_TRAINERS_NUM PADDLE_TRAINER_ENDPOINTS PADDLE_TRAINER_ID PADDLE_TRAINER_NUM"},
    {"PAI_",
     "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX PAI_CURRENT_TASK_ROLE_NAME PAI_HOST_IP_ "
     "PAI_JOB_NAME PAI_RESOURCE_ PAI_TASK_ROLE_LIST PAI_TASK_ROLE_TASK_COUNT_"},
    {"PBS_", "PBS_JOBID PBS_NODEFILE PBS_NUM_NODES"},
    {"PET_",
     "PET_MASTER_ADDR PET_MASTER_PORT PET_NNODES PET_NODE_RANK PET_NPROC_PER_NODE "
     "PET_RDZV_BACKEND PET_RDZV_ENDPOINT"},
    {"PMI", "PMIX_RANK PMI_RANK PMI_SIZE"},
    {"POD_", "POD_IP POD_NAME POD_UID"},
    {"PROCESS_ID", "PROCESS_ID"},
    {"PRTE_MCA_prte_d", "PRTE_MCA_prte_default_hostfile"},
    {"PS_HOST", "PS_HOST"},
    {"RANK", "RANK RANK_START RANK_TABLE_FILE RANK_TABLE_FILE_V_1_0"},
    {"REPLICATED_", "REPLICATED_JOB_NAME REPLICATED_JOB_REPLICAS"},
    {"SKYPILOT_", "SKYPILOT_NUM_NODES"},  // of given_names.h
    {"SLOTS", "SLOTS"},
    {"SLURM",
     "SLURMD_NODENAME SLURM_GPUS_ON_NODE SLURM_HET_SIZE SLURM_JOBID SLURM_JOB_ID "
     "SLURM_JOB_NAME SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES SLURM_LOCALID SLURM_NNODES "
     "SLURM_NODEID "
     "SLURM_NODELIST SLURM_NPROCS SLURM_NTASKS SLURM_NTASKS_PER_NODE SLURM_PROCID "
     "SLURM_STEPID SLURM_STEP_ID SLURM_STEP_NODELIST SLURM_STEP_NUM_NODES "
     "SLURM_STEP_NUM_TASKS SLURM_STEP_TASKS_PER_NODE SLURM_TASKS_PER_NODE"},
    {"SM_", "SM_CURRENT_HOST SM_HOSTS SM_INSTANCE_GROUPS SM_NUM_GPUS"},
    {"TF_CONFIG", "TF_CONFIG"},
    {"TF_PS", "TF_PS_HOSTS"},
    {"TF_WORKER", "TF_WORKER_HOSTS"},
    {"TRAINING_JOB", "TRAINING_JOB_ARN TRAINING_JOB_NAME"},
    {"VC_", "VC_ VC_LEARNER_HOSTS VC_TASK_INDEX VC_TASK_NAME VC_WORKER_HOSTS VC_WORKER_NUM"},
    {"VK_", "VK_TASK_INDEX"},
    {"WORKER_ADDR", "WORKER_ADDRS"},
    {"WORKER_HOST", "WORKER_HOST"},
    {"WORLD_SIZE", "WORLD_SIZE"},
    // Variables that add facts to a platform that other variables show.
    {"",
     "CSM_ALLOCATION_ID HOSTNAME HOST_IP KUBERNETES_SERVICE_HOST TASK_NAME VOLCANO_TASK_NAME "
     "XDL_IP"},
    // Signs of several nodes. A plan of several ranks heeds them, and such a plan is asked for by
    // an option, by its variable or by a variable above.
    {"",
     "AWS_BATCH_JOB_NUM_NODES FLUX_JOB_NNODES FLUX_JOB_SIZE FLUX_TASK_RANK GROUP_RANK "
     "GROUP_WORLD_SIZE HOROVOD_SIZE JSM_NAMESPACE_SIZE LEPTON_JOB_TOTAL_WORKERS "
     "MEGASCALE_NUM_SLICES MV2_COMM_WORLD_SIZE NGC_ARRAY_SIZE NHOSTS PALS_NODEID "
     "TPU_WORKER_HOSTNAMES _CONDOR_NPROCS"},
};

// Returns whether `text` begins with `prefix`.
constexpr bool begins_with(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return false;
  }
  return true;
}

// Returns whether `name`, a text of `size` bytes, is a word of the table. Another byte must follow
// the text.
constexpr bool is_platform_variable(const char* name, unsigned long size) {
  for (const PlatformVariables& row : kPlatformVariables) {
    if (!begins_with(name, row.prefix)) continue;
    for (const char* word = row.names; *word != '\0';) {
      unsigned long same = 0;
      while (same < size && word[same] == name[same]) ++same;
      if (same == size && (word[same] == ' ' || word[same] == '\0')) return true;
      while (*word != '\0' && *word != ' ') ++word;
      if (*word == ' ') ++word;
    }
  }
  return false;
}

constexpr int count_platform_prefixes() {
  int count = 0;
  for (const PlatformVariables& row : kPlatformVariables) count += row.prefix[0] != '\0' ? 1 : 0;
  return count;
}

// The prefixes of the table without its names, whose addresses would cost memory at run time.
struct PlatformPrefixes {
  char text[count_platform_prefixes()][sizeof(PlatformVariables::prefix)];
};
inline constexpr PlatformPrefixes kPlatformPrefixes = [] {
  PlatformPrefixes prefixes{};
  int count = 0;
  for (const PlatformVariables& row : kPlatformVariables) {
    if (row.prefix[0] == '\0') continue;
    for (unsigned at = 0; at < sizeof row.prefix; ++at) prefixes.text[count][at] = row.prefix[at];
    ++count;
  }
  return prefixes;
}();

}  // namespace base
