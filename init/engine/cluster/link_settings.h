#pragma once
// What the link's worker is told, and the messages between it and PID 1.

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"

namespace engine {

struct LinkSettings {
  std::string address;  // of node 0, by name or number
  int port = 0;
  std::uint32_t node = 0, node_count = 1;
  std::int32_t world_size = 0;     // as this node plans it
  std::uint64_t cluster = 0;       // digest of the list of nodes
  std::uint64_t life = 0;          // of this PID 1: a random number of its own, not of its worker's
  std::vector<std::string> names;  // by rank, may be shorter or empty
  std::string secret;              // "" = none
  std::string common;              // without a secret: what all nodes are told alike, for the key
  std::int64_t timeout_ms = 30'000;
  // lifecycle::Coordinator::Settings
  bool stops = true, loss_counts = true, stop_counts = true, together = true;
  std::int64_t restart_reset_ms = 0;
  bool elastic = false;  // the list of nodes changes, on one node before the next
  // Nodes that differ can never run together: each starts the ranks that it plans.
  bool must_agree = false;
  int free_port = 0;  // node 0: a port that must be free before a "go" (the job's master port); 0:
                      // none
  std::uint64_t node0_life = 0;  // Verdict::life, as this node's last worker heard it; 0: none did
  std::uint32_t restarts = 0;    // the start of this node then
  bool all_connected = false;    // LinkState::all_connected, as the last worker said it
  std::string socket;    // path of the local socket for `trainit status --cluster`; "" = none
  std::string recorder;  // hang_dumps.h: recorder_file
};

// A job that fails so soon may have no link yet: it waits for one to be made, until then and with
// its farewell.
inline constexpr std::int64_t kFirstMs = 3000;
inline constexpr std::int64_t kFirstFarewellMs = 1400;  // ARP asks again after a second

// Messages to PID 1 and from it, as workers/messages.h frames them.
inline constexpr std::uint32_t kLinkReport = 1;  // down: lifecycle::NodeReport; kEnded: farewell
inline constexpr std::uint32_t kLinkVerdict =
    1;  // up: lifecycle::NodeVerdict, when it is another one
inline constexpr std::uint32_t kLinkState = 2;    // up: LinkState
inline constexpr std::uint32_t kLinkWarning = 3;  // up: a text for the log
inline constexpr std::uint32_t kLinkKinds = 3;
inline constexpr std::uint32_t kMaxLinkMessage = 16U * 1024;

struct LinkState {
  bool up = false;             // connected to node 0; on node 0: it listens
  std::string text;            // for the log; "" = nothing to say
  bool all_connected = false;  // node 0: lifecycle::Coordinator::all_connected
  std::string absent;  // node 0: nodes that have not connected for long, as node_text names them

  bool operator==(const LinkState&) const = default;
};
inline void fields(envgen::FieldVisitor& v, LinkState& state) {
  v("up", state.up);
  v("text", state.text);
  v("all_connected", state.all_connected);
  v("absent", state.absent);
}

}  // namespace engine
