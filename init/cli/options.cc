#include "init/cli/options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace cli {
namespace {

using envgen::DeviceIds;
using envgen::Output;
using envgen::RankOrder;
using sys::log::Format;
using sys::log::Level;

constexpr std::int64_t kYearMs = 366LL * 24 * 3600 * 1000;

// A number from 0, of decimal digits alone.
template <class T>
std::optional<T> parse_count(std::string_view text) {
  T value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

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

bool set_switch(std::string_view value, bool& target) {
  bool on = value == "1" || value == "true" || value == "yes" || value == "on";
  bool off = value == "0" || value == "false" || value == "no" || value == "off";
  if (on || off) target = on;
  return on || off;
}

bool set_text(std::string_view value, std::string& target) {
  target = value;
  return !value.empty();
}

bool set_number(std::string_view value, std::optional<int>& target) {
  auto number = parse_count<int>(value);
  if (number) target = number;
  return number.has_value();
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

constexpr std::string_view kDuration = "a duration such as 500ms, 8s, 30m, 2h";
constexpr std::string_view kCount = "a number from 0";
constexpr std::string_view kSwitch = "1 or 0";
constexpr std::string_view kPath = "a path";

constexpr std::array kTable = {
    Option{"platform", "NAME", "modelarts, bare or local; detected when not given",
           [](Options& o, std::string_view v) { return set_text(v, o.request.platform); },
           "modelarts, bare or local"},
    Option{"framework", "NAME", "ascend (one process per device) or single; by the platform",
           [](Options& o, std::string_view v) { return set_text(v, o.request.framework); },
           "ascend or single"},
    Option{"rank-table", "PATH", "the rank table or its directory, instead of RANK_TABLE_FILE",
           [](Options& o, std::string_view v) { return set_text(v, o.request.rank_table); }, kPath},
    Option{"rank-table-timeout", "DURATION", "how long to wait for it to be completed (30m)",
           [](Options& o, std::string_view v) {
             return set_duration(v, o.request.rank_table_timeout_ms);
           },
           kDuration},
    Option{"rank-order", "ORDER", "of the pods of a template 2: pod-index or server-id",
           [](Options& o, std::string_view v) {
             return set_word(
                 v, o.request.rank_order,
                 {{"pod-index", RankOrder::kPodIndex}, {"server-id", RankOrder::kServerId}});
           },
           "pod-index or server-id"},
    Option{"node-rank", "N", "which node of the cluster this is",
           [](Options& o, std::string_view v) { return set_number(v, o.request.node_rank); },
           kCount},
    Option{"rank-start", "N", "the same by the rank of its first device; also RANK_START",
           [](Options& o, std::string_view v) { return set_number(v, o.request.rank_start); },
           kCount},
    Option{"devices", "LIST", "devices of this host when there is no rank table: 0,1,4-7",
           [](Options& o, std::string_view v) { return set_text(v, o.request.devices); },
           "a list such as 0-7 or 0,1"},
    Option{"device-id", "KIND", "meaning of DEVICE_ID: logical (modelarts) or physical (bare)",
           [](Options& o, std::string_view v) {
             return set_word(
                 v, o.request.device_ids,
                 {{"logical", DeviceIds::kLogical}, {"physical", DeviceIds::kPhysical}});
           },
           "logical or physical"},
    Option{"output", "WHERE", "first (rank on stdout, others in files), inherit or files",
           [](Options& o, std::string_view v) {
             return set_word(v, o.request.output,
                             {{"first", Output::kFirst},
                              {"inherit", Output::kInherit},
                              {"files", Output::kFiles}});
           },
           "first, inherit or files"},
    Option{"work-dir", "DIR", "the ranks' device<i> directories lie there",
           [](Options& o, std::string_view v) { return set_text(v, o.request.work_dir); }, kPath},
    Option{"log-dir", "DIR", "logs and environments of the ranks; MA_LOG_DIR, RUN_DIR/logs",
           [](Options& o, std::string_view v) { return set_text(v, o.request.log_dir); }, kPath},
    Option{"run-dir", "DIR", "state, control socket and converted rank table",
           [](Options& o, std::string_view v) { return set_text(v, o.run_dir); }, kPath},
    Option{
        "clean-device-dirs", "", "empty the device<i> directories first",
        [](Options& o, std::string_view v) { return set_switch(v, o.request.clean_device_dirs); },
        kSwitch},
    Option{"strict", "", "device groups that MindSpore does not support are errors",
           [](Options& o, std::string_view v) { return set_switch(v, o.request.strict); }, kSwitch},
    Option{"grace", "DURATION", "from a stop signal to the end (8s; 25s in Kubernetes)",
           [](Options& o, std::string_view v) { return set_duration(v, o.request.grace_ms); },
           kDuration},
    Option{"hold", "DURATION", "debug window: keep a failed container this long",
           [](Options& o, std::string_view v) { return set_duration(v, o.request.hold_ms); },
           kDuration},
    Option{"log-level", "LEVEL", "debug, info, warning or error",
           [](Options& o, std::string_view v) {
             std::optional<Level> level;
             bool ok = set_word(v, level,
                                {{"debug", Level::kDebug},
                                 {"info", Level::kInfo},
                                 {"warning", Level::kWarning},
                                 {"error", Level::kError}});
             o.log_level = level.value_or(o.log_level);
             return ok;
           },
           "debug, info, warning or error"},
    Option{"log-format", "FORMAT", "human or json",
           [](Options& o, std::string_view v) {
             std::optional<Format> format;
             bool ok = set_word(v, format, {{"human", Format::kHuman}, {"json", Format::kJson}});
             o.log_format = format.value_or(o.log_format);
             return ok;
           },
           "human or json"},
    Option{"snapshot", "FILE", "plan: replay a saved snapshot instead of looking around",
           [](Options& o, std::string_view v) { return set_text(v, o.snapshot); }, kPath},
    Option{"json", "", "plan, status: print JSON",
           [](Options& o, std::string_view v) { return set_switch(v, o.json); }, kSwitch},
    Option{"watch", "", "status: print again at each change",
           [](Options& o, std::string_view v) { return set_switch(v, o.watch); }, kSwitch},
    Option{"help", "", "this text",
           [](Options& o, std::string_view v) { return set_switch(v, o.help); }, kSwitch},
    Option{"version", "", "the version",
           [](Options& o, std::string_view v) { return set_switch(v, o.version); }, kSwitch},
};

const Option* find_option(std::string_view name) {
  const auto* found = std::ranges::find(kTable, name, &Option::name);
  return found == kTable.end() ? nullptr : found;
}

envgen::Status apply_option(const Option& option, Options& options, std::string_view value,
                            const std::string& where) {
  if (option.set(options, value)) return {};
  return envgen::fail("reading the options", where, '"' + std::string(value) + '"',
                      "give " + std::string(option.accepts));
}

envgen::Status apply_variables(const envgen::Environ& env, Options& options) {
  for (const Option& option : kTable) {
    if (!has_variable(option)) continue;
    std::string name = variable_name(option);
    std::string_view value = env.get_or(name, "");
    if (value.empty()) continue;
    if (auto status = apply_option(option, options, value, name); !status) return status;
  }
  return {};
}

// One option at arguments[at]; moves `at` behind it.
envgen::Status apply_argument(std::span<const std::string> arguments, std::size_t& at,
                              Options& options) {
  std::string_view argument = arguments[at];
  if (argument == "-h") argument = "--help";
  if (argument == "-V") argument = "--version";
  std::size_t equals = argument.find('=');
  std::string_view name = argument.substr(0, equals);
  const Option* option = name.starts_with("--") ? find_option(name.substr(2)) : nullptr;
  if (option == nullptr) {
    return envgen::fail("reading the options", std::string(name), "no such option",
                        "see trainit --help; put -- before a command that starts with a dash");
  }
  ++at;
  if (equals != std::string_view::npos) {
    return apply_option(*option, options, argument.substr(equals + 1), std::string(name));
  }
  if (option->value.empty()) return apply_option(*option, options, "1", std::string(name));
  if (at == arguments.size()) {
    return envgen::fail("reading the options", std::string(name), "no value",
                        "give " + std::string(option->accepts));
  }
  return apply_option(*option, options, arguments[at++], std::string(name));
}

}  // namespace

std::span<const Option> option_table() { return kTable; }

std::string variable_name(const Option& option) {
  std::string name = "TRAINIT_";
  for (char c : option.name) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

bool has_variable(const Option& option) {
  return option.name != "help" && option.name != "version" && option.name != "json" &&
         option.name != "watch" && option.name != "snapshot";
}

envgen::Status parse_arguments(std::span<const std::string> arguments, Options& options) {
  std::size_t at = 0;
  while (at < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "-") {
    if (arguments[at] == "--") {
      ++at;
      break;
    }
    if (auto status = apply_argument(arguments, at, options); !status) return status;
  }
  auto command = arguments.subspan(at);
  if (!command.empty()) options.request.command.assign(command.begin(), command.end());
  return {};
}

envgen::Result<Options> parse_options(std::span<const std::string> arguments,
                                      const envgen::Environ& env) {
  Options options;
  if (auto status = apply_variables(env, options); !status) {
    return std::unexpected(status.error());
  }
  if (auto status = parse_arguments(arguments, options); !status) {
    return std::unexpected(status.error());
  }
  return options;
}

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

std::string option_help() {
  std::string text;
  for (const Option& option : kTable) {
    std::string flag = "  --" + std::string(option.name);
    if (!option.value.empty()) flag += " " + std::string(option.value);
    if (flag.size() < 33) flag.append(33 - flag.size(), ' ');
    text += flag + std::string(option.help) + "\n";
  }
  return text;
}

}  // namespace cli
