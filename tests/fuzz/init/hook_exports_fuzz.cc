// Any text as the file by which a hook exports variables: an error that names a line of it, or
// variables that can stand in an environment and that, written again, are read as the same ones.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "init/engine/hooks/hook_exports.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check_error(const base::Error& error, std::string_view text) {
  require(!error.found.empty() && !error.fix.empty());
  constexpr std::string_view kLine = "$TRAINIT_ENV: line ";
  if (text.size() > engine::kMaxExportBytes) return;
  require(error.where.starts_with(kLine));
  const long line = std::strtol(error.where.c_str() + kLine.size(), nullptr, 10);
  require(line >= 1 && line <= 1 + std::ranges::count(text, '\n'));
}

void check_edit(const base::EnvEdit& edit) {
  require(edit.kind == base::EnvEdit::Kind::kSet && !edit.name.empty());
  require(edit.name.find_first_of(std::string_view("=\0\n", 3)) == std::string::npos);
  require(edit.value.find('\0') == std::string::npos);
}

std::string written(const std::vector<base::EnvEdit>& edits) {
  std::string text;
  for (const base::EnvEdit& edit : edits) {
    if (edit.value.find('\n') == std::string::npos) {
      text += edit.name + "=" + edit.value + "\n";
      continue;
    }
    std::string delimiter = "END";
    while (("\n" + edit.value + "\n").find("\n" + delimiter + "\n") != std::string::npos) {
      delimiter += "_";
    }
    text += edit.name + "<<" + delimiter + "\n" + edit.value + "\n" + delimiter + "\n";
  }
  return text;
}

}  // namespace

TRAINIT_FUZZER(hook_exports) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto edits = engine::parse_hook_exports(text);
  if (!edits) {
    check_error(edits.error(), text);
    return 0;
  }
  for (const base::EnvEdit& edit : *edits) check_edit(edit);
  const std::string again = written(*edits);
  if (again.size() > engine::kMaxExportBytes) return 0;
  const auto same = engine::parse_hook_exports(again);
  require(same && *same == *edits);
  return 0;
}
