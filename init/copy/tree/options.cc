#include "init/copy/tree/options.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>

namespace copy {

std::string to_text(const Options& options) {
  std::string text = options.filter.text();
  if (options.owner) {
    text +=
        "\nowner " + std::to_string(options.owner->uid) + ":" + std::to_string(options.owner->gid);
  }
  return text;
}

std::string to_text(const TreeDigest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr unsigned kBits = 4;
  std::string text;
  for (const std::uint64_t part : {digest.high, digest.low}) {
    for (unsigned shift = 64; shift > 0; shift -= kBits) {
      text += kDigits[(part >> (shift - kBits)) & 0xfU];
    }
  }
  return text;
}

Root root_of(const std::string& path, bool directory) {
  if (directory) return {.path = path};
  const std::size_t slash = path.rfind('/');
  return {.path = path.substr(0, std::max<std::size_t>(slash, 1)), .only = path.substr(slash + 1)};
}

Root root_of_copy(const std::string& path) {
  struct stat status{};
  const bool file = ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return root_of(path, !file);
}

}  // namespace copy
