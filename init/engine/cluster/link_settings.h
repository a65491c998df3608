#pragma once
// The settings of the link's worker, and the messages between the worker and PID 1.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fields.h"

namespace engine {

struct LinkSettings {
  std::string address;  // node 0's name or address
  int port = 0;
  std::uint32_t node = 0, node_count = 1;
  std::int32_t world_size = 0;  // ranks of the whole job, as this node plans it
  std::uint64_t cluster = 0;    // digest of this node's list of nodes
  // Process instance id of this PID 1: a random number, the same for all its workers.
  std::uint64_t instance = 0;
  std::vector<std::string> names;  // names of the nodes, by rank; may be shorter or empty
  std::string secret;              // secret of the job; "" = none
  std::string common;              // used for the job's key if there is no secret: common_key()
  std::int64_t timeout_ms = 30'000;
  // The members of lifecycle::Coordinator::Settings with these names.
  bool stops = true, loss_counts = true, stop_counts = true, together = true;
  std::int64_t restart_reset_ms = 0;
  bool elastic = false;  // the list of nodes can change, and nodes notice that at different times
  // true: nodes with different plans fail the job, as each would start the ranks of its own plan.
  bool must_agree = false;
  int free_port = 0;  // node 0: MASTER_PORT, which must be free before a start; 0: not checked
  // NodeVerdict::instance of the last verdict that PID 1 received from an earlier worker; 0: none.
  // With it, this worker notices whether node 0 is now a different process instance.
  std::uint64_t node0_instance = 0;
  std::uint32_t restarts = 0;  // number of restarts when the worker starts
  bool all_connected = false;  // last LinkState::all_connected of the previous worker
  std::string socket;          // path of the local socket for `trainit status --cluster`; "" = none
  // Time of the last output of this node's ranks (logtee::OutputTotals::last_ms); 0: none has come;
  // nullptr: not known.
  std::shared_ptr<const std::atomic<std::int64_t>> last_output_ms = {};
  std::string recorder;  // path of the file with flight recorder dumps: recorder_file()
};

// The time after the begin of the link within which the first connection is expected. If the job
// fails before there is one, the node waits for it until then. With its leave message the node
// waits for kFirstFarewellMs.
inline constexpr std::int64_t kFirstMs = 3000;
// More than the second after which ARP asks again.
inline constexpr std::int64_t kFirstFarewellMs = 1400;

// The kinds of messages between PID 1 and the worker (workers/messages.h). "down": to the worker,
// "up": to PID 1.
// down: NodeReport; with kEnded it is the leave message
inline constexpr std::uint32_t kLinkReport = 1;
inline constexpr std::uint32_t kLinkVerdict = 1;  // up: NodeVerdict, if it has changed
inline constexpr std::uint32_t kLinkState = 2;    // up: LinkState
inline constexpr std::uint32_t kLinkWarning = 3;  // up: a text for a warning in the log
inline constexpr std::uint32_t kLinkKinds = 3;
inline constexpr std::uint32_t kMaxLinkMessage = 16U * 1024;

struct LinkState {
  bool up = false;             // node 0: it listens; other nodes: connected to node 0
  std::string text;            // text for the log; "": none
  bool all_connected = false;  // node 0: Coordinator::all_connected()
  // Node 0: names (node_text) of nodes that have not connected for long; "": none.
  std::string absent;

  bool operator==(const LinkState&) const = default;
};
inline void fields(base::FieldVisitor& v, LinkState& state) {
  v("up", state.up);
  v("text", state.text);
  v("all_connected", state.all_connected);
  v("absent", state.absent);
}

}  // namespace engine
