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
  return line;
}

}  // namespace envgen
