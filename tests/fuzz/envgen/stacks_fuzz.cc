// Any text as the dumps of two ranks' processes, as a file's first line, and as what NCCL's RAS
// answers: no crash, a verdict within its bounds that names only ranks which are there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "envgen/failure/nccl_ras.h"
#include "envgen/failure/python_hook.h"
#include "envgen/failure/stack_groups.h"
#include "tests/fuzz/fuzzer.h"

namespace {

envgen::SeenRank rank_of(std::string_view text, int number, char state) {
  envgen::SeenProcess process{.pid = 1, .name = "python"};
  process.threads = {{.tid = 1, .name = "python", .state = state}};
  process.python = envgen::parse_python_dump(text);
  process.device = text.contains("device");
  return {.name = "rank", .rank = number, .processes = {process, process}};
}

}  // namespace

TRAINIT_FUZZER(stacks) {
  constexpr std::size_t kMaxBytes = 4096;
  constexpr std::size_t kMaxVerdict = 1000;
  const std::string_view text(reinterpret_cast<const char*>(data), std::min(size, kMaxBytes));
  const envgen::DumpHeader header = envgen::parse_dump_header(text);
  require(header.signal == 0 || (header.signal == envgen::kStackSignal && header.fd >= 0));
  const std::string_view half = text.substr(text.size() / 2);
  const envgen::SeenJob job{.ranks = {rank_of(text, 0, 'S'), rank_of(half, 1, 'R')}, .whole = true};
  const envgen::StackVerdict verdict = envgen::judge_stacks(job);
  require(verdict.text.size() <= kMaxVerdict);
  constexpr std::size_t kMaxRas = 500;
  const std::string ras = envgen::ras_text(text, static_cast<int>(size % 9), job);
  require(ras.size() <= kMaxRas);
  for (const char c : verdict.text + ras) require(c >= ' ' && c <= '~');
  for (const std::size_t rank : verdict.suspects) require(rank < job.ranks.size());
  require(!stacks_to_text(job, verdict).empty() && !stacks_to_json(job, verdict).empty());
  return 0;
}
