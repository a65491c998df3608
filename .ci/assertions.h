#pragma once
// libstdc++'s assertions as a trap, in every file (-include): the texts that they print, with the
// names of templates, would be 100 KB of the binary. GCC has no switch for it.

#include <cstddef>

#if defined(_GLIBCXX_ASSERTIONS) && defined(__glibcxx_assert_impl)
#undef __glibcxx_assert_impl
#define __glibcxx_assert_impl(condition)                        \
  if (__builtin_expect(!static_cast<bool>(condition), false)) { \
    __glibcxx_constexpr_assert(false);                          \
    __builtin_trap();                                           \
  }
#endif
