#pragma once
// Which rank failed first below a launcher that somebody typed, by what the launcher printed and
// what its ranks wrote. Not why it failed: that is find_cause.
//
// Read in the launchers' sources and seen from them:
//   torchrun, accelerate   torch/distributed/elastic/multiprocessing/errors/__init__.py: a table of
//                          the ranks that had failed when it looked, up to 5 s later, with
//                          error.json of @record where there is one. Without one its times are all
//                          those of the look, and what it calls the root cause is the lowest rank.
//                          "[rank1]: " stands before the lines of a traceback since 2.3.
//   Open MPI, PRRTE        orterun and prterun name the first process that ended badly; MPI_Abort
//   Hydra (MPICH, Intel)   names a host, Intel a rank too; MPI_Abort a rank
//   deepspeed              deepspeed/launcher/launch.py: the command of the one that it saw first,
//                          with --local_rank; pdsh puts the host before the line
//   msrun                  mindspore/parallel/cluster/process_entity/_api.py: the log file of each
//                          rank, and "grep -rn" of them when one has failed
//   srun                   "srun: error: HOST: task 3: Exited with exit code 1"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/failure_catalog.h"

namespace envgen {

struct RankFailure {
  std::string launcher;  // "torchrun"
  int rank = -1;         // job-wide; -1: not told
  int local_rank = -1;   // of its node; -1: not told
  std::string host;      // as the launcher calls it; "" = not told
  int exit_code = -1;    // -1: not told, or a signal
  int signal = 0;
  std::int64_t at_s = 0;    // of the epoch, by its error file; 0: it has none
  std::string error_file;   // that the launcher names, or where one may be; "" = none
  std::string message;      // its own last word, "ValueError: no such shard"; "" = none
  bool by_launcher = true;  // false: known by its own lines alone

  bool operator==(const RankFailure&) const = default;
};

// The failures that a launcher told of last, the one that it calls the first in front; none where
// nothing was told. `printed`: the end of its output, of which the first line may be torn.
std::vector<RankFailure> told_failures(std::string_view printed);

// What @record writes: message and time are taken from it. False: it is none.
bool read_error_file(std::string_view json, RankFailure& failure);

// The one that failed first: one that the kernel killed, else the only one whose message is no
// victim's by the catalogue, else the earliest of these. Nothing where that
// cannot be said: launchers name victims.
std::optional<RankFailure> first_of(const std::vector<RankFailure>& failures,
                                    const FailureCatalog& catalog);

// "rank 3 (in torchrun, on node-1) exited with code 1: ValueError: no such shard"; of several that
// nobody can put in order "ranks 0, 1 and 2 (in torchrun) failed". "" of none.
std::string told_text(const std::vector<RankFailure>& failures, const FailureCatalog& catalog);

// A rank that is written as its digits alone; -1: it is none.
int rank_of(std::string_view digits);

// The rank that a launcher or PyTorch has put before a line: "[rank3]: ", "[default3]:",
// "[1,3]<stderr>:", "[3] "; -1: none.
int rank_before(std::string_view line);

// The last line of `printed` that ends a traceback, "ValueError: no such shard"; "" = none.
std::string last_exception(std::string_view printed);

// The rank of msrun's "worker_3.log"; -1: it is no such file.
int rank_of_worker_log(std::string_view file_name);

}  // namespace envgen
