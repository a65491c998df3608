#include <algorithm>
#include <memory>
#include <utility>

#include "tests/sim/job_parts.h"

namespace sim {
namespace {

const Words kPyTorch = with_options({"--framework", "pytorch"});

Job job_of(const std::string& platform, int nodes, int slots,
           std::function<Container(int node)> container) {
  return {platform + "-pytorch", platform, "pytorch", nodes, slots, nodes, std::move(container)};
}

// One container is one rank.
Job tasks_of(const std::string& platform, int nodes, int slots,
             std::function<Container(int task)> container) {
  Job job{platform + "-tasks-pytorch", platform, "pytorch", nodes * slots, slots, nodes,
          std::move(container)};
  job.task_per_rank = true;
  return job;
}

std::string json_list(const Words& words) { return quoted(words); }

// A container of the image's own entry point: the file alone. Sorted as text, as SageMaker does.
Job sagemaker(int nodes, int slots) {
  Words hosts = names(nodes, [](int i) { return "algo-" + number(i + 1); });
  std::ranges::sort(hosts);
  const std::string list = json_list(hosts);
  return job_of("sagemaker", nodes, slots, [=](int node) {
    const std::string& own = hosts[static_cast<std::size_t>(node)];
    Container one = plain(kPyTorch,
                          {"TRAINING_JOB_NAME=tj-1",
                           "TRAINING_JOB_ARN=arn:aws:sagemaker:eu-west-1:1:training-job/tj-1"},
                          own);
    one.paths["/opt/ml/input/config/resourceconfig.json"] =
        file_of(R"({"current_host":")" + own + R"(","hosts":)" + list +
                R"(,"network_interface_name":"eth0"})");
    add_gpus(one, slots);
    return one;
  });
}

Job sagemaker_toolkit(int nodes, int slots) {
  const std::string list = json_list(names(nodes, [](int i) { return "algo-" + number(i + 1); }));
  Job job = job_of("sagemaker", nodes, slots, [=](int node) {
    return plain(kPyTorch,
                 {"SM_HOSTS=" + list, "SM_CURRENT_HOST=algo-" + number(node + 1),
                  "SM_NUM_GPUS=" + number(slots)},
                 "algo-" + number(node + 1));
  });
  job.name = "sagemaker-toolkit";
  return job;
}

Job azureml(int nodes, int slots) {
  return job_of("azureml", nodes, slots, [=](int node) {
    Container one = plain(kPyTorch,
                          {"AZUREML_NODE_COUNT=" + number(nodes), "MASTER_ADDR=10.0.0.4",
                           "MASTER_PORT=6105", "WORLD_SIZE=" + number(nodes),
                           "NODE_RANK=" + number(node), "RANK=" + number(node), "LOCAL_RANK=0"},
                          "az" + number(node));
    add_gpus(one, slots);
    return one;
  });
}

Job azureml_tasks(int nodes, int slots) {
  return tasks_of("azureml", nodes, slots, [=](int task) {
    return plain(kPyTorch,
                 {"AZUREML_NODE_COUNT=" + number(nodes), "MASTER_ADDR=10.0.0.4", "MASTER_PORT=6105",
                  "WORLD_SIZE=" + number(nodes * slots), "NODE_RANK=" + number(task / slots),
                  "RANK=" + number(task), "LOCAL_RANK=" + number(task % slots)},
                 "az" + number(task / slots));
  });
}

Job azureml_mpi(int nodes, int slots) {
  Job job = tasks_of("azureml", nodes, slots, [=](int task) {
    return plain(
        kPyTorch,
        {"AZUREML_NODE_COUNT=" + number(nodes), "AZ_BATCH_MASTER_NODE=10.0.0.4:6000",
         "OMPI_COMM_WORLD_SIZE=" + number(nodes * slots),
         "OMPI_COMM_WORLD_LOCAL_SIZE=" + number(slots), "OMPI_COMM_WORLD_RANK=" + number(task),
         "OMPI_COMM_WORLD_LOCAL_RANK=" + number(task % slots)},
        "az" + number(task / slots));
  });
  job.name = "azureml-mpi-tasks-pytorch";
  return job;
}

Job vertex(int nodes, int slots) {
  const std::string workers = json_list(names(
      nodes - 1, [](int i) { return "cmle-training-workerpool1-ab-" + number(i) + ":2222"; }));
  return job_of("vertex", nodes, slots, [=](int node) {
    const std::string pool = node == 0 ? "workerpool0" : "workerpool1";
    const int index = node == 0 ? 0 : node - 1;
    Container one =
        plain(kPyTorch,
              {R"(CLUSTER_SPEC={"cluster":{"workerpool0":["cmle-training-workerpool0-ab-0:2222"],)"
               R"("workerpool1":)" +
                   workers + R"(},"environment":"cloud","task":{"type":")" + pool +
                   R"(","index":)" + number(index) + "}}",
               "KUBERNETES_SERVICE_HOST=10.0.0.1"},
              "cmle-training-" + pool + "-ab-" + number(index));
    add_gpus(one, slots);
    return one;
  });
}

Job skypilot(int nodes, int slots) {
  const std::string addresses = join(names(nodes, address_of), "\n");
  return job_of("skypilot", nodes, slots, [=](int node) {
    return plain(kPyTorch,
                 {"SKYPILOT_NODE_RANK=" + number(node), "SKYPILOT_NODE_IPS=" + addresses,
                  "SKYPILOT_NUM_NODES=" + number(nodes),
                  "SKYPILOT_NUM_GPUS_PER_NODE=" + number(slots), "SKYPILOT_TASK_ID=sky-1"},
                 "sky-" + number(node));
  });
}

Job mlp(int nodes, int slots) {
  auto variables = std::make_shared<Words>(
      names(nodes, [](int i) { return "MLP_WORKER_" + number(i) + "_HOST=" + address_of(i); }));
  variables->insert(variables->end(), {"MLP_ROLE=WORKER", "MLP_WORKER_NUM=" + number(nodes),
                                       "MLP_WORKER_GPU=" + number(slots), "MLP_WORKER_0_PORT=2223",
                                       "MLP_TASK_ID=t-1"});
  return job_of("mlp", nodes, slots, [=](int node) {
    Words own = *variables;
    own.push_back("MLP_ROLE_INDEX=" + number(node));
    return plain(kPyTorch, own, "t-1-worker-" + number(node));
  });
}

Job lws(int nodes, int slots) {
  return job_of("lws", nodes, slots, [=](int node) {
    Container one = plain(kPyTorch,
                          {"LWS_LEADER_ADDRESS=train-1.train.ns", "LWS_GROUP_SIZE=" + number(nodes),
                           "LWS_WORKER_INDEX=" + number(node), "KUBERNETES_SERVICE_HOST=10.0.0.1"},
                          node == 0 ? "train-1" : "train-1-" + number(node));
    add_gpus(one, slots);
    return one;
  });
}

Job dstack(int nodes, int slots) {
  const std::string addresses = join(names(nodes, address_of), "\n");
  return job_of("dstack", nodes, slots, [=](int node) {
    return plain(kPyTorch,
                 {"DSTACK_NODES_NUM=" + number(nodes), "DSTACK_NODE_RANK=" + number(node),
                  "DSTACK_MASTER_NODE_IP=" + address_of(0), "DSTACK_NODES_IPS=" + addresses,
                  "DSTACK_GPUS_PER_NODE=" + number(slots), "DSTACK_RUN_NAME=train"},
                 "ip-" + number(node));
  });
}

Job beaker(int nodes, int slots) {
  return job_of("beaker", nodes, slots, [=](int node) {
    Container one =
        plain(kPyTorch,
              {"BEAKER_REPLICA_COUNT=" + number(nodes), "BEAKER_REPLICA_RANK=" + number(node),
               "BEAKER_LEADER_REPLICA_HOSTNAME=gpu-cluster-7.site"},
              "gpu-cluster-" + number(node + 7));
    add_gpus(one, slots);
    return one;
  });
}

Job baseten(int nodes, int slots) {
  return job_of("baseten", nodes, slots, [=](int node) {
    return plain(kPyTorch,
                 {"BT_GROUP_SIZE=" + number(nodes), "BT_NODE_RANK=" + number(node),
                  "BT_LEADER_ADDR=" + address_of(0), "BT_NUM_GPUS=" + number(slots)},
                 "training-" + number(node));
  });
}

Job metaflow(int nodes, int slots) {
  return job_of("metaflow", nodes, slots, [=](int node) {
    Container one =
        plain(kPyTorch,
              {"MF_PARALLEL_NUM_NODES=" + number(nodes), "MF_PARALLEL_NODE_INDEX=" + number(node),
               "MF_PARALLEL_MAIN_IP=" + address_of(0)},
              "step-" + number(node));
    add_gpus(one, slots);
    return one;
  });
}

Job openpai(int nodes, int slots) {
  auto variables = std::make_shared<Words>(
      names(nodes, [](int i) { return "PAI_HOST_IP_worker_" + number(i) + "=" + address_of(i); }));
  variables->insert(variables->end(), {"PAI_TASK_ROLE_LIST=worker", "PAI_TASK_ROLE_COUNT=1",
                                       "PAI_TASK_ROLE_TASK_COUNT_worker=" + number(nodes),
                                       "PAI_RESOURCE_worker=" + number(slots) + ",8,65536,1024",
                                       "PAI_CURRENT_TASK_ROLE_NAME=worker", "PAI_JOB_NAME=j"});
  return job_of("openpai", nodes, slots, [=](int node) {
    Words own = *variables;
    own.push_back("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=" + number(node));
    return plain(kPyTorch, own, "pai" + number(node));
  });
}

Job lsf(const std::string& framework, int nodes, int slots) {
  const std::string hosts =
      join(names(nodes, [=](int i) { return "n" + number(i) + " " + number(slots); }), " ");
  Job job = job_of("lsf", nodes, slots, [=](int node) {
    return plain(with_options({"--framework", framework}),
                 {"LSB_JOBID=7", "LSB_MCPU_HOSTS=" + hosts}, "n" + number(node) + ".example.org");
  });
  job.name = "lsf-" + framework;
  job.framework = framework;
  return job;
}

// A line for each rank, the hosts in turn.
Job pbs(const std::string& framework, int nodes, int slots) {
  std::string lines;
  for (int i = 0; i < nodes * slots; ++i) lines += "n" + number(i % nodes) + ".cluster\n";
  auto file = std::make_shared<envgen::PathState>(file_of(lines));
  Job job = job_of("pbs", nodes, slots, [=](int node) {
    Container one = plain(with_options({"--framework", framework}),
                          {"PBS_JOBID=7.server", "PBS_NODEFILE=/var/spool/pbs/aux/7.server"},
                          "n" + number(node));
    one.paths["/var/spool/pbs/aux/7.server"] = *file;
    return one;
  });
  job.name = "pbs-" + framework;
  job.framework = framework;
  return job;
}

Job tfconfig(int nodes, int slots) {
  const std::string workers =
      json_list(names(nodes, [](int i) { return "h" + number(i) + ":2222"; }));
  Job job = job_of("tfconfig", nodes, slots, [=](int node) {
    return plain(with_options({"--framework", "tensorflow"}),
                 {R"(TF_CONFIG={"cluster":{"worker":)" + workers +
                  R"(},"task":{"type":"worker","index":)" + number(node) + "}}"},
                 "h" + number(node));
  });
  job.name = "tfconfig-tensorflow";
  job.framework = "tensorflow";
  return job;
}

Job env(int nodes, int slots) {
  return job_of("env", nodes, slots, [=](int node) {
    Container one = plain(with_options({"--framework", "pytorch", "--rank-means", "node"}),
                          {"MASTER_ADDR=pod-0", "MASTER_PORT=2222", "WORLD_SIZE=" + number(nodes),
                           "RANK=" + number(node)},
                          "pod-" + number(node));
    add_gpus(one, slots);
    return one;
  });
}

Job env_by_nodes(int nodes, int slots) {
  Job job = job_of("env", nodes, slots, [=](int node) {
    Container one = plain(
        kPyTorch, {"MASTER_ADDR=pod-0", "NNODES=" + number(nodes), "NODE_RANK=" + number(node)},
        "pod-" + number(node));
    add_gpus(one, slots);
    return one;
  });
  job.name = "env-nodes-pytorch";
  return job;
}

// RunPod's Instant Clusters, by "Configuration reference".
Job env_runpod(int nodes, int slots) {
  Job job = job_of("env", nodes, slots, [=](int node) {
    Container one = plain(
        kPyTorch,
        {"MASTER_ADDR=10.65.0.2", "MASTER_PORT=29400", "PRIMARY_ADDR=10.65.0.2",
         "NUM_NODES=" + number(nodes), "NODE_RANK=" + number(node), "NODE_ADDR=" + address_of(node),
         "NUM_TRAINERS=" + number(slots), "WORLD_SIZE=" + number(nodes * slots)},
        "9f1c" + number(node));
    add_gpus(one, slots);
    return one;
  });
  job.name = "env-runpod-pytorch";
  return job;
}

Job determined(int nodes, int slots) {
  const std::string addresses = json_list(names(nodes, address_of));
  const std::string each = "[" + join(Words(static_cast<std::size_t>(nodes), number(slots))) + "]";
  return job_of("determined", nodes, slots, [=](int node) {
    Container one = plain(kPyTorch,
                          {"DET_CLUSTER_ID=c", "DET_ALLOCATION_ID=17.0.1", "DET_TASK_TYPE=TRIAL",
                           "DET_AGENT_ID=a" + number(node)},
                          "trial-" + number(node));
    one.paths["/run/determined/info/rendezvous.json"] =
        file_of(R"({"container_addrs": )" + addresses + R"(, "container_rank": )" + number(node) +
                R"(, "container_slot_counts": )" + each + "}");
    return one;
  });
}

Job env_tasks(int nodes, int slots) {
  return tasks_of("env", nodes, slots, [=](int task) {
    return plain(kPyTorch,
                 {"MASTER_ADDR=pod-0", "MASTER_PORT=2222", "WORLD_SIZE=" + number(nodes * slots),
                  "RANK=" + number(task), "LOCAL_RANK=" + number(task % slots),
                  "LOCAL_WORLD_SIZE=" + number(slots)},
                 "pod-" + number(task / slots));
  });
}

// torchrun's flags of these names, as options.
Job counted(int nodes, int slots) {
  Job job = job_of("bare", nodes, slots, [=](int node) {
    return plain(
        with_options({"--framework", "pytorch", "--slots", number(slots), "--nodes", number(nodes),
                      "--node-rank", number(node), "--master-addr", "pod-0"}),
        {}, "pod-" + number(node));
  });
  job.name = "bare-counted-pytorch";
  return job;
}

}  // namespace

std::vector<Job> told_jobs(int nodes, int slots) {
  std::vector<Job> jobs = {
      sagemaker(nodes, slots),   sagemaker_toolkit(nodes, slots),
      azureml(nodes, slots),     azureml_tasks(nodes, slots),
      azureml_mpi(nodes, slots), skypilot(nodes, slots),
      mlp(nodes, slots),         lws(nodes, slots),
      openpai(nodes, slots),     lsf("pytorch", nodes, slots),
      lsf("mpi", nodes, slots),  pbs("pytorch", nodes, slots),
      pbs("mpi", nodes, slots),  tfconfig(nodes, slots),
      env(nodes, slots),         env_by_nodes(nodes, slots),
      env_tasks(nodes, slots),   counted(nodes, slots),
      vertex(nodes, slots),      dstack(nodes, slots),
      beaker(nodes, slots),      baseten(nodes, slots),
      metaflow(nodes, slots),    env_runpod(nodes, slots),
      determined(nodes, slots),
  };
  return jobs;
}

}  // namespace sim
