// Dumps that ranks write of their flight recorders, pickles or JSON, and the judgement of
// several.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wire.h"
#include "envgen/failure/recorder_verdict.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(recorder) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<envgen::RecorderDump> dumps;
  while (!rest.empty() && dumps.size() < 8) {
    const std::string_view part = rest.substr(0, rest.find("\n\n"));
    rest.remove_prefix(std::min(part.size() + 2, rest.size()));
    const auto rank = static_cast<int>(dumps.size());
    auto dump = base::from_wire<envgen::RecorderDump>(part);
    if (auto read = envgen::read_recorder_dump(part, rank, "dump", rank)) dump = std::move(*read);
    if (!dump) break;
    const std::string wire = base::to_wire(*dump);
    require(base::from_wire<envgen::RecorderDump>(wire) == *dump);
    dumps.push_back(std::move(*dump));
  }
  const auto verdict = envgen::judge_recorder(dumps, 8);
  require(verdict.text.size() <= 400);
  require(verdict.culprits.size() <= dumps.size());
  return 0;
}
