#include "init/engine/report/torn_down.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "init/engine/report/printed_cause.h"
#include "init/sys/clock.h"

namespace engine {
namespace {

constexpr std::int64_t kLongestLookMs = 2000;
constexpr std::int64_t kFreshMs = 2000;  // older lines are of something that the rank survived
constexpr std::size_t kMostRanks = 64;
constexpr auto kErr = logtee::Stream::kErr;  // stdout is buffered, and may come after it

// The cause, if it is the last line of a rank: the rank has survived what an older one tells.
std::optional<FailureCause> last_cause_in(std::string_view printed,
                                          const envgen::FailureCatalog& catalog) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t end = printed.find_last_not_of(kSpace);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = printed.substr(0, end + 1);
  const std::string_view last = text.substr(text.rfind('\n') + 1);
  auto cause = cause_in(text, catalog);
  const bool shows = cause && !cause->line.empty() && last.find(cause->line) != last.npos &&
                     role_of(cause, "") == lifecycle::NodeFailure::Role::kRoot;
  return shows ? std::move(cause) : std::nullopt;
}

}  // namespace

void TornDown::keep_printed(const Job& job, const lifecycle::Machine& machine,
                            const logtee::Shared* seen) {
  printed_.clear();
  if (!machine.awaits_verdict() || seen == nullptr) return;
  const std::int64_t now_ms = sys::monotonic_ms();
  for (std::uint32_t i = 0; i < job.records.size() && printed_.size() < kMostRanks; ++i) {
    const TaskRecord& record = job.records[i];
    const auto place = static_cast<std::size_t>(record.process);
    if (!is_main(record) || record.process < 0 || !seen->has(place)) continue;
    const std::int64_t last_ms = seen->seen(place, kErr).last_ms;
    if (now_ms - last_ms > kFreshMs) continue;
    printed_.push_back(
        {{i, machine.tasks()[i].incarnation}, last_ms, seen->output_tail(place, kErr)});
  }
  std::ranges::stable_sort(printed_, {}, &Printed::last_ms);
}

std::optional<lifecycle::TaskRef> TornDown::look(Job& job, const lifecycle::Machine& machine,
                                                 const proc::SavedSignals& saved) {
  if (!machine.failed_elsewhere() || !machine.awaits_verdict()) {
    forget();
    return std::nullopt;
  }
  if (looks_ && !tail_.awaited()) {
    looks_ = false;
    const PrintedEnd end = tail_.take();
    if (end.cause) found_ = printed_.at(end.first).task;
    printed_.clear();
  }
  if (!printed_.empty() && !looks_) {
    auto search = [this](const OutputTail::Tell& tell) {
      std::vector<std::string> warnings;
      const envgen::FailureCatalog catalog = failure_catalog(kFailuresDirectory, &warnings);
      for (std::uint32_t i = 0; i < printed_.size(); ++i) {
        PrintedEnd end{.cause = last_cause_in(printed_[i].text, catalog)};
        end.first = i;
        if (end.cause) return tell(end);
      }
    };
    looks_ = tail_.start(search, saved, kLongestLookMs).has_value();
    if (looks_) {
      job.helpers.push_back(tail_.pid());
    } else {
      printed_.clear();
    }
  }
  if (!found_ || machine.tasks()[found_->index].live()) return std::nullopt;
  return std::exchange(found_, std::nullopt);
}

void TornDown::forget() {
  if (std::exchange(looks_, false)) {
    if (tail_.awaited()) tail_.give_up();
    tail_.take();
  }
  printed_.clear();
  found_.reset();
}

}  // namespace engine
