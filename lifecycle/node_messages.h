#pragma once
// The messages between the nodes of a job: NodeReport, from each node to node 0, and NodeVerdict,
// from node 0 to each node. Before each start the nodes wait for one another (the rendezvous),
// until node 0 grants the start. A report has the whole state of its sender, and a verdict has all
// that its receiver must know. So a lost, repeated or late message only costs time. The receiver
// cuts texts that are too long.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "lifecycle/task.h"

namespace lifecycle {

inline constexpr std::uint32_t kMaxTextBytes = 1024;
inline constexpr std::uint32_t kMaxDetailBytes = 8192;
inline constexpr std::uint32_t kMaxPlacesBytes = 4096;
inline constexpr std::uint32_t kMaxSuspects = 16;
inline constexpr std::uint32_t kMaxHangBytes = 1536;

// The reason why a node's part of the job ended. The node reports it, or node 0 concludes it from
// the node's connection. In a report it is the sender's own failure, with one exception: a kClosed
// or kSilent failure is node 0's loss, which the sender's LinkWatch noticed.
struct NodeFailure {
  enum class Kind : std::uint8_t {
    kFailed,   // a task of the node failed
    kStopped,  // the platform or a user asked the node to stop
    // The job's time limit is over on that node, and soon on all nodes. Treated like kStopped, but
    // with another exit code.
    kExpired,
    kClosed,  // the connection closed without a leave message (process killed, machine lost)
    kSilent,  // no message has come from it within the link's time-out
    // No failure: that node noticed a changed list of nodes, and restarts with the new list.
    kReplanned,
    kUnfit,  // the node waits for no other node before a start, though others wait for it
    // The node plans another job, with a different number of ranks, list of nodes or version.
    kDiffers,
  };
  // The role of a kFailed failure, as the node's output shows it. If the earliest failure is a
  // victim, node 0 looks for a root, then for an open role, and takes that as the first failure.
  enum class Role : std::uint8_t {
    kOpen,    // no certain evidence
    kRoot,    // the output shows the cause
    kVictim,  // the output shows that another rank failed
  };
  Kind kind = Kind::kFailed;
  Role role = Role::kOpen;
  std::uint32_t node = 0;
  TimeMs age_ms = 0;      // time from the failure until the message was sent
  TimeMs ran_ms = -1;     // time that the start had run well before the failure; -1: not known
  bool restarts = false;  // a restart would answer the failure, as far as this node can decide
  // false while `message` and `detail` can still change, because the output is being read.
  bool complete = true;
  std::string message = {};  // a sentence for people; at most kMaxTextBytes
  // Engine::FailureDetail as bytes, which this folder does not decode; at most kMaxDetailBytes.
  std::string detail = {};

  bool operator==(const NodeFailure&) const = default;
};
inline void fields(base::FieldVisitor& v, NodeFailure& failure) {
  v("kind", failure.kind, NodeFailure::Kind::kDiffers);
  v("role", failure.role, NodeFailure::Role::kVictim);
  v("node", failure.node);
  v("age_ms", failure.age_ms);
  v("ran_ms", failure.ran_ms);
  v("restarts", failure.restarts);
  v("complete", failure.complete);
  v("message", failure.message);
  v("detail", failure.detail);
}

// The ranks that all other ranks of a job wait for. Node 0 judges this once for each hang. It
// compares the places of all nodes' ranks: where each rank is in its code. One collection of these
// places is a look.
struct HangVerdict {
  struct Suspect {
    std::uint32_t node = 0;
    std::uint32_t process = 0;  // index in that node's plan
    bool operator==(const Suspect&) const = default;
  };
  std::uint32_t look = 0;  // number of the look that was judged (NodeReport::look)
  // Suspects, at most kMaxSuspects; empty: the cause of the hang is not known.
  std::vector<Suspect> suspects = {};
  std::string text = {};  // text for people; at most kMaxHangBytes

  bool operator==(const HangVerdict&) const = default;
};
inline void fields(base::FieldVisitor& v, HangVerdict::Suspect& suspect) {
  v("node", suspect.node);
  v("process", suspect.process);
}
inline void fields(base::FieldVisitor& v, HangVerdict& hang) {
  v("look", hang.look);
  v("suspects", hang.suspects, {.most_items = kMaxSuspects});
  v("text", hang.text);
}

// The message of each node to node 0: the state of the sender.
struct NodeReport {
  enum class Stage : std::uint8_t {
    kPreparing,
    kArrived,  // waits for the other nodes; all processes of the previous start have ended
    kRunning,  // takes part in the start: runs pre-start hooks, copies data or runs ranks
    kStopping,
    kEnded,  // this report is the leave message: the container exits
  };
  Stage stage = Stage::kPreparing;
  std::uint32_t restarts = 0;  // number of the start that the report is about: restarts until then
  std::uint32_t arrival = 0;   // number of the node's arrival at the rendezvous, from 1
  std::uint64_t cluster = 0;   // digest of the list of nodes by which this node plans
  // The time that this start had run well when the report was sent; -1: it has not begun.
  TimeMs ran_ms = -1;
  bool may_restart = false;  // the node has restarts left
  bool meets = true;         // the node waits for the other nodes before a start
  std::optional<NodeFailure> failure = {};
  // The number of the last checkpoint request that this node knows of. To request a checkpoint, a
  // node reports the next number. So a new coordinator learns the number from the reports, and two
  // simultaneous requests yield one checkpoint.
  std::uint32_t saves = 0;
  bool keeps_running = false;  // the job continues after that checkpoint
  // NodeVerdict::meeting of the grant by which this start began; 0: no grant
  std::uint64_t meeting = 0;
  // The number of the last look that this node knows of (HangVerdict). To request a look, a node
  // reports the next number.
  std::uint32_t look = 0;
  // Encoded places of this node's ranks; at most kMaxPlacesBytes; empty: not taken yet.
  std::string places = {};
  std::uint32_t judged = 0;  // number of the last look that has a verdict, or whose hang is over
  int exit_code = 0;         // exit code of the container; valid with kEnded
  // The remaining fields are only for `trainit status --cluster`.
  std::uint32_t ranks = 0;  // number of live ranks
  std::string phase = {};   // phase name as in state.json

  bool operator==(const NodeReport&) const = default;
};
inline void fields(base::FieldVisitor& v, NodeReport& report) {
  v("stage", report.stage, NodeReport::Stage::kEnded);
  v("restarts", report.restarts);
  v("arrival", report.arrival);
  v("cluster", report.cluster);
  v("ran_ms", report.ran_ms);
  v("may_restart", report.may_restart);
  v("meets", report.meets);
  v("failure", report.failure);
  v("saves", report.saves);
  v("keeps_running", report.keeps_running);
  v("meeting", report.meeting);
  v("look", report.look);
  v("places", report.places);
  v("judged", report.judged);
  v("exit_code", report.exit_code, {.least = 0, .most = 255});
  v("ranks", report.ranks);
  v("phase", report.phase);
}

// The message of node 0 to each node: what the receiver must know and do.
struct NodeVerdict {
  enum class State : std::uint8_t {
    kFine,
    kTold,     // a node has failed, and the others continue; `failure` describes it
    kFailing,  // all nodes stop; the first failure is not known yet
    kFailed,   // all nodes stop; `failure` is the first failure
  };
  State state = State::kFine;
  std::uint32_t restarts = 0;               // number of the start that the verdict is about
  bool again = false;                       // all nodes start again; valid with kFailed
  std::optional<NodeFailure> failure = {};  // valid with kFailed and kTold
  std::uint32_t go = 0;  // NodeReport::arrival of the receiver, which may now start; 0: no grant
  // The rendezvous id of the grant in `go`: a digest of the nodes that got it. The receiver reports
  // it.
  std::uint64_t meeting = 0;
  std::uint32_t missing = 0;  // number of nodes that have not arrived at the rendezvous
  // Names of these nodes, and why they are missing; at most kMaxTextBytes.
  std::string waits_for = {};
  // The number of the last checkpoint request. A new coordinator can send a lower number than
  // before, until it has learned the number.
  std::uint32_t saves = 0;
  bool keeps_running = false;  // the job continues after that checkpoint
  // The last checkpoint request that all nodes know of, with no failure before that. So each later
  // failure came after the request.
  std::uint32_t saves_known = 0;
  std::uint32_t look = 0;                // number of the last look that a node has requested
  std::optional<HangVerdict> hang = {};  // verdict on that look; empty: not judged yet
  std::uint64_t instance = 0;  // process instance id of node 0; changes with its container
  bool ended = false;          // node 0 has sent its leave message
  int exit_code = 0;           // exit code in node 0's leave message
  // true: not sent by node 0, but made by the receiver, which has lost node 0.
  bool by_itself = false;

  bool operator==(const NodeVerdict&) const = default;
};
inline void fields(base::FieldVisitor& v, NodeVerdict& verdict) {
  v("state", verdict.state, NodeVerdict::State::kFailed);
  v("restarts", verdict.restarts);
  v("again", verdict.again);
  v("failure", verdict.failure);
  v("go", verdict.go);
  v("meeting", verdict.meeting);
  v("missing", verdict.missing);
  v("waits_for", verdict.waits_for);
  v("saves", verdict.saves);
  v("keeps_running", verdict.keeps_running);
  v("saves_known", verdict.saves_known);
  v("look", verdict.look);
  v("hang", verdict.hang);
  v("instance", verdict.instance);
  v("ended", verdict.ended);
  v("exit_code", verdict.exit_code, {.least = 0, .most = 255});
  v("by_itself", verdict.by_itself);
}

}  // namespace lifecycle
