#pragma once
// A snapshot as the platforms read it. If code reads a path that the snapshot lacks, the path is
// recorded as a want. So the wanted paths are always those that the code uses.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "envgen/plan/parsed_command.h"
#include "envgen/plan/request.h"
#include "envgen/plan/snapshot.h"

namespace envgen {

struct TableMemo;

class Inputs {
 public:
  Inputs(const Snapshot& snapshot, const Request& request, TableMemo* memo = nullptr)
      : snapshot_(snapshot), request_(request), command_(request.command), memo_(memo) {}

  [[nodiscard]] const Request& request() const { return request_; }
  // The request's command. A platform's rules may change it (PlatformFacts::command).
  [[nodiscard]] const ParsedCommand& command() const { return command_; }
  [[nodiscard]] const Facts& facts() const { return snapshot_.facts; }
  [[nodiscard]] const base::Environ& env() const { return snapshot_.env; }
  // Returns a variable's value, "" if it is unset.
  [[nodiscard]] std::string_view variable(std::string_view name) const {
    const std::string_view value = snapshot_.env.get_or(name, "");
    if (value.empty() && name.ends_with("_PORT")) note_link(name);
    return value;
  }
  // Log lines for variables that were read but ignored, because their value is a link to a Service.
  [[nodiscard]] const std::set<std::string>& ignored_links() const { return ignored_links_; }

  // Returns the path's state with its content. Returns nullptr if the snapshot lacks it. The path
  // is then recorded as wanted, and the answer that is being computed is provisional.
  const PathState* content(const std::string& path) {
    const PathState* state = find(path, true);
    if (state != nullptr && state->kind == PathState::Kind::kFile) files_read_.insert(path);
    return state;
  }
  const PathState* kind(const std::string& path) { return find(path, false); }

  // Records why the number of this node's ranks is not known. Only the first call has an effect. If
  // `sure` is false, the reason is only a warning.
  void note_uncounted(base::Error error, bool sure) {
    if (uncounted_) return;
    uncounted_ = std::move(error);
    uncounted_surely_ = sure;
  }
  [[nodiscard]] const std::optional<base::Error>& uncounted() const { return uncounted_; }
  [[nodiscard]] bool uncounted_surely() const { return uncounted_surely_; }

  [[nodiscard]] const std::set<Want>& wants() const { return wants_; }
  [[nodiscard]] TableMemo* memo() const { return memo_; }  // nullptr: the caller keeps no memo
  // Paths of the files whose content was read so far.
  [[nodiscard]] const std::set<std::string>& files_read() const { return files_read_; }

 private:
  const PathState* find(const std::string& path, bool content) {
    auto found = snapshot_.paths.find(path);
    bool known = found != snapshot_.paths.end();
    if (known && !(content && content_unread(found->second))) return &found->second;
    wants_.insert({path, content});
    return nullptr;
  }

  // Returns whether the snapshot has the path's type but not its content.
  static bool content_unread(const PathState& state) {
    const bool empty = state.content.empty() && state.entries.empty();
    if (state.kind == PathState::Kind::kDirectory) return empty && !state.listed;
    return state.kind == PathState::Kind::kFile && empty && state.size_bytes > 0;
  }

  void note_link(std::string_view name) const {
    std::string note = base::ignored_link(snapshot_.env, name);
    if (!note.empty()) ignored_links_.insert(std::move(note));
  }

  const Snapshot& snapshot_;
  const Request& request_;
  ParsedCommand command_;
  TableMemo* memo_;
  std::set<Want> wants_;
  std::set<std::string> files_read_;
  mutable std::set<std::string> ignored_links_;
  std::optional<base::Error> uncounted_;
  bool uncounted_surely_ = false;
};

// Returns true if `path` is a writable directory, or can be created because its nearest existing
// ancestor is one. Also returns true while the snapshot lacks a path for the answer.
bool can_be_made(Inputs& inputs, const std::string& path);

// Returns `path` as seen from `directory`. An absolute path is unchanged; "." and ".." stay.
std::string join_path(std::string_view directory, std::string_view path);

}  // namespace envgen
