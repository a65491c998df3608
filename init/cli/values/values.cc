#include "init/cli/values/values.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <optional>

#include "base/exit_codes.h"
#include "base/nearest.h"
#include "base/text.h"
#include "envgen/formats/perf_line.h"
#include "envgen/formats/progress_line.h"
#include "envgen/framework/framework.h"
#include "envgen/plan/warm.h"
#include "envgen/platform/platform.h"
#include "init/doctor/doctor.h"
#include "init/proc/signals.h"

namespace cli {
namespace {

using base::quoted;
using base::SignalRule;
using envgen::HookEvent;

constexpr std::int64_t kYearMs = 366LL * 24 * 3600 * 1000;

// Calls `take` for each part of a comma list. Returns false at the first part that `take` refuses,
// and for an empty list.
template <class Take>
bool each_part(std::string_view list, Take take) {
  while (true) {
    const std::size_t comma = list.find(',');
    if (!take(list.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

// Reads "1-3" or "7".
std::optional<base::CodeRange> parse_codes(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number(text.substr(0, dash), 0, exit_code::kMax);
  const auto last = dash == std::string_view::npos
                        ? first
                        : parse_number(text.substr(dash + 1), 0, exit_code::kMax);
  if (!first || !last || *first > *last) return std::nullopt;
  return base::CodeRange{static_cast<int>(*first), static_cast<int>(*last)};
}

Parsed<HookEvent> parse_event(std::string_view text) {
  const auto* found = std::ranges::find(envgen::kHookEventNames, text);
  if (found == envgen::kHookEventNames.end()) {
    return refused(quoted(text) + " is no event of hooks");
  }
  return static_cast<HookEvent>(found - envgen::kHookEventNames.begin());
}

// Reads the text after "USR1=".
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
      return refused(quoted(rule.path) + " is no absolute path");
    }
  } else if (const auto to = proc::parse_signal(text)) {
    rule.to = *to;
  } else {
    return refused(quoted(text) + " is no signal, and not checkpoint, forward, file:PATH or none");
  }
  return rule;
}

Parsed<SignalRule> parse_signal_rule(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return refused(quoted(text) + " has no \"=\"");
  const std::string_view name = text.substr(0, equals);
  const auto from = proc::parse_signal(name);
  if (!from) return refused(quoted(name) + " is no signal");
  if (*from == SIGKILL || *from == SIGSTOP) {
    return refused(quoted(name) + " never reaches a process");
  }
  if (*from == SIGCHLD) return refused(quoted(name) + " is trainit's own");
  return parse_signal_target(*from, text.substr(equals + 1));
}

}  // namespace

Parsed<std::int64_t> parse_duration_ms(std::string_view text) {
  static constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  std::int64_t scale = 1000;
  for (const auto& [suffix, unit] : kUnits) {
    if (!text.ends_with(suffix)) continue;
    scale = unit;
    text.remove_suffix(suffix.size());
    break;
  }
  const auto count = parse_number(text, 0, kYearMs / scale);
  if (!count) return refused();
  return *count * scale;
}

Parsed<std::int64_t> parse_time_ms(std::string_view text) {
  auto duration = parse_duration_ms(text);
  return duration && *duration == 0 ? refused() : duration;
}

Parsed<std::int64_t> parse_health_interval(std::string_view text) {
  auto interval_ms = parse_duration_ms(text);
  if (interval_ms && *interval_ms == 0) interval_ms = envgen::kNoHealth;
  return interval_ms;
}

Parsed<std::int64_t> parse_number(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto value = base::parse_number<std::int64_t>(text);
  if (!value || *value < least || *value > most) return refused();
  return *value;
}

Parsed<bool> parse_switch(std::string_view text) {
  if (text == "1" || text == "true" || text == "yes" || text == "on") return true;
  if (text == "0" || text == "false" || text == "no" || text == "off") return false;
  return refused();
}

Parsed<bool> parse_off(std::string_view text) {
  auto on = parse_switch(text);
  if (on) on = !*on;
  return on;
}

Parsed<std::string> parse_text(std::string_view text) {
  if (text.empty()) return refused();
  return std::string(text);
}

Parsed<std::string> parse_platform(std::string_view text) {
  const auto names = platform_names();
  return place_of(text, names) < names.size() ? parse_text(text) : refused();
}

Parsed<std::string> parse_framework(std::string_view text) {
  const auto names = framework_names();
  return place_of(text, names) < names.size() ? parse_text(text) : refused();
}

Parsed<std::string> parse_absolute(std::string_view text) {
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  if (text.size() < 2 || !text.starts_with('/')) return refused();
  return std::string(text);
}

Parsed<std::string> parse_perf_text(std::string_view text) {
  const auto pattern = envgen::parse_perf_pattern(text);
  if (!pattern) return refused(pattern.error().found);
  return std::string(text);
}

Parsed<std::vector<std::string>> parse_progress(std::string_view text) {
  auto patterns = parse_lines(text);
  if (!patterns) return refused();
  for (const std::string& one : *patterns) {
    const auto pattern = envgen::parse_progress_pattern(one);
    if (!pattern) return refused(pattern.error().found);
  }
  return patterns;
}

Parsed<std::string> parse_terminal(std::string_view text) {
  const auto on = parse_switch(text);
  return on ? Parsed<std::string>(*on ? "1" : "0") : parse_text(text);
}

Parsed<std::string> parse_health_checks(std::string_view text) {
  if (text != envgen::kAllChecks && !doctor::parse_check_names(text)) return refused();
  return parse_text(text);
}

Parsed<std::vector<std::string>> parse_checks(std::string_view text) {
  auto names = doctor::parse_check_names(text);
  if (!names || names->empty()) return refused();
  return *names;
}

Parsed<copy::Owner> parse_owner(std::string_view text) {
  constexpr std::int64_t kMaxId = UINT32_MAX - 1;  // UINT32_MAX means "unchanged"
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto uid = parse_number(text.substr(0, colon), 0, kMaxId);
  const auto gid = parse_number(text.substr(std::min(colon + 1, text.size())), 0, kMaxId);
  if (!uid || !gid) return refused();
  return copy::Owner{static_cast<std::uint32_t>(*uid), static_cast<std::uint32_t>(*gid)};
}

Parsed<envgen::HostfileDialect> parse_dialect(std::string_view text) {
  const auto dialect = envgen::dialect_by_name(text);
  if (!dialect) return refused();
  return *dialect;
}

Parsed<std::int64_t> parse_size(std::string_view text, std::int64_t least) {
  constexpr std::int64_t kMax = 1LL << 50;
  constexpr std::string_view kUnits = "kmgt";
  std::int64_t scale = 1;
  const char last = text.empty() ? ' ' : static_cast<char>(text.back() | 0x20);
  if (const std::size_t unit = kUnits.find(last); unit != std::string_view::npos) {
    scale = 1LL << (10 * (unit + 1));
    text.remove_suffix(1);
  }
  const auto count = parse_number(text, 0, kMax / scale);
  if (!count) return refused();
  const std::int64_t size = *count * scale;
  if (size != 0 && size < least) return refused();
  return size;
}

Parsed<std::int64_t> parse_ratio(std::string_view text) {
  constexpr std::int64_t kMaxPpm = 100'000'000;
  const auto ratio = envgen::parse_decimal(text);
  if (!ratio || *ratio == 0 || *ratio > kMaxPpm) return refused();
  return *ratio;
}

Parsed<envgen::Headroom> parse_headroom(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const auto amount = percent ? parse_number(text, 0, 100) : parse_size(text, 0);
  if (!amount) return refused();
  if (percent) return envgen::Headroom{.bytes = 0, .percent = static_cast<int>(*amount)};
  return envgen::Headroom{.bytes = *amount, .percent = 0};
}

Parsed<std::uint32_t> parse_umask(std::string_view text) {
  const auto mask = base::parse_number<std::uint32_t>(text, 8);
  if (!mask || *mask > 0777) return refused();
  return *mask;
}

namespace {

bool is_word(std::string_view text) {
  const auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

bool is_module(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_word(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// Reads a list of names without changing them. The error has the first name that is not valid.
template <typename IsGood>
Parsed<std::vector<std::string>> parse_names(std::string_view text, IsGood is_good,
                                             const char* kind) {
  std::vector<std::string> names;
  std::string wrong;
  const bool good = each_part(text, [&](std::string_view part) {
    if (!is_good(part)) {
      wrong = part;
      return false;
    }
    names.emplace_back(part);
    return true;
  });
  if (!good) return refused(quoted(wrong) + " is no name of a " + kind);
  return names;
}

}  // namespace

Parsed<std::vector<std::string>> parse_modules(std::string_view text) {
  auto modules = parse_names(text, is_module, "module");
  const bool automatic =
      modules && std::ranges::find(*modules, envgen::kWarmAuto) != modules->end();
  if (automatic && modules->size() > 1) return refused("auto stands alone");
  return modules;
}

Parsed<std::vector<std::string>> parse_variables(std::string_view text) {
  const auto is_variable = [](std::string_view part) {
    return is_word(part.substr(0, part.size() - (part.ends_with('*') ? 1 : 0)));
  };
  return parse_names(text, is_variable, "variable");
}

Parsed<std::vector<std::string>> parse_lines(std::string_view text) {
  if (text.empty()) return refused();
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end != 0) lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

Parsed<std::vector<base::EscalationStep>> parse_escalation(std::string_view text) {
  std::vector<base::EscalationStep> steps;
  const bool ok = each_part(text, [&steps](std::string_view part) {
    const std::size_t at = part.find('@');
    if (at == std::string_view::npos) return false;
    const auto signal = proc::parse_signal(part.substr(0, at));
    const auto after_ms = parse_duration_ms(part.substr(at + 1));
    if (!signal || !after_ms) return false;
    if (!steps.empty() && *after_ms <= steps.back().after_ms) return false;
    steps.push_back({*signal, *after_ms});
    return true;
  });
  if (!ok) return refused();
  return steps;
}

Parsed<std::vector<base::ExitCodeRule>> parse_exit_codes(std::string_view text) {
  std::vector<base::ExitCodeRule> rules;
  const bool ok = each_part(text, [&rules](std::string_view part) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return false;
    const auto from = parse_codes(part.substr(0, equals));
    const auto to = parse_number(part.substr(equals + 1), 0, exit_code::kMax);
    if (!from || !to) return false;
    rules.push_back({from->first, from->last, static_cast<int>(*to)});
    return true;
  });
  if (!ok) return refused();
  return rules;
}

Parsed<std::vector<base::CodeRange>> parse_code_ranges(std::string_view text) {
  std::vector<base::CodeRange> ranges;
  const bool ok = each_part(text, [&ranges](std::string_view part) {
    const auto range = parse_codes(part);
    if (range) ranges.push_back(*range);
    return range.has_value();
  });
  if (!ok) return refused();
  return ranges;
}

Parsed<int> parse_signal(std::string_view text) {
  const auto signal = proc::parse_signal(text);
  if (!signal) return refused();
  return *signal;
}

Parsed<int> parse_signal_or_none(std::string_view text) {
  if (text == "none") return 0;
  const auto signal = proc::parse_signal(text);
  if (!signal || *signal == SIGKILL || *signal == SIGSTOP) return refused();
  return *signal;
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
  if (!wrong.empty()) return refused(std::move(wrong));
  return rules;
}

Parsed<envgen::HookTimes> parse_hook_times(std::string_view text) {
  envgen::HookTimes times = {};
  std::string wrong;
  if (text.find('=') == std::string_view::npos) {
    const auto each = parse_time_ms(text);
    if (!each) return refused(quoted(text) + " is no duration");
    times.fill(*each);
    return times;
  }
  each_part(text, [&](std::string_view part) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const auto event = parse_event(part.substr(0, equals));
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    const auto time_ms = parse_time_ms(value);
    if (!event) {
      wrong = event.error();
    } else if (auto& time = times.at(static_cast<std::size_t>(*event)); time) {
      wrong = std::string(name_of(*event)) + " stands there twice";
    } else if (!time_ms) {
      wrong = quoted(value) + " is no duration";
    } else {
      time = *time_ms;
    }
    return wrong.empty();
  });
  if (!wrong.empty()) return refused(std::move(wrong));
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
    } else if (!is_phase_event(*event)) {
      wrong =
          std::string(part) + " hooks cannot end the job: what they find is a watch's to answer";
    } else if (*event != HookEvent::kPreStart && *event != HookEvent::kPostStart) {
      wrong = std::string(part) + " hooks cannot end the job: it is ending by then, or is to go on";
    } else if (std::ranges::find(events, *event) == events.end()) {
      events.push_back(*event);
    }
    return wrong.empty();
  });
  if (!wrong.empty()) return refused(std::move(wrong));
  return events;
}

std::string with_guess(std::string fix, std::string_view typed,
                       std::span<const std::string_view> known) {
  const std::string_view guess = base::nearest(typed, known);
  if (guess.empty()) return fix;
  return concat({fix, "; did you mean ", guess, "?"});
}

std::string either(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " or ";
    text += words[i];
  }
  return text;
}

std::size_t place_of(std::string_view word, std::span<const std::string_view> words) {
  return static_cast<std::size_t>(std::ranges::find(words, word) - words.begin());
}

std::vector<std::string_view> list_of(std::span<const std::string_view> words) {
  return {words.begin(), words.end()};
}

std::vector<std::string_view> platform_names() {
  std::vector<std::string_view> names;
  for (const envgen::Platform* one : envgen::platforms()) names.push_back(one->name);
  return names;
}

std::vector<std::string_view> framework_names() {
  std::vector<std::string_view> names;
  for (const envgen::FrameworkLauncher* one : envgen::framework_launchers()) {
    names.push_back(one->name);
  }
  return names;
}

std::vector<std::string_view> check_names() {
  std::vector<std::string_view> names;
  for (const doctor::Check& check : doctor::all_checks()) names.push_back(check.name);
  return names;
}

std::string number_text(std::int64_t least, std::int64_t most) {
  std::string text = "a number from " + std::to_string(least);
  return most == INT_MAX ? text : text + " to " + std::to_string(most);
}

}  // namespace cli
