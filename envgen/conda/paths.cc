#include "envgen/conda/paths.h"

#include <algorithm>

#include "base/text.h"

namespace envgen::conda {

std::string normal_path(std::string_view path) {
  const bool absolute = path.starts_with('/');
  std::vector<std::string> parts;
  for (const std::string_view part : base::split(path, '/')) {
    if (part.empty() || part == ".") continue;
    const bool up = part == "..";
    if (up && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (!up || !absolute) {
      parts.emplace_back(part);
    }
  }
  std::string result;
  for (const std::string& part : parts) {
    if (absolute || !result.empty()) result += '/';
    result += part;
  }
  if (result.empty()) return absolute ? "/" : ".";
  return result;
}

std::string_view parent_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return "";
  return path.substr(0, std::max<std::size_t>(slash, 1));
}

}  // namespace envgen::conda
