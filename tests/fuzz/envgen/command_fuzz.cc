// Any words as a job's command, and any text as a platform's one field. What is accepted is the
// words that were typed or one line for bash; what is refused comes with such a line. Either line
// means those words. The operand of a Python command stands behind the options alone.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/command.h"
#include "envgen/plan/parsed_command.h"
#include "tests/fuzz/fuzzer.h"

namespace {

using Words = std::vector<std::string>;

// What a shell makes of a line without operators and substitutions; nothing when a quote is open.
std::optional<Words> shell_words(std::string_view line) {
  Words words;
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (quote == 0 && blank) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size() &&
               (quote == 0 || std::string_view("\"\\`$").contains(line[i + 1]))) {
      words.back() += line[++i];
    } else {
      words.back() += c;
    }
  }
  return quote == 0 ? std::optional(words) : std::nullopt;
}

void check_line(const Words& command, const std::string& line) {
  if (command.size() == 1) {
    require(line == command[0]);
    return;
  }
  require(shell_words(line) == command);
}

void check_shell(const Words& command) {
  auto result = envgen::without_shell_syntax(command, "vk");
  if (!result) {
    constexpr std::string_view kForm = "use: bash -c ";
    const std::string& fix = result.error().fix;
    require(!result.error().found.empty() && result.error().where == "platform vk");
    if (fix.starts_with("use: --conda-env ")) return;
    if (fix.contains("***")) return;  // what looks like a credential is masked
    require(fix.starts_with(kForm));
    auto argument = shell_words(std::string_view(fix).substr(kForm.size()));
    require(argument && argument->size() == 1);
    check_line(command, (*argument)[0]);
    return;
  }
  // A line in one argument, which a shell would read as the same words.
  const bool split = command.size() == 1 && shell_words(command[0]) == *result;
  if (*result != command && !split) {
    require(result->size() == 3 && (*result)[0] == "bash" && (*result)[1] == "-c");
    check_line(command, (*result)[2]);
  }
  require(envgen::without_shell_syntax(*result, "vk") == *result);
}

void check_interpreter(const Words& command) {
  Words result = envgen::with_interpreter(command, "python3");
  if (result == command) return;
  require(result.size() == command.size() + 1 && result[0] == "python3");
  if (command[0].starts_with('-')) return;  // no program is called so
  const auto python = envgen::ParsedCommand(result).python();
  require(python && !python->module && !python->text);
  result.erase(result.begin());
  require(result == command && envgen::with_interpreter({"python3", command[0]}, "x").size() == 2);
}

// The letter among m and c that ends the options in this word, 0 without one.
char ending_letter(std::string_view option) {
  if (option.starts_with("--")) return 0;
  const std::size_t at = option.find_first_of("mcWX", 1);
  if (at == std::string_view::npos || option[at] == 'W' || option[at] == 'X') return 0;
  return option[at];
}

void check_python(const Words& typed) {
  const envgen::ParsedCommand parsed(typed);
  require(parsed.typed() == typed);
  const Words& command = parsed.words();
  const auto& python = parsed.python();
  require(command.size() == typed.size() || (python && (python->module || python->text)));
  require(parsed.launcher_arguments() <= command.size());
  require(parsed.launcher().has_value() || !parsed.is_launcher());
  if (!python) return;
  require(envgen::base_name(command[0]).starts_with("python"));
  require(python->operand >= 1 && python->operand < command.size());
  require(!python->module || !python->text);
  const std::string& before = command[python->operand - 1];
  if (python->module || python->text) {
    require(before.starts_with('-') && before.ends_with(python->module ? 'm' : 'c'));
    require(ending_letter(before) == before.back());
  }
  // A word behind -W or -X may be anything: only a run of options is looked at.
  const std::size_t end = python->operand - (python->module || python->text ? 1 : 0);
  for (std::size_t i = 1; i < end && command[i].starts_with('-'); ++i) {
    require(ending_letter(command[i]) == 0);
    if (command[i].ends_with('W') || command[i].ends_with('X')) break;
    if (command[i].starts_with("--")) break;
  }
}

void check_expansion(const Words& command) {
  const auto nothing = [](std::string_view) { return std::optional<std::string>(); };
  const envgen::ExpandedCommand unknown = envgen::expand_variables(command, nothing);
  require(unknown.command == command);
  const auto all = [](std::string_view name) { return std::optional(std::string(name)); };
  const envgen::ExpandedCommand known = envgen::expand_variables(command, all);
  require(known.command.size() == command.size());
  for (const std::string& name : known.unknown) {
    require(!name.empty() && std::ranges::find(unknown.unknown, name) != unknown.unknown.end());
  }
}

void check(const Words& command) {
  check_shell(command);
  check_expansion(command);
  check_interpreter(command);
  check_python(command);
}

}  // namespace

TRAINIT_FUZZER(command) {
  constexpr std::size_t kMaxBytes = 1024;
  const std::string_view text(reinterpret_cast<const char*>(data), std::min(size, kMaxBytes));
  if (text.contains('\0')) return 0;  // no argument has one
  check({std::string(text)});
  Words words;
  for (std::string_view rest = text;;) {
    const std::size_t end = rest.find('\n');
    words.emplace_back(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  check(words);
  words.insert(words.begin(), "python3");
  check(words);
  return 0;
}
