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
  // The value to set, for kPrependPath and kPutInFront one element of a ':' list. Unused for
  // kUnset. kPrependPath also removes empty elements from the list. kPutInFront keeps them, because
  // an empty element of PYTHONPATH means the current directory for Python.
  std::string value;

  bool operator==(const EnvEdit&) const = default;
};
inline void fields(FieldVisitor& v, EnvEdit& edit) {
  v("kind", edit.kind, EnvEdit::Kind::kPutInFront);
  v("name", edit.name);
  v("value", edit.value);
}

// An environment whose entries keep their order. An edit of one variable leaves the entries of all
// others unchanged, even duplicates and entries without '='. If a variable has several entries,
// get() uses the first one, like getenv(3). If its value is a service_link(), get() returns
// nullopt.
class Environ {
 public:
  Environ() = default;
  explicit Environ(std::vector<std::string> entries) : entries_(std::move(entries)) {}

  [[nodiscard]] std::optional<std::string_view> get(std::string_view name) const;
  [[nodiscard]] std::string_view get_or(std::string_view name, std::string_view fallback) const;
  // Returns the value of the variable X_PORT if Kubernetes (or `docker run --link`) has set it,
  // because the namespace has a Service with the name x. Returns "" if the variable is unset or was
  // not set in that way. Any user who can create a Service can choose its name, so trainit does not
  // read such a value as a setting.
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

// Returns the log line for a variable that is ignored because its value is a service_link(), or ""
// if the value is not such a link.
std::string ignored_link(const Environ& env, std::string_view name);

// Puts `element` first in a ':' list and removes its other occurrences and empty elements. For the
// dynamic loader and for PATH an empty element means the current directory.
std::string prepend_path(std::string_view element, std::string_view list);

}  // namespace base
