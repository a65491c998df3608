#include "envgen/formats/nodelist.h"

#include <cstdint>
#include <optional>

#include "base/text.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading a Slurm host list";
// Maximum number of digits, so that the arithmetic below cannot overflow. Node names in a Slurm
// configuration have fewer.
constexpr std::size_t kMaxDigits = 18;

struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::size_t width = 0;  // number of digits of the low end; numbers are padded to it with zeros
};

// A host pattern: lists of words, whose combinations are the hosts. Each list has the text before a
// bracket with each number in the bracket.
struct Pattern {
  std::vector<std::vector<std::string>> groups;
  std::string suffix;
};

bool is_separator(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\n'; }

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

std::optional<std::uint64_t> number(std::string_view text) {
  return text.size() > kMaxDigits ? std::nullopt : base::parse_number<std::uint64_t>(text);
}

std::unexpected<base::Error> malformed(std::string_view where, std::string found) {
  return base::fail(kReading, std::string(where), std::move(found),
                    "write it as Slurm does: n[1-3,07],login");
}

std::unexpected<base::Error> too_many(std::string_view where) {
  return base::fail(kReading, std::string(where),
                    "more than " + std::to_string(kMaxHosts) + " hosts",
                    "is there a digit too many in a range?");
}

base::Result<Range> parse_range(std::string_view text, std::string_view where) {
  std::size_t dash = text.find('-');
  std::string_view low = text.substr(0, dash);
  std::string_view high = dash == std::string_view::npos ? low : text.substr(dash + 1);
  auto first = number(low);
  auto last = number(high);
  if (!first || !last || *last < *first) {
    return malformed(where, base::quoted(text) + ", which is no range");
  }
  return Range{*first, *last, low.size()};
}

// Expands "1-3,07" after "n": n1 n2 n3 n07.
base::Result<std::vector<std::string>> parse_group(const std::string& prefix, std::string_view text,
                                                   std::string_view where) {
  std::vector<std::string> words;
  while (true) {
    std::size_t comma = text.find(',');
    TRY_ASSIGN(auto range, parse_range(text.substr(0, comma), where));
    if (range.high - range.low >= kMaxHosts - words.size()) return too_many(where);
    for (std::uint64_t number = range.low; number <= range.high; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < range.width) digits.insert(0, range.width - digits.size(), '0');
      words.push_back(prefix + digits);
    }
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

// Parses one host or one product of ranges, from text[at] to the next separator outside of
// brackets.
base::Result<Pattern> parse_pattern(std::string_view text, std::size_t& at,
                                    std::string_view where) {
  Pattern pattern;
  for (; at < text.size() && !is_separator(text[at]); ++at) {
    if (text[at] == '[') {
      std::size_t close = text.find(']', at);
      if (close == std::string_view::npos) return malformed(where, "a [ without its ]");
      TRY_ASSIGN(auto words,
                 parse_group(pattern.suffix, text.substr(at + 1, close - at - 1), where));
      pattern.groups.push_back(std::move(words));
      pattern.suffix.clear();
      at = close;
    } else if (is_name_character(text[at])) {
      pattern.suffix += text[at];
    } else if (text[at] == ']') {
      return malformed(where, "a ] without its [");
    } else {
      return malformed(where, base::quoted(text.substr(at, 1)) + " in a host name");
    }
  }
  // Refuses a "-" at the beginning, because a program that gets the host as an argument would read
  // it as an option.
  const bool option = pattern.groups.empty() ? pattern.suffix.starts_with('-')
                                             : pattern.groups[0][0].starts_with('-');
  if (option) return malformed(where, "a host name that begins with \"-\"");
  return pattern;
}

// Appends hosts in Slurm's order. The last group changes fastest; the groups before it act as one,
// in which the first changes fastest.
base::Status append_hosts(const Pattern& pattern, std::vector<std::string>& hosts,
                          std::string_view where) {
  const auto& groups = pattern.groups;
  std::size_t count = 1;
  for (const auto& group : groups) {
    count *= group.size();
    if (count > kMaxHosts) return too_many(where);
  }
  if (hosts.size() + count > kMaxHosts) return too_many(where);
  for (std::size_t i = 0; i < count; ++i) {
    std::string host;
    std::size_t last_size = groups.empty() ? 1 : groups.back().size();
    std::size_t rest = i / last_size;
    for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
      host += groups[g][rest % groups[g].size()];
      rest /= groups[g].size();
    }
    if (!groups.empty()) host += groups.back()[i % last_size];
    hosts.push_back(host + pattern.suffix);
  }
  return {};
}

}  // namespace

base::Result<std::vector<std::string>> expand_nodelist(std::string_view text,
                                                       std::string_view where) {
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < text.size();) {
    if (is_separator(text[at])) {
      ++at;
      continue;
    }
    TRY_ASSIGN(auto pattern, parse_pattern(text, at, where));
    TRY(append_hosts(pattern, hosts, where));
  }
  if (hosts.empty()) return malformed(where, "no host");
  return hosts;
}

base::Result<std::vector<int>> expand_counts(std::string_view text, std::string_view where) {
  auto bad = [&where](std::string_view item) {
    return base::fail("reading Slurm's tasks per node", std::string(where), base::quoted(item),
                      "write it as Slurm does: 2(x3),1");
  };
  std::vector<int> counts;
  while (true) {
    std::size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    std::string_view value = item;
    std::optional<std::uint64_t> repeat = 1;
    if (std::size_t open = item.find("(x"); open != std::string_view::npos) {
      value = item.substr(0, open);
      std::string_view times = item.substr(open + 2);
      if (!times.ends_with(')')) return bad(item);
      times.remove_suffix(1);
      repeat = number(times);
    }
    auto count = number(value);
    if (!count || !repeat || *count > kMaxHosts || *repeat == 0) return bad(item);
    if (*repeat > kMaxHosts - counts.size()) return too_many(where);
    counts.insert(counts.end(), static_cast<std::size_t>(*repeat), static_cast<int>(*count));
    if (comma == std::string_view::npos) return counts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace envgen
