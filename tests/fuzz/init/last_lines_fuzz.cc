// Any bytes as what a process printed last: a few short lines of text that no terminal can be
// repainted with, and a termination message that keeps its size and its diagnosis.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/characters/utf8.h"
#include "init/engine/state/failure.h"
#include "tests/fuzz/fuzzer.h"

namespace {

bool is_plain(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = base::utf8_length(text);
    if (length == 0 || base::is_control(text)) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

TRAINIT_FUZZER(last_lines) {
  constexpr std::size_t kMaxLineBytes = 400;
  constexpr std::size_t kMaxMessageBytes = 4096;
  const std::string_view printed(reinterpret_cast<const char*>(data), size);
  for (const bool whole : {true, false}) {
    engine::FailureDetail detail;
    detail.last_lines = engine::last_lines_of(printed, whole);
    detail.torn_down.assign(size % 100, "rank-8: SIGTERM");
    require(detail.last_lines.size() <= engine::kMaxLastLines);
    for (const std::string& line : detail.last_lines) {
      require(!line.empty() && line.size() <= kMaxLineBytes && is_plain(line));
    }
    const std::string text = engine::termination_text("rank-9 died", detail, kMaxMessageBytes);
    require(text.size() <= kMaxMessageBytes && text.starts_with("trainit: rank-9 died\n"));
    require(text.ends_with("\n"));
  }
  return 0;
}
