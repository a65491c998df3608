#pragma once
// Names and sets of capabilities, by libcap. Sets are masks: bit n = capability n of
// linux/capability.h.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sandbox {

// "net_raw", "CAP_NET_RAW", "Net_Raw". Fails for a name that libcap does not know, and for one that
// the running kernel lacks. `option` names the place in errors.
envgen::Result<int> capability(std::string_view name, std::string_view option = "");
// "CAP_NET_RAW"; "CAP_63" for a number without a name.
std::string capability_name(int number);
// "CAP_CHOWN, CAP_KILL"; "none" for the empty set.
std::string capability_names(std::uint64_t set);

// One capability's mask.
[[nodiscard]] constexpr std::uint64_t capability_bit(int number) { return 1ULL << number; }

// What remains of `have` by --caps: "none" or "all"; a list of those to keep, "net_raw,kill" (what
// is not in `have` cannot be given and is an error); a list of those to take away,
// "-net_raw,-mknod" (one that is not in `have` is gone already). Lists of both kinds are an error.
// `option` names the place in errors.
envgen::Result<std::uint64_t> keep_capabilities(std::string_view list, std::uint64_t have,
                                                std::string_view option);

// Sets of the calling process.
envgen::Result<std::uint64_t> permitted_capabilities();
std::uint64_t bounding_capabilities();

// Changes of the calling process, for a child between fork and exec. All bits must be capabilities
// of the running kernel.
//
// Takes everything but `keep` out of the bounding set; needs CAP_SETPCAP in the effective set where
// there is something to take out.
envgen::Status drop_bounding(std::uint64_t keep);
envgen::Status set_capabilities(std::uint64_t permitted, std::uint64_t effective,
                                std::uint64_t inheritable);
// Makes the ambient set exactly `set`, which must be permitted and inheritable.
envgen::Status raise_ambient(std::uint64_t set);

}  // namespace sandbox
