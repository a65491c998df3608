#pragma once
// Prefixes of variables that can require resolving: a superset of the variables that envgen reads.
// Code without libc can compare prefixes. tests/init/early/early_prefixes_test.cc compares the list
// with envgen.

namespace early {

// "CONDA" matches each variable whose name begins with it.
inline constexpr char kEnvironmentPrefixes[][16] = {
    "ANACONDA",  "ASCEND",       "ATB_",        "AZUREML_",    "AZ_BATCH",     "BATCH_",
    "CLOUD_ML_", "CLUSTER_SPEC", "CM_",         "CONDA",       "COORDINATOR_", "DEFAULT_CONDA",
    "DET_",      "DEVICE_",      "DLC_",        "DLS_",        "DMLC_",        "GLOBAL_",
    "HCCL",      "HYDRA_",       "JAX_",        "JOB",         "K_MPI_",       "LISTEN_",
    "LOCAL_",    "LSB_",         "LWS_",        "MAMBA",       "MASTER_",      "MA_",
    "MINDX",     "MLP_",         "MPI_",        "MS_",         "NNODES",       "NODE_RANK",
    "NPROC_",    "NPU",          "NUM_NODES",   "NUM_PROCESS", "OMPI_",        "PADDLE_",
    "PAI_",      "PBS_",         "PET_",        "PMI",         "POD_",         "PROCESS_ID",
    "PS_HOST",   "RANK",         "REPLICATED_", "SERVER_ID",   "SKYPILOT_",    "SLOTS",
    "SLURM",     "SM_",          "TF_CONFIG",   "TF_PS",       "TF_WORKER",    "TRAINING_JOB",
    "TRAINIT_",  "VC_",          "VK_",         "WORKER_ADDR", "WORKER_HOST",  "WORLD_SIZE",
};

// Names in a program's path that belong to conda: "/opt/conda/envs/a/bin/python", "micromamba".
inline constexpr char kProgramPrefixes[][8] = {"conda", "mamba", "envs"};

// If this directory exists, there may be hooks. Same as envgen::kHooksDirectory.
inline constexpr char kHooksDirectory[] = "/etc/trainit/hooks";

constexpr bool begins_with(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return false;
  }
  return true;
}

constexpr bool equal(const char* text, const char* other) {
  while (*text != '\0' && *text == *other) {
    ++text;
    ++other;
  }
  return *text == *other;
}

// Checks the name in `entry` ("NAME=VALUE").
constexpr bool has_known_prefix(const char* entry) {
  for (const auto& known : kEnvironmentPrefixes) {
    if (begins_with(entry, known)) return true;
  }
  return false;
}

constexpr bool may_be_conda(const char* program) {
  for (; *program != '\0'; ++program) {
    for (const auto& known : kProgramPrefixes) {
      if (begins_with(program, known)) return true;
    }
  }
  return false;
}

}  // namespace early
