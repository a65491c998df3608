#pragma once
// The settings of the link's worker, and the messages between the worker and PID 1.

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"

namespace engine {

struct LinkSettings {
  std::string address;  // node 0's name or address
  int port = 0;
  std::uint32_t node = 0, node_count = 1;
  std::int32_t world_size = 0;     // ranks of the whole job, as this node plans it
  std::uint64_t cluster = 0;       // digest of the list of nodes
  std::uint64_t instance = 0;      // id of this PID 1: a random number, which all its workers share
  std::vector<std::string> names;  // nodes' names by rank; may be shorter or empty
  std::string secret;              // "" = none
  std::string common;              // without a secret: common_key() of the nodes, for the key
  std::int64_t timeout_ms = 30'000;
  // lifecycle::Coordinator::Settings
  bool stops = true, loss_counts = true, stop_counts = true, together = true;
  std::int64_t restart_reset_ms = 0;
  bool elastic = false;  // the list of nodes changes, and not on all nodes at once
  // Nodes that differ can never run together, as each starts the ranks of its own plan.
  bool must_agree = false;
  int free_port = 0;  // node 0: master port that must be free before a start; 0: none
  std::uint64_t node0_instance =
      0;                       // NodeVerdict::instance that the previous worker received; 0: none
  std::uint32_t restarts = 0;  // restarts of this node when the worker starts
  bool all_connected = false;  // LinkState::all_connected that the previous worker sent
  std::string socket;          // path of the local socket for `trainit status --cluster`; "" = none
  std::string recorder;        // path of the dumps: recorder_file()
};

// The time in which a job that fails may have no link yet. The failed node waits for the link until
// then, and kFirstFarewellMs with its leave message.
inline constexpr std::int64_t kFirstMs = 3000;
inline constexpr std::int64_t kFirstFarewellMs = 1400;  // ARP asks again after a second

// The messages between PID 1 and the worker, framed as in workers/messages.h. "down" is to the
// worker, "up" to PID 1.
inline constexpr std::uint32_t kLinkReport = 1;   // down: NodeReport; kEnded: leave message
inline constexpr std::uint32_t kLinkVerdict = 1;  // up: NodeVerdict, if it has changed
inline constexpr std::uint32_t kLinkState = 2;    // up: LinkState
inline constexpr std::uint32_t kLinkWarning = 3;  // up: a text for the log
inline constexpr std::uint32_t kLinkKinds = 3;
inline constexpr std::uint32_t kMaxLinkMessage = 16U * 1024;

struct LinkState {
  bool up = false;             // node 0: listens; other nodes: connected to node 0
  std::string text;            // text for the log; "": none
  bool all_connected = false;  // node 0: lifecycle::Coordinator::all_connected
  std::string absent;          // node 0: nodes not connected for long, as node_text() names them

  bool operator==(const LinkState&) const = default;
};
inline void fields(base::FieldVisitor& v, LinkState& state) {
  v("up", state.up);
  v("text", state.text);
  v("all_connected", state.all_connected);
  v("absent", state.absent);
}

}  // namespace engine
