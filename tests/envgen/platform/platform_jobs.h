#pragma once
// One node of a job as a platform sees it, for the tests of platforms: paths that are not listed do
// not exist.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "envgen/plan/snapshot.h"
#include "envgen/platform/platform.h"

namespace envgen::jobs {

using Words = std::vector<std::string>;

struct Container {
  Words variables;
  std::map<std::string, PathState> paths;
  std::string host_name = "node";
  std::string cwd = "/workspace";
  std::vector<std::string> addresses;
};

inline PathState directory(Words entries = {}, bool writable = true) {
  PathState state;
  state.kind = PathState::Kind::kDirectory;
  state.entries = std::move(entries);
  state.writable = writable;
  return state;
}

inline PathState file(std::string content = "#!") {
  PathState state;
  state.kind = PathState::Kind::kFile;
  state.size_bytes = content.size();
  state.content = std::move(content);
  return state;
}

inline Request request_of(Words command) {
  Request request;
  request.command = std::move(command);
  return request;
}

inline Snapshot snapshot_of(const Container& container) {
  Snapshot snapshot;
  snapshot.env = base::Environ(container.variables);
  snapshot.facts.cwd = container.cwd;
  snapshot.facts.host_name = container.host_name;
  snapshot.facts.addresses = container.addresses;
  snapshot.facts.run_dir = "/run/trainit";
  return snapshot;
}

inline const Platform& platform_named(std::string_view name) {
  for (const Platform* platform : platforms()) {
    if (platform->name == name) return *platform;
  }
  ADD_FAILURE() << "no platform " << name;
  return *platforms().back();
}

// Looks at what the platform asks for until it has an answer.
inline Location location(std::string_view platform, const Container& container,
                         const Request& request) {
  Snapshot snapshot = snapshot_of(container);
  constexpr int kMaxRounds = 20;
  for (int round = 0; round < kMaxRounds; ++round) {
    Inputs inputs(snapshot, request);
    Location result = platform_named(platform).locate(inputs);
    if (!std::holds_alternative<NeedsPaths>(result)) return result;
    EXPECT_FALSE(inputs.wants().empty()) << "needs paths, and names none";
    for (const Want& want : inputs.wants()) {
      auto known = container.paths.find(want.path);
      snapshot.paths[want.path] = known == container.paths.end() ? PathState() : known->second;
    }
  }
  return base::Error{"locating", "", "no answer after many rounds", ""};
}

inline ResolvedCluster locate(std::string_view platform, const Container& container,
                              const Request& request) {
  Location result = location(platform, container, request);
  if (const auto* error = std::get_if<base::Error>(&result)) ADD_FAILURE() << to_line(*error);
  if (const auto* not_yet = std::get_if<NotYet>(&result)) ADD_FAILURE() << not_yet->wait.why;
  auto* resolved = std::get_if<ResolvedCluster>(&result);
  return resolved == nullptr ? ResolvedCluster() : std::move(*resolved);
}
inline ResolvedCluster locate(std::string_view platform, const Container& container,
                              Words command) {
  return locate(platform, container, request_of(std::move(command)));
}

inline std::string refusal(std::string_view platform, const Container& container,
                           const Request& request) {
  Location result = location(platform, container, request);
  const auto* error = std::get_if<base::Error>(&result);
  EXPECT_NE(error, nullptr) << "no error";
  if (error == nullptr) return "";
  EXPECT_FALSE(error->what.empty() || error->found.empty() || error->fix.empty())
      << to_line(*error);
  return to_line(*error);
}
inline std::string refusal(std::string_view platform, const Container& container, Words command) {
  return refusal(platform, container, request_of(std::move(command)));
}

// Why the platform takes these variables for its own; "" when it does not.
inline std::string detected(std::string_view platform, Words variables) {
  Snapshot snapshot;
  snapshot.env = base::Environ(std::move(variables));
  Request request;
  Inputs inputs(snapshot, request);
  return platform_named(platform).detect(inputs).value_or("");
}

// The first platform, in the order of detection, that takes them.
inline std::string platform_of(const Words& variables) {
  for (const Platform* platform : platforms()) {
    if (!detected(platform->name, variables).empty()) return std::string(platform->name);
  }
  return "";
}

// A variable as the platform promises it to every process; "" when it does not.
inline std::string promised(const PlatformFacts& platform, std::string_view name) {
  base::Environ env;
  for (const base::EnvEdit& edit : platform.env) env.apply(edit);
  return std::string(env.get_or(name, ""));
}

}  // namespace envgen::jobs
