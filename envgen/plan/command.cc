#include "envgen/plan/command.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/secrets/secrets.h"
#include "base/text.h"
#include "envgen/plan/shell_text.h"

namespace envgen {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool has_blank(std::string_view text) {
  return text.find_first_of(kBlanks) != std::string_view::npos;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the length of the variable's name at the beginning of `text`.
std::size_t name_at(std::string_view text) {
  if (text.empty() || is_digit(text.front())) return 0;
  const auto end = std::ranges::find_if_not(text, [](char c) {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  return static_cast<std::size_t>(end - text.begin());
}

// Returns whether the word is a shell operator. One argument such as "--flag=a&&b", which had
// quotes around it, is not.
bool is_operator(std::string_view word) {
  if (word == "|" || word == "&" || word == "|&") return true;
  return word.starts_with("&&") || word.starts_with("||") || word.starts_with(';') ||
         word.ends_with("&&") || word.ends_with(';');
}

// Returns whether the word is a redirection: ">", "2>&1", ">log", "&>>log", "</data/in". The words
// "<pad>" and ">=0.5", which users pass to scripts, are not.
bool is_redirection(std::string_view word) {
  const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  const bool numbered = digits > 0;
  word.remove_prefix(digits);
  if (word.starts_with("&>")) return !numbered;
  if (word.starts_with('>')) {
    word.remove_prefix(word.starts_with(">>") || word.starts_with(">|") ? 2 : 1);
    return word.empty() || numbered || (!is_digit(word[0]) && word[0] != '=');
  }
  if (!word.starts_with('<')) return false;
  word.remove_prefix(std::min(word.find_first_not_of('<'), word.size()));
  return word.empty() || (!word.ends_with('>') && !is_digit(word[0]) && word[0] != '=');
}

// Returns a word that only a shell understands; nullopt if there is none. Skips the word after -c,
// which is a program's own text, and words with blanks, which were quoted.
std::optional<std::string> shell_syntax_in(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if ((i > 0 && words[i - 1] == "-c") || has_blank(word)) continue;
    if (is_operator(word) || is_redirection(word)) return word;
  }
  return std::nullopt;
}

// A reference "$NAME" or "${NAME}" at the beginning of `text`. An empty name: there is none.
struct Reference {
  std::string_view name;
  std::size_t length = 0;
  bool plain = true;  // not "${NAME:-0}"
};
Reference reference_at(std::string_view text) {
  if (!text.starts_with('$')) return {};
  const std::size_t begin = text.starts_with("${") ? 2 : 1;
  const std::size_t size = name_at(text.substr(begin));
  const std::size_t end = begin + size;
  if (size == 0) return {};
  const bool closed = begin == 1 || text.substr(end).starts_with('}');
  return {text.substr(begin, size), end + (begin == 2 && closed ? 1 : 0), closed};
}

// Returns a character because of which a line must not be split at its blanks; nullopt if there is
// none.
std::optional<std::string> special_in(std::string_view line,
                                      std::span<const std::string_view> filled) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const Reference reference = reference_at(line.substr(i));
    if (reference.plain && std::ranges::find(filled, reference.name) != filled.end()) {
      i += reference.length - 1;
      continue;
    }
    const bool begins = i == 0 || kBlanks.contains(line[i - 1]);
    constexpr std::string_view kSpecial = "\"'\\`$&|;<>()*?[]{}";
    if (kSpecial.contains(line[i]) || (begins && (line[i] == '#' || line[i] == '~'))) {
      return std::string(1, line[i]);
    }
  }
  return std::nullopt;
}

// Returns the index of the word that a shell in the command reads as its text (after -c). Returns
// the size of the command if there is none.
std::size_t shell_text_in(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (!is_shell(command[i])) continue;
    for (std::size_t at = i + 1; at < command.size() && command[at].starts_with('-'); ++at) {
      const std::string& option = command[at];
      if (option == "--rcfile" || option == "--init-file") ++at;
      if (option.starts_with("--")) continue;
      if (option.contains('c')) return at + 1;
      if (option.ends_with('o') || option.ends_with('O')) ++at;
    }
  }
  return command.size();
}

std::string in_quotes(std::string_view text, char quote, std::string_view escaped) {
  std::string result(1, quote);
  for (const char c : text) {
    if (escaped.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result + quote;
}

// Joins the words to a line for a shell. A word with a blank is quoted; variables stay variables.
std::string line_of(const std::vector<std::string>& words) {
  if (words.size() == 1) return words[0];
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    const bool quote = word.empty() || word.find_first_of(" \t\r\n\"'()*?#`\\") != word.npos ||
                       (word.find_first_of("<>") != word.npos && !is_redirection(word));
    line += quote ? in_quotes(word, '"', "\"\\`") : word;
  }
  return line;
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t first = line.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return words;
    line.remove_prefix(first);
    words.emplace_back(line.substr(0, line.find_first_of(kBlanks)));
    line.remove_prefix(words.back().size());
  }
}

std::unexpected<base::Error> needs_shell(const std::string& found, std::string_view platform,
                                         const std::string& line) {
  return base::fail("reading the command", "platform " + std::string(platform), found,
                    "use: " + advice_for_line(line));
}

}  // namespace

std::string advice_for_line(const std::string& line) {
  if (const auto activation = conda_activation(line)) {
    const std::string& name = activation->environment;
    const std::string& rest = activation->rest;
    const std::vector<std::string> words = split_words(rest);
    const bool plain = words.empty() || (!is_assignment(words[0]) && !special_in(rest, {}));
    return base::concat({"--conda-env ", name, " (TRAINIT_CONDA_ENV=", name, ") with the command: ",
                         words.empty() ? "python ..."
                         : plain       ? rest
                                       : advice_for_line(rest)});
  }
  // The mask could not recognize a credential behind escaped quotes.
  const std::string shown = base::mask_secrets(line);
  const bool plain = shown.find_first_of("\"$`\\!") == std::string::npos;
  return "bash -c " + (plain ? '"' + shown + '"' : base::shell_quoted(shown));
}

bool is_assignment(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return name.size() < word.size() && name_at(word) == name.size() && !name.empty();
}

std::optional<FlagValue> find_flag(const std::vector<std::string>& command,
                                   std::string_view launcher, std::string_view flags) {
  constexpr std::string_view kEnds = " \t\n\"'`;&|()";  // end a word in the text of a shell
  enum class Place : std::uint8_t { kBefore, kFlags, kProgram };
  const auto same = [](char a, char b) { return a == b || (a == '-' && b == '_'); };
  Place place = launcher.empty() ? Place::kFlags : Place::kBefore;
  bool next = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string_view word = command[i];
    const Place outside = place;  // where each command of this text begins
    std::size_t end = 0;
    for (std::size_t at = 0; (at = word.find_first_not_of(kEnds, at)) != word.npos; at = end) {
      const bool continued = end > 0 && word[end - 1] == '\\';
      const std::string_view gap = word.substr(end, at - end);
      if (!continued && gap.find_first_of("\n;&|") != gap.npos) {
        place = outside;
        next = false;
      }
      end = std::min(word.find_first_of(kEnds, at), word.size());
      std::string_view rest = word.substr(at, end - at);
      const std::string_view name = base_name(rest.substr(rest.starts_with("-m") ? 2 : 0));
      if (place == Place::kBefore && name == launcher) place = Place::kFlags;
      if (place != Place::kFlags || rest == "\\") continue;
      if (next) return FlagValue{i, at, rest};
      const bool module = !launcher.empty() && (rest == "-m" || rest == "--module");
      if (module || rest.ends_with(".py") || rest.ends_with(".sh") || name.starts_with("python")) {
        place = Place::kProgram;
      }
      const std::string_view flag = base::take_part(rest, '=');
      for (std::string_view names = flags; !next && !names.empty();) {
        next = std::ranges::equal(flag, base::take_part(names, ' '), same);
      }
      if (next && !rest.empty()) return FlagValue{i, end - rest.size(), rest};
    }
  }
  return std::nullopt;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> command_of_line(std::string_view line) {
  std::vector<std::string> words = split_words(line);
  const bool plain = !words.empty() && !is_assignment(words[0]) && !special_in(line, {});
  if (plain) return words;
  return {"/bin/sh", "-c", std::string(line)};
}

base::Result<std::vector<std::string>> without_shell_syntax(
    const std::vector<std::string>& command, std::string_view platform,
    std::span<const std::string_view> filled) {
  if (command.empty()) return command;
  // The platform may have passed its whole text field as one argument.
  const bool one_line = command.size() == 1 && has_blank(command[0]);
  std::vector<std::string> words = one_line ? split_words(command[0]) : command;
  if (words.empty()) return command;
  const std::string line = line_of(command);
  if (words.size() > 1 && words[0] == "export") {
    return std::vector<std::string>{"bash", "-c", line};
  }
  if (is_assignment(words[0])) {
    return needs_shell(
        '"' + words[0] + "\", which is no program: the command is started without a shell",
        platform, line);
  }
  auto syntax = shell_syntax_in(words);
  if (!syntax && one_line) syntax = special_in(line, filled);
  if (syntax) {
    return needs_shell(
        '"' + *syntax + "\", which only a shell knows: the command is started without one",
        platform, line);
  }
  return words;
}

ExpandedCommand expand_variables(const std::vector<std::string>& command,
                                 const VariableValue& value) {
  ExpandedCommand result{command, {}};
  const std::size_t end = shell_text_in(command);
  for (std::size_t i = 0; i < end; ++i) {
    std::string word;
    for (std::string_view rest = command[i]; !rest.empty();) {
      const Reference reference = reference_at(rest);
      const std::size_t length = std::max<std::size_t>(reference.length, 1);
      std::optional<std::string> known;
      if (reference.plain && !reference.name.empty()) known = value(reference.name);
      word += known ? *known : std::string(rest.substr(0, length));
      rest.remove_prefix(length);
      if (known || reference.name.empty()) continue;
      if (std::ranges::find(result.unknown, reference.name) == result.unknown.end()) {
        result.unknown.emplace_back(reference.name);
      }
    }
    result.command[i] = std::move(word);
  }
  return result;
}

std::vector<std::string> with_interpreter(const std::vector<std::string>& command,
                                          const std::string& interpreter) {
  std::vector<std::string> result = command;
  const bool script = !command.empty() && command[0].ends_with(".py") && command[0] != ".py";
  if (script) result.insert(result.begin(), interpreter);
  return result;
}

}  // namespace envgen
