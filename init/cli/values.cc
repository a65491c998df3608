#include "init/cli/values.h"

#include <algorithm>
#include <charconv>
#include <csignal>

#include "envgen/formats/perf_line.h"
#include "init/proc/signals.h"

namespace cli {
namespace {

using envgen::HookEvent;
using envgen::SignalRule;

constexpr std::int64_t kYearMs = 366LL * 24 * 3600 * 1000;
// What a rank fits into, many times over.
constexpr int kMostCount = 1'000'000;
constexpr int kMostCode = 255;

// A number from 0, of decimal digits alone.
template <class T>
std::optional<T> parse_count(std::string_view text) {
  T value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// The parts of a comma list; false at the first that `take` refuses, and for an empty list.
template <class Take>
bool each_part(std::string_view list, Take take) {
  while (true) {
    const std::size_t comma = list.find(',');
    if (!take(list.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

// "1-3" or "7"
std::optional<envgen::CodeRange> parse_codes(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_count<int>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : parse_count<int>(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last > kMostCode) return std::nullopt;
  return envgen::CodeRange{*first, *last};
}

Parsed<HookEvent> parse_event(std::string_view text) {
  const auto* found = std::ranges::find(envgen::kHookEventNames, text);
  if (found == envgen::kHookEventNames.end()) {
    return std::unexpected(quoted(text) + " is no event of hooks");
  }
  return static_cast<HookEvent>(found - envgen::kHookEventNames.begin());
}

// What stands behind "USR1=".
Parsed<SignalRule> parse_signal_target(int from, std::string_view text) {
  constexpr std::string_view kFile = "file:";
  SignalRule rule{.from = from};
  if (text == "none") {
    rule.kind = SignalRule::Kind::kNothing;
  } else if (text == "forward") {
    rule.kind = SignalRule::Kind::kForward;
  } else if (text == "checkpoint") {
    rule.kind = SignalRule::Kind::kCheckpoint;
  } else if (text.starts_with(kFile)) {
    rule.kind = SignalRule::Kind::kFile;
    rule.path = text.substr(kFile.size());
    if (rule.path.size() < 2 || !rule.path.starts_with('/')) {
      return std::unexpected(quoted(rule.path) + " is no absolute path");
    }
  } else if (const auto to = proc::parse_signal(text)) {
    rule.to = *to;
  } else {
    return std::unexpected(quoted(text) +
                           " is no signal, and not checkpoint, forward, file:PATH or none");
  }
  return rule;
}

Parsed<SignalRule> parse_signal_rule(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::unexpected(quoted(text) + " has no \"=\"");
  const std::string_view name = text.substr(0, equals);
  const auto from = proc::parse_signal(name);
  if (!from) return std::unexpected(quoted(name) + " is no signal");
  if (*from == SIGKILL || *from == SIGSTOP) {
    return std::unexpected(quoted(name) + " never reaches a process");
  }
  if (*from == SIGCHLD) return std::unexpected(quoted(name) + " is trainit's own");
  return parse_signal_target(*from, text.substr(equals + 1));
}

}  // namespace

std::optional<std::int64_t> parse_duration_ms(std::string_view text) {
  static constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  std::int64_t scale = 1000;
  for (const auto& [suffix, unit] : kUnits) {
    if (!text.ends_with(suffix)) continue;
    scale = unit;
    text.remove_suffix(suffix.size());
    break;
  }
  auto count = parse_count<std::int64_t>(text);
  if (!count || *count > kYearMs / scale) return std::nullopt;
  return *count * scale;
}

bool set_text(std::string_view value, std::string& target) {
  target = value;
  return !value.empty();
}

bool set_switch(std::string_view value, bool& target) {
  bool on = value == "1" || value == "true" || value == "yes" || value == "on";
  bool off = value == "0" || value == "false" || value == "no" || value == "off";
  if (on || off) target = on;
  return on || off;
}

bool set_switch(std::string_view value, std::optional<bool>& target) {
  bool on = false;
  const bool ok = set_switch(value, on);
  if (ok) target = on;
  return ok;
}

bool set_up_to(std::string_view value, int most, int& target) {
  const auto number = parse_count<int>(value);
  if (!number || *number > most) return false;
  target = *number;
  return true;
}

bool set_size(std::string_view value, std::int64_t least, std::int64_t& target) {
  constexpr std::int64_t kMost = 1LL << 50;
  constexpr std::string_view kUnits = "kmgt";
  std::int64_t scale = 1;
  const char last = value.empty() ? ' ' : static_cast<char>(value.back() | 0x20);
  if (const std::size_t unit = kUnits.find(last); unit != std::string_view::npos) {
    scale = 1LL << (10 * (unit + 1));
    value.remove_suffix(1);
  }
  const auto count = parse_count<std::int64_t>(value);
  if (!count || *count > kMost / scale) return false;
  const std::int64_t size = *count * scale;
  if (size != 0 && size < least) return false;
  target = size;
  return true;
}

bool set_duration(std::string_view value, std::optional<std::int64_t>& target) {
  auto duration = parse_duration_ms(value);
  if (duration) target = duration;
  return duration.has_value();
}

bool set_duration(std::string_view value, std::int64_t& target) {
  std::optional<std::int64_t> duration = target;
  bool ok = set_duration(value, duration);
  target = duration.value_or(target);
  return ok;
}

bool set_time(std::string_view value, std::optional<std::int64_t>& target) {
  auto duration = parse_duration_ms(value);
  if (!duration || *duration == 0) return false;
  target = duration;
  return true;
}

bool set_time(std::string_view value, std::int64_t& target) {
  std::optional<std::int64_t> duration = target;
  bool ok = set_time(value, duration);
  target = duration.value_or(target);
  return ok;
}

bool set_number(std::string_view value, std::optional<int>& target) {
  auto number = parse_count<int>(value);
  if (number) target = number;
  return number.has_value();
}

bool set_count(std::string_view value, std::optional<int>& target) {
  auto number = parse_count<int>(value);
  if (!number || *number > kMostCount) return false;
  target = number;
  return true;
}

bool set_positive(std::string_view value, std::optional<int>& target) {
  auto number = parse_count<int>(value);
  if (!number || *number == 0 || *number > kMostCount) return false;
  target = number;
  return true;
}

bool set_positive(std::string_view value, int& target) {
  std::optional<int> number;
  if (!set_positive(value, number)) return false;
  target = *number;
  return true;
}

bool set_ratio(std::string_view value, std::int64_t& target_ppm) {
  constexpr std::int64_t kMostPpm = 100'000'000;
  const auto ratio = envgen::parse_millionths(value);
  if (!ratio || *ratio == 0 || *ratio > kMostPpm) return false;
  target_ppm = *ratio;
  return true;
}

bool set_either(std::string_view value, std::string_view first, std::string_view second,
                bool& target) {
  if (value != first && value != second) return false;
  target = value == second;
  return true;
}

bool set_port(std::string_view value, std::optional<int>& target) {
  constexpr int kMostPort = 65535;
  auto number = parse_count<int>(value);
  if (!number || *number == 0 || *number > kMostPort) return false;
  target = number;
  return true;
}

bool set_between(std::string_view value, int least, int most, std::optional<int>& target) {
  int number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) return false;
  if (number < least || number > most) return false;
  target = number;
  return true;
}

bool set_headroom(std::string_view value, envgen::Headroom& target) {
  envgen::Headroom headroom{.bytes = 0, .percent = 0};
  const bool percent = value.ends_with('%');
  if (percent) value.remove_suffix(1);
  const bool ok =
      percent ? set_up_to(value, 100, headroom.percent) : set_size(value, 0, headroom.bytes);
  if (ok) target = headroom;
  return ok;
}

bool set_umask(std::string_view value, std::optional<std::uint32_t>& target) {
  std::uint32_t mask = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), mask, 8);
  if (error != std::errc{} || end != value.data() + value.size() || mask > 0777) return false;
  target = mask;
  return true;
}

bool add_lines(std::string_view value, std::vector<std::string>& target) {
  if (value.empty()) return false;
  while (!value.empty()) {
    const std::size_t end = value.find('\n');
    if (end != 0) target.emplace_back(value.substr(0, end));
    if (end == std::string_view::npos) break;
    value.remove_prefix(end + 1);
  }
  return true;
}

bool set_escalation(std::string_view value, std::vector<envgen::Escalation>& target) {
  std::vector<envgen::Escalation> steps;
  const bool ok = each_part(value, [&steps](std::string_view part) {
    const std::size_t at = part.find('@');
    if (at == std::string_view::npos) return false;
    const auto signal = proc::parse_signal(part.substr(0, at));
    const auto after_ms = parse_duration_ms(part.substr(at + 1));
    if (!signal || !after_ms) return false;
    if (!steps.empty() && *after_ms <= steps.back().after_ms) return false;
    steps.push_back({*signal, *after_ms});
    return true;
  });
  if (ok) target = std::move(steps);
  return ok;
}

bool set_exit_codes(std::string_view value, std::vector<envgen::ExitCodeRule>& target) {
  std::vector<envgen::ExitCodeRule> rules;
  const bool ok = each_part(value, [&rules](std::string_view part) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return false;
    const auto from = parse_codes(part.substr(0, equals));
    const auto to = parse_count<int>(part.substr(equals + 1));
    if (!from || !to || *to > kMostCode) return false;
    rules.push_back({from->first, from->last, *to});
    return true;
  });
  if (ok) target = std::move(rules);
  return ok;
}

bool set_code_ranges(std::string_view value, std::vector<envgen::CodeRange>& target) {
  std::vector<envgen::CodeRange> ranges;
  const bool ok = each_part(value, [&ranges](std::string_view part) {
    const auto range = parse_codes(part);
    if (range) ranges.push_back(*range);
    return range.has_value();
  });
  if (ok) target = std::move(ranges);
  return ok;
}

bool set_signal_or_none(std::string_view value, std::optional<int>& target) {
  if (value == "none") {
    target = 0;
    return true;
  }
  const auto signal = proc::parse_signal(value);
  if (!signal || *signal == SIGKILL || *signal == SIGSTOP) return false;
  target = signal;
  return true;
}

Parsed<std::vector<SignalRule>> parse_signal_map(std::string_view text) {
  std::vector<SignalRule> rules;
  std::string wrong;
  each_part(text, [&](std::string_view part) {
    auto rule = parse_signal_rule(part);
    if (!rule) {
      wrong = std::move(rule.error());
    } else if (std::ranges::find(rules, rule->from, &SignalRule::from) != rules.end()) {
      wrong = proc::signal_name(rule->from) + " stands there twice";
    } else {
      rules.push_back(std::move(*rule));
    }
    return wrong.empty();
  });
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return rules;
}

Parsed<envgen::HookTimes> parse_hook_times(std::string_view text) {
  envgen::HookTimes times = {};
  std::string wrong;
  if (text.find('=') == std::string_view::npos) {
    std::optional<std::int64_t> each;
    if (!set_time(text, each)) return std::unexpected(quoted(text) + " is no duration");
    times.fill(each);
    return times;
  }
  each_part(text, [&](std::string_view part) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const auto event = parse_event(part.substr(0, equals));
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    if (!event) {
      wrong = event.error();
    } else if (auto& time = times.at(static_cast<std::size_t>(*event)); time) {
      wrong = std::string(name_of(*event)) + " stands there twice";
    } else if (!set_time(value, time)) {
      wrong = quoted(value) + " is no duration";
    }
    return wrong.empty();
  });
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return times;
}

Parsed<std::vector<HookEvent>> parse_fatal_hooks(std::string_view text) {
  std::vector<HookEvent> events;
  std::string wrong;
  if (text == "none") return events;
  each_part(text, [&](std::string_view part) {
    const auto event = parse_event(part);
    if (!event) {
      wrong = event.error();
    } else if (!is_of_course(*event)) {
      wrong =
          std::string(part) + " hooks cannot end the job: what they find is a watch's to answer";
    } else if (*event != HookEvent::kPreStart && *event != HookEvent::kPostStart) {
      wrong = std::string(part) + " hooks cannot end the job: it is ending by then, or is to go on";
    } else if (std::ranges::find(events, *event) == events.end()) {
      events.push_back(*event);
    }
    return wrong.empty();
  });
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return events;
}

}  // namespace cli
