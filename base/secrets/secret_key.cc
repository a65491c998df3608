#include "base/secrets/secret_key.h"

#include <algorithm>
#include <string>

#include "base/constants/words.h"
#include "base/secrets/secret_values.h"

namespace base {
namespace {

constexpr std::size_t kFarthest = 1024;  // characters that are read at most after a word that may
                                         // not be a key

// Returns the end of the word at `at` if `table` contains it, in any case. Otherwise returns `at`.
std::size_t over_word(std::string_view text, std::size_t at, const auto& table) {
  std::size_t end = at;
  while (end < text.size() && end - at < kLongestWord && is_word(text[end])) ++end;
  return is_one_of(text.substr(at, end - at), table) ? after(text, end, kQuotes) : at;
}

constexpr auto kNameWords = words("NAME", "KEY", "ID", "FIELD");
constexpr auto kValueWords = words("VALUE", "VAL", "DATA", "STRINGVALUE");

// Returns true if the word at `begin` is the value of a name: KEY in "name: KEY" or "--name KEY".
bool follows_name(std::string_view text, std::size_t begin) {
  std::string_view before = text.substr(0, begin);
  const auto cut = [&before](std::string_view set) {
    before = before.substr(0, before.find_last_not_of(set) + 1);
  };
  cut("\"'\\ \t");
  const bool sign = before.ends_with('=') || before.ends_with(':');
  cut(":= \t\"'\\");
  std::size_t start = before.size();
  while (start > 0 && before.size() - start < kLongestWord && is_word(before[start - 1])) --start;
  return (sign || before.substr(start).starts_with("--")) &&
         over_word(before, start, kNameWords) != start;
}

// Returns the end of an index as in token[0]=... or token[]=..., which begins at `at`. Returns `at`
// if no index and sign follow.
std::size_t over_index(std::string_view text, std::size_t at) {
  constexpr std::size_t kLongest = 40;
  std::size_t end = at;
  while (at_or_nul(text, end) == '[') {
    const std::size_t closing = text.substr(0, end + kLongest).find_first_of("]\n", end);
    if (at_or_nul(text, closing) != ']') return at;
    end = closing + 1;
  }
  return std::string_view("=:").contains(at_or_nul(text, after(text, end, " "))) ? end : at;
}

// Returns the end of the tag that begins at `at`. Returns `at` if no tag begins there, or if it
// does not end within its line.
std::size_t over_tag(std::string_view text, std::size_t at) {
  constexpr std::string_view kData = "<![CDATA[";
  if (text.substr(at).starts_with(kData)) return at + kData.size();
  if (at_or_nul(text, at) != '<') return at;
  const std::size_t end = text.substr(0, at + kFarthest / 4).find_first_of(">\n", at);
  return at_or_nul(text, end) == '>' && text[end - 1] != '/' ? end + 1 : at;
}

}  // namespace

std::size_t over_value_word(std::string_view text, std::size_t begin, std::size_t at) {
  constexpr int kMaxMembers = 4;  // maximum number of members between the name and the value
  const bool named = follows_name(text, begin) || (begin > 0 && text[begin - 1] == '<');
  std::size_t from = at;
  for (int i = 0; i < (named ? kMaxMembers : 1); ++i) {
    const std::size_t next = after(text, from, ",;\"'\\ \t\r\n");
    const bool apart = text.substr(from, next - from).find_first_of(",;\"'\n") != text.npos;
    if (next == from || !(apart || named)) return at;
    const std::size_t end = over_word(text, next, kValueWords);
    const bool option = text.substr(next).starts_with("--");
    const char sign = at_or_nul(text, after(text, end, " "));
    if (end > next && (option || std::string_view(":=").contains(sign))) {
      return end;
    }
    from = text.substr(0, next + kFarthest / 4).find_first_of(",;}\n", next);
    if (from == text.npos || text[from] == '}') return at;
  }
  return at;
}

Span value_before_name(std::string_view text, std::size_t begin, std::size_t end) {
  if (over_word(text, begin, kValueWords) == begin) return {};
  text = text.substr(0, end + kFarthest);
  const std::size_t sign = after(text, after(text, end, kQuotes), " ");
  if (!std::string_view(":=").contains(at_or_nul(text, sign))) return {};
  const Span value = read_value(text, after(text, sign + 1, " "), " \t\n,;}");
  const std::size_t name = after(text, value.end, ",;\"'\\ \t\r\n");
  const std::size_t behind = over_word(text, name, kNameWords);
  const std::size_t key = after(text, behind, ":= \t\"'\\");
  if (name == value.end || behind == name || key == behind) return {};
  std::size_t key_end = key;
  while (key_end < text.size() && is_word(text[key_end])) ++key_end;
  return is_secret_name(text.substr(key, key_end - key)) ? value : Span{};
}

Span value_of_element(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr int kMaxTags = 4;
  const std::size_t closed = after(text, end, kQuotes);
  std::size_t tag = begin;  // where the tag's name begins, with a namespace such as "ns:"
  while (tag > 0 && begin - tag < kLongestWord &&
         (is_word(text[tag - 1]) || text[tag - 1] == ':')) {
    --tag;
  }
  const bool is_tag = tag > 0 && text[tag - 1] == '<';
  std::size_t at = closed;
  if (is_tag) {
    at = over_tag(text, tag - 1);
    if (at == tag - 1) return {};
  } else if (closed > end && at_or_nul(text, closed) == '>') {
    ++at;
  } else if (text.substr(closed).starts_with("</") && over_tag(text, closed) > closed) {
    at = after(text, over_tag(text, closed), kBlank);
    if (at_or_nul(text, at) != '<') return {};
  } else {
    return {};
  }
  for (int i = 0; i < kMaxTags; ++i) {
    const std::size_t next = after(text, at, kBlank);
    if (at_or_nul(text, next) != '<') {
      // The element must have an end tag, or the text must be cut off in its value. Otherwise the
      // tag may be a type or a usage: `vector<token> x`, `<password> [HOST]`.
      const std::size_t stop = std::min(text.find('<', next), text.size());
      const bool ends = text.substr(stop).starts_with("</");
      const bool cut = stop == text.size() && next == at && is_alnum(at_or_nul(text, at));
      return ends || cut ? Span{next, stop} : Span{};
    }
    if (at_or_nul(text, next + 1) == '/') return {};
    at = over_tag(text, next);
    if (at == next) return {};
  }
  return {};
}

Key key_at(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view kClosing = "\"'\\*`";
  Key key{.begin = begin, .word_end = end, .end = after(text, end, kClosing)};
  const char before = begin > 0 ? text[begin - 1] : '\0';
  key.closed = key.end > end && before != '\0' && kClosing.contains(before);
  const bool item = before == '[' && at_or_nul(text, key.end + 1) == '=';
  if (at_or_nul(text, key.end) == ']' && (key.closed || item)) {
    key.closed = true;
    ++key.end;
  }
  if (const std::size_t paired = over_value_word(text, begin, end); paired != end) {
    key.end = paired;
    key.closed = true;
  }
  key.end = over_index(text, key.end);
  // Skips an end tag between key and sign: `<b>KEY</b>: VALUE`
  if (const std::size_t tag = text.substr(key.end).starts_with("</") ? over_tag(text, key.end) : 0;
      tag > key.end && at_or_nul(text, tag) == ':') {
    key.end = tag;
  }
  key.sign = after(text, key.end, kBlank);
  while (text.substr(key.sign).starts_with("\\\n")) {  // the shell's continuation of a line
    key.sign = after(text, key.sign + 2, kBlank);
    key.value = key.sign;
  }
  const std::string_view rest = text.substr(key.sign);
  static constexpr auto kAssigning = words("=>", "==", ":=", "?=", "+=", "~=");
  const char sign = at_or_nul(text, key.sign);
  if (std::ranges::any_of(kAssigning, [rest](auto two) { return rest.starts_with(two); })) {
    key.mark = sign == ':' ? ':' : '=';
    key.value = after(text, key.sign + 2, "=");  // skips the third sign of JavaScript's "==="
  } else if (sign == '=' || (sign == ':' && !rest.starts_with("::")) ||
             (sign == ',' && key.closed)) {
    key.mark = sign;
    key.value = key.sign + 1;
  } else {
    key.mark = key.sign > key.end && sign != '\0' ? ' ' : '\0';
    key.value = std::max(key.value, key.end);
  }
  return key;
}

}  // namespace base
