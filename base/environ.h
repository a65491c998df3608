#pragma once
// An environment as execve(2) takes it, and edits to one.
// A plan carries edits instead of a finished environment, because hooks and conda change the base
// between planning and starting.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace envgen {

struct EnvEdit {
  enum class Kind : unsigned char { kSet, kUnset, kSetDefault, kPrependPath, kPutInFront };
  Kind kind = Kind::kSet;
  std::string name;
  // Unused for kUnset; for kPrependPath one element of a ':' list; so for kPutInFront, which leaves
  // the rest as it is: to Python an empty element of PYTHONPATH is the current directory.
  std::string value;

  bool operator==(const EnvEdit&) const = default;
};
inline void fields(FieldVisitor& v, EnvEdit& edit) {
  v("kind", edit.kind, EnvEdit::Kind::kPutInFront);
  v("name", edit.name);
  v("value", edit.value);
}

// Entries keep their order, and what is not an assignment or stands twice stays as it came: an
// edit touches only the name it edits. get() answers as getenv(3) does, with the first of doubles,
// but does not see a link to a Service.
class Environ {
 public:
  Environ() = default;
  explicit Environ(std::vector<std::string> entries) : entries_(std::move(entries)) {}

  [[nodiscard]] std::optional<std::string_view> get(std::string_view name) const;
  [[nodiscard]] std::string_view get_or(std::string_view name, std::string_view fallback) const;
  // The value that Kubernetes (or `docker run --link`) gave X_PORT because a Service of the
  // namespace has the name x; "" = the variable is unset, or is no such link. Anybody who may make
  // a Service names it, so it is nobody's setting.
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

// A line about a link to a Service that takes the place of a variable; "" = there is none.
std::string ignored_link(const Environ& env, std::string_view name);

// Puts `element` first in a ':' list, removes other occurrences of it and empty elements (an empty
// element means the current directory to the dynamic loader and to PATH).
std::string prepend_path(std::string_view element, std::string_view list);

}  // namespace envgen
