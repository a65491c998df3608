#pragma once
// Errors as values: what was being done, where, what was found, and what to do about it.
// Context is added once per layer; init/ prints an error, and prints it once.

#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace envgen {

struct Error {
  std::string what;  // what was being done: "reading the rank table"
  std::string
      where;  // the path, variable or place: "/user/config/jobstart_hccl.json: line 3, column 29"
  std::string found;        // what was found there: "a // comment, which JSON does not have"
  std::string fix;          // what to do: "remove the comments"
  bool not_listed = false;  // the list of nodes is good, and this one is not in it

  bool operator==(const Error&) const = default;
};

// One line: "<what>: <where>: found <found>; <fix>". Empty parts are left out.
std::string to_line(const Error& error);

template <class T>
using Result = std::expected<T, Error>;

using Status = Result<void>;

// `what` is a constant at most places, of which each would need code to make a string.
[[nodiscard]] std::unexpected<Error> fail(std::string_view what, std::string where,
                                          std::string found, std::string fix);

// An error on its way to a caller's result of another type: moved once, where std::unexpected needs
// a second object.
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

}  // namespace envgen

// Pass an error on to the caller, whose own result may hold something else: TRY(f()); where there
// is no value, TRY_ASSIGN(auto x, f()); for one. A value may be locks, which would end with TRY.
#define TRY(...)                                                                     \
  do {                                                                               \
    auto&& try_result = (__VA_ARGS__);                                               \
    using TryValue = typename std::remove_cvref_t<decltype(try_result)>::value_type; \
    static_assert(std::is_void_v<TryValue>, "TRY_ASSIGN names it, or std::ignore");  \
    if (!try_result) return envgen::PassedError{try_result.error()};                 \
  } while (false)

#define TRY_ASSIGN(variable, ...) \
  TRY_ASSIGN_AS(TRY_NAME(try_result_, __LINE__), variable, __VA_ARGS__)
#define TRY_ASSIGN_AS(try_result, variable, ...)                   \
  auto try_result = (__VA_ARGS__);                                 \
  if (!try_result) return envgen::PassedError{try_result.error()}; \
  variable = *std::move(try_result)
#define TRY_NAME(name, line) TRY_NAME_OF(name, line)
#define TRY_NAME_OF(name, line) name##line
