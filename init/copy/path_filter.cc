#include "init/copy/path_filter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace copy {
namespace {

constexpr std::size_t kMaxBytes = 4096;

// Returns the size of the token of `pattern` that begins at `at`: one character, a set, or stars.
std::size_t token_size(std::string_view pattern, std::size_t at) {
  const std::string_view rest = pattern.substr(at);
  const bool begins = at == 0 || pattern[at - 1] == '/';
  if (begins && rest.starts_with("**/")) return 3;
  if (rest.starts_with("**")) return 2;
  if (rest[0] != '[') return 1;
  const std::size_t first = rest.size() > 1 && (rest[1] == '!' || rest[1] == '^') ? 2 : 1;
  const std::size_t close = rest.find(']', first + 1);  // a ] directly after the [ belongs to the
                                                        // set
  return close == std::string_view::npos ? 0 : close + 1;
}

// Returns whether a set contains a character. `set` is the text between the brackets.
bool is_in_set(std::string_view set, unsigned char c) {
  const bool inverted = set[0] == '!' || set[0] == '^';
  if (inverted) set.remove_prefix(1);
  bool found = false;
  while (!set.empty()) {
    const bool range = set.size() > 2 && set[1] == '-';
    const auto low = static_cast<unsigned char>(set[0]);
    const auto high = static_cast<unsigned char>(range ? set[2] : set[0]);
    found = found || (low <= c && c <= high);
    set.remove_prefix(range ? 3 : 1);
  }
  return found != inverted;
}

// Returns whether a token that stands for one character matches `c`.
bool takes(std::string_view token, char c) {
  if (token[0] == '?') return c != '/';
  if (token[0] == '[') {
    return c != '/' && is_in_set(token.substr(1, token.size() - 2), static_cast<unsigned char>(c));
  }
  return token[0] == c;
}

// Matches a pattern character by character. It follows all possible positions in the pattern at
// once, so that no pattern takes longer than its length times that of the path.
class Matcher {
 public:
  explicit Matcher(std::string_view pattern) : pattern_(pattern) {
    std::fill_n(now_, pattern.size() + 1, false);
    now_[0] = true;
  }

  bool matches(std::string_view path) {
    for (const char c : path) {
      if (!step(c)) return false;
    }
    return is_at_end();
  }

  // Returns whether the pattern matches a directory that contains `path`.
  bool matches_above(std::string_view path) {
    bool above = false;
    for (const char c : path) {
      above = above || (c == '/' && is_at_end());
      if (above || !step(c)) break;
    }
    return above;
  }

 private:
  static bool is_star(std::string_view token) { return token[0] == '*'; }

  bool is_at_end() {
    pass_over();
    return now_[pattern_.size()];
  }

  // Adds the positions that are reached if a star matches nothing more.
  void pass_over() {
    std::size_t size = 0;
    for (std::size_t at = 0; at < pattern_.size(); at += size) {
      size = token_size(pattern_, at);
      if (now_[at] && pattern_[at] == '*') now_[at + size] = true;
    }
  }

  // Returns the position after the token at `at` has read `c`; npos if the token does not match
  // `c`.
  [[nodiscard]] std::size_t next_place(std::size_t at, std::string_view token, char c) const {
    constexpr std::size_t kNowhere = std::string_view::npos;
    if (token.size() == 3 && is_star(token)) {
      // While the token **/ is within a name, the position is at its second *. Only a / leads back
      // to its begin.
      if (!now_[at] && !now_[at + 1]) return kNowhere;
      return c == '/' ? at : at + 1;
    }
    if (!now_[at]) return kNowhere;
    if (is_star(token)) return token.size() == 1 && c == '/' ? kNowhere : at;
    return takes(token, c) ? at + token.size() : kNowhere;
  }

  bool step(char c) {
    pass_over();
    std::fill_n(next_, pattern_.size() + 1, false);
    bool any = false;
    std::size_t size = 0;
    for (std::size_t at = 0; at < pattern_.size(); at += size) {
      size = token_size(pattern_, at);
      const std::size_t place = next_place(at, pattern_.substr(at, size), c);
      if (place == std::string_view::npos) continue;
      next_[place] = true;
      any = true;
    }
    std::swap(now_, next_);
    return any;
  }

  std::string_view pattern_;
  std::array<std::array<bool, kMaxBytes + 1>, 2>
      sets_;  // for each byte of a pattern: whether a match may be at that position
  bool* now_ = sets_[0].data();
  bool* next_ = sets_[1].data();
};

std::unexpected<base::Error> refuse(std::string_view option, std::string_view pattern,
                                    std::string found, std::string fix) {
  constexpr std::size_t kShown = 80;
  return base::fail("reading a pattern",
                    std::string(option) + " " + std::string(pattern.substr(0, kShown)),
                    std::move(found), std::move(fix));
}

}  // namespace

base::Result<std::vector<PathFilter::Pattern>> PathFilter::patterns_of(
    std::string_view option, const std::vector<std::string>& texts) {
  std::vector<Pattern> patterns;
  patterns.reserve(texts.size());
  for (const std::string& given : texts) {
    std::string_view text = given;
    Pattern pattern;
    while (text.ends_with('/')) {
      text.remove_suffix(1);
      pattern.directories_only = true;
    }
    pattern.whole_path = text.contains('/');
    while (text.starts_with('/')) text.remove_prefix(1);
    if (text.empty()) {
      return refuse(option, given, "an empty pattern", "name files, as in *.tmp");
    }
    if (text.size() > kMaxBytes) {
      return refuse(option, given, std::to_string(text.size()) + " bytes",
                    "write it with at most 4096");
    }
    std::size_t size = 0;
    for (std::size_t at = 0; at < text.size(); at += size) {
      size = token_size(text, at);
      if (size == 0) return refuse(option, given, "a [ without its ]", "write [[] for the sign");
    }
    pattern.text = text;
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

base::Result<PathFilter> PathFilter::make(const std::vector<std::string>& include,
                                          const std::vector<std::string>& exclude) {
  PathFilter filter;
  TRY_ASSIGN(auto included, patterns_of("--include", include));
  TRY_ASSIGN(auto excluded, patterns_of("--exclude", exclude));
  filter.include_ = std::move(included);
  filter.exclude_ = std::move(excluded);
  return filter;
}

bool PathFilter::matches(const std::vector<Pattern>& patterns, std::string_view path,
                         bool directory) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(patterns, [&](const Pattern& pattern) {
    if (pattern.directories_only && !directory) return false;
    return Matcher(pattern.text).matches(pattern.whole_path ? path : name);
  });
}

bool PathFilter::takes_file(std::string_view path) const {
  if (!exclude_.empty() && matches(exclude_, path, false)) return false;
  return include_.empty() || matches(include_, path, false) || lies_in_included(path);
}

bool PathFilter::lies_in_included(std::string_view path) const {
  const std::string_view parent = path.substr(0, std::min(path.rfind('/'), path.size()));
  if (parent.size() == path.size()) return false;
  return std::ranges::any_of(include_, [path, parent](const Pattern& pattern) {
    if (pattern.whole_path) return Matcher(pattern.text).matches_above(path);
    for (std::string_view rest = parent; !rest.empty();) {
      if (Matcher(pattern.text).matches(base::take_part(rest, '/'))) return true;
    }
    return false;
  });
}

bool PathFilter::enters(std::string_view directory) const {
  return exclude_.empty() || !matches(exclude_, directory, true);
}

std::string PathFilter::text() const {
  std::vector<std::string> lines;
  lines.reserve(include_.size() + exclude_.size());
  const auto add = [&lines](char sign, const Pattern& pattern) {
    std::string text = pattern.whole_path ? "/" + pattern.text : pattern.text;
    if (pattern.directories_only) text += '/';
    // The text contains the length of each pattern, because a pattern can contain any character.
    lines.push_back(sign + std::to_string(text.size()) + ":" + text);
  };
  for (const Pattern& pattern : include_) add('+', pattern);
  for (const Pattern& pattern : exclude_) add('-', pattern);
  std::ranges::sort(lines);
  lines.erase(std::ranges::unique(lines).begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace copy
