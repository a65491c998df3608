#include "envgen/environ.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace envgen {
namespace {

bool names(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

}  // namespace

std::optional<std::string_view> Environ::get(std::string_view name) const {
  for (const std::string& entry : entries_) {
    if (names(entry, name)) return std::string_view(entry).substr(name.size() + 1);
  }
  return std::nullopt;
}

std::string_view Environ::get_or(std::string_view name, std::string_view fallback) const {
  return get(name).value_or(fallback);
}

void Environ::set(std::string_view name, std::string_view value) {
  std::string entry(name);
  entry += '=';
  entry += value;
  auto is_name = [name](const std::string& other) { return names(other, name); };
  auto first = std::ranges::find_if(entries_, is_name);
  if (first == entries_.end()) {
    entries_.push_back(std::move(entry));
    return;
  }
  *first = std::move(entry);
  entries_.erase(std::remove_if(first + 1, entries_.end(), is_name), entries_.end());
}

void Environ::unset(std::string_view name) {
  std::erase_if(entries_, [name](const std::string& entry) { return names(entry, name); });
}

void Environ::apply(const EnvEdit& edit) {
  switch (edit.kind) {
    case EnvEdit::Kind::kSet:
      return set(edit.name, edit.value);
    case EnvEdit::Kind::kUnset:
      return unset(edit.name);
    case EnvEdit::Kind::kSetDefault:
      if (get_or(edit.name, "").empty()) set(edit.name, edit.value);
      return;
    case EnvEdit::Kind::kPrependPath:
      return set(edit.name, prepend_path(edit.value, get_or(edit.name, "")));
  }
}

std::string prepend_path(std::string_view element, std::string_view list) {
  std::string result(element);
  while (!list.empty()) {
    std::size_t colon = list.find(':');
    std::string_view part = list.substr(0, colon);
    list.remove_prefix(colon == std::string_view::npos ? list.size() : colon + 1);
    if (part.empty() || part == element) continue;
    result += ':';
    result += part;
  }
  return result;
}

bool is_secret_name(std::string_view name) {
  static constexpr std::array<std::string_view, 11> kMarks = {
      "PASSWORD", "PASSWD", "PASSPHRASE",  "SECRET",     "CREDENTIAL", "API_KEY",
      "APIKEY",   "COOKIE", "PRIVATE_KEY", "ACCESS_KEY", "ACCESSKEY"};
  // Too short to look for inside other words: a part between underscores. AK and SK are Huawei's.
  static constexpr std::array<std::string_view, 9> kParts = {"AK",  "SK",   "PASS", "PWD", "PAT",
                                                             "KEY", "AUTH", "DSN",  "JWT"};
  const std::string name_upper = upper(name);
  if (name_upper == "PWD" || name_upper == "OLDPWD") return false;  // the working directory
  auto contains = [&name_upper](std::string_view mark) {
    return name_upper.find(mark) != std::string::npos;
  };
  const std::string framed = "_" + name_upper + "_";
  auto has_part = [&framed](std::string_view part) {
    return framed.find("_" + std::string(part) + "_") != std::string::npos;
  };
  // At the end only: tokenizers and numbers of tokens are no secrets.
  if (name_upper.ends_with("TOKEN")) return true;
  return std::ranges::any_of(kMarks, contains) || std::ranges::any_of(kParts, has_part);
}

std::string mask_url_credentials(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t scheme = text.find("://");
    if (scheme == std::string_view::npos) return result + std::string(text);
    const std::size_t start = scheme + 3;
    const std::size_t end = text.find_first_of("/ \t\n\"'?#", start);
    const std::string_view authority = text.substr(start, end - start);
    const std::size_t at = authority.rfind('@');
    result += text.substr(0, start);
    result += at == std::string_view::npos ? authority : "***" + std::string(authority.substr(at));
    if (end == std::string_view::npos) return result;
    text.remove_prefix(end);
  }
}

std::string masked_value(std::string_view name, std::string_view value) {
  return is_secret_name(name) ? "***" : mask_url_credentials(value);
}

std::string masked_entry(std::string_view entry) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return std::string(entry);
  const std::string_view name = entry.substr(0, equals);
  return std::string(name) + "=" + masked_value(name, entry.substr(equals + 1));
}

std::vector<std::string> masked_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> masked;
  masked.reserve(arguments.size());
  bool secret_follows = false;
  for (const std::string& argument : arguments) {
    std::string_view name = argument;
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    const bool option = argument.starts_with('-');
    const std::size_t equals = argument.find('=');
    std::string dashes_to_underscores(name.substr(0, name.find('=')));
    std::ranges::replace(dashes_to_underscores, '-', '_');
    const bool secret = option && is_secret_name(dashes_to_underscores);
    if (secret_follows && !option) {
      masked.emplace_back("***");
    } else if (secret && equals != std::string::npos) {
      masked.push_back(argument.substr(0, equals + 1) + "***");
    } else {
      masked.push_back(mask_url_credentials(argument));
    }
    secret_follows = secret && equals == std::string::npos;
  }
  return masked;
}

}  // namespace envgen
