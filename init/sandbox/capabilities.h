#pragma once
// Names and sets of capabilities, based on libcap. A set is a mask: bit n = capability n of
// linux/capability.h.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sandbox {

// Returns the number of a capability by its name: "net_raw", "CAP_NET_RAW", "Net_Raw". Fails for a
// name that libcap does not know, and for a capability that the running kernel does not have.
// `option` names the place in errors.
base::Result<int> capability(std::string_view name, std::string_view option = "");
// Returns the name of a capability: "CAP_NET_RAW", or "CAP_63" if it has none.
std::string capability_name(int number);
// Returns the names in a set: "CAP_CHOWN, CAP_KILL", or "none" for the empty set.
std::string capability_names(std::uint64_t set);

// Returns the mask of one capability.
[[nodiscard]] constexpr std::uint64_t capability_bit(int number) { return 1ULL << number; }

// Returns those of `have` that --caps leaves: none for "none", all for "all". A list such as
// "net_raw,kill" names the capabilities to keep; one that is not in `have` is an error. A list such
// as "-net_raw,-mknod" names those to remove; one that is not in `have` is ignored. A list of both
// kinds is an error. `option` names the place in errors.
base::Result<std::uint64_t> keep_capabilities(std::string_view list, std::uint64_t have,
                                              std::string_view option);

// Return a set of the calling process.
base::Result<std::uint64_t> permitted_capabilities();
std::uint64_t bounding_capabilities();

// The functions below change the calling process, for a child between fork and exec. All bits must
// be capabilities of the running kernel.
//
// drop_bounding() removes everything except `keep` from the bounding set. If there is anything to
// remove, it needs CAP_SETPCAP in the effective set.
base::Status drop_bounding(std::uint64_t keep);
base::Status set_capabilities(std::uint64_t permitted, std::uint64_t effective,
                              std::uint64_t inheritable);
// Makes the ambient set exactly `set`, which must be permitted and inheritable.
base::Status raise_ambient(std::uint64_t set);

}  // namespace sandbox
