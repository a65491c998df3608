#include "base/environ.h"

#include <algorithm>

#include "base/text.h"

namespace base {
namespace {

// Returns true if `entry` is "name=...". Looks at the '=' first, because that rules most entries
// out.
bool names(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

}  // namespace

std::optional<std::string_view> Environ::get(std::string_view name) const {
  const auto value = raw(name);
  return value && is_service_link(name, *value) ? std::nullopt : value;
}

std::string_view Environ::service_link(std::string_view name) const {
  const auto value = raw(name);
  return value && is_service_link(name, *value) ? *value : std::string_view();
}

// Returns true if `value` has the form tcp://10.3.2.1:2222 and `name` the form X_PORT, and if
// Kubernetes (X_SERVICE_HOST) or Docker (X_PORT_2222_TCP) has set another variable of the Service
// x.
bool Environ::is_service_link(std::string_view name, std::string_view value) const {
  constexpr std::string_view kPort = "_PORT";
  const std::string_view protocol = value.substr(0, value.find("://"));
  if (!name.ends_with(kPort) || protocol.size() == value.size()) return false;
  if (protocol != "tcp" && protocol != "udp" && protocol != "sctp") return false;
  const std::string_view stem = name.substr(0, name.size() - kPort.size());
  return std::ranges::any_of(entries_, [&](std::string_view entry) {
    if (!entry.starts_with(stem)) return false;
    entry.remove_prefix(stem.size());
    if (entry.starts_with("_SERVICE_HOST=")) return true;
    return entry.starts_with("_PORT_") && entry.size() > 6 && entry[6] >= '0' && entry[6] <= '9';
  });
}

std::optional<std::string_view> Environ::raw(std::string_view name) const {
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
    case EnvEdit::Kind::kPutInFront: {
      const std::string rest(get_or(edit.name, ""));
      return set(edit.name, rest.empty() ? edit.value : edit.value + ":" + rest);
    }
  }
}

std::string ignored_link(const Environ& env, std::string_view name) {
  const std::string_view link = env.service_link(name);
  if (link.empty()) return {};
  constexpr std::string_view kWhy =
      ": it is the link to a Service of that name; set enableServiceLinks: false in the pod's spec";
  return concat({"ignoring ", name, "=", quoted(link), kWhy});
}

std::string prepend_path(std::string_view element, std::string_view list) {
  std::string result(element);
  while (!list.empty()) {
    const std::string_view part = take_part(list, ':');
    if (part.empty() || part == element) continue;
    result += ':';
    result += part;
  }
  return result;
}

}  // namespace base
