#pragma once
// The PATH of what runs with trainit's rights while the job is another user's: the directories of
// packages, and those in which drivers and their container runtimes put tools.

#include <string_view>

namespace envgen {

inline constexpr std::string_view kTrustedPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/Ascend/driver/tools:"
    "/usr/local/nvidia/bin:/usr/local/neuware/bin:/usr/lib/wsl/lib";

}  // namespace envgen
