#pragma once
// A command that is parsed once: its words, its Python program, and the launcher that finally
// starts the ranks (user_launcher.h).
//
// Python's options are read as CPython does (Python/initconfig.c, config_parse_cmdline). The
// programs that start another program (such as `nsys profile`) are not known by name, so each word
// of a command may be a launcher. The words after it show whether it is started or only mentioned.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/user_launcher.h"

namespace envgen {

// Returns whether `name` is the base name of an interpreter: "python", "python3", "python3.10".
bool is_python(std::string_view name);

// A command whose program is Python, by is_python().
struct PythonCommand {
  std::size_t operand = 0;  // index of the script, or of the name after -m or -c
  bool module = false;      // -m
  bool text = false;        // -c
  std::string letters;  // letters of the options before the operand, in order, without -m and -c
};

class ParsedCommand {
 public:
  ParsedCommand() = default;
  // The constructor is implicit, because a command is the same as its words.
  ParsedCommand(std::vector<std::string> words);  // NOLINT(google-explicit-constructor)

  // Returns the words. The name after -m or -c is a word of its own: "-mpdb" becomes "-m", "pdb".
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  operator const std::vector<std::string>&() const {  // NOLINT(google-explicit-constructor)
    return words_;
  }
  [[nodiscard]] std::vector<std::string> typed() const;
  [[nodiscard]] bool empty() const { return words_.empty(); }
  [[nodiscard]] const std::string& operator[](std::size_t at) const { return words_[at]; }

  // The Python program; nullopt if the first word is no Python, or nothing follows its options.
  [[nodiscard]] const std::optional<PythonCommand>& python() const { return python_; }

  // Returns the launcher that the command finally starts. Other programs may be before it (`env
  // A=b`, `nsys profile -o x`, `python -m cProfile`), or the text of a shell: bash -lc "cd /job &&
  // exec torchrun ...". A program outside the table is handled like torchrun if it gets the number
  // of ranks of a node (--nproc_per_node).
  [[nodiscard]] const std::optional<Launcher>& launcher() const { return comes_to_.launcher; }
  // The launcher's name for messages; "" without a launcher.
  [[nodiscard]] const std::string& launcher_name() const { return comes_to_.name; }
  // The launcher's framework; "" without a launcher.
  [[nodiscard]] std::string_view framework() const {
    return comes_to_.launcher ? comes_to_.launcher->framework : std::string_view();
  }
  // Returns true if the command itself is the launcher ("torchrun", "python -m
  // torch.distributed.run"), and no other program starts it.
  [[nodiscard]] bool is_launcher() const { return arguments_ > 0; }
  // Index of the first argument for the launcher; 0 if the command itself is no launcher.
  [[nodiscard]] std::size_t launcher_arguments() const { return arguments_; }
  // A word that may start ranks, without trainit being able to tell: a shell's script, or a
  // launcher's name among arguments. "" = no such word.
  [[nodiscard]] const std::string& in_doubt() const {
    return comes_to_.script.empty() ? comes_to_.doubt : comes_to_.script;
  }
  // The script that the command's shell will read: "run.sh" for `bash run.sh` and for `./run.sh`.
  // "" = none.
  [[nodiscard]] const std::string& shell_script() const { return comes_to_.script; }
  // The command among the arguments of a Python program, up to its script: "python train.py" for
  // `python run.py python train.py`. Such a program may start the ranks itself. "" = none.
  [[nodiscard]] const std::string& inner_command() const { return comes_to_.inner; }
  // Returns true if a Python program is started by another program (`uv run -m pkg`) or by its own
  // first line ("./train.py").
  [[nodiscard]] bool wraps_python() const { return comes_to_.wraps_python; }

  // The program that a command finally starts, after all wrappers.
  struct ComesTo {
    std::optional<Launcher> launcher;
    std::string name;
    std::string script;
    std::string doubt;
    std::string inner;
    bool wraps_python = false;
  };

 private:
  std::vector<std::string> words_;
  bool attached_ = false;  // the operand was in the same word as its option: "-mpdb"
  std::optional<PythonCommand> python_;
  ComesTo comes_to_;
  std::size_t arguments_ = 0;
};

}  // namespace envgen
