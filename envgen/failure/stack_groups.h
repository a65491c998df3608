#pragma once
// Shows where the ranks of a hanging job are, and which rank the others wait for. Ranks whose
// stacks show the same are a group. The suspect is a rank that is outside of the collective in
// which others wait. If the stacks show no such rank, the suspect is the rank that the flight
// recorder's dumps name, unless its stack shows it in a collective. A wrong name is worse than no
// name: if the observations have a second explanation, no rank is named. Pure: takes observations
// of processes, returns a verdict.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/python_dump.h"

namespace envgen {

// A thread as /proc shows it, without ptrace.
struct SeenThread {
  int tid = 0;
  std::string name;
  char state = '?';  // as in /proc/PID/stat
  std::string wait;  // kernel function in which the thread sleeps; "": not asleep, or not readable
  int share_of_cpu = 0;   // per cent of one CPU during the observation
  bool runnable = false;  // runs or waits for a CPU, in two samples
};

struct SeenProcess {
  int pid = 0;
  std::string name;
  std::vector<SeenThread> threads;   // main thread first
  std::vector<PythonThread> python;  // main thread first; empty: see no_stack
  std::string no_stack;              // why `python` is empty; "" otherwise
  bool moves = false;  // the main thread was at two different places during the observation
  bool device = true;  // the process has an accelerator open, or this is not known
};

struct SeenRank {
  std::string name;
  int rank = -1;
  std::string ended;                   // "has ended with code 0"; "": still running
  std::vector<SeenProcess> processes;  // the rank's own process first, then its descendants
};

struct SeenJob {
  std::vector<SeenRank> ranks;  // ranks of this node
  bool whole = false;           // the ranks of this node are the whole job
  // Texts of other sources that are shown as they are, up to 600 bytes each: NCCL's RAS, the flight
  // recorder.
  std::vector<std::string> notes;
  std::vector<int> recorded;  // ranks that the flight recorders' dumps name as the cause
};

enum class Whereabouts : unsigned char {
  kCollective,  // the rank waits for other ranks
  kElsewhere,   // the rank certainly does not wait for other ranks
  kUnclear,     // the rank may wait for other ranks or not
  kStopped,
  kEnded,
};
std::string_view name_of(Whereabouts where);

struct RankPlace {
  Whereabouts where = Whereabouts::kUnclear;
  std::string does;        // "waits in all_reduce", "sleeps", "is stopped"
  std::string place;       // "train.py:31 in load"; "": not known
  std::string collective;  // the collective that the rank waits in; "" unless kCollective
  bool idle = false;       // Python stacks were seen, no thread runs, no accelerator is open
  bool peers = true;       // false: the rank certainly waits for no other rank
  bool seen = false;       // has a Python stack, or is stopped
};
RankPlace place_of(const SeenRank& rank);

// A rank and what its stacks show. The rank may be on another node.
struct PlacedRank {
  std::string name;
  std::string node;           // "node 1 (b)" if there are several nodes
  std::uint32_t process = 0;  // index in the plan of the rank's own node
  int rank = -1;              // job-wide; -1: not known, or a launcher
  bool stalled = false;       // the stall watch of the rank's node has seen no progress
  RankPlace at;
};
std::vector<PlacedRank> places_of(const SeenJob& job);  // in the order of SeenJob::ranks

struct StackGroup {
  RankPlace at;
  std::vector<std::size_t> ranks;  // indexes of the ranks in the input of the judgement
};

struct StackVerdict {
  std::vector<std::size_t> suspects;  // indexes of the suspected ranks in that input; empty: the
                                      // cause is not known
  bool all_wait = false;              // all observed ranks wait for others
  std::string text;                   // sentences for people, at most 1,000 bytes, then the notes
  std::vector<StackGroup> groups;     // largest first
};
StackVerdict judge_stacks(const SeenJob& job);
// Judges the ranks of one node or of several. `whole` is true if `ranks` contains every rank of the
// job. `recorded` is SeenJob::recorded.
StackVerdict judge_places(std::span<const PlacedRank> ranks, bool whole,
                          std::span<const int> recorded = {});

// Encodes the places of a node's ranks for another node, in at most kMaxPlacesBytes. If they need
// more, the places of the largest groups are left out.
inline constexpr std::size_t kMaxPlacesBytes = 4096;
std::string encode_places(std::span<const PlacedRank> ranks, bool whole = true);
struct NodePlaces {
  std::vector<PlacedRank> ranks;  // PlacedRank::node is empty
  bool whole = true;              // no rank was left out
};
std::optional<NodePlaces> decode_places(std::string_view bytes);  // nullopt: malformed

// Returns a group as one line: "rank-0, rank-1: waits in all_reduce, train.py:20 in step".
std::string to_line(std::span<const PlacedRank> ranks, const StackGroup& group);

// Return the output of `trainit stacks`.
std::string stacks_to_text(const SeenJob& job, const StackVerdict& verdict);
std::string stacks_to_json(const SeenJob& job, const StackVerdict& verdict);

}  // namespace envgen
