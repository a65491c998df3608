#pragma once
// A launcher called by itself: what a platform would have said, as a value.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/framework/framework.h"

namespace envgen {

inline const auto kLaunchAscend = launcher_of("ascend").launch;
inline const auto kLaunchDeepspeed = launcher_of("deepspeed").launch;
inline const auto kLaunchHorovod = launcher_of("horovod").launch;
inline const auto kLaunchMpi = launcher_of("mpi").launch;
inline const auto kLaunchPytorch = launcher_of("pytorch").launch;
inline const auto kLaunchSingle = launcher_of("single").launch;
inline const auto kLaunchTensorflow = launcher_of("tensorflow").launch;

struct LauncherCase {
  Snapshot snapshot;
  Request request;
  ResolvedCluster resolved;
  Plan plan;  // as it is when the launcher gets it

  LauncherCase(std::vector<std::string> command, const std::vector<int>& slots, int node_rank) {
    snapshot.env = base::Environ({"PATH=/usr/bin"});
    snapshot.facts.cwd = "/srv/job";
    snapshot.facts.run_dir = "/run/trainit";
    snapshot.facts.addresses = {"10.0.0.1"};
    resolved.platform.command = std::move(command);
    resolved.platform.log_dir = "/logs";
    resolved.local_node.node_rank = node_rank;
    for (std::size_t rank = 0; rank < slots.size(); ++rank) {
      Node node;
      node.host = "host-" + std::to_string(rank);
      node.slots = slots[rank];
      resolved.cluster.nodes.push_back(node);
      resolved.cluster.world_size += slots[rank];
    }
    plan.policy.grace_ms = 60000;
    for (const char* name : {"/usr/bin/python", "/usr/bin/python3"}) snapshot.paths[name] = {};
  }

  // Where a PyTorch that is not there was looked for.
  void without_torch(const std::string& prefix) {
    for (int minor = 6; minor <= 11; ++minor) {
      const std::string python = "/lib/python3." + std::to_string(minor);
      snapshot.paths[prefix + python + "/site-packages/torch/version.py"] = {};
      snapshot.paths["/usr/local" + python + "/dist-packages/torch/version.py"] = {};
    }
    snapshot.paths["/usr/lib/python3/dist-packages/torch/version.py"] = {};
  }

  // Programs that the image has; each other place in /usr/bin is known to be empty.
  LauncherCase& with_programs(const std::vector<std::string>& paths) {
    for (const char* name : {"python", "python3", "torchrun"}) {
      snapshot.paths["/usr/bin/" + std::string(name)] = {};
    }
    for (const std::string& path : paths) {
      snapshot.paths[path].kind = PathState::Kind::kFile;
      without_torch(path.substr(0, path.find("/bin/")));
    }
    return *this;
  }

  LauncherCase& with_devices(const std::vector<std::string>& names) {
    PathState dev;
    dev.kind = PathState::Kind::kDirectory;
    dev.entries = names;
    dev.listed = true;
    snapshot.paths["/dev"] = dev;
    return *this;
  }

  LauncherCase& with_environment(const std::vector<std::string>& entries) {
    std::vector<std::string> all = snapshot.env.entries();
    all.insert(all.end(), entries.begin(), entries.end());
    snapshot.env = base::Environ(all);
    return *this;
  }

  using Launch = base::Status (*)(Inputs&, const ResolvedCluster&, Plan&);

  // The plan, or a failed test with the reason.
  [[nodiscard]] Plan planned(Launch launch) const {
    Inputs inputs(snapshot, request);
    Plan result = plan;
    result.env.insert(result.env.end(), resolved.platform.env.begin(), resolved.platform.env.end());
    if (base::Status status = launch(inputs, resolved, result); !status) {
      ADD_FAILURE() << to_line(status.error());
    }
    EXPECT_TRUE(inputs.wants().empty()) << "wants " << inputs.wants().begin()->path;
    return result;
  }

  [[nodiscard]] std::string error(Launch launch) const {
    Inputs inputs(snapshot, request);
    Plan result = plan;
    base::Status status = launch(inputs, resolved, result);
    EXPECT_FALSE(status.has_value()) << "no error";
    return status ? "" : to_line(status.error());
  }

  // A variable as the process gets it, "(unset)" without one.
  [[nodiscard]] std::string variable(const Plan& result, const Process& process,
                                     std::string_view name) const {
    base::Environ env = snapshot.env;
    for (const base::EnvEdit& edit : result.env) env.apply(edit);
    for (const base::EnvEdit& edit : process.env) env.apply(edit);
    return std::string(env.get_or(name, "(unset)"));
  }
};

// The words of a command, with one blank between them.
inline std::string line_of(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

}  // namespace envgen
