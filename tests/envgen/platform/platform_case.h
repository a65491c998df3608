#pragma once
// A container as a platform sees it, and the platform's answer, for tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "envgen/platform/platform.h"

namespace envgen {

struct Container {
  Snapshot snapshot;
  Request request;
};

inline PathState file_of(std::string content) {
  PathState state;
  state.kind = PathState::Kind::kFile;
  state.size_bytes = content.size();
  state.content = std::move(content);
  return state;
}

inline PathState directory_of(std::vector<std::string> entries) {
  PathState state;
  state.kind = PathState::Kind::kDirectory;
  state.entries = std::move(entries);
  return state;
}

// With `gpus` GPUs, and nothing mounted.
inline Container container(std::string host_name, std::vector<std::string> env, int gpus = 2) {
  Container result;
  result.snapshot.env = base::Environ(std::move(env));
  result.snapshot.facts.cwd = "/srv/job";
  result.snapshot.facts.host_name = std::move(host_name);
  result.snapshot.facts.run_dir = "/run/trainit";
  result.snapshot.facts.cpus = 16;
  std::vector<std::string> devices = {"null"};
  for (int i = 0; i < gpus; ++i) devices.push_back("nvidia" + std::to_string(i));
  result.snapshot.paths["/dev"] = directory_of(std::move(devices));
  for (const char* path : {"/user/serverid/devindex/config/hccl.json", "/etc/volcano"}) {
    result.snapshot.paths[path] = {};
  }
  result.snapshot.paths["/etc/hosts"] = file_of("127.0.0.1 localhost\n");
  result.request.command = {"python", "train.py"};
  return result;
}

using Locate = Location (*)(Inputs&);

inline Locate locate_of(std::string_view name) {
  return (*std::ranges::find(platforms(), name, &Platform::name))->locate;
}
inline Location locate_bare(Inputs& inputs) { return locate_of("bare")(inputs); }
inline Location locate_indexed(Inputs& inputs) { return locate_of("indexed")(inputs); }
inline Location locate_kubeflow(Inputs& inputs) { return locate_of("kubeflow")(inputs); }
inline Location locate_slurm(Inputs& inputs) { return locate_of("slurm")(inputs); }
inline Location locate_volcano(Inputs& inputs) { return locate_of("volcano")(inputs); }

// Where this container is, or a failed test with the reason.
inline ResolvedCluster resolved_in(Locate locate, const Container& c) {
  Inputs inputs(c.snapshot, c.request);
  Location location = locate(inputs);
  if (auto* resolved = std::get_if<ResolvedCluster>(&location)) return *resolved;
  if (auto* error = std::get_if<base::Error>(&location)) {
    ADD_FAILURE() << to_line(*error);
  } else if (auto* not_yet = std::get_if<NotYet>(&location)) {
    ADD_FAILURE() << "not yet: " << not_yet->wait.path << ": " << not_yet->wait.why;
  } else {
    for (const Want& want : inputs.wants()) ADD_FAILURE() << "wants " << want.path;
  }
  ResolvedCluster none;
  none.cluster.nodes.resize(1);
  return none;
}

// The error's line, or a failed test.
inline std::string error_in(Locate locate, const Container& c) {
  Inputs inputs(c.snapshot, c.request);
  Location location = locate(inputs);
  auto* error = std::get_if<base::Error>(&location);
  EXPECT_NE(error, nullptr) << "no error";
  if (error == nullptr) return "";
  EXPECT_FALSE(error->fix.empty()) << to_line(*error);
  return to_line(*error);
}

// The platform that the variables are seen as, in the table's order, and why.
inline std::pair<std::string, std::string> detected(const Container& c) {
  for (const Platform* platform : platforms()) {
    Inputs inputs(c.snapshot, c.request);
    if (auto reason = platform->detect(inputs)) return {std::string(platform->name), *reason};
  }
  return {};
}

// "worker0 a:2222 x2", one a node.
inline std::vector<std::string> nodes_of(const ResolvedCluster& resolved) {
  std::vector<std::string> texts;
  for (const Node& node : resolved.cluster.nodes) {
    std::string text;
    if (!node.role.empty()) text += node.role + std::to_string(node.role_index) + " ";
    text += node.host.empty() ? "?" : node.host;
    if (node.port != 0) text += ":" + std::to_string(node.port);
    texts.push_back(text + " x" + std::to_string(node.slots));
  }
  return texts;
}

}  // namespace envgen
