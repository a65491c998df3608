#pragma once
// Errors as values: what was being done, where, what was found, and what to do about it.
// Context is added once per layer; init/ prints an error, and prints it once.

#include <expected>
#include <string>
#include <utility>

namespace envgen {

struct Error {
  std::string what;  // what was being done: "reading the rank table"
  std::string
      where;  // the path, variable or place: "/user/config/jobstart_hccl.json: line 3, column 29"
  std::string found;  // what was found there: "a // comment, which JSON does not have"
  std::string fix;    // what to do: "remove the comments"

  bool operator==(const Error&) const = default;
};

// One line: "<what>: <where>: found <found>; <fix>". Empty parts are left out.
std::string to_line(const Error& error);

template <class T>
using Result = std::expected<T, Error>;

using Status = Result<void>;

[[nodiscard]] inline std::unexpected<Error> fail(std::string what, std::string where,
                                                 std::string found, std::string fix) {
  return std::unexpected(
      Error{std::move(what), std::move(where), std::move(found), std::move(fix)});
}

}  // namespace envgen
