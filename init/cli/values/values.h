#pragma once
// Functions that convert a text of the command line to a value, or return why it is not valid.

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

using base::concat;

// A value, or the fault of the text: `"TREM" is no signal`. The fault is "" if it is only that the
// text is not such a value.
template <class T>
using Parsed = std::expected<T, std::string>;

inline std::unexpected<std::string> refused(std::string why = {}) {
  return std::unexpected(std::move(why));
}

// Reads "500ms", "8s", "30m", "2h", "1d" or "8" (seconds), at most 366 days.
Parsed<std::int64_t> parse_duration_ms(std::string_view text);
// Reads a duration. The result for 0 is envgen::kNoHealth.
Parsed<std::int64_t> parse_health_interval(std::string_view text);
// Reads a duration above 0.
Parsed<std::int64_t> parse_time_ms(std::string_view text);
Parsed<std::int64_t> parse_number(std::string_view text, std::int64_t least, std::int64_t most);
// Reads "4096", "64k", "100m", "2g" or "1t" (powers of 1024), at least `least`, or 0.
Parsed<std::int64_t> parse_size(std::string_view text, std::int64_t least);
// Reads "10g", "500m" or "5%". The result sets only a size or only a percentage.
Parsed<envgen::Headroom> parse_headroom(std::string_view text);
// Reads "0.8" as parts per million. The range is above 0, up to 100.
Parsed<std::int64_t> parse_ratio(std::string_view text);
Parsed<bool> parse_switch(std::string_view text);
Parsed<bool> parse_off(std::string_view text);  // a switch that turns something off
// Reads any text that is not empty.
Parsed<std::string> parse_text(std::string_view text);
Parsed<std::string> parse_platform(std::string_view text);
Parsed<std::string> parse_framework(std::string_view text);
// Reads an absolute path except "/". Slashes at its end are removed.
Parsed<std::string> parse_absolute(std::string_view text);
Parsed<std::string> parse_perf_text(std::string_view text);
Parsed<std::vector<std::string>> parse_progress(std::string_view text);
// Reads "1", "0" or a command line.
Parsed<std::string> parse_terminal(std::string_view text);
Parsed<std::string> parse_health_checks(std::string_view text);
Parsed<std::vector<std::string>> parse_checks(std::string_view text);
// Reads dotted names of Python modules. "auto" must be the only one.
Parsed<std::vector<std::string>> parse_modules(std::string_view text);
// Reads names. A '*' at the end of a name matches any rest.
Parsed<std::vector<std::string>> parse_variables(std::string_view text);
// Reads a value that can be repeated. In a variable, newlines separate the values.
Parsed<std::vector<std::string>> parse_lines(std::string_view text);
Parsed<copy::Owner> parse_owner(std::string_view text);  // "1000:1000"
Parsed<envgen::HostfileDialect> parse_dialect(std::string_view text);
Parsed<std::uint32_t> parse_umask(std::string_view text);
Parsed<int> parse_signal(std::string_view text);
// Reads "USR1"; "none" is 0. KILL and STOP are refused, because no process can handle them.
Parsed<int> parse_signal_or_none(std::string_view text);
// Reads "INT@10s,QUIT@20s", in the order of time.
Parsed<std::vector<base::EscalationStep>> parse_escalation(std::string_view text);
// Reads "143=0,1-3=75".
Parsed<std::vector<base::ExitCodeRule>> parse_exit_codes(std::string_view text);
// Reads "1-2,126".
Parsed<std::vector<base::CodeRange>> parse_code_ranges(std::string_view text);
// Reads "TERM=QUIT,INT=forward,USR1=checkpoint,USR2=file:/run/save,HUP=none".
Parsed<std::vector<base::SignalRule>> parse_signal_map(std::string_view text);
// Reads "30s" for each event, or "pre-start=10m,on-failure=1m".
Parsed<envgen::HookTimes> parse_hook_times(std::string_view text);
// Reads "pre-start,post-start" or "none".
Parsed<std::vector<envgen::HookEvent>> parse_fatal_hooks(std::string_view text);

// Returns `fix`, with "; did you mean tee?" if `typed` is similar to one of `known`.
std::string with_guess(std::string fix, std::string_view typed,
                       std::span<const std::string_view> known);
// Returns "a, b or c".
std::string either(std::span<const std::string_view> words);
// Returns the index of `word`, or words.size() if it is not in the list.
std::size_t place_of(std::string_view word, std::span<const std::string_view> words);
std::vector<std::string_view> list_of(std::span<const std::string_view> words);
std::vector<std::string_view> platform_names();
std::vector<std::string_view> framework_names();
std::vector<std::string_view> check_names();
// Returns "a number from 1 to 1000000".
std::string number_text(std::int64_t least, std::int64_t most);

}  // namespace cli
