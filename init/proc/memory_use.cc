#include "init/proc/memory_use.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "init/proc/tree.h"

namespace proc {

std::optional<PageCounts> parse_statm(std::string_view text) {
  // "size resident shared ...", in pages.
  const auto size = base::parse_count<std::int64_t>(base::take_word(text));
  const auto resident = base::parse_count<std::int64_t>(base::take_word(text));
  const auto mapped = base::parse_count<std::int64_t>(base::take_word(text));
  if (!size || !resident || !mapped) return std::nullopt;
  // The kernel sums its counters at different instants.
  return PageCounts{*resident, std::min(*mapped, *resident)};
}

std::vector<MemoryUse> memory_of(const std::vector<Load>& tree) {
  const std::int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  std::vector<MemoryUse> uses;
  for (const Load& one : tree) {
    if (one.state == 'Z') continue;
    const auto pages = parse_statm(read_small("/proc/" + std::to_string(one.pid) + "/statm"));
    // A process that exits has already given up its memory.
    if (!pages || pages->resident == 0) continue;
    uses.push_back({.pid = one.pid,
                    .start = one.start,
                    .stack = one.stack,
                    .own_bytes = (pages->resident - pages->mapped) * page_bytes,
                    .mapped_bytes = pages->mapped * page_bytes});
  }
  return uses;
}

std::int64_t TreeMemory::look(const std::vector<MemoryUse>& tree) {
  if (tree.empty()) return -1;
  const auto is_older = [](const MemoryUse& one, const MemoryUse& other) {
    return std::tie(one.start, one.pid) < std::tie(other.start, other.pid);
  };
  std::map<std::uint64_t, const MemoryUse*> oldest;  // process of each program, by its stack
  for (const MemoryUse& one : tree) {
    const MemoryUse*& first = oldest[one.stack];
    if (first == nullptr || is_older(one, *first)) first = &one;
  }
  std::map<pid_t, Known> known;
  std::int64_t own_bytes = 0;
  std::int64_t mapped_bytes = 0;
  for (const MemoryUse& one : tree) {
    const MemoryUse& first = *oldest[one.stack];
    Known now{one.start, one.stack, std::min(one.own_bytes, first.own_bytes)};
    const auto before = known_.find(one.pid);
    if (before != known_.end() && before->second.start == one.start &&
        before->second.stack == one.stack) {
      now = before->second;
    }
    const std::int64_t shared_bytes =
        &one == &first ? 0 : std::min({now.shared_bytes, first.own_bytes, one.own_bytes});
    own_bytes += one.own_bytes - shared_bytes;
    mapped_bytes = std::max(mapped_bytes, one.mapped_bytes);
    known.emplace(one.pid, now);
  }
  known_ = std::move(known);
  return own_bytes + mapped_bytes;
}

}  // namespace proc
