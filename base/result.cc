#include "base/result.h"

namespace envgen {
namespace {

// A path fits, and a value that somebody may have set; a file without line ends does not.
constexpr std::size_t kMostOfAPart = 8192;

std::size_t length_to_show(const std::string& part) {
  if (part.size() <= kMostOfAPart) return part.size();
  std::size_t length = kMostOfAPart;
  while (length > 0 && (static_cast<unsigned char>(part[length]) & 0xc0U) == 0x80U) --length;
  return length;
}

}  // namespace

std::string to_line(const Error& error) {
  std::string line = error.what;
  auto append = [&line](const char* separator, const std::string& part) {
    if (part.empty()) return;
    if (!line.empty()) line += separator;
    const std::size_t length = length_to_show(part);
    line.append(part, 0, length);
    if (length < part.size()) line += "...";
  };
  append(": ", error.where);
  append(": ", error.found.empty() ? "" : "found " + error.found.substr(0, 2 * kMostOfAPart));
  append("; ", error.fix);
  // What is quoted must not look like lines of the log.
  std::string shown;
  for (const char c : line) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      shown += c;
    } else if (c == '\n') {
      shown += "\\n";
    } else {
      shown += {'\\', 'x', kDigits[byte / 16U], kDigits[byte % 16U]};
    }
  }
  return shown;
}

}  // namespace envgen
