#include "envgen/plan/inputs.h"

namespace envgen {

bool can_be_made(Inputs& inputs, const std::string& path) {
  std::string place = path;
  while (true) {
    const PathState* state = inputs.kind(place);
    if (state == nullptr) return true;
    if (state->kind == PathState::Kind::kDirectory) return state->writable;
    const std::size_t slash = place.rfind('/');
    if (state->kind != PathState::Kind::kAbsent || slash == std::string::npos) return false;
    if (place == "/") return false;
    place.resize(slash == 0 ? 1 : slash);
  }
}

std::string join_path(std::string_view directory, std::string_view path) {
  if (path.starts_with('/') || directory.empty()) return std::string(path);
  if (path.starts_with("./")) path.remove_prefix(2);
  std::string joined(directory);
  if (!joined.ends_with('/')) joined += '/';
  joined += path;
  return joined;
}

}  // namespace envgen
