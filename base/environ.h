#pragma once
// An environment as execve(2) takes it, and edits of an environment. A plan contains edits instead
// of a finished environment, because hooks and conda change the base between planning and starting.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace base {

struct EnvEdit {
  enum class Kind : unsigned char { kSet, kUnset, kSetDefault, kPrependPath, kPutInFront };
  Kind kind = Kind::kSet;
  std::string name;
  // Unused for kUnset. The value is one element of a ':' list for kPrependPath and kPutInFront.
  // Only kPrependPath removes empty elements from the list: for Python an empty element of
  // PYTHONPATH is the current directory.
  std::string value;

  bool operator==(const EnvEdit&) const = default;
};
inline void fields(FieldVisitor& v, EnvEdit& edit) {
  v("kind", edit.kind, EnvEdit::Kind::kPutInFront);
  v("name", edit.name);
  v("value", edit.value);
}

// An environment whose entries keep their order. An edit changes only the entries with its name.
// Entries that are no assignment, and duplicates of other names, stay. Like getenv(3), get()
// returns the first of duplicates, but it ignores a link to a Service.
class Environ {
 public:
  Environ() = default;
  explicit Environ(std::vector<std::string> entries) : entries_(std::move(entries)) {}

  [[nodiscard]] std::optional<std::string_view> get(std::string_view name) const;
  [[nodiscard]] std::string_view get_or(std::string_view name, std::string_view fallback) const;
  // Returns the value that Kubernetes (or `docker run --link`) gave X_PORT because a Service of the
  // namespace has the name x. Returns "" if the variable is unset or is not such a link. Each user
  // who may create a Service can choose this name, so the value is not a setting.
  [[nodiscard]] std::string_view service_link(std::string_view name) const;
  void set(std::string_view name, std::string_view value);
  void unset(std::string_view name);
  void apply(const EnvEdit& edit);

  [[nodiscard]] const std::vector<std::string>& entries() const { return entries_; }
  bool operator==(const Environ&) const = default;

 private:
  [[nodiscard]] std::optional<std::string_view> raw(std::string_view name) const;
  [[nodiscard]] bool is_service_link(std::string_view name, std::string_view value) const;

  std::vector<std::string> entries_;
};

// Returns the log line for a variable that is ignored because its value is a link to a Service, or
// "" if it is not.
std::string ignored_link(const Environ& env, std::string_view name);

// Puts `element` first in a ':' list and removes its other occurrences and empty elements. For the
// dynamic loader and for PATH an empty element means the current directory.
std::string prepend_path(std::string_view element, std::string_view list);

}  // namespace base
