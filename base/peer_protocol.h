#pragma once
// Commands between the nodes of a job that is started over ssh. `trainit peer session` receives
// them in SSH_ORIGINAL_COMMAND. Any other text there is a user's command.

namespace base {

inline constexpr const char* kPeerPing = "trainit-peer-ping";
inline constexpr const char* kPeerEnd = "trainit-peer-end";            // followed by CODE
inline constexpr const char* kPeerLauncher = "trainit-peer-launcher";  // followed by gone | back

}  // namespace base
