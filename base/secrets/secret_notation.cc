#include "base/secrets/secret_notation.h"

#include <algorithm>
#include <string>

#include "base/constants/words.h"
#include "base/secrets/secret_key.h"
#include "base/secrets/secret_sentence.h"
#include "base/secrets/secret_values.h"

namespace base {
namespace {

constexpr std::string_view kFlowEnds = ",}]\n";  // end a value within braces

// Returns true for a header of HTTP or the seed words of a wallet: their values contain blanks.
bool is_header(const std::string& name) {
  return name == "AUTHORIZATION" || name == "PROXY_AUTHORIZATION" || name == "PRIVATE_TOKEN" ||
         name.ends_with("COOKIE") || name.starts_with("X_") || name.ends_with("SEED_PHRASE") ||
         name.ends_with("RECOVERY_PHRASE") || name.ends_with("MNEMONIC");
}

// Returns true if the value of `Pwd=` is a password of a connection string. PWD can also name the
// working directory, whose value is a path.
bool is_password(std::string_view text, std::size_t begin, Span value) {
  if (value.empty()) return false;
  return (begin > 0 && text[begin - 1] == ';') ||
         !std::string_view("/.~").contains(text[value.begin]);
}

// Returns the span of KEY in "Bearer KEY", but no span for "the bearer token has expired".
Span value_of_bearer(std::string_view text, std::size_t end, std::string_view word) {
  static constexpr auto kOrdinary =
      words("TOKEN", "TOKENS", "AUTH", "AUTHENTICATION", "AUTHORIZATION", "REALM", "SCHEME");
  if (canonical(word) != "BEARER" || end == text.size() || text[end] != ' ') return {};
  const Span value = value_at(text, after(text, end, " "));
  const std::string_view next = part_of(text, value);
  if (std::ranges::find(kOrdinary, canonical(next.substr(0, next.find_first_of("= ")))) !=
      kOrdinary.end()) {
    return {};
  }
  const bool letters = std::ranges::all_of(next, is_lower);
  return word[0] == 'b' && letters && next.size() <= kLongestWord ? Span{} : value;
}

// Returns the span of the value in ("key", "value") and ["--key", "value", ...]. A list of more
// texts, whose key is not an option, contains no value.
Span value_of_pair(std::string_view text, std::size_t key, std::size_t start) {
  const Span value = enclosed(text, start);
  if (value.empty() || !is_quote(text[value.begin - 1])) return {};
  std::string_view before = text.substr(0, key - 1);
  before.remove_suffix(before.size() - (before.find_last_not_of("bBrRuU\\") + 1));
  const bool opens = before.ends_with('(') || before.ends_with('[');
  const char closing = at_or_nul(text, after(text, value.end, kQuotes));
  return (opens && (closing == ')' || closing == ']')) || text[key] == '-' ? value : Span{};
}

// Returns where a name of several words begins, such as "one-time code", "seed phrase", "API key".
// `begin` is the start of its last word, and at most `most` words before it belong to the name.
std::size_t first_word(std::string_view text, std::size_t begin, int most) {
  for (; most > 0 && begin > 1 && text[begin - 1] == ' ' && is_word(text[begin - 2]); --most) {
    --begin;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
  }
  return begin;
}

// Returns true if the value begins with a number, as in "tokens=4096,lr=0.1".
bool starts_with_count(std::string_view text, const Key& key) {
  const std::size_t start = after(text, key.value, " \t");
  const std::size_t end = text.find_first_of(" \t\n\r\"'\\&;|<>()[]{},`", start);
  const std::string_view first = text.substr(start, std::min(end, text.size()) - start);
  return !first.empty() && is_digit(first[0]) && is_counted(first, false);
}

// Returns the span of an assigned value. The span of a call, such as `SecretStr('VALUE')`, includes
// the closing bracket.
Span read_assigned(std::string_view text, std::size_t at) {
  Span value = read_value(text, at, kWordEnds);
  if (value.empty() && at_or_nul(text, at) == '<') {
    // The text in angle brackets is a value only if it has letters and digits: "password=<VALUE1>"
    // has a value, "password=<password>" does not.
    const std::size_t end = std::min(text.find_first_of(">\n", at), text.size());
    return is_mixed(text.substr(at, end - at)) ? Span{at + 1, end} : Span{};
  }
  const bool call = !value.empty() && at_or_nul(text, value.end) == '(' && value.begin == at &&
                    is_word(text[value.end - 1]);
  if (!call) return value;
  const std::size_t closed = enclosed(text, value.end).end;
  // Skips PHP's type before a value: `string(7) "VALUE"`
  const std::size_t typed = after(text, std::min(closed + 1, text.size()), " ");
  if (is_quote(at_or_nul(text, typed))) return enclosed(text, typed);
  value.end = std::min(closed < text.size() ? closed + 1 : text.find('\n', at), text.size());
  return value;
}

}  // namespace

bool is_credential(NameKind kind, std::string_view value) {
  return kind == NameKind::kCounted ? !is_counted(value, true) : kind != NameKind::kOrdinary;
}

void Notation::pass(char c) {
  if (c == '{') ++braces_;
  if (c == '}' && braces_ > 0) --braces_;
  if (c == '\n') braces_ = 0;
}

// Returns true if the key at `begin` is a key of `{key: value, key: value}`. "${NAME:-default}" of
// a shell is not such an object.
bool Notation::is_entry(std::string_view text, std::size_t begin) const {
  if (braces_ == 0) return false;
  const std::string_view before = text.substr(0, text.find_last_not_of(" \t", begin - 1) + 1);
  return before.ends_with(',') || (before.ends_with('{') && !before.ends_with("${"));
}

// Returns the span of a value in a notation that cannot be a sentence, such as key=value.
Span Notation::structured(std::string_view text, const Key& key) const {
  const std::size_t start = after(text, key.value, kBlank);
  switch (key.mark) {
    case '=':
      if (key.closed) return read_assigned(text, start);
      return key.sign > key.end ? Span{} : read_assigned(text, key.value);
    case ':':
      if (is_entry(text, key.begin)) return read_value(text, start, kFlowEnds);
      return key.closed ? read_value(text, start, ",}] \n") : Span{};
    case ',':
      return value_of_pair(text, key.begin, start);
    default:
      return value_of_element(text, key.begin, key.word_end);
  }
}

// Returns the span of a value where the text may be a sentence and the key a word of it.
Span Notation::in_sentence(std::string_view text, const Key& key) const {
  const bool option = key.mark == ' ' && text[key.begin] == '-' && text[key.sign] != '-';
  const bool spaced = key.mark == '=' && key.sign > key.end;
  if (key.closed) return key.mark == ':' || key.mark == '=' ? Span{} : value_nearby(text, key);
  if (option) {
    const Span value = read_value(text, key.sign, kWordEnds);
    // Skips a placeholder of a usage text: "[--hf-token HF_TOKEN]"
    std::string_view word = part_of(text, value);
    word = word.substr(0, word.find(']'));
    if (word == canonical(part_of(text, {key.begin, key.word_end}))) return {};
    if (kind_ != Text::kSentence) return value;
  }
  Span value;
  if (key.mark == ':' && key.sign == key.end) {
    value = value_of_yaml(text, key, kind_ == Text::kPrinted);
  }
  if (value.empty() && (key.mark == ':' || spaced || option)) {
    value = value_in_sentence(text, key, option);
  }
  const bool signless = key.mark != ':' && key.mark != '=';
  return value.empty() && signless ? value_nearby(text, key) : value;
}

Span Notation::value_of(std::string_view text, std::size_t begin, std::size_t end) const {
  // Most words are parts of paths or end the text. They have no value, so they are left at once.
  if (end == text.size() || std::string_view("/@$&#^").contains(text[end])) return {};
  static constexpr auto kLastWords = words("CODE", "CODES", "PHRASE", "STRING", "BY");
  const std::string_view word = text.substr(begin, end - begin);
  NameKind kind = kind_of_name(word);
  std::string_view name = word;
  if (kind == NameKind::kOrdinary && is_one_of(word, kLastWords)) {
    const std::size_t first = first_word(text, begin, 2);
    name = text.substr(first, end - first);
    kind = kind_of_name(name);
  }
  if (kind == NameKind::kOrdinary) {
    const Span value =
        text[end] == '=' && canonical(word) == "PWD" ? value_at(text, end + 1) : Span{};
    if (is_password(text, begin, value)) return value;
    const Span before = value_before_name(text, begin, end);
    return before.empty() ? value_of_bearer(text, end, word) : before;
  }
  Key key = key_at(text, begin, end);
  key.kind = kind;
  if (kind == NameKind::kCounted && starts_with_count(text, key)) return {};
  Span value = structured(text, key);
  if (value.empty() && (key.mark == ':' || key.mark == '=') && is_header(canonical(name))) {
    value = read_value(text, after(text, key.value, kBlank), "\"'\\\n");
  }
  if (value.empty()) {
    const std::size_t first = first_word(text, begin, 1);
    if (kind_of_name(text.substr(first, end - first)) == NameKind::kSecret) {
      key.kind = NameKind::kSecret;
    }
    value = in_sentence(text, key);
  }
  // If the value is the name of a secret, the secret itself follows that name:
  // `key="NAME" value="..."`, `<key>NAME</key>`. The call for NAME finds the secret.
  if (kind == NameKind::kWord && is_secret_name(part_of(text, value)) &&
      (over_value_word(text, begin, value.end) != value.end ||
       !value_of_element(text, value.begin, value.end).empty())) {
    return {};
  }
  const bool open = !value.empty() && value.end == text.size() &&
                    // the text may be cut off within the brackets
                    std::string_view("([{").contains(text[value.begin - 1]);
  const bool counts =
      kind == NameKind::kCounted && !open && is_counted(part_of(text, value), false);
  return value.empty() || counts ? value_of_bearer(text, end, word) : value;
}

}  // namespace base
