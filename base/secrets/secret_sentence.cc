#include "base/secrets/secret_sentence.h"

#include <algorithm>

#include "base/constants/words.h"
#include "base/secrets/secret_values.h"

namespace base {
namespace {

constexpr std::size_t kMinKey = 12;  // minimum length of a word that cannot be a word of a sentence
constexpr std::size_t kMinSecret = 6;  // minimum length of a value after "password" and similar
                                       // words
constexpr std::size_t kNear = 256;     // characters that are read of a value to recognize it

// Returns `value` without the punctuation of a sentence or a list at its end.
Span without_marks(std::string_view text, Span value) {
  while (value.end > value.begin && std::string_view(".,;:!?}]*").contains(text[value.end - 1])) {
    --value.end;
  }
  return value;
}

// Returns the span of a value, but of at most `most` characters. Without this limit each key would
// cause all the text after it to be read.
Span read_near(std::string_view text, std::size_t start, std::size_t most = kNear) {
  text = text.substr(0, most < text.size() - start ? start + most : text.size());
  return without_marks(text, read_value(text, start, kWordEnds));
}

// Returns true if the key is a part of a path: "registry/secret:latest", "secrets.py:12:". A slash
// after a blank begins an option of Windows, not a path.
bool is_path(std::string_view text, const Key& key) {
  std::string_view name = text.substr(key.begin, key.word_end - key.begin);
  name = name.substr(0, name.find_last_not_of('.') + 1);
  const bool within = key.begin > 1 && text[key.begin - 1] == '/' &&
                      (is_word(text[key.begin - 2]) || text[key.begin - 2] == '/');
  return within || (name.contains('.') && !is_secret_name(name.substr(name.rfind('.') + 1)));
}

// The signs and words between a key and a value that is searched nearby.
struct Gap {
  int words = 0;
  bool states = false;  // "is", "was set to", or a colon after a word was seen
  bool marked = false;  // a sign, a tab or several blanks precede the value
  bool listed = false;  // a comma was seen
};

// Returns true if an escape begins at `at`: a colour, "\n" or "%3D". Its characters are not text.
bool is_escape(std::string_view text, std::size_t at) {
  const auto hex = [text, at](std::size_t i) {
    return std::string_view("0123456789abcdefABCDEF").contains(at_or_nul(text, at + i));
  };
  return text[at] == '\033' || (text[at] == '\\' && is_alnum(at_or_nul(text, at + 1))) ||
         (text[at] == '%' && hex(1) && hex(2));
}

// Returns the end of the blanks and signs at `at`.
std::size_t over_signs(std::string_view text, std::size_t at) {
  constexpr std::string_view kSigns = " \t~,;|:=<>()[]{}*`\\!?%+";
  while (true) {
    const std::size_t signs = after(text, at, kSigns);
    // A dash is skipped only between two signs, because it can also begin an option or a value.
    const std::size_t dashes = after(text, signs, "-.");
    const bool between = dashes > signs && dashes < text.size() && kSigns.contains(text[dashes]);
    if (!between) return signs;
    at = dashes;
  }
}

bool is_nearby(NameKind kind, const Gap& gap, bool quoted, std::string_view word) {
  constexpr std::size_t kMinBehindWords = 16;
  const bool sure = gap.states || gap.marked;
  if (kind == NameKind::kSecret && quoted && gap.states && gap.words == 1) return true;
  if (is_ordinary(word) || word.starts_with('/')) return false;
  if (kind != NameKind::kSecret) {
    const bool near = sure || quoted;
    return is_random(word, near ? kMinKey : kMinBehindWords);
  }
  if (gap.states && gap.words == 1) return true;
  const bool code = word.size() >= kMinSecret && std::ranges::all_of(word, is_digit);
  if (gap.words == 0 && !gap.listed && (gap.marked || quoted)) return true;
  if (gap.words == 0 || gap.states || quoted) return is_mixed(word) || code;
  return is_random(word, kMinSecret);
}

// Returns true for words that may be followed by the name of an object, as in `secret my-app`.
bool is_object(std::string_view name) {
  static constexpr auto kObjects = words("SECRET", "SECRETS", "CREDENTIAL", "CREDENTIALS");
  return is_one_of(name, kObjects);
}

bool states(std::string_view word) {
  static constexpr auto kStating =
      words("IS", "WAS", "ARE", "WERE", "BE", "EQUALS", "EQUAL", "TO", "BECAME", "READS");
  return is_one_of(word, kStating);
}

// Returns where the value begins. A type before the value is skipped, as in "token: Optional[str] =
// 'VALUE'".
std::size_t over_type(std::string_view text, const Key& key) {
  constexpr std::size_t kLongestType = 48;
  const std::string_view type = text.substr(key.value, kLongestType);
  const std::size_t equals = type.find(" = ");
  const bool typed = key.mark == ':' && equals != type.npos &&
                     std::ranges::all_of(type.substr(0, equals), [](char c) {
                       return is_letter(c) || std::string_view(" &[].|_,").contains(c);
                     });
  return typed ? key.value + equals + 3 : key.value;
}

// Returns true if `text` contains a word of at least `least` characters that looks random.
bool has_random(std::string_view text, std::size_t least) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t begin = at;
    while (at < text.size() && is_word(text[at])) ++at;
    if (is_random(text.substr(begin, at - begin), least)) return true;
  }
  return false;
}

// Returns the span within the brackets at `start`, or an empty span if they contain only words or
// numbers.
Span list_at(std::string_view text, std::size_t start, NameKind kind) {
  const Span value = read_value(text, start, kWordEnds);
  if (kind == NameKind::kWord) return has_random(part_of(text, value), kMinKey) ? value : Span{};
  const bool quotes = part_of(text, value).find_first_of("\"'") != std::string_view::npos;
  const bool open = value.end == text.size();
  return quotes || open || !is_counted(part_of(text, value), false) ? value : Span{};
}

// Returns true if the text at `start` is the value of `key`, and not a word of a sentence.
bool is_stated(std::string_view text, const Key& key, bool option, std::size_t start) {
  const Span value = read_near(text, start);
  const std::string_view word = part_of(text, value);
  const bool quoted = start < value.begin;
  if (key.kind == NameKind::kCounted) return true;
  if (key.kind != NameKind::kSecret && !option) {
    const bool mixed = quoted && is_mixed(word) && word.size() >= kMinSecret &&
                       word.find_first_of("./") == std::string_view::npos;
    return mixed || is_random(word.substr(0, word.find_first_of(",;")), kMinKey);
  }
  if (is_path(text, key) || word.starts_with('/')) return false;
  if (std::ranges::none_of(word, is_alnum)) return false;
  if (quoted || start == key.value) return true;
  // An expression is not a value: `password = self.password`, `password = getpass()`
  const bool code = std::ranges::none_of(word, is_digit) && word.find_first_of("_.") < word.size();
  if (key.mark == '=' && (code || at_or_nul(text, value.end) == '(')) return false;
  const bool ends_line = value.end == text.size() || text[value.end] == '\n';
  return !is_ordinary(word) || (ends_line && !option);
}

}  // namespace

Span value_in_sentence(std::string_view text, const Key& key, bool option) {
  std::size_t start = after(text, over_type(text, key), " \t");
  if (text.substr(start).starts_with("</")) {  // an end tag after the key: "<b>KEY:</b> VALUE"
    start = std::min(text.find_first_of("> \n", start), text.size());
  }
  start = after(text, start, " \t*_`%~|<>");
  if (text.substr(start).starts_with("!!")) {  // skips a tag of YAML
    start = after(text, std::min(text.find_first_of(" \n", start), text.size()), " ");
  }
  if (std::string_view("([{").contains(at_or_nul(text, start))) {
    return list_at(text, start, key.kind);
  }
  // A call can contain the value, as `Some("VALUE")`, unlike `getpass("Password: ")`.
  const std::size_t bracket = read_near(text, start).end;
  if (at_or_nul(text, bracket) == '(') {
    const Span inner = enclosed(text.substr(0, bracket + kNear), bracket);
    const std::size_t least = key.kind == NameKind::kSecret ? kMinSecret : kMinKey;
    if (has_random(part_of(text, inner), least)) return inner;
  }
  return is_stated(text, key, option, start) ? read_near(text, start, text.size()) : Span{};
}

Span value_nearby(std::string_view text, const Key& key) {
  constexpr std::size_t kFarthest = 128;
  constexpr int kMaxWords = 4;
  const std::string_view name = text.substr(key.begin, key.word_end - key.begin);
  if (is_path(text, key) || name.contains('.')) return {};
  Gap gap;
  std::size_t at = key.end;
  while (gap.words <= kMaxWords) {
    const std::size_t start = over_signs(text, at);
    const std::string_view between = text.substr(at, start - at);
    // Stops at a mask: a text that is masked a second time must not change.
    if (between.contains(kMask) || start >= text.size() || start - key.end > kFarthest) return {};
    for (std::size_t i = gap.words == 0 ? key.word_end : at; i <= start; ++i) {
      if (is_escape(text, i)) return {};
    }
    gap.marked = between.find_first_of("\t~|=>]") != between.npos || between.contains("  ");
    gap.states = gap.states || (gap.words > 0 && between.contains(':'));
    gap.listed = gap.listed || between.contains(',');
    const Span value = read_near(text, start);
    const std::string_view word = part_of(text, value);
    const bool quoted = start < value.begin;
    if (word.empty()) return {};
    const bool object = is_object(name) && !gap.states && !gap.marked;
    if (is_nearby(object ? NameKind::kWord : key.kind, gap, quoted, word)) {
      return read_near(text, start, text.size());
    }
    if (quoted || !std::ranges::all_of(word, is_lower)) return {};
    ++gap.words;
    gap.states = states(word);
    at = value.end;
  }
  return {};
}

bool is_value_behind(std::string_view name, std::string_view value) {
  const bool word = std::ranges::all_of(name, is_word) && !name.contains('.');
  return word && kind_of_name(name) == NameKind::kSecret && !is_object(name) &&
         is_nearby(NameKind::kSecret, {}, false, value);
}

namespace {

// Returns the indentation of the line at `at`.
std::size_t indent_of(std::string_view text, std::size_t at) { return after(text, at, " ") - at; }

// Returns the span of the block that begins at `at`: all lines that are indented by more than
// `indent`. With `plain`, each line must be a single word or a list item of one word, otherwise the
// span is empty (the block is a mapping).
Span block_below(std::string_view text, std::size_t at, std::size_t indent, bool plain) {
  Span block = {after(text, at, kBlank), at};
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::size_t begin = at + indent_of(text, at);
    const bool item = plain && text.substr(begin, end - begin).starts_with("- ");
    const bool blank = text.substr(begin, end - begin).find_first_not_of(kBlank) == text.npos;
    if (!blank) {
      if (begin - at + (item ? 1 : 0) <= indent) break;
      if (item) begin = after(text, begin + 1, " ");
      std::string_view line = text.substr(begin, end - begin);
      line = line.substr(0, line.find_last_not_of(kBlank) + 1);
      if (plain &&
          (line.find_first_of(" \t") != text.npos || is_ordinary(line) || line.ends_with(':'))) {
        return {};
      }
      block.end = begin + line.size();
    }
    at = end + 1;
  }
  return block;
}

}  // namespace

Span value_of_yaml(std::string_view text, const Key& key, bool printed) {
  const std::size_t before =
      key.begin == 0 ? text.npos : text.find_last_not_of(" \t-:#", key.begin - 1);
  const bool first = before == text.npos || text[before] == '\n';
  if (!first && text[before] != ']') return {};
  std::size_t start = after(text, key.value, " \t");
  const std::size_t line_end = std::min(text.find_first_of("\r\n", start), text.size());
  // Skips tags and anchors of YAML: "!!str", "&anchor"
  const std::size_t untagged = start;
  while (start < line_end && std::string_view("!&").contains(text[start])) {
    start = after(text, std::min(text.find_first_of(" \t", start), line_end), " \t");
  }
  const std::size_t indicator = after(text, start, "|>+-0123456789");
  const bool block = indicator > start && std::string_view("|>").contains(text[start]) &&
                     after(text, indicator, " \t") == line_end;
  const std::size_t feed = line_end + (at_or_nul(text, line_end) == '\r' ? 1 : 0);
  if ((block || start >= line_end) && at_or_nul(text, feed) == '\n') {
    return first ? block_below(text, feed + 1, indent_of(text, before + 1), !block) : Span{};
  }
  if (start == key.value || start >= line_end) return {};
  if (start > untagged) return read_value(text, start, kWordEnds);
  if (!printed) return {};
  const std::size_t word_end = std::min(text.find_first_of(" \t", start), line_end);
  if (kQuotes.contains(text[start])) return read_value(text, start, kWordEnds);
  // An ordinary word after an ordinary key is not masked: "key: value", "auth: none"
  const std::string_view name = text.substr(key.begin, key.word_end - key.begin);
  const bool plain = key.kind == NameKind::kWord && std::ranges::all_of(name, is_letter) &&
                     is_ordinary(text.substr(start, word_end - start));
  const std::size_t rest = after(text, word_end, " \t");
  return !plain && (rest >= line_end || text[rest] == '#') ? Span{start, word_end} : Span{};
}

}  // namespace base
