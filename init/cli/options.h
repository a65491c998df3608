#pragma once
// The command line: one table of options, for all commands. Each option of a job, but those that
// only make sense on a command line (--help, --json), has a variable TRAINIT_<OPTION>; a flag beats
// the variable. Parsing is a function of its arguments and prints nothing.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "envgen/formats/hostfile.h"
#include "envgen/plan/request.h"
#include "init/cli/values/kinds.h"
#include "init/cli/values/values.h"
#include "init/cli/values/words.h"
#include "init/copy/tree/options.h"
#include "init/sys/log.h"

namespace cli {

// Commands, as bits: an option may belong to several.
using Commands = std::uint32_t;
inline constexpr Commands kRun = 1U << 0, kPlan = 1U << 1, kSnapshot = 1U << 2, kDoctor = 1U << 3;
inline constexpr Commands kStatus = 1U << 4, kCheckpoint = 1U << 5, kExtend = 1U << 6,
                          kHold = 1U << 7, kRelease = 1U << 8;
inline constexpr Commands kTableCheck = 1U << 9, kTableConvert = 1U << 10,
                          kTableGenerate = 1U << 11, kHostsCheck = 1U << 12,
                          kHostsConvert = 1U << 13;
inline constexpr Commands kCopy = 1U << 14, kCacheLs = 1U << 15, kCacheGc = 1U << 16;
inline constexpr Commands kPeerServe = 1U << 17, kPeerSession = 1U << 18, kPeerEnd = 1U << 19;
inline constexpr Commands kInstall = 1U << 20, kReference = 1U << 21, kEnvironment = 1U << 22;
inline constexpr Commands kRunReport = 1U << 23;
inline constexpr Commands kStacks = 1U << 24;
// Those that take a job's command: options end where it begins.
inline constexpr Commands kJob = kRun | kPlan | kSnapshot | kDoctor;
// Those that speak to the instance that runs.
inline constexpr Commands kInstance = kStatus | kStacks | kCheckpoint | kExtend | kHold | kRelease;
inline constexpr Commands kCache = kCacheLs | kCacheGc;
inline constexpr Commands kPeer = kPeerServe | kPeerSession | kPeerEnd;
inline constexpr Commands kAll = ~Commands{0};
// By bit.
inline constexpr std::string_view kCommandNames[] = {"run",
                                                     "plan",
                                                     "snapshot",
                                                     "doctor",
                                                     "status",
                                                     "checkpoint",
                                                     "extend",
                                                     "hold",
                                                     "release",
                                                     "ranktable check",
                                                     "ranktable convert",
                                                     "ranktable generate",
                                                     "hostfile check",
                                                     "hostfile convert",
                                                     "copy",
                                                     "cache ls",
                                                     "cache gc",
                                                     "peer serve",
                                                     "peer session",
                                                     "peer end",
                                                     "install",
                                                     "reference",
                                                     "print-environment",
                                                     "report",
                                                     "stacks"};
constexpr std::string_view name_of(Commands bit) { return kCommandNames[std::countr_zero(bit)]; }

// An option that was given, and how strongly: a variable 0, a flag 1, a flag on top of those of a
// snapshot 2.
struct Given {
  std::string_view name;  // "grace"
  std::string where;      // "--grace" or "TRAINIT_GRACE"
  std::string value;
  int layer = 0;
};

// Of `trainit peer`.
struct PeerRequest {
  std::string directory;
  std::string key;
  std::string hosts_file;
  std::string link;
  int port = 0;
  std::optional<int> code;
  std::optional<std::int64_t> launcher_timeout_ms;
};

struct Options {
  envgen::Request request;  // its command is what follows the options
  std::string run_dir;
  std::string snapshot;  // plan: a file to replay
  std::optional<int> parent_death_signal;
  bool untrusted_image = false;
  bool json = false;
  bool help = false;
  bool version = false;
  bool watch = false;
  sys::log::Level log_level = sys::log::Level::kInfo;
  sys::log::Format log_format = sys::log::Format::kHuman;
  // Of single commands.
  std::vector<std::string> checks;              // doctor; none = all of them
  std::string junit;                            // doctor: a file, or "-"
  std::int64_t check_timeout_ms = 30LL * 1000;  // doctor
  std::optional<copy::Owner> owner;             // copy
  bool dry_run = false;                         // cache gc, copy
  std::optional<std::int64_t> span_ms;          // hold, extend
  std::optional<std::int64_t> left_ms;          // extend
  bool keep_running = false;                    // checkpoint
  bool all_nodes = false;                       // status
  std::string out;                              // a file to write, or "-"
  std::optional<ReportFormat> report_format;    // report; else by the ending of `out`
  std::optional<envgen::HostfileDialect> from;
  std::optional<envgen::HostfileDialect> to;
  std::string server_id;  // ranktable generate
  std::string hccn_conf;
  PeerRequest peer;

  Commands command = kRun;            // whose line it is
  std::vector<std::string> operands;  // of a command that takes no job's command
  std::vector<Given> given;           // in that order; of two of the same name the last counts
  int layers = 0;
};

// What an option does nothing without: one of these, and that it is not turned off. A flag is an
// error without it. A variable is the default of an image or a platform, for the jobs that have it:
// it waits.
struct Need {
  std::array<std::string_view, 2> any_of;
  bool (*met)(const Options& options, const envgen::Environ& env);
};

// A group of options, and the word by which `trainit help` shows it; "" for the last group, whose
// options are shown with their commands.
struct Topic {
  std::string_view name;
  std::string_view title;
};

// What follows from the kind of an option's value, and from the member that it sets.
struct OptionKind {
  // `again`: not the first of its name on this command line. A flag that may be repeated adds to
  // those before it, and replaces the variable's.
  Parsed<void> (*set)(Options& options, std::string_view value, bool again) = nullptr;
  std::string_view accepts;                   // what a value looks like
  std::string (*list)() = nullptr;            // the rest of that, where a table has it
  WordList (*words)() = nullptr;              // all values, where these are words
  bool many = false;                          // several of them, with commas between
  bool (*is_on)(Options& options) = nullptr;  // of what is on or off: off it needs nothing
};

struct Option {
  std::string_view name;           // "grace" for --grace and TRAINIT_GRACE
  std::string_view value;          // what it takes, "DURATION"; "" = a switch
  std::string_view help;           // understandable alone, without the group and other options
  std::string_view standard = {};  // the value without it; "" = none, or off
  OptionKind (*kind)() = nullptr;
  Commands commands = kJob;
  char letter = '\0';     // "-o"
  bool flag_only = true;  // it has no variable
  bool common = false;    // most jobs need it: it stands on the first screen of help
  const Topic* topic = nullptr;
  const Need* need = nullptr;

  // What a value looks like, for errors.
  [[nodiscard]] std::string accepts() const;
};
std::uint32_t option_count();
Option option_at(std::uint32_t at);
// All of them, in the order of their topics; each is put together when it is looked at.
inline auto option_table() {
  return std::views::iota(std::uint32_t{0}, option_count()) | std::views::transform(option_at);
}
std::span<const Topic> topics();  // those with a name

// "grace" -> "TRAINIT_GRACE".
std::string variable_name(const Option& option);
// Whether that variable is read. One that is not belongs to the image (TRAINIT_VERSION, say).
bool has_variable(const Option& option);

// Returns the last occurrence of option `name`; nullptr if it was not given.
const Given* find_given(const Options& options, std::string_view name);

// What to say of variables that are none of an option, but look like one that was meant:
// "TRAINIT_GRASE is no option's variable: did you mean TRAINIT_GRACE?" Others may use the prefix.
std::vector<std::string> variable_warnings(const envgen::Environ& env);

// Variables of `env` first, then the arguments. Options of a job's command end at "--" or at the
// first argument that is none; what follows is the command, as it stands. Other commands' operands
// stand among their options. An option that the command does not use is an error.
envgen::Result<Options> parse_options(std::span<const std::string> arguments,
                                      const envgen::Environ& env, Commands command = kRun);
// The same on top of `options`; a job's command replaces the one that is there.
envgen::Status parse_arguments(std::span<const std::string> arguments, Options& options);

// Options that contradict each other are errors, if both were given alike. A flag is not spoiled by
// the default of an image or a platform: a variable that it leaves without a meaning is dropped.
// Only for who runs or plans a job. `env`: as parse_options had it; the grace depends on it.
envgen::Status check_options(Options& options, const envgen::Environ& env);

}  // namespace cli
