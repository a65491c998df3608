#pragma once
// An environment as execve(2) takes it, and edits to one.
// A plan carries edits instead of a finished environment, because hooks and conda change the base
// between planning and starting.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace envgen {

struct EnvEdit {
  enum class Kind : unsigned char { kSet, kUnset, kSetDefault, kPrependPath };
  Kind kind = Kind::kSet;
  std::string name;
  std::string value;  // unused for kUnset; for kPrependPath one element of a ':' list

  bool operator==(const EnvEdit&) const = default;
};

// Entries keep their order, and what is not an assignment or stands twice stays as it came: an
// edit touches only the name it edits. get() answers as getenv(3) does, with the first of doubles.
class Environ {
 public:
  Environ() = default;
  explicit Environ(std::vector<std::string> entries) : entries_(std::move(entries)) {}

  [[nodiscard]] std::optional<std::string_view> get(std::string_view name) const;
  [[nodiscard]] std::string_view get_or(std::string_view name, std::string_view fallback) const;
  void set(std::string_view name, std::string_view value);
  void unset(std::string_view name);
  void apply(const EnvEdit& edit);

  [[nodiscard]] const std::vector<std::string>& entries() const { return entries_; }
  bool operator==(const Environ&) const = default;

 private:
  std::vector<std::string> entries_;
};

// Puts `element` first in a ':' list, removes other occurrences of it and empty elements (an empty
// element means the current directory to the dynamic loader and to PATH).
std::string prepend_path(std::string_view element, std::string_view list);

// True for a variable whose value must not be shown: PASSWORD, SECRET, ACCESS_KEY and their like
// anywhere in the name, TOKEN at its end, or AK, SK, KEY, PASS, PWD, AUTH and their like between
// underscores.
bool is_secret_name(std::string_view name);

// "scheme://user:password@host" -> "scheme://***@host", wherever it stands in `text`.
std::string mask_url_credentials(std::string_view text);

// What may be shown of a variable: "***" for a secret's value, and no credentials in addresses.
std::string masked_value(std::string_view name, std::string_view value);
std::string masked_entry(std::string_view entry);

// The same for a command: --password=X, --token X and addresses.
std::vector<std::string> masked_arguments(const std::vector<std::string>& arguments);

}  // namespace envgen
