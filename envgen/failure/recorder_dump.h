#pragma once
// A reader for the dump that PyTorch's flight recorder writes for one rank. The result has the
// collectives and point-to-point transfers that the rank has enqueued and not finished.
// recorder_verdict.h compares the dumps of all ranks. Pure.
//
// The formats are 2.0 and later, as a pickle or as JSON. A dump has these members:
// - "version"
// - "pg_config": groups by name
// - "pg_status": counters by the number of a group in this process; not in early 2.x
// - "entries": operations in the order in which they were enqueued
//
// Older entries have "seq_id" instead of "collective_seq_id" and "p2p_seq_id", and may lack
// "process_group" and "is_p2p". Source of the format: pytorch/pytorch
// torch/csrc/distributed/c10d/FlightRecorder.hpp and FlightRecorderDetail.hpp; NCCLUtils.hpp and
// TraceUtils.h before 2.6.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"

namespace envgen {

// A run of `count` ranks at equal distances: first, first + step, ...
struct RankRun {
  int first = 0;
  int count = 1;
  int step = 1;

  bool operator==(const RankRun&) const = default;
};

// A process group of which this rank is a member. Its counters are -1 if they are not known.
struct RecordedGroup {
  std::string name;         // the same on all ranks: "43"
  std::string description;  // "PIPELINE_MODEL_PARALLEL_GROUP"; "": none
  std::vector<RankRun> ranks;
  // The counters of "pg_status": numbers of the last operation in each state. They may include
  // point-to-point transfers of the group.
  std::int64_t enqueued = -1;
  std::int64_t started = -1;
  std::int64_t completed = -1;
  std::int64_t seen = -1;       // the highest number of a collective in "entries"
  bool point_to_point = false;  // "entries" contains point-to-point transfers of this group

  bool operator==(const RecordedGroup&) const = default;
};

// An operation that the rank has enqueued, but whose completion it has not seen.
struct PendingOperation {
  std::uint32_t group = 0;  // index in RecorderDump::groups
  std::string name;         // "all_reduce"; for a transfer "send" or "recv"
  // The operation's number: among the group's collectives, or among the transfers of this rank in
  // the group.
  std::int64_t sequence = 0;
  int peer = -1;                  // job-wide rank at the other end of a transfer; -1: a collective
  bool started = false;           // has started on the device; false if not known (without
                                  // TORCH_NCCL_ENABLE_TIMING)
  std::int64_t created_ms = 0;    // wall clock of the rank's machine; 0: not known
  std::int64_t elements_in = -1;  // sum over all tensors; -1: not known
  std::int64_t elements_out = -1;

  [[nodiscard]] bool is_transfer() const { return peer >= 0; }
  bool operator==(const PendingOperation&) const = default;
};

// The pending operations and the groups of one rank. They are small enough for the link between
// nodes: 2 to 4 KiB for the parallel groups of a large model, and below 96 KiB by the limits here.
struct RecorderDump {
  static constexpr std::size_t kMaxGroups = 256;
  static constexpr std::size_t kMaxRuns = 2048;    // limit for the RankRuns of all groups together
  static constexpr std::size_t kMaxPending = 256;  // limit for pending operations; the oldest are
                                                   // kept
  static constexpr std::size_t kMaxNameBytes = 64;

  int rank = -1;
  std::string version;          // version of the format: "2.9"
  std::int64_t written_ms = 0;  // time of the dump file, wall clock; 0: not known
  // True if `groups` has all groups that the rank has ever used.
  bool all_groups = false;
  std::vector<RecordedGroup> groups;
  std::vector<PendingOperation> pending;  // ordered as enqueued
  bool more_pending = false;              // some pending operations are not in `pending`

  bool operator==(const RecorderDump&) const = default;
};

// Reads a dump of the flight recorder, a pickle or JSON, written by `rank`. `where` names the dump
// in errors; `written_ms` is the time of the file, or 0. Fails if the text is damaged or
// incomplete, or lacks data that recorder_verdict.h needs.
base::Result<RecorderDump> read_recorder_dump(std::string_view bytes, int rank,
                                              std::string_view where, std::int64_t written_ms = 0);

// Returns the members of a group in ascending order, at most `most` of them.
std::vector<int> members_of(const RecordedGroup& group, std::size_t most = 65'536);

inline void fields(base::FieldVisitor& v, RankRun& run) {
  v("first", run.first, {.least = 0});
  v("count", run.count, {.least = 1, .most = 65'536});
  v("step", run.step, {.least = 1});
}
inline void fields(base::FieldVisitor& v, RecordedGroup& group) {
  v("name", group.name);
  v("description", group.description);
  v("ranks", group.ranks, {.most_items = RecorderDump::kMaxRuns});
  v("enqueued", group.enqueued);
  v("started", group.started);
  v("completed", group.completed);
  v("seen", group.seen);
  v("point_to_point", group.point_to_point);
}
inline void fields(base::FieldVisitor& v, PendingOperation& operation) {
  v("group", operation.group);
  v("name", operation.name);
  v("sequence", operation.sequence);
  v("peer", operation.peer, {.least = -1});
  v("started", operation.started);
  v("created_ms", operation.created_ms);
  v("elements_in", operation.elements_in);
  v("elements_out", operation.elements_out);
}
inline void fields(base::FieldVisitor& v, RecorderDump& dump) {
  v("rank", dump.rank, {.least = 0});
  v("version", dump.version);
  v("written_ms", dump.written_ms);
  v("all_groups", dump.all_groups);
  v("groups", dump.groups, {.most_items = RecorderDump::kMaxGroups});
  v("pending", dump.pending, {.most_items = RecorderDump::kMaxPending});
  v("more_pending", dump.more_pending);
}

}  // namespace envgen
