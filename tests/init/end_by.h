#pragma once
// An exception as the product has it: its functions have no tables, so nothing above is unwound,
// not even a test that was forked.

namespace child {

template <typename T>
[[noreturn]] void throw_it(const T& thrown) {
  throw T(thrown);
}
template <typename T>
[[noreturn]] void end_by(const T& thrown) noexcept {
  throw_it(thrown);
}

}  // namespace child
