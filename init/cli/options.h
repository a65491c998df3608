#pragma once
// The command line: one table of options for all commands. Most options of a job have a variable
// TRAINIT_<OPTION>; exceptions only make sense on a command line (--help, --json). A flag has
// priority over the variable. Parsing depends only on its arguments and prints nothing.

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

// Commands as bits, because an option can belong to several.
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
// Commands that take a job's command: their options end where it begins.
inline constexpr Commands kJob = kRun | kPlan | kSnapshot | kDoctor;
// Commands that talk to the running instance.
inline constexpr Commands kInstance = kStatus | kStacks | kCheckpoint | kExtend | kHold | kRelease;
inline constexpr Commands kCache = kCacheLs | kCacheGc;
inline constexpr Commands kPeer = kPeerServe | kPeerSession | kPeerEnd;
inline constexpr Commands kAll = ~Commands{0};
// Names in the order of the bits.
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

// An option that was given. Its layer is 0 for a variable, 1 for a flag, and 2 for a flag that is
// added to those of a snapshot.
struct Given {
  std::string_view name;  // "grace"
  std::string where;      // "--grace" or "TRAINIT_GRACE"
  std::string value;
  int layer = 0;
};

// Options of `trainit peer`.
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
  envgen::Request request;  // request.command is the text after the options
  std::string run_dir;
  std::string snapshot;  // plan: a file to replay
  std::optional<int> parent_death_signal;
  bool untrusted_image = false;
  bool json = false;
  bool verbose = false;  // plan
  bool help = false;
  bool version = false;
  bool watch = false;
  sys::log::Level log_level = sys::log::Level::kInfo;
  sys::log::Format log_format = sys::log::Format::kHuman;
  // Options of single commands.
  std::vector<std::string> checks;              // doctor; empty = all checks
  std::string junit;                            // doctor: a file, or "-"
  std::int64_t check_timeout_ms = 30LL * 1000;  // doctor
  std::optional<copy::Owner> owner;             // copy
  bool dry_run = false;                         // cache gc, copy
  std::optional<std::int64_t> span_ms;          // hold, extend
  std::optional<std::int64_t> left_ms;          // extend
  bool keep_running = false;                    // checkpoint
  bool all_nodes = false;                       // status
  std::string out;                              // a file to write, or "-"
  std::optional<ReportFormat> report_format;    // report; nullopt = by the extension of `out`
  std::optional<envgen::HostfileDialect> from;
  std::optional<envgen::HostfileDialect> to;
  std::string server_id;  // ranktable generate
  std::string hccn_conf;
  PeerRequest peer;

  Commands command = kRun;            // the command of this command line
  std::vector<std::string> operands;  // arguments of a command without a job's command
  std::vector<Given> given;           // order as given; the last one of a name applies
  int layers = 0;
};

// A condition for an option to have an effect: one of these other options must be given and not
// turned off. Otherwise a flag is an error. A variable is ignored instead, because it is the
// default of an image or a platform for the jobs that meet the condition.
struct Need {
  std::array<std::string_view, 2> any_of;
  bool (*met)(const Options& options, const base::Environ& env);
};

// A group of options. `name` is the word for `trainit help`. The last group has the name "", and
// its options are shown with their commands.
struct Topic {
  std::string_view name;
  std::string_view title;
};

// The properties of an option that follow from the kind of its value and from the member that it
// sets.
struct OptionKind {
  // Sets the option. `again` says that the name was already on this command line. A flag that can
  // be repeated adds its value to the earlier flags. The first flag replaces the value of the
  // variable.
  Parsed<void> (*set)(Options& options, std::string_view value, bool again) = nullptr;
  std::string_view accepts;                   // text that describes a value
  std::string (*list)() = nullptr;            // the rest of that text, from a table
  WordList (*words)() = nullptr;              // all values, if they are words
  bool many = false;                          // a list with commas is accepted
  bool (*is_on)(Options& options) = nullptr;  // false: the option is turned off and needs no other
};

struct Option {
  std::string_view name;           // "grace" for --grace and TRAINIT_GRACE
  std::string_view value;          // the value's name, "DURATION"; "" = a switch
  std::string_view help;           // understandable without the group and other options
  std::string_view standard = {};  // the default; "" = no value, or off
  std::string_view earlier = {};   // earlier name, "log-patience"; "" = none
  OptionKind (*kind)() = nullptr;
  Commands commands = kJob;
  char letter = '\0';     // "-o"
  bool flag_only = true;  // the option has no variable
  bool common = false;    // most jobs need it, so the first screen of help has it
  const Topic* topic = nullptr;
  const Need* need = nullptr;

  // Returns a text that describes a value, for errors.
  [[nodiscard]] std::string accepts() const;
};
std::uint32_t option_count();
Option option_at(std::uint32_t at);
// Returns all options in the order of their topics. An option is assembled when it is read.
inline auto option_table() {
  return std::views::iota(std::uint32_t{0}, option_count()) | std::views::transform(option_at);
}
std::span<const Topic> topics();  // only those with a name

// Returns "TRAINIT_GRACE" for "grace".
std::string variable_name(const Option& option);
// Returns true if `name` ("log-patience") is the option's name or its earlier one. The flag and the
// variable of an earlier name still work. Lists of options do not have it.
bool is_called(const Option& option, std::string_view name);
// Returns the variables that set the option: that of its earlier name, if any, and its own.
std::vector<std::string> variable_names(const Option& option);
// Returns true if the variable is read. A variable that is not read belongs to the image
// (TRAINIT_VERSION, for example).
bool has_variable(const Option& option);

// Returns trainit's name of an option of another tool: "slots" for "nproc-per-node"; "" if trainit
// has no such option. `name` is the name without dashes in front.
std::string_view name_here(std::string_view name);
// Returns what to do about an option that only another tool has, such as docker run or torchrun:
// "put it before the image: it is an option of docker run"; "" for other names.
std::string_view foreign_option_hint(std::string_view name);

// Returns the last occurrence of option `name`; nullptr if it was not given.
const Given* find_given(const Options& options, std::string_view name);

// Returns warnings about variables that belong to no option, but whose name is similar to one:
// "TRAINIT_GRASE is no option's variable: did you mean TRAINIT_GRACE?" Other programs can use the
// prefix, so there is no warning for other names.
std::vector<std::string> variable_warnings(const base::Environ& env);

// Reads the variables of `env` first, then the arguments. The options of a job's command end at
// "--" or at the first argument that is no option. The rest is the command, unchanged. Operands of
// other commands can be between their options. An option that the command does not use is an error.
base::Result<Options> parse_options(std::span<const std::string> arguments,
                                    const base::Environ& env, Commands command = kRun);
// Reads arguments on top of `options`. A job's command replaces the one in `options`.
base::Status parse_arguments(std::span<const std::string> arguments, Options& options);

// Checks for options that contradict each other. A contradiction is an error if both were given in
// the same layer. If a flag makes a variable meaningless, the variable is dropped, because it is a
// default of an image or a platform. Call it only to run or plan a job. `env` must be that of
// parse_options(), because the grace depends on it.
base::Status check_options(Options& options, const base::Environ& env);

}  // namespace cli
