#include "base/secrets/secrets.h"

#include <algorithm>
#include <array>

#include "base/constants/words.h"
#include "base/secrets/secret_operands.h"
#include "base/secrets/secret_text.h"

namespace envgen {
namespace {

struct Shape {
  std::string_view start;
  std::size_t least = 0;   // characters after it
  bool only_alnum = true;  // these have no '_' or '-', which paths and names have
};

bool has_known_shape(std::string_view word) {
  static constexpr std::array<Shape, 22> kShapes = {
      {{"hf_", 20},
       {"ghp_", 20},
       {"gho_", 20},
       {"ghs_", 20},
       {"ghu_", 20},
       {"ghr_", 20},
       {"npm_", 20},
       {"AKIA", 16},
       {"ASIA", 16},
       {"LTAI", 12},
       {"github_pat_", 20, false},
       {"dckr_pat_", 20, false},
       {"glpat-", 20, false},
       {"xoxa-", 20, false},
       {"xoxb-", 20, false},
       {"xoxp-", 20, false},
       {"wandb_v1_", 20, false},
       {"sk-", 40, false},
       {"nvapi-", 40, false},
       {"pypi-", 40, false},
       {"LS0tLS1CRUdJTi", 40},  // "-----BEGIN " in base64
       {"AIza", 35, false}}};
  constexpr std::size_t kLeastJwt = 40;
  if (word.starts_with("eyJ") && word.size() >= kLeastJwt && word.contains('.')) return true;
  return std::ranges::any_of(kShapes, [word](const Shape& shape) {
    if (!word.starts_with(shape.start)) return false;
    const std::string_view rest = word.substr(shape.start.size());
    return rest.size() >= shape.least && (!shape.only_alnum || std::ranges::all_of(rest, is_alnum));
  });
}

// What a text is: in a command and in what a process prints, "--token VALUE" has a value; in what
// is printed, so has a line "secret_key: VALUE".
enum class Text : unsigned char { kSentence, kCommand, kPrinted };

// A header of HTTP, whose value goes on over blanks.
bool is_header(const std::string& name) {
  return name == "AUTHORIZATION" || name == "PROXY_AUTHORIZATION" || name == "PRIVATE_TOKEN" ||
         name == "COOKIE" || (name.starts_with("X_") && is_secret_name(name));
}

// `Pwd=` of a connection string; the working directory is a path.
bool is_password(std::string_view text, std::size_t begin, std::string_view word, Span value) {
  if (value.empty() || canonical(word) != "PWD") return false;
  return (begin > 0 && text[begin - 1] == ';') ||
         !std::string_view("/.~").contains(text[value.begin]);
}

// "Bearer KEY"; not "the bearer token has expired".
Span value_of_bearer(std::string_view text, std::size_t end, std::string_view word) {
  static constexpr auto kOrdinary =
      words("TOKEN", "TOKENS", "AUTH", "AUTHENTICATION", "AUTHORIZATION", "REALM", "SCHEME");
  if (canonical(word) != "BEARER" || end == text.size() || text[end] != ' ') return {};
  const Span value = value_at(text, after(text, end, " "));
  const std::string_view next = text.substr(value.begin, value.end - value.begin);
  if (std::ranges::find(kOrdinary, canonical(next.substr(0, next.find_first_of("= ")))) !=
      kOrdinary.end()) {
    return {};
  }
  const bool letters = std::ranges::all_of(next, [](char c) { return c >= 'a' && c <= 'z'; });
  constexpr std::size_t kLongest = 15;  // of an ordinary word
  return word[0] == 'b' && letters && next.size() <= kLongest ? Span{} : value;
}

// Of YAML: the name begins its line, but for a list's dash and a rank's "[rank3]: ", and one word
// ends it; more are a sentence.
Span value_of_yaml(std::string_view text, std::size_t begin, std::size_t colon) {
  std::string_view before = text.substr(0, begin);
  before.remove_prefix(before.rfind('\n') + 1);
  while (!before.empty() && std::string_view(" \t-:").contains(before.back())) {
    before.remove_suffix(1);
  }
  if (!before.empty() && before.back() != ']') return {};
  const std::size_t start = after(text, colon + 1, " \t");
  if (start == colon + 1) return {};
  const std::size_t line_end = std::min(text.find_first_of("\r\n", start), text.size());
  const std::size_t word_end = std::min(text.find_first_of(" \t", start), line_end);
  if (start < line_end && kQuotes.contains(text[start])) return value_at(text, start);
  const std::size_t rest = after(text, word_end, " \t");
  return rest >= line_end || text[rest] == '#' ? Span{start, word_end} : Span{};
}

// Where the value of the name that ends at `end` stands; an empty span when it has none.
Span value_of(std::string_view text, std::size_t begin, std::size_t end, Text kind) {
  // Most words are parts of paths, or end the text: none of what follows would find a value.
  const auto is_followed_by = [&](std::string_view set) { return set.contains(text[end]); };
  if (end == text.size() ||
      (!is_followed_by("=:") && !is_followed_by(kQuotes) && !is_followed_by(kBlank))) {
    return {};
  }
  const std::string_view word = text.substr(begin, end - begin);
  const std::string name = canonical(word);
  const std::size_t closing = after(text, end, kQuotes);
  const std::size_t sign = after(text, closing, kBlank);
  const char next = sign < text.size() ? text[sign] : '\0';
  if (next == ':' && is_header(name)) {
    const std::size_t value = after(text, sign + 1, kBlank);
    return {value, std::min(text.find_first_of("\"'\\\n", value), text.size())};
  }
  const bool assigned = next == '=' && sign == end;
  if (assigned && is_password(text, begin, word, value_at(text, sign + 1))) {
    return value_at(text, sign + 1);
  }
  if (!is_secret_name(name)) return value_of_bearer(text, end, word);
  if (assigned) return value_at(text, sign + 1);
  // Without quotes it is a sentence: "the key: not found"; as a part of them a path: "/ssh/key":
  // no.
  const bool quoted =
      closing > end && begin > 0 && kQuotes.find(text[begin - 1]) != std::string_view::npos;
  if ((next == ':' || next == '=') && quoted) {
    const std::size_t value = after(text, sign + 1, kBlank);
    if (text.find_first_of(kQuotes, value) == value) return value_at(text, value);
    return {value, std::min(text.find_first_of(",}] \n", value), text.size())};
  }
  const bool option = word.starts_with('-') && closing == end && sign > end && next != '-';
  if (kind != Text::kSentence && option) return value_at(text, sign);
  if (kind == Text::kPrinted && next == ':' && sign == end) {
    if (const Span value = value_of_yaml(text, begin, sign); !value.empty()) return value;
  }
  return value_of_bearer(text, end, word);
}

std::string mask_words(std::string_view text, Text kind, Operands& operands) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_word(text[at])) {
      operands.pass(text, at);
      result += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const Span operand = operands.value_of(text, at, end);
    const Span named = value_of(text, at, end, kind);
    const Span value = named.empty() ? operand : named;
    if (!value.empty() && !is_stand_in(text, value)) {
      result.append(text.substr(at, value.begin - at)).append(kMask);
      end = value.end;
    } else {
      result += has_known_shape(word) ? kMask : word;
    }
    at = end;
  }
  return result;
}

std::string mask(std::string_view text, Text kind, Operands& operands) {
  if (text.contains("PRIVATE KEY-----")) return std::string(kMask);
  return mask_words(mask_addresses(text), kind, operands);
}

// "user:password@host:port", whatever the password holds.
std::string masked_proxy(std::string_view value) {
  const std::size_t at = value.rfind('@');
  if (at == std::string_view::npos) return std::string(value);
  const std::size_t scheme = value.find("://");
  const std::size_t begin = scheme < at ? scheme + 3 : 0;
  return std::string(value.substr(0, begin)).append(kMask).append(value.substr(at));
}

}  // namespace

std::string mask_secrets(std::string_view text) {
  Operands operands(true);
  return mask(text, Text::kSentence, operands);
}

std::string mask_printed(std::string_view text) {
  Operands operands(true);
  return mask(text, Text::kPrinted, operands);
}

std::string masked_value(std::string_view name, std::string_view value) {
  if (is_secret_name(name)) return std::string(kMask);
  Operands operands(false);
  const bool proxy = canonical(name).ends_with("PROXY");
  return mask(proxy ? masked_proxy(value) : std::string(value), Text::kCommand, operands);
}

std::string masked_entry(std::string_view entry) {
  const std::size_t equals = entry.find('=');
  Operands operands(false);
  if (equals == std::string_view::npos) return mask(entry, Text::kCommand, operands);
  const std::string_view name = entry.substr(0, equals);
  return std::string(name) + "=" + masked_value(name, entry.substr(equals + 1));
}

const std::string& EntryMask::of(const std::string& entry) {
  auto [known, is_new] = known_.try_emplace(entry);
  if (is_new) known->second = masked_entry(entry);
  return known->second;
}

std::vector<std::string> masked_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> masked;
  masked.reserve(arguments.size());
  bool secret_follows = false;
  bool script_follows = false;  // `sh -c`
  Operands operands(false);
  for (const std::string& argument : arguments) {
    const bool option = argument.starts_with('-');
    const std::size_t equals = argument.find('=');
    const std::string_view name = std::string_view(argument).substr(0, equals);
    // "HF_TOKEN=x", "--token=x", Hydra's "+hub.token=x"; not a script that holds one.
    const bool is_name = name.find_first_of(kBlank) == std::string_view::npos;
    const bool secret = is_name && (option || !script_follows) &&
                        is_secret_name(name.substr(name.starts_with('+') ? 1 : 0));
    const Span value = {equals == std::string::npos ? 0 : equals + 1, argument.size()};
    const bool taken = operands.takes(argument) || (secret_follows && !option);
    if (taken && !is_stand_in(argument, {0, argument.size()})) {
      masked.emplace_back(kMask);
    } else if (secret && equals != std::string::npos && !is_stand_in(argument, value)) {
      masked.push_back(argument.substr(0, equals + 1) + std::string(kMask));
    } else {
      masked.push_back(mask(argument, Text::kCommand, operands));
    }
    secret_follows = option && secret && equals == std::string::npos;
    script_follows = option && !argument.starts_with("--") && argument.ends_with('c');
  }
  return masked;
}

}  // namespace envgen
