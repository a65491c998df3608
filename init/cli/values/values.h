#pragma once
// What a text on the command line means: a value, or why it is none.

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "envgen/formats/hostfile.h"
#include "envgen/plan/request.h"
#include "init/copy/tree/options.h"

namespace cli {

using envgen::concat;

// A value, or what is wrong with the text: `"TREM" is no signal`; "" where there is no more to say
// than that it is none.
template <class T>
using Parsed = std::expected<T, std::string>;

inline std::unexpected<std::string> refused(std::string why = {}) {
  return std::unexpected(std::move(why));
}

// "500ms", "8s", "30m", "2h", "1d", "8" (seconds); at most a year.
Parsed<std::int64_t> parse_duration_ms(std::string_view text);
// envgen::kNoHealth for 0.
Parsed<std::int64_t> parse_health_interval(std::string_view text);
// A duration, but for 0.
Parsed<std::int64_t> parse_time_ms(std::string_view text);
Parsed<std::int64_t> parse_number(std::string_view text, std::int64_t least, std::int64_t most);
// "4096", "64k", "100m", "2g", "1t" (powers of 1024), at least `least`; 0.
Parsed<std::int64_t> parse_size(std::string_view text, std::int64_t least);
// "10g", "500m" or "5%": nothing of the other kind is asked for then.
Parsed<envgen::Headroom> parse_headroom(std::string_view text);
// "0.8", in parts per million; above 0, up to 100.
Parsed<std::int64_t> parse_ratio(std::string_view text);
Parsed<bool> parse_switch(std::string_view text);
Parsed<bool> parse_off(std::string_view text);  // of a switch that turns something off
// Anything but an empty text.
Parsed<std::string> parse_text(std::string_view text);
Parsed<std::string> parse_platform(std::string_view text);
Parsed<std::string> parse_framework(std::string_view text);
// An absolute path, but for "/"; without slashes at its end.
Parsed<std::string> parse_absolute(std::string_view text);
Parsed<std::string> parse_perf_text(std::string_view text);
Parsed<std::vector<std::string>> parse_progress(std::string_view text);
// "1", "0" or a command line.
Parsed<std::string> parse_terminal(std::string_view text);
Parsed<std::string> parse_health_checks(std::string_view text);
Parsed<std::vector<std::string>> parse_checks(std::string_view text);
// Of Python, by their dotted names; "auto" stands alone.
Parsed<std::vector<std::string>> parse_modules(std::string_view text);
// Names; a '*' at the end of one stands for any rest.
Parsed<std::vector<std::string>> parse_variables(std::string_view text);
// One that may be repeated; newline-separated in its variable.
Parsed<std::vector<std::string>> parse_lines(std::string_view text);
Parsed<copy::Owner> parse_owner(std::string_view text);  // "1000:1000"
Parsed<envgen::HostfileDialect> parse_dialect(std::string_view text);
Parsed<std::uint32_t> parse_umask(std::string_view text);
Parsed<int> parse_signal(std::string_view text);
// "USR1", and 0 for "none". Not KILL nor STOP, which no process can answer.
Parsed<int> parse_signal_or_none(std::string_view text);
// "INT@10s,QUIT@20s", in the order of time.
Parsed<std::vector<envgen::EscalationStep>> parse_escalation(std::string_view text);
// "143=0,1-3=75"
Parsed<std::vector<envgen::ExitCodeRule>> parse_exit_codes(std::string_view text);
// "1-2,126"
Parsed<std::vector<envgen::CodeRange>> parse_code_ranges(std::string_view text);
// "TERM=QUIT,INT=forward,USR1=checkpoint,USR2=file:/run/save,HUP=none"
Parsed<std::vector<envgen::SignalRule>> parse_signal_map(std::string_view text);
// "30s" for each event, or "pre-start=10m,on-failure=1m".
Parsed<envgen::HookTimes> parse_hook_times(std::string_view text);
// "pre-start,post-start" or "none".
Parsed<std::vector<envgen::HookEvent>> parse_fatal_hooks(std::string_view text);

// `fix`, and "; did you mean tee?" where `typed` is near one of `known`.
std::string with_guess(std::string fix, std::string_view typed,
                       std::span<const std::string_view> known);
// "a, b or c"
std::string either(std::span<const std::string_view> words);
// The index of `word`; words.size() where it is not there.
std::size_t place_of(std::string_view word, std::span<const std::string_view> words);
std::vector<std::string_view> list_of(std::span<const std::string_view> words);
std::vector<std::string_view> platform_names();
std::vector<std::string_view> framework_names();
std::vector<std::string_view> check_names();
// "a number from 1 to 1000000"
std::string number_text(std::int64_t least, std::int64_t most);

}  // namespace cli
