#pragma once
// Errors as values. An error says what was being done, where, what was found, and what to do about
// it. Each layer adds context once. Only init/ prints an error, and it prints each error once.

#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace base {

// The reason why an operation has no result. Checks of a file or of the machine, which can find
// several problems, return findings instead (envgen/formats/finding.h).
struct Error {
  std::string what;   // what was being done: "reading the rank table"
  std::string where;  // the path, variable or position: "/user/config/jobstart_hccl.json: line 3,
                      // column 29"
  std::string found;  // what is wrong there: "a // comment, which JSON does not have"
  std::string fix;    // what the user can do: "remove the comments"
  bool not_listed = false;  // the list of nodes is valid, but this node is not in it

  bool operator==(const Error&) const = default;
};

// Returns one line: "<what>: <where>: found <found>; <fix>". Empty parts are left out.
std::string to_line(const Error& error);

template <class T>
using Result = std::expected<T, Error>;

using Status = Result<void>;

// Makes an error. `what` is a string_view, because most callers pass a constant. A std::string
// would need code at each call that makes the string.
[[nodiscard]] std::unexpected<Error> fail(std::string_view what, std::string where,
                                          std::string found, std::string fix);

// The error of a failed call, which converts to the result type of the calling function. It moves
// the error only once, where std::unexpected would need a second object.
template <class E>
struct PassedError {
  E& error;

  template <class T, class F>
  operator std::expected<T, F>() && {
    return std::expected<T, F>(std::unexpect, std::move(error));
  }
};
template <class E>
PassedError(E&) -> PassedError<E>;

}  // namespace base

// Macros that return from the calling function if a result is an error. The function's own result
// may have another type. TRY(f()) is for a result without a value, TRY_ASSIGN(auto x, f()) for a
// result with a value. TRY does not accept a value: if the value were a lock, it would be released
// at once.
#define TRY(...)                                                                     \
  do {                                                                               \
    auto&& try_result = (__VA_ARGS__);                                               \
    using TryValue = typename std::remove_cvref_t<decltype(try_result)>::value_type; \
    static_assert(std::is_void_v<TryValue>, "TRY_ASSIGN names it, or std::ignore");  \
    if (!try_result) return base::PassedError{try_result.error()};                   \
  } while (false)

#define TRY_ASSIGN(variable, ...) \
  TRY_ASSIGN_AS(TRY_NAME(try_result_, __LINE__), variable, __VA_ARGS__)
#define TRY_ASSIGN_AS(try_result, variable, ...)                 \
  auto try_result = (__VA_ARGS__);                               \
  if (!try_result) return base::PassedError{try_result.error()}; \
  variable = *std::move(try_result)
#define TRY_NAME(name, line) TRY_NAME_OF(name, line)
#define TRY_NAME_OF(name, line) name##line
