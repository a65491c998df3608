#pragma once
// Where the ranks of a job that hangs are, and which of them the others wait for. Stacks are
// grouped by what they say; a rank that is seen to be outside of the collective that others wait in
// is the suspect. A wrong name costs more than none: where what was seen allows another reading,
// nobody is named. Pure: what was seen of the processes in, a verdict out.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "envgen/failure/python_dump.h"

namespace envgen {

// A thread, as /proc shows it without ptrace.
struct SeenThread {
  int tid = 0;
  std::string name;
  char state = '?';      // as in stat
  std::string wait;      // the kernel's function that it sleeps in; "" = none, or not readable
  int share_of_cpu = 0;  // per cent of one CPU while it was looked at
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
};
RankPlace place_of(const SeenRank& rank);

struct StackGroup {
  RankPlace at;
  std::vector<std::size_t> ranks;  // places in SeenJob::ranks
};

struct StackVerdict {
  std::vector<std::size_t> suspects;  // places in SeenJob::ranks; none: the cause is not known
  bool all_wait = false;              // all ranks here wait for others
  std::string text;                   // a sentence for people, within 1,000 bytes, and the notes
  std::vector<StackGroup> groups;     // the largest first
};
StackVerdict judge_stacks(const SeenJob& job);

// "rank-0, rank-1 and 6 more"
std::string names_of(const SeenJob& job, const std::vector<std::size_t>& ranks);
// "rank-0, rank-1: waits in all_reduce, train.py:20 in step"
std::string to_line(const SeenJob& job, const StackGroup& group);

// What `trainit stacks` prints.
std::string stacks_to_text(const SeenJob& job, const StackVerdict& verdict);
std::string stacks_to_json(const SeenJob& job, const StackVerdict& verdict);

}  // namespace envgen
