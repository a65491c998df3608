#include "tests/envgen/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace envgen {

Tree& Tree::directory(const std::string& path) {
  PathState& state = paths_[path];
  state.kind = PathState::Kind::kDirectory;
  state.writable = true;
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || path == "/") return *this;
  const std::string parent = slash == 0 ? "/" : path.substr(0, slash);
  directory(parent);
  std::vector<std::string>& entries = paths_[parent].entries;
  const std::string name = path.substr(slash + 1);
  if (std::ranges::find(entries, name) == entries.end()) entries.push_back(name);
  std::ranges::sort(entries);
  return *this;
}

Tree& Tree::file(const std::string& path, std::string content) {
  directory(path);
  PathState& state = paths_[path];
  state.kind = PathState::Kind::kFile;
  state.size_bytes = content.size();
  state.content = std::move(content);
  return *this;
}

Tree& Tree::program(const std::string& path) {
  file(path, "#!/bin/sh\n");
  paths_[path].executable = true;
  return *this;
}

Tree& Tree::null_link(const std::string& path) {
  file(path);
  PathState& state = paths_[path] = {};
  state.kind = PathState::Kind::kError;
  state.error = EINVAL;
  state.null_device = true;
  return *this;
}

PathState Tree::look(const std::string& path, bool content) const {
  const auto found = paths_.find(path);
  if (found == paths_.end()) return {};
  PathState state = found->second;
  if (!content) state.content.clear();
  if (!content) state.entries.clear();
  state.listed = content && state.kind == PathState::Kind::kDirectory;
  return state;
}

Answer resolve_in(const Tree& tree, Snapshot snapshot, const Request& request, int* rounds) {
  constexpr int kMostRounds = 16;
  for (int round = 0; round < kMostRounds; ++round) {
    Answer answer = resolve(snapshot, request);
    if (rounds != nullptr) *rounds = round;
    if (answer.wants.empty()) return answer;
    for (const Want& want : answer.wants)
      snapshot.paths[want.path] = tree.look(want.path, want.content);
  }
  ADD_FAILURE() << "the resolution does not end";
  return {Error{"resolving", "", "no end", ""}, {}};
}

}  // namespace envgen
