#include "init/engine/report/rank_search.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/secrets/secrets.h"
#include "envgen/failure/launcher_ranks.h"
#include "envgen/plan/command.h"
#include "init/engine/report/output_tail.h"
#include "init/engine/state/failure.h"
#include "init/sys/as_user.h"

namespace engine {
namespace {

using envgen::RankFailure;

constexpr std::size_t kMaxEntries = 4096;

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  while (directory && names.size() < kMaxEntries) {
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

std::int64_t written_s(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mtim.tv_sec : 0;
}

// Returns the directory of torchrun's last attempt, if it was written since `since_s`. torchrun has
// the directories <rank_dir>/<run>_<random>/attempt_<n>/<local rank>.
std::string last_attempt(const std::string& rank_dir, std::int64_t since_s) {
  std::string last;
  std::int64_t last_s = since_s;
  for (const std::string& run : names_in(rank_dir)) {
    const std::string inside = envgen::join_path(rank_dir, run);
    for (const std::string& attempt : names_in(inside)) {
      if (!attempt.starts_with("attempt_")) continue;
      std::string path = envgen::join_path(inside, attempt);
      const std::int64_t at_s = written_s(path);
      if (at_s < last_s) continue;
      last = std::move(path);
      last_s = at_s;
    }
  }
  return last;
}

class Search {
 public:
  Search(const envgen::Identity* job_user, std::int64_t since_ms)
      : job_user_(job_user), since_ms_(since_ms) {}

  // Adds each rank for which torch's @record wrapper has written an error file. torchrun may not
  // have reported that rank, because it looked for the file too early.
  void torchrun(const std::string& attempt, std::vector<RankFailure>& failures) const {
    // The rank whose local rank is 0, computed from a reported rank, which has both numbers.
    std::optional<int> first_rank;
    for (const RankFailure& told : failures) {
      if (told.local_rank >= 0 && told.rank >= told.local_rank) {
        first_rank = told.rank - told.local_rank;
      }
    }
    for (const std::string& name :
         attempt.empty() ? std::vector<std::string>() : names_in(attempt)) {
      const int local_rank = envgen::rank_of(name);
      if (local_rank < 0) continue;
      const std::string file = envgen::join_path(envgen::join_path(attempt, name), "error.json");
      auto told = std::ranges::find(failures, local_rank, &RankFailure::local_rank);
      if (told != failures.end()) {
        told->error_file = file;
        continue;
      }
      RankFailure silent{.launcher = "torchrun", .local_rank = local_rank, .error_file = file};
      if (first_rank) silent.rank = *first_rank + local_rank;
      if (read_error_file(text_of(file), silent)) failures.push_back(std::move(silent));
    }
    for (RankFailure& failure : failures) {
      if (!failure.error_file.empty()) read_error_file(text_of(failure.error_file), failure);
    }
  }

  // Adds the ranks whose logs contain an exception. The rank that failed first is the one that
  // stopped writing to its log first.
  void msrun(const std::string& rank_dir, std::vector<RankFailure>& failures) const {
    for (const std::string& name : names_in(rank_dir)) {
      const int rank = envgen::rank_of_worker_log(name);
      if (rank < 0) continue;
      RankFailure failure{.launcher = "msrun", .rank = rank};
      failure.error_file = envgen::join_path(rank_dir, name);
      failure.message = envgen::last_exception(text_of(failure.error_file));
      failure.at_s = written_s(failure.error_file);
      if (!failure.message.empty()) failures.push_back(std::move(failure));
    }
  }

  // Adds the rank's own output to `found`: its stderr if torchrun redirects it, or msrun's log.
  void add_log(const RankFailure& failure, FoundRank& found) const {
    if (failure.error_file.empty()) return;
    std::string path = failure.error_file;
    if (failure.launcher == "torchrun") {
      path = envgen::join_path(path.substr(0, path.rfind('/')), "stderr.log");
    }
    const LastBytes last = last_bytes_in(path, job_user_, since_ms_);
    if (last.bytes.empty()) return;
    found.log = std::move(path);
    found.last_lines = last_lines_of(last.bytes, last.whole);
  }

 private:
  [[nodiscard]] std::string text_of(const std::string& path) const {
    return last_bytes_in(path, job_user_, since_ms_).bytes;
  }

  const envgen::Identity* job_user_;
  std::int64_t since_ms_;
};

}  // namespace

FoundRank find_rank(std::string_view printed, const envgen::Process& process,
                    const envgen::Identity* job_user, std::int64_t since_ms,
                    const envgen::FailureCatalog& catalog) {
  constexpr std::int64_t kMsPerS = 1000;
  // The job can write to these directories. With the rights of its user, symlinks there only lead
  // to files that this user may read.
  std::optional<sys::AsUser> as_job;
  const bool foreign = sys::is_another_user(job_user);
  if (foreign) as_job.emplace(*job_user);
  const bool may_look = !foreign || as_job->switched();
  const envgen::RankLogs logs = may_look ? process.rank_logs : envgen::RankLogs::kNone;
  const Search search(job_user, since_ms);
  std::vector<RankFailure> failures = envgen::told_failures(printed);
  if (logs == envgen::RankLogs::kMsrun) {
    search.msrun(process.rank_dir, failures);
  } else {
    const bool known = logs == envgen::RankLogs::kTorchrun;
    search.torchrun(known ? last_attempt(process.rank_dir, since_ms / kMsPerS) : "", failures);
  }
  FoundRank found;
  found.text = base::mask_printed(envgen::told_text(failures, catalog));
  if (failures.empty()) return found;
  found.launcher = failures[0].launcher;
  if (const auto first = envgen::first_of(failures, catalog)) {
    found.rank = first->rank;
    search.add_log(*first, found);
  }
  return found;
}

}  // namespace engine
