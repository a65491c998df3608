#pragma once
// A snapshot as the platforms read it: what is not in it yet is noted as a want, so that the list
// of paths to look at can never differ from what is used.

#include <optional>
#include <set>
#include <string>
#include <string_view>

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
  // The request's; a platform's rules may make another of it (PlatformFacts::command).
  [[nodiscard]] const ParsedCommand& command() const { return command_; }
  [[nodiscard]] const Facts& facts() const { return snapshot_.facts; }
  [[nodiscard]] const Environ& env() const { return snapshot_.env; }
  // A variable's value, "" when it is unset.
  [[nodiscard]] std::string_view variable(std::string_view name) const {
    return snapshot_.env.get_or(name, "");
  }

  // nullptr when the snapshot does not hold it: it is wanted then, and the answer is provisional.
  const PathState* content(const std::string& path) {
    const PathState* state = find(path, true);
    if (state != nullptr && state->kind == PathState::Kind::kFile) files_read_.insert(path);
    return state;
  }
  const PathState* kind(const std::string& path) { return find(path, false); }

  [[nodiscard]] const std::set<Want>& wants() const { return wants_; }
  [[nodiscard]] TableMemo* memo() const { return memo_; }  // nullptr: there is none
  // Files whose bytes have been asked for so far.
  [[nodiscard]] const std::set<std::string>& files_read() const { return files_read_; }

 private:
  const PathState* find(const std::string& path, bool content) {
    auto found = snapshot_.paths.find(path);
    bool known = found != snapshot_.paths.end();
    if (known && !(content && content_unread(found->second))) return &found->second;
    wants_.insert({path, content});
    return nullptr;
  }

  // It was looked at before only for what it is.
  static bool content_unread(const PathState& state) {
    const bool empty = state.content.empty() && state.entries.empty();
    if (state.kind == PathState::Kind::kDirectory) return empty && !state.listed;
    return state.kind == PathState::Kind::kFile && empty && state.size_bytes > 0;
  }

  const Snapshot& snapshot_;
  const Request& request_;
  ParsedCommand command_;
  TableMemo* memo_;
  std::set<Want> wants_;
  std::set<std::string> files_read_;
};

// Whether `path` is a directory that can be written, or can become one: its nearest ancestor that
// exists is. True while that is not known yet.
bool can_be_made(Inputs& inputs, const std::string& path);

// `path` as seen from `directory`: unchanged when absolute; "." and ".." stay as they are.
std::string join_path(std::string_view directory, std::string_view path);

}  // namespace envgen
