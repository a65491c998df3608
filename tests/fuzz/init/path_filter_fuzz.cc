// Any text as patterns, any bytes as a path: the matcher agrees with one that goes back and tries
// again, for what is short enough for that one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "init/copy/path_filter.h"
#include "tests/fuzz/fuzzer.h"

namespace {

// Without sets. `begins`: `pattern` is behind a /, or at its beginning.
bool slow_match(std::string_view pattern, std::string_view path, bool begins) {
  if (pattern.empty()) return path.empty();
  if (begins && pattern.starts_with("**/")) {
    if (slow_match(pattern.substr(3), path, true)) return true;
    const std::size_t slash = path.find('/');
    return slash != std::string_view::npos && slow_match(pattern, path.substr(slash + 1), true);
  }
  const bool all = pattern.starts_with("**");
  if (pattern[0] == '*') {
    if (slow_match(pattern.substr(all ? 2 : 1), path, false)) return true;
    const bool more = !path.empty() && (all || path[0] != '/');
    return more && slow_match(pattern, path.substr(1), begins);
  }
  if (path.empty()) return false;
  const bool same = pattern[0] == '?' ? path[0] != '/' : pattern[0] == path[0];
  return same && slow_match(pattern.substr(1), path.substr(1), pattern[0] == '/');
}

}  // namespace

TRAINIT_FUZZER(path_filter) {
  constexpr std::size_t kShort = 24;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view pattern = text.substr(0, text.find('\n'));
  const std::string_view path = text.substr(std::min(pattern.size() + 1, text.size()));
  const auto filter = copy::PathFilter::make({}, {std::string(pattern)});
  if (!filter) return 0;
  const bool excluded = !filter->takes_file(path);
  require(!filter->text().empty());
  require(!excluded || !filter->enters(path));
  const auto included = copy::PathFilter::make({std::string(pattern)}, {});
  require(included && (!excluded || included->takes_file(path)));
  const bool plain = !pattern.contains('[') && !pattern.ends_with('/') &&
                     !pattern.starts_with('/') && pattern.contains('/');
  if (plain && pattern.size() <= kShort && path.size() <= kShort) {
    require(excluded == slow_match(pattern, path, true));
  }
  return 0;
}
