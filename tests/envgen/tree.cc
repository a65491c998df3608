#include "tests/envgen/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "envgen/plan/plan.h"
#include "envgen/platform/table_location.h"

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

namespace {

std::string text_of(const Answer& answer) {
  if (const auto* error = std::get_if<base::Error>(&answer.outcome)) return to_line(*error);
  if (const auto* pending = std::get_if<Pending>(&answer.outcome)) {
    return pending->path + ": " + pending->why + "\n" + plan_to_json(pending->plan, {});
  }
  return plan_to_json(std::get<Planned>(answer.outcome).plan, {});
}

// As the engine asks: each time with what the answer before had.
void expect_same_by_memo(const Answer& answer, const Snapshot& snapshot, const Request& request,
                         TableMemo& memo) {
  Answer other = resolve(snapshot, request, &memo);
  EXPECT_EQ(other.wants, answer.wants);
  if (answer.wants.empty()) EXPECT_EQ(text_of(other), text_of(answer));
  auto* planned = std::get_if<Planned>(&other.outcome);
  if (planned != nullptr && planned->plan.cluster) {
    memo.take_back(std::move(planned->plan.cluster->nodes));
  }
}

}  // namespace

Answer resolve_in(const Tree& tree, Snapshot snapshot, const Request& request, int* rounds) {
  constexpr int kMaxRounds = 16;
  TableMemo memo;
  for (int round = 0; round < kMaxRounds; ++round) {
    Answer answer = resolve(snapshot, request);
    if (rounds != nullptr) *rounds = round;
    expect_same_by_memo(answer, snapshot, request, memo);
    if (answer.wants.empty()) return answer;
    for (const Want& want : answer.wants)
      snapshot.paths[want.path] = tree.look(want.path, want.content);
  }
  ADD_FAILURE() << "the resolution does not end";
  return {base::Error{"resolving", "", "no end", ""}, {}};
}

}  // namespace envgen
