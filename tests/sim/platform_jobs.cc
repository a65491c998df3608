#include "tests/sim/platform_jobs.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "init/cli/options.h"
#include "tests/sim/job_parts.h"

namespace sim {
namespace {

using envgen::PathState;

constexpr std::size_t kMaxVariableBytes = 128 * 1024 - 64;  // "NAME=value" of execve(2)

// Template 2: pods listed in reverse, so that every order that could be confused gives another one.
std::string template2(int nodes, int devices) {
  std::string list;
  for (int node = nodes - 1; node >= 0; --node) {
    list += list.empty() ? "" : ",";
    list += R"({"pod_name":"job-worker-)" + number(node) + R"(","server_id":")" + address_of(node) +
            R"(","devices":[)";
    for (int i = 0; i < devices; ++i) {
      list += i == 0 ? "" : ",";
      list += R"({"device_id":")" + number(i) + R"(","device_ip":"29.)" + number(i) + "." +
              number(node / 250) + "." + number(1 + node % 250) + R"("})";
    }
    list += "]}";
  }
  return R"({"status":"completed","group_count":"1","group_list":[{"group_name":"worker",)"
         R"("device_count":")" +
         number(nodes * devices) + R"(","instance_count":")" + number(nodes) +
         R"(","instance_list":[)" + list + "]}]}";
}

std::string template1(int nodes, int devices) {
  std::string list;
  for (int node = 0; node < nodes; ++node) {
    list += list.empty() ? "" : ",";
    list += R"({"server_id":")" + address_of(node) + R"(","device":[)";
    for (int i = 0; i < devices; ++i) {
      list += i == 0 ? "" : ",";
      list += R"({"device_id":")" + number(i) + R"(","device_ip":"29.)" + number(i) + "." +
              number(node / 250) + "." + number(1 + node % 250) + R"(","rank_id":")" +
              number(node * devices + i) + R"("})";
    }
    list += "]}";
  }
  return R"({"version":"1.0","status":"completed","server_count":")" + number(nodes) +
         R"(","server_list":[)" + list + "]}";
}

// --- modelarts

Job modelarts_ascend(int nodes, int slots) {
  auto table = std::make_shared<PathState>(file_of(template2(nodes, slots)));
  return {"modelarts-ascend", "modelarts", "ascend", nodes, slots, nodes, [table](int node) {
            std::string pod = "job-worker-" + number(node);
            Container one = plain(kTrain,
                                  {"RANK_TABLE_FILE=/user/config",
                                   "MA_CURRENT_INSTANCE_NAME=" + pod, "MA_VJ_NAME=ma-job-77"},
                                  pod);
            one.paths["/user/config"] = directory_of();
            one.paths["/user/config/jobstart_hccl.json"] = *table;
            return one;
          }};
}

Job modelarts_job(const std::string& framework, int nodes, int slots) {
  auto hosts =
      join(names(nodes, [](int i) { return "ma-job-77-worker-" + number(i) + ".ma-job-77"; }));
  return {"modelarts-" + framework, "modelarts", framework, nodes, slots, nodes, [=](int node) {
            std::string pod = "ma-job-77-worker-" + number(node);
            Words variables = {"MA_CURRENT_INSTANCE_NAME=" + pod,
                               "MA_VJ_NAME=ma-job-77",
                               "MA_TASK_NAME=worker",
                               "MA_NUM_HOSTS=" + number(nodes),
                               "VC_WORKER_NUM=" + number(nodes),
                               "VC_TASK_INDEX=" + number(node),
                               "MA_NUM_GPUS=" + number(slots)};
            // Larger jobs get the counts alone.
            if (hosts.size() < kMaxVariableBytes) variables.push_back("VC_WORKER_HOSTS=" + hosts);
            // The code directory, below the user's home; the command is the console's.
            variables.push_back("MA_JOB_DIR=/home/ma-user/user-job-dir");
            Container one = plain(with_options({"--framework", framework}), variables, pod);
            one.paths["/home/ma-user/user-job-dir/code/train.py"] = file_of("#!");
            return one;
          }};
}

Job modelarts_tensorflow(int nodes, int slots) {
  const int ps = 1;
  auto host = [](const char* role) {
    return [role](int i) {
      return "j-" + std::string(role) + "-" + number(i) + ".j:" + number(5000 + i % 5000);
    };
  };
  std::string ps_hosts = "[" + join(names(ps, host("ps"))) + "]";
  std::string worker_hosts = "[" + join(names(nodes - ps, host("worker"))) + "]";
  const Words script = {"--", "train.py", "--epochs", "3"};  // python is the platform's
  return {
      "modelarts-tensorflow", "modelarts", "tensorflow", nodes, slots, nodes - ps, [=](int node) {
        bool is_ps = node >= nodes - ps;
        int index = is_ps ? node - (nodes - ps) : node;
        std::string pod = "j-" + std::string(is_ps ? "ps" : "worker") + "-" + number(index);
        return plain(script,
                     {"MA_CURRENT_INSTANCE_NAME=" + pod, "MA_VJ_NAME=j",
                      "MA_SCRIPT_INTERPRETER=/opt/conda/bin/python",
                      std::string("MA_TASK_NAME=") + (is_ps ? "ps" : "worker"),
                      "VC_TASK_INDEX=" + number(index), "TF_PS_HOSTS=" + ps_hosts,
                      "TF_WORKER_HOSTS=" + worker_hosts, "MA_NUM_GPUS=" + number(slots)},
                     pod);
      }};
}

// --- PAI-DLC

Job dlc_pytorch(int nodes, int slots) {
  return {"dlc-pytorch", "dlc", "pytorch", nodes, slots, nodes, [=](int node) {
            std::string pod = "dlc1x-" + std::string(node == 0 ? "master-0" : "worker-") +
                              (node == 0 ? "" : number(node - 1));
            Container one = plain(kTrain,
                                  {"DLC_JOB_ID=dlc1x", "MASTER_ADDR=dlc1x-master-0",
                                   "MASTER_PORT=23456", "WORLD_SIZE=" + number(nodes),
                                   "RANK=" + number(node), "KUBERNETES_SERVICE_HOST=10.0.0.1"},
                                  pod);
            one.snapshot.facts.cwd = "/";
            one.paths["/root/code/train.py"] = file_of("#!");
            add_gpus(one, slots);
            return one;
          }};
}

std::string tf_config(const Words& workers, const Words& ps, const std::string& type, int index) {
  return R"({"cluster":{)" + (ps.empty() ? "" : "\"ps\":" + quoted(ps) + ",") +
         "\"worker\":" + quoted(workers) + R"(},"environment":"cloud","task":{"index":)" +
         number(index) + R"(,"type":")" + type + "\"}}";
}

Job injected_tf_config(const std::string& platform, const Words& marks, int nodes, int slots) {
  const int ps = 1;
  auto host = [](const char* role) {
    return [role](int i) { return "tf-" + std::string(role) + "-" + number(i) + ".ns.svc:2222"; };
  };
  Words workers = names(nodes - ps, host("worker"));
  Words servers = names(ps, host("ps"));
  return {
      platform + "-tensorflow", platform, "tensorflow", nodes, slots, nodes - ps, [=](int node) {
        bool is_ps = node >= nodes - ps;
        int index = is_ps ? node - (nodes - ps) : node;
        std::string role = is_ps ? "ps" : "worker";
        Words variables = marks;
        variables.push_back("TF_CONFIG=" + tf_config(workers, servers, role, index));
        variables.push_back("KUBERNETES_SERVICE_HOST=10.0.0.1");
        Container one = plain(kTrain, variables, "tf-" + role + "-" + number(index));
        if (!is_ps) add_gpus(one, slots);
        return one;
      }};
}

// --- the task-training platform

// Host lists come as variables while they fit, else as Volcano's files.
Container vk_container(const Words& argv, const Words& workers, const Words& ps, bool is_ps,
                       int index, int slots) {
  Words variables = {"VK_TASK_INDEX=" + number(index), "VC_TASK_INDEX=" + number(index),
                     "SLOTS=" + number(slots)};
  std::string worker_list = join(workers);
  bool fits = worker_list.size() < kMaxVariableBytes;
  if (fits) variables.push_back("WORKER_HOST=" + worker_list);
  if (!ps.empty()) variables.push_back("PS_HOST=" + join(ps));
  std::string host =
      is_ps ? ps[static_cast<std::size_t>(index)] : workers[static_cast<std::size_t>(index)];
  Container one = plain(argv, variables, host.substr(0, host.find_first_of(".:")));
  if (!fits) one.paths["/etc/volcano/worker.host"] = file_of(join(workers, "\n"));
  one.paths["/etc/mpi"] = directory_of();
  one.paths["/job"] = directory_of();
  return one;
}

Job vk_job(const std::string& framework, int nodes, int slots, const Words& command = kTrain) {
  Words workers = names(nodes, [](int i) { return "task-worker-" + number(i); });
  Words argv = with_options({"--framework", framework}, command);
  return {"vk-" + framework, "vk", framework, nodes, slots, nodes, [=](int node) {
            return vk_container(argv, workers, {}, false, node, slots);
          }};
}

Job vk_tensorflow_ps(int nodes, int slots) {
  const int ps = 1;
  Words workers = names(nodes - ps, [](int i) { return "task-worker-" + number(i) + ":2222"; });
  Words servers = names(ps, [](int i) { return "task-ps-" + number(i) + ":2222"; });
  return {"vk-tensorflow-ps", "vk", "tensorflow", nodes, slots, nodes - ps, [=](int node) {
            bool is_ps = node >= nodes - ps;
            int index = is_ps ? node - (nodes - ps) : node;
            Container one = vk_container(kTrain, workers, servers, is_ps, index, slots);
            if (is_ps) unset_variable(one, "SLOTS");
            return one;
          }};
}

// --- Volcano

Container volcano_container(const Words& argv, const std::string& task, const Words& hosts,
                            int index, Words more) {
  std::string upper;
  for (char c : task) upper += static_cast<char>(c - 'a' + 'A');
  Words variables = {"VK_TASK_INDEX=" + number(index), "VC_TASK_INDEX=" + number(index)};
  variables.insert(variables.end(), more.begin(), more.end());
  if (join(hosts).size() < kMaxVariableBytes) {
    variables.push_back("VC_" + upper + "_HOSTS=" + join(hosts));
    variables.push_back("VC_" + upper + "_NUM=" + number(static_cast<int>(hosts.size())));
  }
  const std::string& own = hosts[static_cast<std::size_t>(index)];
  Container one = plain(argv, variables, own.substr(0, own.find('.')));
  one.paths["/etc/volcano/" + task + ".host"] = file_of(join(hosts, "\n"));
  return one;
}

Job volcano_job(const std::string& framework, int nodes, int slots) {
  Words hosts = names(nodes, [](int i) { return "vj-worker-" + number(i) + ".vj"; });
  return {"volcano-" + framework, "volcano", framework, nodes, slots, nodes, [=](int node) {
            // A launcher's own pod has no devices, so that Volcano's MPI jobs have to say it.
            Words options = {"--framework", framework};
            if (framework == "mpi" || framework == "horovod")
              options.insert(options.end(), {"--slots", number(slots)});
            Container one = volcano_container(with_options(options), "worker", hosts, node, {});
            add_gpus(one, slots);
            return one;
          }};
}

Job volcano_ascend(int nodes, int slots) {
  auto table = std::make_shared<PathState>(file_of(template1(nodes, slots)));
  return {"volcano-ascend", "volcano", "ascend", nodes, slots, nodes, [=](int node) {
            Container one = plain(kTrain,
                                  {"VC_TASK_INDEX=" + number(node), "VK_TASK_INDEX=" + number(node),
                                   "HOST_IP=" + address_of(node), "MINDX_TASK_ID=5f1c"},
                                  "vj-worker-" + number(node));
            one.paths["/user/serverid/devindex/config"] = directory_of();
            one.paths["/user/serverid/devindex/config/hccl.json"] = *table;
            return one;
          }};
}

Job operator_pytorch(int nodes, int slots) {
  std::string ranks = join(names(slots, number));
  return {"volcano-operator-pytorch", "volcano", "pytorch", nodes, slots, nodes, [=](int node) {
            return plain(
                kTrain,
                {"MASTER_ADDR=10.1.0.1", "MASTER_PORT=2222", "WORLD_SIZE=" + number(nodes * slots),
                 "RANK=" + number(node), "LOCAL_WORLD_SIZE=" + number(slots), "LOCAL_RANK=" + ranks,
                 "MINDX_TASK_ID=5f1c", "HostNetwork=false"},
                "op-worker-" + number(node));
          }};
}

// --- Kubeflow

Job kubeflow_pytorch(int nodes, int slots) {
  return {"kubeflow-pytorch", "kubeflow", "pytorch", nodes, slots, nodes, [=](int node) {
            std::string pod = node == 0 ? "pt-master-0" : "pt-worker-" + number(node - 1);
            return plain(
                kTrain,
                {"MASTER_ADDR=pt-master-0", "MASTER_PORT=23456", "PET_MASTER_ADDR=pt-master-0",
                 "PET_MASTER_PORT=23456", "PET_NNODES=" + number(nodes),
                 "PET_NPROC_PER_NODE=" + number(slots), "PET_NODE_RANK=" + number(node),
                 "WORLD_SIZE=" + number(nodes * slots), "RANK=" + number(node),
                 "PYTHONUNBUFFERED=1", "KUBERNETES_SERVICE_HOST=10.0.0.1"},
                pod);
          }};
}

Job kubeflow_trainer(int nodes, int slots) {
  return {"kubeflow-trainer", "kubeflow", "pytorch", nodes, slots, nodes, [=](int node) {
            Container one =
                plain(kTrain,
                      {"PET_NNODES=" + number(nodes), "PET_NPROC_PER_NODE=auto",
                       "PET_NODE_RANK=" + number(node), "PET_MASTER_ADDR=tr-node-0-0.tr",
                       "PET_MASTER_PORT=29500", "JOB_COMPLETION_INDEX=" + number(node),
                       "KUBERNETES_SERVICE_HOST=10.0.0.1"},
                      "tr-node-0-" + number(node));
            add_gpus(one, slots);
            return one;
          }};
}

// Node 0 is the launcher, which runs no rank. The workers are told nothing but their role.
Job kubeflow_mpi(int nodes, int slots) {
  std::string hostfile;
  for (int i = 0; i < nodes - 1; ++i) {
    hostfile += "mj-worker-" + number(i) + ".mj.ns.svc slots=" + number(slots) + "\n";
  }
  Job job{"kubeflow-mpi", "kubeflow", "mpi", nodes, slots, nodes - 1, [=](int node) {
            bool launcher = node == 0;
            std::string pod = launcher ? "mj-launcher" : "mj-worker-" + number(node - 1);
            Words variables = {std::string("K_MPI_JOB_ROLE=") + (launcher ? "launcher" : "worker"),
                               "KUBERNETES_SERVICE_HOST=10.0.0.1"};
            if (launcher) {
              variables.push_back("OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile");
              variables.push_back("OMPI_MCA_orte_keep_fqdn_hostnames=true");
            }
            Container one = plain(kTrain, variables, pod);
            if (launcher) one.paths["/etc/mpi/hostfile"] = file_of(hostfile);
            return one;
          }};
  job.workers_know_cluster = false;
  return job;
}

// --- Slurm

std::string slurm_list(int nodes) {
  return nodes == 1 ? "n00001"
                    : "n[00001-" + std::string(5 - number(nodes).size(), '0') + number(nodes) + "]";
}

Job slurm_job(const std::string& framework, int nodes, int slots) {
  return {"slurm-" + framework, "slurm", framework, nodes, slots, nodes, [=](int node) {
            std::string own = number(node + 1);
            return plain(
                with_options({"--framework", framework}),
                {"SLURM_JOB_ID=4711", "SLURM_STEP_ID=0", "SLURM_JOB_NODELIST=" + slurm_list(nodes),
                 "SLURM_NNODES=" + number(nodes), "SLURM_JOB_NUM_NODES=" + number(nodes),
                 "SLURM_NODEID=" + number(node), "SLURM_PROCID=" + number(node), "SLURM_LOCALID=0",
                 "SLURM_NTASKS=" + number(nodes), "SLURM_GPUS_ON_NODE=" + number(slots)},
                "n" + std::string(5 - own.size(), '0') + own);
          }};
}

// srun has started one task per device: a container is a rank.
Job slurm_tasks(const std::string& framework, int nodes, int slots) {
  Job job{
      "slurm-tasks-" + framework, "slurm", framework, nodes * slots, slots, nodes, [=](int task) {
        std::string own = number(task / slots + 1);
        return plain(
            with_options({"--framework", framework}),
            {"SLURM_JOB_ID=4711", "SLURM_STEP_ID=0", "SLURM_JOB_NODELIST=" + slurm_list(nodes),
             "SLURM_NNODES=" + number(nodes), "SLURM_JOB_NUM_NODES=" + number(nodes),
             "SLURM_NODEID=" + number(task / slots), "SLURM_PROCID=" + number(task),
             "SLURM_LOCALID=" + number(task % slots), "SLURM_NTASKS=" + number(nodes * slots),
             "SLURM_TASKS_PER_NODE=" + number(slots) + "(x" + number(nodes) + ")",
             "SLURM_STEP_TASKS_PER_NODE=" + number(slots) + "(x" + number(nodes) + ")",
             "SLURM_GPUS_ON_NODE=" + number(slots)},
            "n" + std::string(5 - own.size(), '0') + own);
      }};
  job.task_per_rank = true;
  return job;
}

// --- Indexed Jobs and JobSets

Job indexed_job(const std::string& framework, int nodes, int slots) {
  return {"indexed-" + framework, "indexed", framework, nodes, slots, nodes, [=](int node) {
            return plain(
                with_options(
                    {"--framework", framework, "--nodes", number(nodes), "--slots", number(slots)}),
                {"JOB_COMPLETION_INDEX=" + number(node), "JOBSET_NAME=js", "REPLICATED_JOB_NAME=ij",
                 "JOB_INDEX=0", "REPLICATED_JOB_REPLICAS=1", "KUBERNETES_SERVICE_HOST=10.0.0.1"},
                "js-ij-0-" + number(node));
          }};
}

// --- bare metal

Job bare_ascend(int nodes, int slots) {
  auto table = std::make_shared<PathState>(file_of(template1(nodes, slots)));
  return {"bare-ascend", "bare", "ascend", nodes, slots, nodes, [=](int node) {
            Container one =
                plain(kTrain, {"RANK_TABLE_FILE=/etc/ranks/hccl.json"}, "ascend" + number(node));
            one.snapshot.facts.addresses = {address_of(node)};
            one.paths["/etc/ranks/hccl.json"] = *table;
            return one;
          }};
}

Job bare_job(const std::string& framework, int nodes, int slots) {
  std::string hosts =
      join(names(nodes, [=](int i) { return "h" + number(i) + ":" + number(slots); }));
  return {"bare-" + framework, "bare", framework, nodes, slots, nodes, [=](int node) {
            return plain(with_options({"--framework", framework, "--hosts", hosts}), {},
                         "h" + number(node));
          }};
}

// MindSpore without a rank table, by its own launcher or its dynamic cluster.
Job bare_mindspore(const std::string& launcher, int nodes, int slots) {
  std::string hosts =
      join(names(nodes, [=](int i) { return "h" + number(i) + ":" + number(slots); }));
  return {"bare-" + launcher, "bare", "ascend", nodes, slots, nodes, [=](int node) {
            return plain(with_options({"--framework", "ascend", "--ascend-launcher", launcher,
                                       "--hosts", hosts}),
                         {}, "h" + number(node));
          }};
}

// As somebody else than root, whose sshd cannot have port 22.
Job as_user(Job job) {
  job.name += "-user";
  job.container = [inner = job.container](int node) {
    Container one = inner(node);
    one.snapshot.facts.uid = 1000;
    one.snapshot.facts.gid = 1000;
    return one;
  };
  return job;
}

// With a launcher that the user typed.
Job typed(Job job, const Words& command) {
  job.name += "-typed";
  job.typed = true;
  job.container = [inner = job.container, command](int node) {
    Container one = inner(node);
    Words& argv = one.snapshot.argv;
    argv.erase(std::ranges::find(argv, "--"), argv.end());
    argv.insert(argv.end(), command.begin(), command.end());
    return one;
  };
  return job;
}

bool can_start(const Job& job) {
  for (int node : {0, job.nodes - 1}) {
    const Container one = job.container(node);
    for (const std::string& entry : one.snapshot.env.entries()) {
      if (entry.size() > kMaxVariableBytes) return false;
    }
    for (const std::string& argument : one.snapshot.argv) {
      if (argument.size() > kMaxVariableBytes) return false;
    }
  }
  return true;
}

// The names in `path`, as far as something below it exists.
std::vector<std::string> children(const Container& container, const std::string& path) {
  const std::string prefix = path == "/" ? path : path + "/";
  std::vector<std::string> names;
  for (auto next = container.paths.lower_bound(prefix);
       next != container.paths.end() && next->first.starts_with(prefix); ++next) {
    std::string name = next->first.substr(prefix.size());
    name.resize(std::min(name.find('/'), name.size()));
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

PathState file_of(std::string content) {
  PathState state;
  state.kind = PathState::Kind::kFile;
  state.size_bytes = content.size();
  state.content = std::move(content);
  return state;
}

PathState directory_of() {
  PathState state;
  state.kind = PathState::Kind::kDirectory;
  state.writable = true;
  return state;
}

std::vector<Job> simulated_jobs(int nodes, int slots) {
  std::vector<Job> jobs = {
      modelarts_ascend(nodes, slots),
      modelarts_tensorflow(nodes, slots),
      dlc_pytorch(nodes, slots),
      injected_tf_config("dlc", {"DLC_JOB_ID=dlc1x"}, nodes, slots),
      vk_job("horovod", nodes, slots),
      vk_job("mpi", nodes, slots),
      vk_job("pytorch", nodes, slots),
      vk_job("tensorflow", nodes, slots),
      vk_job("deepspeed", nodes, slots, {"--", "deepspeed", "train.py", "--deepspeed"}),
      vk_tensorflow_ps(nodes, slots),
      volcano_ascend(nodes, slots),
      operator_pytorch(nodes, slots),
      kubeflow_pytorch(nodes, slots),
      injected_tf_config("kubeflow", {}, nodes, slots),
      kubeflow_mpi(nodes, slots),
      kubeflow_trainer(nodes, slots),
      slurm_tasks("pytorch", nodes, slots),
      slurm_tasks("horovod", nodes, slots),
      bare_ascend(nodes, slots),
      bare_mindspore("msrun", nodes, slots),
      bare_mindspore("dynamic", nodes, slots),
      as_user(bare_job("mpi", nodes, slots)),
      typed(bare_job("mpi", nodes, slots), {"--", "mpirun", "-np", "2", "./train"}),
      typed(bare_job("pytorch", nodes, slots), {"--", "torchrun", "train.py"}),
  };
  for (const char* framework : {"pytorch", "mpi", "horovod", "deepspeed", "tensorflow"}) {
    const std::string name = framework;
    if (name != "tensorflow") jobs.push_back(modelarts_job(name, nodes, slots));
    jobs.push_back(volcano_job(name, nodes, slots));
    jobs.push_back(slurm_job(name, nodes, slots));
    jobs.push_back(indexed_job(name, nodes, slots));
    jobs.push_back(bare_job(name, nodes, slots));
  }
  std::ranges::move(told_jobs(nodes, slots), std::back_inserter(jobs));
  std::erase_if(jobs, [](const Job& job) {
    const bool as_per_node = job.task_per_rank && job.slots == 1;
    return as_per_node || !can_start(job);
  });
  return jobs;
}

const Job& job_named(const std::vector<Job>& jobs, const std::string& name) {
  for (const Job& job : jobs) {
    if (job.name == name) return job;
  }
  throw std::out_of_range(name);
}

envgen::Outcome resolve(Container& container) {
  auto options = cli::parse_options(container.snapshot.argv, container.snapshot.env);
  if (!options) return options.error();
  while (true) {
    envgen::Answer answer = envgen::resolve(container.snapshot, options->request);
    if (answer.wants.empty()) return std::move(answer.outcome);
    for (const envgen::Want& want : answer.wants) {
      auto found = container.paths.find(want.path);
      PathState state;
      if (found != container.paths.end()) {
        state = found->second;
      } else if (auto names = children(container, want.path); !names.empty()) {
        state = directory_of();
        state.entries = std::move(names);
      }
      state.listed = want.content && state.kind == PathState::Kind::kDirectory;
      container.snapshot.paths[want.path] = std::move(state);
    }
  }
}

void set_variable(Container& container, const std::string& name, const std::string& value) {
  container.snapshot.env.set(name, value);
}

void unset_variable(Container& container, const std::string& name) {
  container.snapshot.env.unset(name);
}

}  // namespace sim
