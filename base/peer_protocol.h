#pragma once
// Commands that the nodes of a job send each other over ssh, if an ssh launcher starts the job.
// `trainit peer session` finds the command in SSH_ORIGINAL_COMMAND. Any other text in that variable
// is a user's command.

namespace base {

inline constexpr const char* kPeerPing = "trainit-peer-ping";
inline constexpr const char* kPeerEnd = "trainit-peer-end";  // followed by an exit code
// followed by "gone" or "back"
inline constexpr const char* kPeerLauncher = "trainit-peer-launcher";

}  // namespace base
