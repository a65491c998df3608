// Any text as a .condarc, as an environment's variables and as a command line: no crash. A list of
// directories is the same in either form, what is accepted can be exported, and `conda run` leaves
// a part of the command.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "envgen/conda/conda.h"
#include "tests/fuzz/fuzzer.h"

namespace {

using Words = std::vector<std::string>;

bool holds(std::string_view text, char c) { return text.find(c) != std::string_view::npos; }

void check_condarc(std::string_view text) {
  const Words dirs = envgen::conda::condarc_envs_dirs(text);
  std::string block = "channels:\n  - x\nenvs_dirs:  # [c]\n";
  std::string flow = "envs_dirs: [";
  for (const std::string& dir : dirs) {
    require(!dir.empty() && !holds(dir, '\n'));
    if (holds(dir, '"') && holds(dir, '\'')) return;
    const char quote = holds(dir, '"') ? '\'' : '"';
    const std::string scalar = quote + dir + quote;
    block += "  - " + scalar + "  # c\n";
    flow += scalar + ", ";
  }
  require(envgen::conda::condarc_envs_dirs(block + "pkgs_dirs:\n  - x\n") == dirs);
  require(envgen::conda::condarc_envs_dirs(flow + "]  # [c]\n") == dirs);
}

void check_variables(std::string_view text) {
  using Add = base::Status (*)(std::string_view, std::string_view, envgen::conda::Variables&);
  for (const Add add :
       {Add(envgen::conda::add_package_variables), Add(envgen::conda::add_state_variables)}) {
    envgen::conda::Variables variables;
    if (auto status = add(text, "file", variables); !status) {
      const base::Error& error = status.error();
      require(error.where.starts_with("file") && !error.found.empty() && !error.fix.empty());
      continue;
    }
    for (const auto& [name, value] : variables) {
      require(!name.empty() && !holds(name, '=') && !holds(name, '\0'));
      require(!value || !holds(*value, '\0'));
    }
    const envgen::conda::Variables once = variables;
    require(add(text, "file", variables) && variables == once);
  }
}

void check_environment(std::string_view text) {
  envgen::Snapshot snapshot;
  const auto file = [&](const std::string& path) {
    snapshot.paths[path].kind = envgen::PathState::Kind::kFile;
    snapshot.paths[path].content = text;
  };
  file("/e/etc/conda/env_vars.d/a.json");
  file("/e/conda-meta/state");
  envgen::PathState& directory = snapshot.paths["/e/etc/conda/env_vars.d"];
  directory.kind = envgen::PathState::Kind::kDirectory;
  directory.entries = {"a.json"};
  const envgen::Request request;
  envgen::Inputs inputs(snapshot, request);
  auto variables = envgen::conda::read_variables(inputs, "/e");
  require(inputs.wants().empty());
  if (!variables) return;
  require(variables->has_value());
  for (const auto& [name, value] : **variables) require(value != "***unset***");
}

void check_run(const Words& command) {
  auto run = envgen::conda::parse_run(command);
  if (!run) return;
  require(command.size() >= 3 && command[1] == "run");
  if (!run->obstacle.empty()) return;
  require(!run->command.empty() && run->command.size() <= command.size() - 2);
  require(std::equal(run->command.rbegin(), run->command.rend(), command.rbegin()));
  require(run->environment.empty() == run->option.empty());
  require(run->option != "-p" || holds(run->environment, '/'));
}

void check_path(std::string_view text) {
  const std::string path = envgen::conda::normal_path(text);
  require(!path.empty() && envgen::conda::normal_path(path) == path);
  require(path.starts_with('/') == text.starts_with('/'));
  require(path == "/" || !path.ends_with('/'));
  if (auto prefix = envgen::conda::prefix_of_program(text)) {
    require(path.starts_with(*prefix + "/bin/"));
  }
}

}  // namespace

TRAINIT_FUZZER(conda) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_condarc(text);
  check_variables(text);
  check_environment(text);
  check_path(text);
  const auto lines = base::split(text, '\n');
  const Words words(lines.begin(), lines.end());
  check_run(words);
  Words command = {"/opt/conda/bin/conda", "run"};
  command.insert(command.end(), words.begin(), words.end());
  check_run(command);
  return 0;
}
