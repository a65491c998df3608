#include "init/copy/copy_progress.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"

namespace copy {
namespace {

constexpr std::int64_t kWindowMs = 10'000;
// Minimum time between two samples. With more samples, the older ones would not fit into the
// window.
constexpr std::int64_t kSpacingMs = 250;
// Time without progress after which there is no rate.
constexpr std::int64_t kQuietMs = 3'000;
constexpr std::uint64_t kMsPerSecond = 1000;

// Returns part * factor / whole. The product may not fit into 64 bits.
std::uint64_t scaled(std::uint64_t part, std::uint64_t factor, std::uint64_t whole) {
  if (whole == 0) return 0;
  return static_cast<std::uint64_t>(static_cast<long double>(part) *
                                    static_cast<long double>(factor) /
                                    static_cast<long double>(whole));
}

std::uint64_t left_ms(std::uint64_t done, std::uint64_t total, std::uint64_t per_second) {
  return done >= total ? 0 : scaled(total - done, kMsPerSecond, per_second);
}

std::string two_digits(std::int64_t value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

std::string amount(const std::string& done, const std::string& total, bool known) {
  return known ? done + " of " + total : done;
}

// Returns the time left in whole seconds.
std::string left_text(std::int64_t left_ms) {
  constexpr std::int64_t kSecond = 1000;
  const std::int64_t seconds = (left_ms + kSecond - 1) / kSecond;
  return (seconds < 10 ? std::to_string(seconds) + "s" : time_text(seconds * kSecond)) + " left";
}

struct Detail {
  std::string text;
  std::size_t width = 0;  // reserved width, so that the bar does not move when a number grows
};

Detail detail(std::string text, std::string_view widest) {
  const std::size_t width = std::max(text.size(), widest.size());
  return {std::move(text), width};
}

// Number of details that are more important than the bar: if they leave no room for the shortest
// bar, the bar is left out.
constexpr std::size_t kBeforeTheBar = 2;

// Returns the details, the most important first.
std::vector<Detail> details_of(const CopyProgress& progress, const Rate& rate) {
  const bool known = progress.total_entries > 0;
  std::vector<Detail> details;
  const std::int64_t left = time_left_ms(progress, rate);
  details.push_back(progress.stalled.empty()
                        ? detail(left > 0 ? left_text(left) : "", "59m59s left")
                        : detail(progress.stalled, ""));
  details.push_back(
      detail(rate.bytes > 0 ? base::size_text(rate.bytes) + "/s" : "", "1000.0 MiB/s"));
  const std::string bytes = base::size_text(progress.total_bytes);
  const std::string entries = std::to_string(progress.total_entries);
  details.push_back(detail(amount(base::size_text(progress.bytes), bytes, known),
                           known ? amount("1000.0 MiB", bytes, true) : ""));
  details.push_back(detail(amount(std::to_string(progress.entries), entries, known) + " entries",
                           known ? amount(entries, entries, true) + " entries" : ""));
  return details;
}

std::string title_of(const CopyProgress& progress) {
  return (progress.waiting ? "waiting for another copy, " : "") + std::string(progress.phase);
}

// Joins the first `count` details in reverse order: amounts, rate, time left.
std::string joined(const std::vector<Detail>& details, std::size_t count) {
  std::string text;
  for (std::size_t i = std::min(count, details.size()); i > 0; --i) {
    const std::string& next = details[i - 1].text;
    if (!next.empty()) text += (text.empty() ? "" : ", ") + next;
  }
  return text;
}

// Returns the width of the first `count` details. Before each of them is a blank, or a comma and a
// blank.
std::size_t width_of(const std::vector<Detail>& details, std::size_t count) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < std::min(count, details.size()); ++i) {
    width += details[i].width + (i == 0 ? 1 : 2);
  }
  return width;
}

std::string bar_of(int percent, std::size_t width) {
  const std::size_t full = width * static_cast<std::size_t>(percent) / 100;
  std::string bar(full, '=');
  if (full < width) bar += '>';
  bar.resize(width, ' ');
  return " [" + bar + "]";
}

// Returns what was found so far, for a copy whose total is not known yet.
std::string so_far(const CopyProgress& progress) {
  return title_of(progress) + ": " + std::to_string(progress.entries) + " entries so far, " +
         base::size_text(progress.bytes) +
         (progress.stalled.empty() ? "" : ", " + progress.stalled);
}

}  // namespace

void RateWindow::add(std::int64_t now_ms, std::uint64_t bytes, std::uint64_t entries) {
  const Sample sample{.at_ms = now_ms, .bytes = bytes, .entries = entries};
  const std::size_t last = (next_ + kSamples - 1) % kSamples;
  // The copy has started again, so its earlier samples mean nothing.
  if (count_ > 0 && (bytes < ring_.at(last).bytes || entries < ring_.at(last).entries)) count_ = 0;
  const bool moved =
      count_ == 0 || bytes > ring_.at(last).bytes || entries > ring_.at(last).entries;
  // A stall has just ended: the rate counts only from its last sample.
  if (moved && count_ > 1 && now_ms - moved_ms_ > kWindowMs) count_ = 1;
  if (moved) moved_ms_ = now_ms;
  const std::size_t before_last = (next_ + kSamples - 2) % kSamples;
  // The newest sample is always kept. If the previous one came too soon after the one before, it is
  // replaced.
  if (count_ > 1 && ring_.at(last).at_ms - ring_.at(before_last).at_ms < kSpacingMs) {
    ring_.at(last) = sample;
    return;
  }
  ring_.at(next_) = sample;
  next_ = (next_ + 1) % kSamples;
  count_ = std::min(count_ + 1, kSamples);
}

Rate RateWindow::rate() const {
  if (count_ < 2) return {};
  const Sample& newest = ring_.at((next_ + kSamples - 1) % kSamples);
  if (newest.at_ms - moved_ms_ >= kQuietMs) return {};
  const Sample* oldest = &newest;
  for (std::size_t age = 2; age <= count_; ++age) {
    const Sample& sample = ring_.at((next_ + kSamples - age) % kSamples);
    if (newest.at_ms - sample.at_ms > kWindowMs) break;
    oldest = &sample;
  }
  const auto span_ms = static_cast<std::uint64_t>(newest.at_ms - oldest->at_ms);
  return {.bytes = scaled(newest.bytes - oldest->bytes, kMsPerSecond, span_ms),
          .entries = scaled(newest.entries - oldest->entries, kMsPerSecond, span_ms)};
}

std::int64_t time_left_ms(const CopyProgress& progress, const Rate& rate) {
  const bool bytes_left = progress.bytes < progress.total_bytes;
  const bool entries_left = progress.entries < progress.total_entries;
  if (progress.total_entries == 0) return -1;
  if ((bytes_left && rate.bytes == 0) || (entries_left && rate.entries == 0)) return -1;
  return static_cast<std::int64_t>(
      std::max(left_ms(progress.bytes, progress.total_bytes, rate.bytes),
               left_ms(progress.entries, progress.total_entries, rate.entries)));
}

int percent_done(const CopyProgress& progress) {
  constexpr std::uint64_t kAll = 100;
  if (progress.total_entries == 0) return 0;
  const bool complete =
      progress.entries >= progress.total_entries && progress.bytes >= progress.total_bytes;
  if (complete) return kAll;
  const std::uint64_t entries = scaled(progress.entries, kAll, progress.total_entries);
  std::uint64_t percent = entries;
  if (progress.total_bytes > 0) percent = scaled(progress.bytes, kAll, progress.total_bytes);
  // All bytes are copied, and in this phase each entry is looked at once more.
  if (progress.phase == "checking") percent = std::min(percent, entries);
  return static_cast<int>(std::min(percent, kAll - 1));
}

std::string progress_bar(const CopyProgress& progress, const Rate& rate, int columns) {
  constexpr std::size_t kMinBar = 10;
  constexpr std::size_t kMaxBar = 40;
  constexpr std::size_t kFrame = 3;  // " [" and "]"
  // The last column stays free, because some terminals wrap when it is written.
  const std::size_t room = columns > 1 ? static_cast<std::size_t>(columns - 1) : 0;
  if (progress.total_entries == 0) return so_far(progress).substr(0, room);
  std::string percent = std::to_string(percent_done(progress)) + "%";
  percent.insert(0, percent.size() < 4 ? 4 - percent.size() : 0, ' ');
  std::string head = title_of(progress) + " " + percent;
  const std::vector<Detail> details = details_of(progress, rate);
  std::size_t shown = details.size();
  const auto with_bar = [&](std::size_t count) {
    return head.size() + kFrame + kMinBar + width_of(details, count);
  };
  while (shown > kBeforeTheBar && with_bar(shown) > room) --shown;
  if (with_bar(shown) <= room) {
    const std::size_t rest = room - head.size() - kFrame - width_of(details, shown);
    head += bar_of(percent_done(progress), std::min(rest, kMaxBar));
  } else {
    // the text about a stall is cut if needed, but not left out
    const std::size_t least = progress.stalled.empty() ? 0 : 1;
    while (shown > least && head.size() + 1 + joined(details, shown).size() > room) --shown;
  }
  const std::string tail = joined(details, shown);
  return (head + (tail.empty() ? "" : " ") + tail).substr(0, room);
}

std::string progress_line(const CopyProgress& progress, const Rate& rate) {
  if (progress.total_entries == 0) return so_far(progress);
  const std::vector<Detail> details = details_of(progress, rate);
  return title_of(progress) + ": " + std::to_string(percent_done(progress)) + "%, " +
         joined(details, details.size());
}

std::string time_text(std::int64_t milliseconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  constexpr std::int64_t kTenth = 100;
  const std::int64_t seconds = milliseconds / static_cast<std::int64_t>(kMsPerSecond);
  if (seconds == 0) return std::to_string(milliseconds) + "ms";
  if (seconds < 10) {
    const std::int64_t tenths = milliseconds / kTenth;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "s";
  }
  if (seconds < kMinute) return std::to_string(seconds) + "s";
  if (seconds < kHour) {
    return std::to_string(seconds / kMinute) + "m" + two_digits(seconds % kMinute) + "s";
  }
  if (seconds < kDay) {
    return std::to_string(seconds / kHour) + "h" + two_digits(seconds % kHour / kMinute) + "m";
  }
  return std::to_string(seconds / kDay) + "d" + two_digits(seconds % kDay / kHour) + "h";
}

}  // namespace copy
