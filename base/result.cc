#include "base/result.h"

#include "base/printed_text.h"

namespace base {
namespace {

// Maximum size of a part. That is enough for a path or the value of a variable, but cuts a whole
// file without line ends.
constexpr std::size_t kMaxOfAPart = 8192;

std::size_t length_to_show(const std::string& part) {
  if (part.size() <= kMaxOfAPart) return part.size();
  std::size_t length = kMaxOfAPart;
  while (length > 0 && (static_cast<unsigned char>(part[length]) & 0xc0U) == 0x80U) --length;
  return length;
}

}  // namespace

std::unexpected<Error> fail(std::string_view what, std::string where, std::string found,
                            std::string fix) {
  return std::unexpected(
      Error{std::string(what), std::move(where), std::move(found), std::move(fix)});
}

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
  append(": ", error.found.empty() ? "" : "found " + error.found.substr(0, 2 * kMaxOfAPart));
  append("; ", error.fix);
  // Escapes line ends, because a quoted text must not look like further lines of the log.
  return escaped_text(line);
}

}  // namespace base
