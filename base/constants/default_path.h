#pragma once
// The search path of programs if PATH is unset: that of glibc's execvp(3), of Python and of env(1).
// The path is an array and not a string object, because code that runs before libc reads it too.

namespace base {

inline constexpr char kDefaultPath[] = "/bin:/usr/bin";

}  // namespace base
