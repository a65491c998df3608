#pragma once
// The command as a value that is parsed once: its words, its Python program, and the launcher of
// ranks that it comes to (user_launcher.h).
//
// Python's options are read as CPython does (Python/initconfig.c, config_parse_cmdline). Programs
// that start another one are not known by name: each word of a command may be a launcher behind
// them. What stands behind it tells a launcher from a word that only names one.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/user_launcher.h"

namespace envgen {

// "python", "python3", "python3.10": the base name of an interpreter.
bool is_python(std::string_view name);

// A Python command: its program's base name is one of these.
struct PythonCommand {
  std::size_t operand = 0;  // index of the script, or of what -m or -c names
  bool module = false;      // -m
  bool text = false;        // -c
  std::string letters;      // of the options before it, in their order, without -m and -c
};

class ParsedCommand {
 public:
  ParsedCommand() = default;
  // Implicit: a command is its words.
  ParsedCommand(std::vector<std::string> words);  // NOLINT(google-explicit-constructor)

  // The name behind -m or -c is a word of its own: "-mpdb" has become "-m", "pdb".
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  operator const std::vector<std::string>&() const {  // NOLINT(google-explicit-constructor)
    return words_;
  }
  [[nodiscard]] std::vector<std::string> typed() const;
  [[nodiscard]] bool empty() const { return words_.empty(); }
  [[nodiscard]] const std::string& operator[](std::size_t at) const { return words_[at]; }

  // nullopt where the first word is no python, or nothing follows its options.
  [[nodiscard]] const std::optional<PythonCommand>& python() const { return python_; }

  // Also behind other programs (`env A=b`, `nsys profile -o x`, `python -m cProfile`) and in the
  // text of a shell: bash -lc "cd /job && exec torchrun ...". A program that is none of the table
  // but is told how many ranks a node runs (--nproc_per_node) counts as one like torchrun.
  [[nodiscard]] const std::optional<Launcher>& launcher() const { return comes_to_.launcher; }
  // The name for messages; "" without one.
  [[nodiscard]] const std::string& launcher_name() const { return comes_to_.name; }
  // The launcher's framework; "" without one.
  [[nodiscard]] std::string_view framework() const {
    return comes_to_.launcher ? comes_to_.launcher->framework : std::string_view();
  }
  // The command itself is the launcher: "torchrun", "python -m torch.distributed.run".
  [[nodiscard]] bool is_launcher() const { return arguments_ > 0; }
  // Where a launcher's own arguments begin; 0 where the command itself is none.
  [[nodiscard]] std::size_t launcher_arguments() const { return arguments_; }
  // A word that may start the ranks by itself, which trainit cannot tell: a shell's script, a name
  // of a launcher among arguments. "" = nothing.
  [[nodiscard]] const std::string& in_doubt() const {
    return comes_to_.script.empty() ? comes_to_.doubt : comes_to_.script;
  }
  // The script that a shell will read ("run.sh" of `bash run.sh` and of `./run.sh`); "" = none.
  [[nodiscard]] const std::string& shell_script() const { return comes_to_.script; }
  // A Python program behind another one, or by its own first line: `uv run -m pkg`, "./train.py".
  [[nodiscard]] bool wraps_python() const { return comes_to_.wraps_python; }

  // The end of a command, behind all that stands before it.
  struct ComesTo {
    std::optional<Launcher> launcher;
    std::string name;
    std::string script;
    std::string doubt;
    bool wraps_python = false;
  };

 private:
  std::vector<std::string> words_;
  bool attached_ = false;  // the operand was typed in its option's word
  std::optional<PythonCommand> python_;
  ComesTo comes_to_;
  std::size_t arguments_ = 0;
};

}  // namespace envgen
