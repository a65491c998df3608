#include "init/engine/hooks/hook_exports.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "envgen/conda/environment.h"

namespace engine {
namespace {

constexpr const char* kWhat = "reading what the hook exports";
constexpr const char* kFile = "$TRAINIT_ENV";
constexpr std::string_view kMark = "<<";
constexpr std::string_view kExport = "export ";
// Linux's MAX_ARG_STRLEN, without the final NUL. With a longer entry in its environment the job
// could not start (E2BIG).
constexpr std::size_t kMaxEntryBytes = 131'071;
constexpr std::size_t kMaxShownBytes = 40;

std::unexpected<base::Error> fail_at(std::size_t line, std::string found, std::string fix) {
  return base::fail(kWhat, std::string(kFile) + ": line " + std::to_string(line), std::move(found),
                    std::move(fix));
}

class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    ++number_;
    return base::take_line(rest_);
  }
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

base::Status check_name(std::string_view name, std::size_t line) {
  if (envgen::is_shell_name(name)) return {};
  if (name.starts_with(kExport)) {
    return fail_at(line, "\"export\" before the name", "write NAME=VALUE only: no shell reads it");
  }
  // The error repeats only a short name: a longer one is more likely a piece of a value, which may
  // be secret.
  std::string found = "a name that is none";
  if (name.empty()) found = "no name before the '='";
  if (!name.empty() && name.size() <= kMaxShownBytes)
    found = "the name \"" + std::string(name) + "\"";
  return fail_at(line, std::move(found), "use letters, digits and _, and no digit first");
}

base::Result<std::string> lines_until(std::string_view delimiter, Lines& lines) {
  const std::size_t first = lines.number();
  std::string value;
  for (std::size_t count = 0;; ++count) {
    const auto line = lines.next();
    if (!line) {
      return fail_at(first, "a value of several lines without an end",
                     "end it with a line that is just what stands behind the <<");
    }
    if (*line == delimiter) return value;
    if (count > 0) value += '\n';
    value += *line;
  }
}

base::Result<base::EnvEdit> take_edit(std::string_view line, Lines& lines) {
  const std::size_t first = lines.number();
  const std::size_t mark = line.find(kMark);
  const std::size_t equals = line.find('=');
  if (mark == std::string_view::npos && equals == std::string_view::npos) {
    return fail_at(first, "a line without '='",
                   "write NAME=VALUE; a value of several lines is NAME<<END, the lines, and END");
  }
  const std::string_view name = line.substr(0, std::min(mark, equals));
  TRY(check_name(name, first));
  base::EnvEdit edit{base::EnvEdit::Kind::kSet, std::string(name), {}};
  if (equals < mark) {
    edit.value = line.substr(equals + 1);
  } else {
    const std::string_view delimiter = line.substr(mark + kMark.size());
    if (delimiter.empty())
      return fail_at(first, "nothing behind the <<", "name a line that ends it");
    TRY_ASSIGN(edit.value, lines_until(delimiter, lines));
  }
  const std::size_t entry_bytes = edit.name.size() + 1 + edit.value.size();
  if (entry_bytes > kMaxEntryBytes) {
    return fail_at(first, edit.name + " with " + std::to_string(entry_bytes) + " bytes",
                   "Linux takes " + std::to_string(kMaxEntryBytes) +
                       " for a variable: write a file, and export its path");
  }
  return edit;
}

}  // namespace

base::Result<std::vector<base::EnvEdit>> parse_hook_exports(std::string_view text) {
  if (text.size() > kMaxExportBytes) {
    return base::fail(kWhat, kFile, "more than " + std::to_string(kMaxExportBytes) + " bytes",
                      "write files, and export their paths");
  }
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    const auto line = 1 + std::ranges::count(text.substr(0, nul), '\n');
    return fail_at(static_cast<std::size_t>(line), "a NUL byte", "no variable can hold one");
  }
  std::vector<base::EnvEdit> edits;
  Lines lines(text);
  while (const auto line = lines.next()) {
    if (line->empty() || line->starts_with('#')) continue;
    TRY_ASSIGN(auto edit, take_edit(*line, lines));
    edits.push_back(std::move(edit));
  }
  return edits;
}

}  // namespace engine
