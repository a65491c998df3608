#pragma once
// What stands behind an option: text in, a value out. The set_ functions leave their target as it
// was and return false where the text is none; what is wrong with it is the caller's to say. The
// parse_ functions of lists say themselves which part is wrong.

#include <cstdint>
#include <expected>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "envgen/plan/request.h"

namespace cli {

// "500ms", "8s", "30m", "2h", "1d", "8" (seconds); at most a year.
std::optional<std::int64_t> parse_duration_ms(std::string_view text);

bool set_text(std::string_view value, std::string& target);
bool set_switch(std::string_view value, bool& target);
bool set_switch(std::string_view value, std::optional<bool>& target);
bool set_duration(std::string_view value, std::optional<std::int64_t>& target);
bool set_duration(std::string_view value, std::int64_t& target);
// The same, but for 0.
bool set_time(std::string_view value, std::optional<std::int64_t>& target);
bool set_time(std::string_view value, std::int64_t& target);

bool set_number(std::string_view value, std::optional<int>& target);    // from 0
bool set_count(std::string_view value, std::optional<int>& target);     // 0 to 1000000
bool set_positive(std::string_view value, std::optional<int>& target);  // 1 to 1000000
bool set_positive(std::string_view value, int& target);
// "0.8", in parts per million; above 0, up to 100.
bool set_ratio(std::string_view value, std::int64_t& target_ppm);
// One of two words; true for the second.
bool set_either(std::string_view value, std::string_view first, std::string_view second,
                bool& target);
bool set_port(std::string_view value, std::optional<int>& target);
bool set_between(std::string_view value, int least, int most, std::optional<int>& target);
bool set_up_to(std::string_view value, int most, int& target);  // from 0
// "4096", "64k", "100m", "2g", "1t" (powers of 1024), at least `least`; 0.
bool set_size(std::string_view value, std::int64_t least, std::int64_t& target);
// "10g", "500m" or "5%": nothing of the other kind is asked for then.
bool set_headroom(std::string_view value, envgen::Headroom& target);
bool set_umask(std::string_view value, std::optional<std::uint32_t>& target);

// Repeated; newline-separated in its variable.
bool add_lines(std::string_view value, std::vector<std::string>& target);
// "INT@10s,QUIT@20s", in the order of time.
bool set_escalation(std::string_view value, std::vector<envgen::Escalation>& target);
// "143=0,1-3=75"
bool set_exit_codes(std::string_view value, std::vector<envgen::ExitCodeRule>& target);
// "1-2,126"
bool set_code_ranges(std::string_view value, std::vector<envgen::CodeRange>& target);
// "USR1", and 0 for "none". Not KILL nor STOP, which no process can answer.
bool set_signal_or_none(std::string_view value, std::optional<int>& target);

// A value, or what is wrong with the text: `"TREM" is no signal`.
template <class T>
using Parsed = std::expected<T, std::string>;

// "TERM=QUIT,INT=forward,USR1=checkpoint,USR2=file:/run/save,HUP=none"
Parsed<std::vector<envgen::SignalRule>> parse_signal_map(std::string_view text);
// "30s" for each event, or "pre-start=10m,on-failure=1m".
Parsed<envgen::HookTimes> parse_hook_times(std::string_view text);
// "pre-start,post-start" or "none".
Parsed<std::vector<envgen::HookEvent>> parse_fatal_hooks(std::string_view text);

// A value out of a short list of words.
template <class T>
bool set_word(std::string_view value, T& target,
              std::initializer_list<std::pair<std::string_view, typename T::value_type>> words) {
  for (const auto& [word, meaning] : words) {
    if (word != value) continue;
    target = meaning;
    return true;
  }
  return false;
}

template <class T, class Target>
bool set_parsed(Parsed<T> parsed, Target& target) {
  if (parsed) target = std::move(*parsed);
  return parsed.has_value();
}

}  // namespace cli
