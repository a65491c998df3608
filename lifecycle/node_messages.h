#pragma once
// What the nodes of a job say to one another: NodeReport, from each node to node 0, and Verdict,
// from node 0 to each. Both are whole each time: a report says all that its node says of itself, a
// verdict all that its receiver has to know. Losing, repeating or delaying one changes nothing but
// the time. Texts are bounded by whoever takes them in.

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

// What ended a node's part of the job, as that node says or as its silence shows. In a report it is
// the node's own; or, of kind kClosed or kSilent, node 0's loss as its LinkWatch has it.
struct NodeFailure {
  enum class Kind : std::uint8_t {
    kFailed,   // a task of it failed
    kStopped,  // it was told to stop, by its platform or a user
    kExpired,  // the job's time is over there (and soon everywhere): as kStopped, with another code
    kClosed,   // its connection closed without a farewell: killed, or gone
    kSilent,   // nothing was heard from it for the link's time-out
    kReplanned,  // no failure: the list of nodes is another one there, and it starts again by that
    kUnfit,      // waits for no other node before a start, though others wait for it
    kDiffers,    // plans another job: another number of ranks, list of nodes or version
  };
  // Evidence in the output of kFailed. If the earliest of the failures that are compared is a
  // victim, a root is the first failure, else one of unknown role.
  enum class Role : std::uint8_t {
    kOpen,    // nothing that is sure
    kRoot,    // why it failed
    kVictim,  // that another one failed
  };
  Kind kind = Kind::kFailed;
  Role role = Role::kOpen;
  std::uint32_t node = 0;
  TimeMs age_ms = 0;         // how long ago it happened, when this was sent
  TimeMs ran_ms = -1;        // how long its start had run well; -1: not known
  bool restarts = false;     // it is to be answered by a restart, as far as its node is concerned
  bool complete = true;      // nothing will be added: false while its last lines are being read
  std::string message = {};  // a sentence for people; at most kMaxTextBytes
  std::string detail =
      {};  // engine::FailureDetail on the wire; opaque here; at most kMaxDetailBytes

  bool operator==(const NodeFailure&) const = default;
};
inline void fields(envgen::FieldVisitor& v, NodeFailure& failure) {
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

// Ranks that all others of a job wait for, judged once from the places of all nodes' ranks.
struct HangVerdict {
  struct Suspect {
    std::uint32_t node = 0;
    std::uint32_t process = 0;  // its index in that node's plan
    bool operator==(const Suspect&) const = default;
  };
  std::uint32_t look = 0;              // NodeReport::look of the places
  std::vector<Suspect> suspects = {};  // at most kMaxSuspects; none: the cause is not known
  std::string text = {};               // for people; at most kMaxHangBytes

  bool operator==(const HangVerdict&) const = default;
};
inline void fields(envgen::FieldVisitor& v, HangVerdict::Suspect& suspect) {
  v("node", suspect.node);
  v("process", suspect.process);
}
inline void fields(envgen::FieldVisitor& v, HangVerdict& hang) {
  v("look", hang.look);
  v("suspects", hang.suspects, {.most_items = kMaxSuspects});
  v("text", hang.text);
}

// What a node says of itself.
struct NodeReport {
  enum class Stage : std::uint8_t {
    kPreparing,
    kArrived,  // it has let go of the last start, and waits for the others
    kRunning,  // takes part in the start: its pre-start hooks, its data or its ranks
    kStopping,
    kEnded,  // the farewell: its container ends
  };
  Stage stage = Stage::kPreparing;
  std::uint32_t restarts = 0;  // which start of the job this is about
  std::uint32_t arrival = 0;   // which of its arrivals, from 1
  std::uint64_t cluster = 0;   // a digest of the list of nodes that it goes by
  TimeMs ran_ms = -1;          // how long this start has run, when this was sent; -1: it has not
  bool may_restart = false;    // it has restarts left
  bool meets = true;           // waits for the other nodes before a start
  std::optional<NodeFailure> failure = {};
  // The number of the job's last checkpoint that this node knows of. To ask for one is to say one
  // more: so a coordinator that is made again learns it, and two that ask at once ask for one.
  std::uint32_t saves = 0;
  bool keeps_running = false;  // after the last of them
  std::uint64_t meeting = 0;   // Verdict::meeting, when this start was given; 0: it was not
  // Number of the last look at the ranks' places that this node knows of; as with `saves`, one
  // more asks for another. `places` is the answer, opaque here; empty: still being taken.
  std::uint32_t look = 0;
  std::string places = {};   // at most kMaxPlacesBytes
  std::uint32_t judged = 0;  // the last look whose verdict has come, or whose hang is over
  int exit_code = 0;         // kEnded
  // For `trainit status --cluster` alone.
  std::uint32_t ranks = 0;  // that live
  TimeMs silent_ms = -1;    // since its ranks' last output; -1: not known
  std::string phase = {};   // as state.json calls it

  bool operator==(const NodeReport&) const = default;
};
inline void fields(envgen::FieldVisitor& v, NodeReport& report) {
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
  v("silent_ms", report.silent_ms);
  v("phase", report.phase);
}

// What node 0 says to one node.
struct NodeVerdict {
  enum class State : std::uint8_t {
    kFine,
    kTold,     // a node has failed, and the others go on
    kFailing,  // all stop; which failure was the first is not known yet
    kFailed,   // `failure` is the first
  };
  State state = State::kFine;
  std::uint32_t restarts = 0;               // which start of the job this is about
  bool again = false;                       // with kFailed: all start again
  std::optional<NodeFailure> failure = {};  // with kFailed and kTold
  std::uint32_t go = 0;                     // this arrival of the receiver's may start; 0: none
  std::uint64_t meeting = 0;                // with go: a digest of who was given it, to be reported
  std::uint32_t missing = 0;                // nodes that have not arrived
  std::string waits_for = {};               // which, in words; at most kMaxTextBytes
  std::uint32_t saves = 0;     // the number of the last checkpoint; falls at most at first
  bool keeps_running = false;  // after the last of them
  // The last one that all nodes know of, where none had failed before: a failure comes after it.
  std::uint32_t saves_known = 0;
  std::uint32_t look = 0;                // the last look that a node has asked for
  std::optional<HangVerdict> hang = {};  // what came of it
  std::uint64_t life = 0;                // process instance of node 0; changes with its container
  bool ended = false;                    // node 0 has said farewell ...
  int exit_code = 0;                     // ... with this code
  bool by_itself = false;  // node 0's loss, as the receiver has noticed it: not said by node 0

  bool operator==(const NodeVerdict&) const = default;
};
inline void fields(envgen::FieldVisitor& v, NodeVerdict& verdict) {
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
  v("life", verdict.life);
  v("ended", verdict.ended);
  v("exit_code", verdict.exit_code, {.least = 0, .most = 255});
  v("by_itself", verdict.by_itself);
}

}  // namespace lifecycle
