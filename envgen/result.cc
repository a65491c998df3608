#include "envgen/result.h"

namespace envgen {

std::string to_line(const Error& error) {
  std::string line = error.what;
  auto append = [&line](const char* separator, const std::string& part) {
    if (part.empty()) return;
    if (!line.empty()) line += separator;
    line += part;
  };
  append(": ", error.where);
  append(": ", error.found.empty() ? "" : "found " + error.found);
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
