#pragma once
// What `trainit peer session` is asked for in SSH_ORIGINAL_COMMAND, beside commands of others: the
// words between the nodes of a job that is started over ssh.

namespace envgen {

inline constexpr const char* kPeerPing = "trainit-peer-ping";
inline constexpr const char* kPeerEnd = "trainit-peer-end";            // CODE
inline constexpr const char* kPeerLauncher = "trainit-peer-launcher";  // gone | back

}  // namespace envgen
