#pragma once
// Where the ranks of a job that hangs are, and which of them the others wait for. Stacks are
// grouped by what they say; a rank that is seen to be outside of the collective that others wait in
// is the suspect. If the stacks name no rank, the one that the flight recorder's dumps name is the
// suspect, unless its stack shows it in a collective. A wrong name costs more than none: where what
// was seen allows another reading, nobody is named. Pure: what was seen of the processes in, a
// verdict out.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/python_dump.h"

namespace envgen {

// A thread, as /proc shows it without ptrace.
struct SeenThread {
  int tid = 0;
  std::string name;
  char state = '?';       // as in stat
  std::string wait;       // the kernel's function that it sleeps in; "" = none, or not readable
  int share_of_cpu = 0;   // per cent of one CPU while it was looked at
  bool runnable = false;  // in two looks: it runs, or waits for a CPU
};

struct SeenProcess {
  int pid = 0;
  std::string name;
  std::vector<SeenThread> threads;   // the main thread first
  std::vector<PythonThread> python;  // the same; none: see no_stack
  std::string no_stack;              // why Python's stacks are not there
  bool moves = false;                // its main thread was at two places
  bool device = true;                // an accelerator is open in it, or that could not be seen
};

struct SeenRank {
  std::string name;
  int rank = -1;
  std::string ended;                   // "has ended with code 0"; "" = it lives
  std::vector<SeenProcess> processes;  // the rank's own first, then those below it
};

struct SeenJob {
  std::vector<SeenRank> ranks;  // of this node
  bool whole = false;           // there are no ranks elsewhere
  // What others know of it, each a text of up to 600 bytes: NCCL's RAS, the flight recorder.
  std::vector<std::string> notes;
  std::vector<int> recorded;  // ranks for which the others wait by their flight recorders' dumps
};

enum class Whereabouts : unsigned char {
  kCollective,  // waits for other ranks
  kElsewhere,   // certainly does not
  kUnclear,     // may do either
  kStopped,
  kEnded,
};
std::string_view name_of(Whereabouts where);

struct RankPlace {
  Whereabouts where = Whereabouts::kUnclear;
  std::string does;        // "waits in all_reduce", "sleeps", "is stopped"
  std::string place;       // "train.py:31 in load"; "" = not known
  std::string collective;  // of kCollective
  bool idle = false;       // Python was seen, no thread runs, no accelerator is open
  bool peers = true;       // it may wait for another rank, by whatever means
  bool seen = false;       // by a Python stack, or as stopped
};
RankPlace place_of(const SeenRank& rank);

// Rank with its place, on this node or on another one.
struct PlacedRank {
  std::string name;
  std::string node;           // "node 1 (b)", where there are several
  std::uint32_t process = 0;  // its index in the plan of its node
  int rank = -1;              // job-wide; -1: not known, or a launcher
  bool stalled = false;       // its own watch has seen no progress
  RankPlace at;
};
std::vector<PlacedRank> places_of(const SeenJob& job);  // in the order of SeenJob::ranks

struct StackGroup {
  RankPlace at;
  std::vector<std::size_t> ranks;  // indexes of the ranks that were judged
};

struct StackVerdict {
  std::vector<std::size_t> suspects;  // indexes as in a group; none: the cause is not known
  bool all_wait = false;              // all ranks that were seen wait for others
  std::string text;                   // a sentence for people, within 1,000 bytes, and the notes
  std::vector<StackGroup> groups;     // the largest first
};
StackVerdict judge_stacks(const SeenJob& job);
// Judges ranks of one node or of several; `whole`: no rank of the job is left out. `recorded` as
// SeenJob has it.
StackVerdict judge_places(std::span<const PlacedRank> ranks, bool whole,
                          std::span<const int> recorded = {});

// Encodes the places of a node's ranks for another node, in at most kMaxPlacesBytes. Ranks of the
// largest groups are left out where there is no room for all.
inline constexpr std::size_t kMaxPlacesBytes = 4096;
std::string encode_places(std::span<const PlacedRank> ranks, bool whole = true);
struct NodePlaces {
  std::vector<PlacedRank> ranks;  // without PlacedRank::node
  bool whole = true;              // none was left out
};
std::optional<NodePlaces> decode_places(std::string_view bytes);  // nullopt: not made by the above

// "rank-0, rank-1: waits in all_reduce, train.py:20 in step"
std::string to_line(std::span<const PlacedRank> ranks, const StackGroup& group);

// What `trainit stacks` prints.
std::string stacks_to_text(const SeenJob& job, const StackVerdict& verdict);
std::string stacks_to_json(const SeenJob& job, const StackVerdict& verdict);

}  // namespace envgen
