#include "init/engine/report/torn_down.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "base/stable_sort.h"
#include "base/text.h"
#include "envgen/failure/find_cause.h"
#include "envgen/failure/work_shapes.h"
#include "init/engine/report/printed_cause.h"
#include "init/sys/clock.h"

namespace engine {
namespace {

constexpr std::int64_t kLongestLookMs = 2000;
// Output that is older is ignored, because the rank has survived it.
constexpr std::int64_t kFreshMs = 2000;
constexpr std::size_t kMaxRanks = 64;
// Only stderr: stdout is buffered, so it may come later.
constexpr auto kErr = logtee::Stream::kErr;

// Returns the line without its numbers, to recognize repeated lines. Returns "" for a warning or a
// line of a traceback.
std::string key_of(std::string_view line, const envgen::FailureCatalog& catalog) {
  const std::string_view text = base::trimmed(line);
  if (text.empty() || line.starts_with(' ') || text.starts_with("Traceback (")) return "";
  const auto match = catalog.match(text, false);
  const bool noise = match.row != nullptr && match.row->role == envgen::FailureRole::kNoise;
  return noise ? "" : envgen::cause_key(text);
}

// Returns the state of a progress bar, such as "5%|x  | 50/1000"; "" for any other line. A progress
// bar prints its state once more at the exit.
std::string_view bar_of(std::string_view line) {
  const std::size_t percent = line.rfind("%|");
  if (percent == std::string_view::npos) return "";
  std::string_view bar = line.substr(line.rfind('\r', percent) + 1);
  bar = bar.substr(0, bar.find('[', bar.find("%|")));
  return base::trimmed(bar);
}

// Returns whether the process continued after `line`, which names the cause of a failure. It did if
// later output shows work, or a line like one before.
bool goes_on(std::string_view printed, std::string_view line,
             const envgen::FailureCatalog& catalog) {
  const std::size_t at = printed.rfind(line);
  if (at == std::string_view::npos) return true;
  std::set<std::string, std::less<>> known;
  std::string_view last_bar;
  std::string_view before = printed.substr(0, at);
  while (!before.empty()) {
    const std::string_view one = base::take_line(before);
    if (const auto bar = bar_of(one); !bar.empty()) last_bar = bar;
    known.insert(key_of(one, catalog));
  }
  envgen::WorkShapes work;
  std::size_t line_number = 0;
  std::string_view behind = printed.substr(std::min(printed.find('\n', at), printed.size()));
  while (!behind.empty()) {
    const std::string_view one = base::take_line(behind);
    if (const auto bar = bar_of(one); !bar.empty() && bar == last_bar) continue;
    const std::string key = key_of(one, catalog);
    if (!key.empty() && known.contains(key)) return true;
    if (!key.empty()) work.take("", one, ++line_number);
  }
  return work.went_on(0, line_number + 1);
}

// Returns the cause of a process's own failure, if its output shows one and no sign that it
// continued. `fresh`: how many bytes at the end of `printed` are new enough.
std::optional<FailureCause> cause_of_its_end(std::string_view printed, std::size_t fresh,
                                             const envgen::FailureCatalog& catalog) {
  auto cause = cause_in(printed.substr(printed.size() - fresh), catalog);
  const bool shows = cause && !cause->line.empty() &&
                     role_of(cause, "") == lifecycle::NodeFailure::Role::kRoot &&
                     !goes_on(printed, cause->line, catalog);
  return shows ? std::move(cause) : std::nullopt;
}

}  // namespace

void TornDown::keep_printed(const Job& job, const lifecycle::Machine& machine,
                            const logtee::Shared* seen) {
  kept_ = true;
  if (seen == nullptr) return;
  const std::int64_t now_ms = sys::monotonic_ms();
  for (std::uint32_t i = 0; i < job.records.size() && printed_.size() < kMaxRanks; ++i) {
    const TaskRecord& record = job.records[i];
    const auto place = static_cast<std::size_t>(record.process);
    if (!is_main(record) || record.process < 0 || !seen->has(place)) continue;
    const std::int64_t last_ms = seen->seen(place, kErr).last_ms;
    logtee::Tail tail = seen->output_tail(place, kErr, now_ms - kFreshMs);
    if (tail.fresh == 0) continue;
    printed_.push_back({{i, machine.tasks()[i].incarnation}, last_ms, std::move(tail)});
  }
  base::stable_sort(printed_, std::less(), &Printed::last_ms);
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
    if (end.cause && end.first < printed_.size()) found_ = printed_[end.first].task;
    printed_.clear();
  }
  if (!printed_.empty() && !looks_) {
    auto search = [this](const OutputTail::Tell& tell) {
      std::vector<std::string> warnings;
      const envgen::FailureCatalog catalog = failure_catalog(kFailuresDirectory, &warnings);
      for (std::uint32_t i = 0; i < printed_.size(); ++i) {
        const logtee::Tail& tail = printed_[i].tail;
        PrintedEnd end{.cause = cause_of_its_end(tail.text, tail.fresh, catalog)};
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
  kept_ = false;
  if (std::exchange(looks_, false)) {
    if (tail_.awaited()) tail_.give_up();
    tail_.take();
  }
  printed_.clear();
  found_.reset();
}

}  // namespace engine
