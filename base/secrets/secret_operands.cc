#include "base/secrets/secret_operands.h"

#include <algorithm>
#include <utility>

#include "base/constants/words.h"
#include "base/secrets/secret_names.h"

namespace base {
namespace {

// Returns true if the word at [begin, end) is a whole word of a shell.
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view kBefore = " \t\n\r\"'\\`;&|(=";
  const bool before = begin == 0 || kBefore.contains(text[begin - 1]);
  return before && (end == text.size() || kWordEnds.contains(text[end]));
}

// The letters of curl's options that take no value. They can precede another one, as in `-su`.
constexpr std::string_view kCurlFlags = "sSfLkvigGNnqaBIjJlMpRZ#0123";

}  // namespace

Operands::Tool Operands::tool_of(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, Tool>, 22> kTools = {
      {{"curl", Tool::kCurl},         {"sshpass", Tool::kSshpass},  {"mysql", Tool::kMysql},
       {"mysqldump", Tool::kMysql},   {"mysqladmin", Tool::kMysql}, {"mysqlimport", Tool::kMysql},
       {"mysqlsh", Tool::kMysql},     {"mariadb", Tool::kMysql},    {"mariadb-dump", Tool::kMysql},
       {"mycli", Tool::kMysql},       {"obsutil", Tool::kStorage},  {"ossutil", Tool::kStorage},
       {"ossutil64", Tool::kStorage}, {"redis-cli", Tool::kRedis},  {"docker", Tool::kRegistry},
       {"podman", Tool::kRegistry},   {"nerdctl", Tool::kRegistry}, {"helm", Tool::kRegistry},
       {"skopeo", Tool::kRegistry},   {"buildah", Tool::kRegistry}, {"crane", Tool::kRegistry},
       {"az", Tool::kRegistry}}};
  const auto* found = std::ranges::find(kTools, word, &std::pair<std::string_view, Tool>::first);
  return found == kTools.end() ? Tool::kNone : found->second;
}

// Returns true if the word follows `login` and looks like a key. A host, a path or a user does not.
bool Operands::is_login_operand(std::string_view text, std::size_t begin, std::size_t end) const {
  constexpr std::size_t kMin = 20;
  const std::string_view word = text.substr(begin, end - begin);
  if (!login_ || word.size() < kMin || word.starts_with('-') || word.contains('.')) return false;
  const bool digit = std::ranges::any_of(word, [](char c) { return c >= '0' && c <= '9'; });
  return digit && stands_alone(text, begin, end);
}

Span Operands::next_value(std::string_view text, std::size_t end, Wanted wanted) {
  const std::size_t closed = after(text, end, kQuotes);
  const std::size_t start = after(text, closed, closed > end ? "= \t," : "= \t");
  if (start == text.size() && closed == start) wanted_ = wanted;
  if (start == closed || start == text.size() || text[start] == '-') return {};
  const Span value = value_at(text, start);
  const bool pair = text.substr(value.begin, value.end - value.begin).contains(':');
  return wanted == Wanted::kAny || pair ? value : Span{};
}

Span Operands::option_value(std::string_view text, std::size_t begin, std::size_t end) {
  const std::string_view word = text.substr(begin, end - begin);
  if (word.size() < 2 || word[0] != '-') return {};
  if (tool_ == Tool::kCurl) {
    if (word == "--user" || word == "--proxy-user") {
      return next_value(text, end, Wanted::kCredentials);
    }
    const std::size_t letter = after(word, 1, kCurlFlags);
    if (letter == word.size() || (word[letter] != 'u' && word[letter] != 'U')) return {};
    if (letter + 1 == word.size() && (end == text.size() || text[end] != ':')) {
      return next_value(text, end, Wanted::kCredentials);
    }
    const Span value = value_at(text, begin + letter + 1);
    return text.substr(value.begin, value.end - value.begin).contains(':') ? value : Span{};
  }
  if (word.starts_with("--")) return {};
  const bool has_p =
      tool_ == Tool::kSshpass || tool_ == Tool::kMysql || (tool_ == Tool::kRegistry && login_);
  if (has_p && word[1] == 'p') {
    const std::size_t closed = after(text, end, kQuotes);
    const bool ends = closed == text.size() || kBlank.contains(text[closed]);
    if (word.size() > 2 || !ends) return value_at(text, begin + 2);
    return tool_ == Tool::kMysql ? Span{} : next_value(text, end, Wanted::kAny);
  }
  const bool storage = tool_ == Tool::kStorage && std::string_view("ikt").contains(word[1]);
  const bool redis = tool_ == Tool::kRedis && word[1] == 'a';
  return word.size() == 2 && (storage || redis) ? next_value(text, end, Wanted::kAny) : Span{};
}

// Returns true if the words before `word` belong to a command that takes a name and its value (`aws
// configure set`, `setenv`), and `word` is the name of a secret. Some commands, such as `export`,
// take only names without lower-case letters here.
bool Operands::sets(std::string_view word) const {
  static constexpr auto kSetters = words("setenv", "setx", "putenv", "export", "set", "env", "ENV",
                                         "ARG", "config", "-x", "-gx", "-Ux");
  constexpr std::size_t kAnyName = 3;  // the first three setters take a name in any case
  const bool configures = last_[0] == "configure" || last_[0] == "config";
  if (configures && last_[1] == "set") return is_secret_name(word);
  const bool variable = std::ranges::none_of(word, is_lower);
  for (std::size_t i = 0; i < (variable ? kSetters.size() : kAnyName); ++i) {
    if (kSetters[i] == last_[1]) return is_secret_name(word);
  }
  return false;
}

Span Operands::value_of(std::string_view text, std::size_t begin, std::size_t end) {
  const std::string_view word = text.substr(begin, end - begin);
  Span value = option_value(text, begin, end);
  if (value.empty() && sets(word)) {
    value = next_value(text, end, Wanted::kAny);
    // A word in lower case is not a value: "export TOKEN before the start"
    const std::string_view set = text.substr(value.begin, value.end - value.begin);
    const bool maybe = sentence_ || last_[1] != "set";
    if (maybe && std::ranges::all_of(set, is_lower)) value = {};
  }
  if (value.empty() && is_login_operand(text, begin, end)) value = {begin, end};
  const bool alone =
      stands_alone(text, begin, end) || (begin > 0 && text[begin - 1] == '/' &&
                                         (end == text.size() || kWordEnds.contains(text[end])));
  const Tool tool = alone ? tool_of(word) : Tool::kNone;
  if (tool != Tool::kNone) tool_ = tool;
  if (word == "login" && alone) {
    login_ = true;
  } else if (sentence_ && !word.starts_with('-')) {
    login_ = false;
  }
  last_[0] = std::exchange(last_[1], std::string(word));
  return value;
}

void Operands::pass(std::string_view text, std::size_t at) {
  constexpr std::string_view kSeparators = ";&|";
  const bool blank_near = at + 1 >= text.size() || kBlank.contains(text[at + 1]) ||
                          (at > 0 && kBlank.contains(text[at - 1]));
  if (text[at] != '\n' && !(kSeparators.contains(text[at]) && blank_near)) return;
  *this = Operands(sentence_);
}

bool Operands::takes(std::string_view argument) {
  const Wanted wanted = std::exchange(wanted_, Wanted::kNothing);
  if (wanted == Wanted::kNothing || argument.starts_with('-')) return false;
  return wanted == Wanted::kAny || argument.contains(':');
}

}  // namespace base
