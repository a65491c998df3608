#include "envgen/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace envgen {
namespace {

constexpr std::string_view kMask = "***";
constexpr std::string_view kBlank = " \t\n\r\f\v";
constexpr std::string_view kQuotes = "\"'\\";  // '\' stands before a quote within quotes

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Of names, options and tokens.
bool is_word(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }

// "--hub.api-key" -> "HUB_API_KEY"
std::string canonical(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string result(name);
  std::ranges::transform(result, result.begin(), [](unsigned char c) {
    return c == '-' || c == '.' ? '_' : static_cast<char>(std::toupper(c));
  });
  return result;
}

struct Shape {
  std::string_view start;
  std::size_t least = 0;   // characters after it
  bool only_alnum = true;  // these have no '_' or '-', which paths and names have
};

bool has_known_shape(std::string_view word) {
  static constexpr std::array<Shape, 21> kShapes = {{{"hf_", 20},
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
                                                     {"AIza", 35, false}}};
  constexpr std::size_t kLeastJwt = 40;
  if (word.starts_with("eyJ") && word.size() >= kLeastJwt && word.contains('.')) return true;
  return std::ranges::any_of(kShapes, [word](const Shape& shape) {
    if (!word.starts_with(shape.start)) return false;
    const std::string_view rest = word.substr(shape.start.size());
    return rest.size() >= shape.least && (!shape.only_alnum || std::ranges::all_of(rest, is_alnum));
  });
}

// A header of HTTP, whose value goes on over blanks.
bool is_header(const std::string& name) {
  return name == "AUTHORIZATION" || name == "PROXY_AUTHORIZATION" || name == "PRIVATE_TOKEN" ||
         name == "COOKIE" || (name.starts_with("X_") && is_secret_name(name));
}

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// From `at` over any of `set`.
std::size_t after(std::string_view text, std::size_t at, std::string_view set) {
  return std::min(text.find_first_not_of(set, at), text.size());
}

// The value that starts at `at`: what is between quotes, else up to where a word of a shell or of
// an address ends.
Span value_at(std::string_view text, std::size_t at) {
  const std::size_t begin = after(text, at, kQuotes);
  const bool quoted = begin > at;
  return {begin, std::min(text.find_first_of(quoted ? "\"'\\" : " \t\n\r\"'\\&;|<>()`", begin),
                          text.size())};
}

// Where the value of the name that ends at `end` stands; an empty span when it has none.
Span value_of(std::string_view text, std::size_t begin, std::size_t end, bool command) {
  const std::string_view word = text.substr(begin, end - begin);
  const std::string name = canonical(word);
  const std::size_t closing = after(text, end, kQuotes);
  const std::size_t sign = after(text, closing, kBlank);
  const char next = sign < text.size() ? text[sign] : '\0';
  if (next == ':' && is_header(name)) {
    const std::size_t value = after(text, sign + 1, kBlank);
    return {value, std::min(text.find_first_of("\"'\\\n", value), text.size())};
  }
  if (!is_secret_name(name)) return {};
  if (next == '=' && sign == end) return value_at(text, sign + 1);
  // Without quotes it is a sentence: "the key: not found"; as a part of them a path: "/ssh/key":
  // no.
  const bool quoted =
      closing > end && begin > 0 && kQuotes.find(text[begin - 1]) != std::string_view::npos;
  if ((next == ':' || next == '=') && quoted) {
    const std::size_t value = after(text, sign + 1, kBlank);
    if (text.find_first_of(kQuotes, value) == value) return value_at(text, value);
    return {value, std::min(text.find_first_of(",}] \n", value), text.size())};
  }
  if (command && word.starts_with('-') && closing == end && sign > end && next != '-') {
    return value_at(text, sign);
  }
  return {};
}

std::string mask_words(std::string_view text, bool command) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_word(text[at])) {
      result += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const Span value = value_of(text, at, end, command);
    if (value.end > value.begin) {
      result.append(text.substr(at, value.begin - at)).append(kMask);
      end = value.end;
    } else {
      result += has_known_shape(word) ? kMask : word;
    }
    at = end;
  }
  return result;
}

std::string mask(std::string_view text, bool command) {
  if (text.contains("PRIVATE KEY-----")) return std::string(kMask);
  return mask_words(mask_url_credentials(text), command);
}

// "https://conda.anaconda.org/t/TOKEN/channel": the length of "/t/TOKEN", else 0.
std::size_t token_in_path(std::string_view path) {
  if (!path.starts_with("/t/")) return 0;
  const std::size_t end = path.find_first_of("/ \t\n\"'?#", 3);
  return end == std::string_view::npos ? path.size() : end;
}

// `wandb login KEY`, `huggingface-cli login KEY`: nothing names what follows.
bool is_login_operand(std::string_view argument) {
  constexpr std::size_t kLeast = 20;
  return argument.size() >= kLeast && std::ranges::all_of(argument, is_word) &&
         !argument.starts_with('-');
}

std::string mask_logins(std::string_view script) {
  std::string result;
  bool after_login = false;
  while (!script.empty()) {
    const std::size_t blank = after(script, 0, kBlank);
    result += script.substr(0, blank);
    script.remove_prefix(blank);
    const std::string_view word =
        script.substr(0, std::min(script.find_first_of(kBlank), script.size()));
    result += after_login && is_login_operand(word) ? kMask : word;
    after_login = word == "login" || (after_login && word.starts_with('-'));
    script.remove_prefix(word.size());
  }
  return result;
}

}  // namespace

bool is_secret_name(std::string_view name) {
  static constexpr std::array<std::string_view, 18> kMarks = {
      "PASSWORD",   "PASSWD",      "PASSPHRASE", "PASSCODE",  "SECRET",
      "CREDENTIAL", "API_KEY",     "APIKEY",     "COOKIE",    "WEBHOOK",
      "AKSK",       "PRIVATE_KEY", "ACCESS_KEY", "ACCESSKEY", "CONNECTION_STRING",
      "SIGNATURE",  "SSHPASS",     "CONN_STR"};
  // Too short to look for inside other words: a part between underscores. AK and SK are Huawei's.
  static constexpr std::array<std::string_view, 13> kParts = {
      "AK", "SK", "PASS", "PWD", "PW", "PAT", "KEY", "AUTH", "DSN", "JWT", "SIG", "SAS", "BEARER"};
  const std::string upper = canonical(name);
  if (upper == "PWD" || upper == "OLDPWD") return false;  // the working directory
  auto contains = [&upper](std::string_view mark) { return upper.contains(mark); };
  const std::string framed = "_" + upper + "_";
  auto has_part = [&framed](std::string_view part) {
    return framed.contains("_" + std::string(part) + "_");
  };
  // At the end only: tokenizers and numbers of tokens are no secrets, nor are keyboards.
  if (upper.ends_with("TOKEN") || upper.ends_with("KEY")) return true;
  return std::ranges::any_of(kMarks, contains) || std::ranges::any_of(kParts, has_part);
}

std::string mask_url_credentials(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t scheme = text.find("://");
    if (scheme == std::string_view::npos) return result.append(text);
    const std::size_t start = scheme + 3;
    const std::size_t end = std::min(text.find_first_of("/ \t\n\"'?#", start), text.size());
    const std::string_view authority = text.substr(start, end - start);
    const std::size_t at = authority.rfind('@');
    result += text.substr(0, start);
    if (at != std::string_view::npos) result += kMask;
    result += at == std::string_view::npos ? authority : authority.substr(at);
    text.remove_prefix(end);
    if (const std::size_t token = token_in_path(text); token > 0) {
      result.append("/t/").append(kMask);
      text.remove_prefix(token);
    }
  }
}

std::string mask_secrets(std::string_view text) { return mask(text, false); }

std::string masked_value(std::string_view name, std::string_view value) {
  return is_secret_name(name) ? std::string(kMask) : mask(value, true);
}

std::string masked_entry(std::string_view entry) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return mask(entry, true);
  const std::string_view name = entry.substr(0, equals);
  return std::string(name) + "=" + masked_value(name, entry.substr(equals + 1));
}

std::vector<std::string> masked_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> masked;
  masked.reserve(arguments.size());
  bool secret_follows = false;
  bool login = false;
  for (const std::string& argument : arguments) {
    const bool option = argument.starts_with('-');
    const std::size_t equals = argument.find('=');
    const std::string_view name = std::string_view(argument).substr(0, equals);
    // "HF_TOKEN=x", "--token=x", Hydra's "+hub.token=x"; not a script that holds one.
    const bool is_name = name.find_first_of(kBlank) == std::string_view::npos;
    const bool secret = is_name && is_secret_name(name.substr(name.starts_with('+') ? 1 : 0));
    if ((secret_follows && !option) || (login && is_login_operand(argument))) {
      masked.emplace_back(kMask);
    } else if (secret && equals != std::string::npos) {
      masked.push_back(argument.substr(0, equals + 1) + std::string(kMask));
    } else {
      masked.push_back(mask_logins(mask(argument, true)));
    }
    secret_follows = option && secret && equals == std::string::npos;
    login = argument == "login" || (login && option);
  }
  return masked;
}

}  // namespace envgen
