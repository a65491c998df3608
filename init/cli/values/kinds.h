#pragma once
// The kinds of values that options take: the description of a value, and the function that reads
// it. The words of a list are only in words.h, for both uses.

#include <array>
#include <climits>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/words.h"
#include "init/cli/values/values.h"

namespace cli {

using WordList = std::vector<std::string_view>;

template <class T>
struct Kind {
  const char* accepts;  // "a duration such as 8s", after "give"
  Parsed<T> (*parse)(std::string_view text);
  std::string (*list)() = nullptr;  // the rest of `accepts`, from a table
  WordList (*words)() = nullptr;    // all values, if they are words; shown after `accepts`
  bool many = false;                // a list with commas is accepted
};

inline constexpr Kind<bool> kSwitch = {"1 or 0", parse_switch};
inline constexpr Kind<std::int64_t> kDuration = {
    "a duration such as 500ms, 8s, 30m, 2h, at most 366d", parse_duration_ms};
inline constexpr Kind<std::int64_t> kTime = {
    "a duration above 0 such as 500ms, 8s, 30m, 2h, at most 366d", parse_time_ms};
inline constexpr Kind<std::string> kPath = {"a path", parse_text};
inline constexpr Kind<std::int64_t> kPort = {
    "a port from 1 to 65535", [](std::string_view text) { return parse_number(text, 1, 65535); }};
inline constexpr Kind<envgen::Headroom> kHeadroom = {
    "a size such as 500m or 10g, or a percentage from 0% to 100%", parse_headroom};

template <std::int64_t kMin, std::int64_t kMax>
inline constexpr Kind<std::int64_t> kNumber = {
    "", [](std::string_view text) { return parse_number(text, kMin, kMax); },
    [] { return number_text(kMin, kMax); }};
// An upper limit far above the size of any job.
inline constexpr int kMaxCount = 1'000'000;
inline constexpr Kind<std::int64_t> kExitCode = kNumber<0, 255>;
inline constexpr Kind<std::int64_t> kPositive = kNumber<1, kMaxCount>;

inline constexpr Kind<std::int64_t> kHealthInterval = {kDuration.accepts, parse_health_interval};
inline constexpr Kind<std::int64_t> kRatio = {"a ratio above 0 and up to 100, such as 0.8",
                                              parse_ratio};
inline constexpr Kind<std::int64_t> kLogSize = {
    "a size from 4k such as 64k, 100m, 2g, or 0 for none",
    [](std::string_view text) { return parse_size(text, 4096); }};
inline constexpr Kind<std::int64_t> kCacheSize = {
    "a size such as 500g or 2t, or 0 for no limit",
    [](std::string_view text) { return parse_size(text, 1); }};
inline constexpr Kind<std::uint32_t> kMask = {"an octal mask such as 027", parse_umask};
inline constexpr Kind<bool> kOff = {kSwitch.accepts, parse_off};

using Text = Kind<std::string>;
inline constexpr Text kPlatform = {"", parse_platform, nullptr, platform_names};
inline constexpr Text kFramework = {"", parse_framework, nullptr, framework_names};
inline constexpr Text kHosts = {"a list such as a:8,b:8", parse_text};
inline constexpr Text kAddress = {"a name or an address", parse_text};
inline constexpr Text kCondaEnv = {"a name or a path", parse_text};
inline constexpr Text kDevices = {"a list such as 0-7 or 0,1", parse_text};
inline constexpr Text kAnyText = {"a text", parse_text};
inline constexpr Text kUser = {"a name or a number, with :GROUP or without", parse_text};
inline constexpr Text kCaps = {"all, none, a list of capabilities, or a list of -CAPABILITY",
                               parse_text};
inline constexpr Text kAmbient = {"a list of capabilities", parse_text};
inline constexpr Text kAbsolute = {"an absolute path", parse_absolute};
inline constexpr Text kPerfPattern = {"a text with {hardware} and {e2e} behind it",
                                      parse_perf_text};
inline constexpr Text kTerminal = {"1 (sshd), 0 or a command line", parse_terminal};
inline constexpr Text kHealthChecks = {"all, or a list of ", parse_health_checks, nullptr,
                                       check_names, true};

using Lines = Kind<std::vector<std::string>>;
inline constexpr Lines kChecks = {"a list of ", parse_checks, nullptr, check_names, true};
inline constexpr Lines kModules = {"auto, or a list of modules such as torch,torch.distributed",
                                   parse_modules};
inline constexpr Lines kVariables = {"a list of variables such as RUN_ID,LOG_*", parse_variables};
inline constexpr Lines kLimit = {"NAME=SOFT[:HARD]", parse_lines};
inline constexpr Lines kData = {"SRC or SRC=DST, absolute paths", parse_lines};
inline constexpr Lines kPattern = {"a pattern such as *.tar or train/**", parse_lines};
inline constexpr Lines kProgress = {
    "a text with {step} or {saved} behind it, as in \"step {step}\"", parse_progress};
inline constexpr Lines kDirectory = {"a directory", parse_lines};

inline constexpr Kind<int> kSignal = {"a signal such as TERM", parse_signal};
inline constexpr Kind<int> kSignalOrNone = {
    "none or a signal that a process can answer, such as USR1", parse_signal_or_none};
inline constexpr Kind<std::vector<base::EscalationStep>> kEscalation = {
    "a list of SIGNAL@DURATION, each later than the one before: INT@10s,QUIT@20s",
    parse_escalation};
inline constexpr Kind<std::vector<base::ExitCodeRule>> kExitCodes = {
    "a list of CODE=CODE or FIRST-LAST=CODE, 0 to 255: 143=0,1-3=75", parse_exit_codes};
inline constexpr Kind<std::vector<base::CodeRange>> kCodes = {
    "a list of CODE or FIRST-LAST, 0 to 255: 1-2,126", parse_code_ranges};
inline constexpr Kind<std::vector<base::SignalRule>> kSignalMap = {
    "a list of SIGNAL=SIGNAL, =forward, =checkpoint, =file:/PATH or =none, each signal once",
    parse_signal_map};
inline constexpr Kind<envgen::HookTimes> kHookTimes = {
    "a duration above 0, or a list of EVENT=DURATION: ", parse_hook_times,
    [] { return either(envgen::kHookEventNames); }};
inline constexpr Kind<std::vector<envgen::HookEvent>> kFatalHooks = {
    "none, pre-start, post-start or pre-start,post-start", parse_fatal_hooks};
inline constexpr Kind<copy::Owner> kOwner = {"two numbers, UID:GID", parse_owner};
inline constexpr Kind<envgen::HostfileDialect> kDialect = {
    "", parse_dialect, nullptr, [] { return list_of(envgen::kHostfileDialects); }};

using base::Word;
// The words without their meanings.
template <const auto& kWords>
inline constexpr auto kListed = [] {
  std::array<std::string_view, std::size(kWords)> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = kWords[i].word;
  return words;
}();

}  // namespace cli
