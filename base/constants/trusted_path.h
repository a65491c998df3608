#pragma once
// The PATH of programs that run with trainit's privileges while the job belongs to another user. It
// contains only system directories: those of packages, of drivers' tools, and of tools that a
// container runtime adds.

#include <string_view>

namespace base {

inline constexpr std::string_view kTrustedPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/Ascend/driver/tools:"
    "/usr/local/nvidia/bin:/usr/local/neuware/bin:/usr/lib/wsl/lib";

}  // namespace base
