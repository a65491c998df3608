#include "envgen/failure/exception_line.h"

#include <algorithm>

#include "base/constants/words.h"

namespace envgen {
namespace {

bool is_name_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool ends_like_one(std::string_view name) {
  static constexpr auto kEnds =
      base::words("Error", "Exception", "Interrupt", "Timeout", "Exit", "Empty", "Full", "Group");
  return std::ranges::any_of(kEnds, [&](auto end) { return name.ends_with(end); });
}

}  // namespace

std::string_view exception_name(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && is_name_part(line[end])) ++end;
  if (end == 0 || (end < line.size() && line[end] != ':')) return {};
  const std::string_view name = line.substr(0, end);
  const std::string_view last = last_part(name);
  if (name == "Node") return {};  // "Node: ..." is where a TensorFlow error occurred
  const bool named = !last.empty() && last[0] >= 'A' && last[0] <= 'Z';
  const bool dotted = name.find('.') != std::string_view::npos;
  return named || dotted || last.find("error") != last.npos ? name : std::string_view();
}

bool is_exception(std::string_view line) {
  const std::string_view name = exception_name(line);
  if (!ends_like_one(name)) return false;
  // A line such as "Timeout: 30" is a setting, unless its message is more than a number.
  static constexpr auto kSettings = base::words("Timeout", "Group", "Full", "Empty");
  if (std::ranges::find(kSettings, last_part(name)) == kSettings.end()) return true;
  const std::string_view message = line.substr(std::min(name.size() + 1, line.size()));
  return message.empty() || message.find_first_not_of("0123456789. ") != message.npos;
}

bool is_foreign_exception(std::string_view name) {
  // Python's exceptions for errors in a script. The name alone does not show a foreign exception's
  // module, because frameworks and rich print exceptions without it.
  static constexpr auto kOfScripts = base::words(
      "AssertionError", "AttributeError", "ImportError", "IndentationError", "IndexError",
      "KeyError", "ModuleNotFoundError", "NameError", "NotImplementedError", "SyntaxError",
      "TabError", "TypeError", "UnboundLocalError", "ValueError", "ZeroDivisionError");
  return std::ranges::find(kOfScripts, name) == kOfScripts.end();
}

bool is_stepping_stone(std::string_view name) {
  static constexpr auto kNames =
      base::words("KeyError", "AttributeError", "StopIteration", "Empty", "ImportError",
                  "ModuleNotFoundError", "IndexError", "TypeError", "AssertionError");
  return std::ranges::find(kNames, last_part(name)) != kNames.end();
}

}  // namespace envgen
