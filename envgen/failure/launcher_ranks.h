#pragma once
// Finds the rank that failed first below a launcher in the user's command, from the output of the
// launcher and the lines of its ranks. The cause of the failure is found by find_cause.h.
//
// The formats are from the launchers' sources and from observed output.
//   torchrun, accelerate   torch/distributed/elastic/multiprocessing/errors/__init__.py: a table of
//                          the ranks that have failed by the time of its check, up to 5 s later.
//                          If @record wrote error.json, the table has its contents. Otherwise all
//                          times are the time of the check, and the "root cause" is the lowest
//                          rank. Since 2.3, "[rank1]: " precedes the lines of a traceback.
//   Open MPI, PRRTE        orterun and prterun name the first failed process; so does MPI_Abort.
//   Hydra (MPICH, Intel)   Hydra names a host, Intel's also a rank. MPI_Abort names a rank.
//   deepspeed              deepspeed/launcher/launch.py: the command of the first failed rank that
//                          it saw, with --local_rank. pdsh prefixes the line with the host.
//   msrun                  mindspore/parallel/cluster/process_entity/_api.py: the log file of each
//                          rank, and the output of "grep -rn" on these when a rank has failed.
//   srun                   "srun: error: HOST: task 3: Exited with exit code 1"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/failure_catalog.h"

namespace envgen {

struct RankFailure {
  std::string launcher;  // the launcher that was recognised: "torchrun", "msrun", ...
  int rank = -1;         // job-wide; -1: not reported
  int local_rank = -1;   // rank on its node; -1: not reported
  std::string host;      // name in the launcher's output; "": not reported
  int exit_code = -1;    // -1: not reported, or the rank died of `signal`
  int signal = 0;
  std::int64_t at_s = 0;  // time of the failure in seconds since the epoch, from the error file; 0:
                          // not known
  std::string error_file;   // path that the launcher names, or where the file may be; "": no path
  std::string message;      // the rank's last exception, "ValueError: no such shard"; "": none
  bool by_launcher = true;  // false: known only from the rank's own lines

  bool operator==(const RankFailure&) const = default;
};

// Returns the failures in the last report of a launcher. The failure that the launcher calls the
// first comes first. Returns an empty list if no failure was reported. `printed` is the end of the
// launcher's output; its first line may be incomplete.
std::vector<RankFailure> told_failures(std::string_view printed);

// Sets the message and the time of `failure` from `json`, the error file that @record writes.
// Returns false if `json` is not such a file.
bool read_error_file(std::string_view json, RankFailure& failure);

// Returns the rank that failed first: a rank that the kernel killed, otherwise the only rank whose
// message is not a victim's (by the catalogue), otherwise the earliest of these ranks. Returns
// nullopt if the order is not known, because launchers also name victims.
std::optional<RankFailure> first_of(const std::vector<RankFailure>& failures,
                                    const FailureCatalog& catalog);

// Describes the first failure: "rank 3 (in torchrun, on node-1) exited with code 1: ValueError: no
// such shard". If the order is unknown: "ranks 0, 1, 2 (in torchrun) failed, and which was first is
// not known". Returns "" for an empty list.
std::string told_text(const std::vector<RankFailure>& failures, const FailureCatalog& catalog);

// Returns `digits` as a rank; -1 if it contains any other character or is too large.
int rank_of(std::string_view digits);

// Returns the rank that a launcher or PyTorch wrote before the line: "[rank3]: ", "[default3]:",
// "[1,3]<stderr>:", "[3] ". Returns -1 without such a prefix.
int rank_before(std::string_view line);

// Returns the last line of `printed` that can end a traceback, "ValueError: no such shard"; "" if
// there is no such line.
std::string last_exception(std::string_view printed);

// Returns the rank of msrun's "worker_3.log"; -1: not such a file.
int rank_of_worker_log(std::string_view file_name);

}  // namespace envgen
