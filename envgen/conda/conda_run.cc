// Parses `conda run [options] command`, and micromamba's, as their argument parsers do.

#include <algorithm>
#include <array>

#include "envgen/conda/conda.h"
#include "envgen/plan/command.h"

namespace envgen::conda {
namespace {

enum class Takes : unsigned char { kNothing, kName, kPrefix, kDirectory, kIgnored };

struct Option {
  std::string_view name;
  Takes takes;
};

// Options of `conda run`. Those that only control how conda shows the output are dropped, because
// the command gets trainit's own stdout.
constexpr auto kOptions = std::to_array({
    Option{"-n", Takes::kName},
    Option{"--name", Takes::kName},
    Option{"-p", Takes::kPrefix},
    Option{"--prefix", Takes::kPrefix},
    Option{"--cwd", Takes::kDirectory},
    Option{"-a", Takes::kIgnored},  // micromamba's option for the streams to attach
    Option{"--attach", Takes::kIgnored},
    Option{"-s", Takes::kNothing},
    Option{"--no-capture-output", Takes::kNothing},
    Option{"--live-stream", Takes::kNothing},
    Option{"-v", Takes::kNothing},
    Option{"-vv", Takes::kNothing},
    Option{"-vvv", Takes::kNothing},
    Option{"--verbose", Takes::kNothing},
    Option{"-q", Takes::kNothing},
    Option{"--quiet", Takes::kNothing},
    Option{"--debug-wrapper-scripts", Takes::kNothing},
});

struct Match {
  const Option* option = nullptr;
  std::optional<std::string> value;  // value in the same word: --name=x, -nx
};

Match match(std::string_view word) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
  const auto* exact = std::ranges::find(kOptions, word.substr(0, equals), &Option::name);
  if (exact != kOptions.end()) {
    if (equals == std::string_view::npos) return {exact, std::nullopt};
    return {exact, std::string(word.substr(equals + 1))};
  }
  if (word.starts_with("--")) return {};
  const auto* letter = std::ranges::find(kOptions, word.substr(0, 2), &Option::name);
  if (letter == kOptions.end() || letter->takes == Takes::kNothing) return {};
  std::string_view rest = word.substr(2);
  if (rest.starts_with('=')) rest.remove_prefix(1);
  return {letter, std::string(rest)};
}

void take(const Match& matched, std::string value, RunCommand& run) {
  switch (matched.option->takes) {
    case Takes::kName:
      run.environment = std::move(value);
      run.option = "-n";
      break;
    case Takes::kPrefix:
      // The value of -p is a path, even if it is just "env". A '/' is added to mark it as a path.
      run.environment =
          value.empty() || value.find('/') != std::string::npos ? std::move(value) : "./" + value;
      run.option = "-p";
      break;
    case Takes::kDirectory:
      run.cwd = std::move(value);
      break;
    case Takes::kNothing:
    case Takes::kIgnored:
      break;
  }
}

}  // namespace

std::optional<RunCommand> parse_run(const std::vector<std::string>& command) {
  constexpr std::array<std::string_view, 3> kPrograms = {"conda", "mamba", "micromamba"};
  if (command.size() < 3 || command[1] != "run") return std::nullopt;
  if (std::ranges::find(kPrograms, base_name(command[0])) == kPrograms.end()) return std::nullopt;

  RunCommand run;
  std::size_t at = 2;
  for (; at < command.size() && command[at].starts_with('-') && command[at] != "--"; ++at) {
    const Match matched = match(command[at]);
    const bool flag = matched.option != nullptr && matched.option->takes == Takes::kNothing;
    if (matched.option == nullptr || (flag && matched.value)) {
      run.obstacle = "its option " + command[at];
      return run;
    }
    if (flag) continue;
    if (!matched.value && at + 1 == command.size()) return std::nullopt;
    take(matched, matched.value ? *matched.value : command[++at], run);
  }
  if (at < command.size() && command[at] == "--") ++at;
  if (at >= command.size()) return std::nullopt;
  if (run.environment.empty()) run.option.clear();
  run.command.assign(command.begin() + static_cast<std::ptrdiff_t>(at), command.end());
  return run;
}

}  // namespace envgen::conda
