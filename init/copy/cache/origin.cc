#include "init/copy/cache/origin.h"

#include <unistd.h>

#include <array>
#include <climits>

#include "init/copy/cache/cache_entry.h"
#include "init/copy/cache/user_cache.h"
#include "init/sys/clock.h"

namespace copy {
namespace {

// Returns the source of the copy at `path`; "" if `path` is not a copy in a trusted cache.
std::string origin_of(const std::string& path) {
  constexpr std::string_view kData = "/data";
  if (!path.ends_with(kData) || path.find("/trainit-datasets") == std::string::npos) return "";
  const std::string entry = path.substr(0, path.size() - kData.size());
  const std::size_t slash = entry.rfind('/');
  if (slash == std::string::npos || !is_in_trusted_cache(entry.substr(0, slash))) return "";
  return source_of({.cache = entry.substr(0, slash), .key = entry.substr(slash + 1)});
}

std::string origin_of_link(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size <= 0 ? "" : origin_of(std::string(target.data(), static_cast<std::size_t>(size)));
}

}  // namespace

base::Result<Source> locate_source(const std::string& path, const Options& options) {
  constexpr int kMaxLinks = 8;
  auto source = find_source(path, options);
  // A source that did not answer until the deadline would block this process, too.
  const bool late = options.deadline_ms != 0 && sys::monotonic_ms() >= options.deadline_ms;
  if (!source && !late) {
    const std::string origin = origin_of_link(path);
    if (!origin.empty()) source = find_source(origin, options);
  }
  for (int left = kMaxLinks; source && left > 0; --left) {
    const std::string origin = origin_of(source->path);
    if (origin.empty()) break;
    source = find_source(origin, options);
  }
  return source;
}

}  // namespace copy
