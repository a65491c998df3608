// scan_tree() and run_copy_job(): the process that starts the workers and waits for them.
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

#include "init/copy/space.h"
#include "init/copy/tree/contents.h"
#include "init/copy/tree/copy.h"
#include "init/copy/tree/destination_probe.h"
#include "init/copy/tree/finalize.h"
#include "init/copy/tree/pass.h"
#include "init/copy/tree/walk.h"
#include "init/sys/boot.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr int kRounds = 3;
constexpr Item kRoot;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return to_ns(now);
}

// Reads, or writes at the first run, when the first run began and at which boot of the machine:
// "<boot id> <ns>". It is written before anything that it describes, and never changed.
base::Status read_beginning(CopyJob& job) {
  const std::string path = job.state + "/boot";
  struct stat status{};
  const bool tree = ::lstat(job.tree.c_str(), &status) == 0;
  const envgen::PathState found = read_kept_file(path);
  const std::string boot = sys::boot_id();
  job.rules.begun_ns = now_ns();
  if (found.kind == envgen::PathState::Kind::kFile) {
    const std::size_t space = found.content.find(' ');
    job.rules.same_boot =
        space != std::string::npos && !boot.empty() && found.content.substr(0, space) == boot;
    std::int64_t begun = 0;
    const std::string_view text = found.content;
    if (space != std::string::npos) {
      std::from_chars(text.data() + space + 1, text.data() + text.size(), begun);
    }
    if (begun > 0) job.rules.begun_ns = begun;
  } else {
    job.rules.same_boot = !tree;
    const std::string text =
        (tree || boot.empty() ? "unknown" : boot) + " " + std::to_string(job.rules.begun_ns) + "\n";
    TRY(sys::write_file_atomic(path, 0644, text));
  }
  job.compare = job.options->compare || job.options->verify || !job.rules.same_boot;
  return {};
}

// Prepares the scratch space of a run: deletes what an earlier run has left.
base::Status clear_scratch(const CopyJob& job) {
  TRY(remove_parts(job.state));
  // On such a file system, a name that exists in a new tree must be another name in another case.
  // So each run starts with an empty tree.
  if (job.header->kept.case_folded) {
    TRY(remove_tree(job.tree, job.options->keep));
  }
  for (const char* name : {"/links", "/trash", "/late"}) {
    const std::string path = job.state + name;
    TRY(remove_tree(path, job.options->keep));
    if (name == std::string_view("/late")) continue;
    TRY(sys::make_directories(path, 0700));
  }
  return {};
}

// Moves an unfinished single file into the directory in which it is filled. When it is complete,
// the file itself becomes the tree.
base::Status take_in(const CopyJob& job, const std::string& tree) {
  struct stat status{};
  if (::lstat(tree.c_str(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode)) return sys::remove_tree(tree);
  TRY(sys::make_directories(job.tree, 0700));
  const std::string inside = job.tree + "/" + job.only;
  if (::rename(tree.c_str(), inside.c_str()) == 0) return {};
  return base::fail("copying", inside, sys::errno_text(errno), "remove it");
}

base::Status bring_out(const CopyJob& job, const std::string& tree) {
  const std::string inside = job.tree + "/" + job.only;
  if (::rename(inside.c_str(), tree.c_str()) == 0) return sys::remove_tree(job.tree);
  return base::fail("copying", tree, sys::errno_text(errno), "run it again: it goes on");
}

base::Status prepare(CopyJob& job, const std::string& tree) {
  TRY(sys::make_directories(job.state, 0700));
  if (!job.only.empty()) {
    TRY(take_in(job, tree));
  }
  TRY(read_beginning(job));
  job.header->kept = probe_destination(job.state);
  job.header->no_owners = !job.header->kept.owners;
  TRY(job.header->kept.check_usable(job.state, job.only.empty()));
  return check_room(job);
}

// Warns about entries that are copied in another form than the source has them.
void warn_of_source(const CopyJob& job) {
  const auto tell = [&job](const LinkNote& links, const char* text) {
    if (links.count == 0) return;
    job.options->warn(job.source + ": " + std::to_string(links.count) +
                      " symbolic links lead out of it, as " + links.first.data() + text);
  };
  tell(job.header->followed, ": the copy has in their place what they lead to");
  tell(job.header->left,
       ": they stay links, as they lead to what may not be read, is no file, or has no end");
  if (job.header->lost_found) {
    job.options->warn(job.source + "/" + kLostFound + ": passed over, as only root may read it");
  }
}

void warn(const CopyJob& job) {
  if (!job.options->warn) return;
  warn_of_memory(job, job.tree);
  for (const std::string& loss : job.header->kept.losses(job.state)) {
    job.options->warn(job.tree + ": " + loss);
  }
  if (job.header->no_links) {
    job.options->warn(job.tree + ": its file system has no hard links, copying each name instead");
  }
  warn_of_source(job);
  if (job.header->no_owners && job.header->kept.owners) {
    job.options->warn(job.tree + ": the files' owners cannot be set there, leaving them ours");
  }
}

base::Error changes_all_the_time(const CopyJob& job) {
  std::string paths;
  const std::size_t count = std::min<std::size_t>(job.header->noted, kNoted);
  for (std::size_t index = 0; index < count; ++index) {
    const std::string path = job.header->changed.at(index).data();
    if (path.empty()) continue;
    if (("," + paths + ",").find("," + path + ",") != std::string::npos) continue;
    paths += (paths.empty() ? "" : ",") + path;
  }
  return {"copying", job.source,
          "that it changes while it is copied" + (paths.empty() ? "" : ": " + paths),
          "copy when nothing writes to it, or leave out what is written with --exclude"};
}

// Runs one round: copies, then compares the source with what was copied. Returns false if it
// changed.
base::Result<bool> run_round(CopyJob& job, int size, Scan& scan) {
  TRY(clear_scratch(job));
  Counters& counters = *job.counters;
  for (auto* count :
       {&counters.entries, &counters.bytes, &counters.kept_entries, &counters.kept_bytes}) {
    count->store(0);
  }
  job.header->unstable = false;
  job.header->followed.count = job.header->left.count = 0;
  job.header->noted = 0;
  counters.phase = Phase::kCopying;
  job.finalize = false;
  TRY(run_pass(job, size, {&kRoot, 1}, true, work_on));
  const Sums copied = job.header->sums.value();
  counters.phase = Phase::kChecking;
  counters.entries = 0;
  job.finalize = true;
  TRY(run_pass(job, size, {&kRoot, 1}, false, work_on));
  const Sums now = job.header->sums.value();
  scan = {now.digest, now.size};
  return !job.header->unstable && now.change == copied.change && now.digest == copied.digest;
}

base::Status sync_tree(Worker& worker) {
  worker.tree.reset(::open(worker.job.state.c_str(), O_RDONLY | O_CLOEXEC));
  if (!worker.tree.valid() || ::syncfs(worker.tree.get()) != 0) {
    return cannot_write(worker, errno);
  }
  return {};
}

base::Status finish(CopyJob& job, int size, const std::string& tree) {
  // Checks the room once more, because a short pass ends before its first check.
  TRY(check_room(job));
  struct stat status{};
  if (::lstat((job.state + "/late").c_str(), &status) == 0) {
    TRY(run_pass(job, 1, {}, false, finalize_late_directories));
  }
  TRY(join_manifests(job.state, size, job.header->closed ? 0600 : 0644));
  TRY(sys::remove_tree(job.state + "/links"));
  if (!job.only.empty()) {
    TRY(bring_out(job, tree));
  }
  if (!job.options->durable) return {};
  job.counters->phase = Phase::kSyncing;
  return run_pass(job, 1, {}, false, sync_tree);
}

// Returns whether the disk is full. A copy must not use up the headroom, because a full disk harms
// all others, and other processes may have filled it.
bool is_full(const CopyJob& job) {
  constexpr std::uint64_t kMin = 1ULL << 20U;  // bytes that must be free
  if (job.header->full) return true;
  const auto space = space_of(job.state, job.options->headroom);
  return space &&
         (space->available_bytes < std::max(kMin, space->headroom) || space->free_inodes == 0);
}

base::Result<Scan> run_rounds(CopyJob& job, const std::string& tree) {
  TRY(prepare(job, tree));
  TRY_ASSIGN(auto journal, Journal::open(job.state));
  job.journal = &journal;
  const int size = pool_size(job.options->workers);
  Scan scan;
  for (int round = 1; round <= kRounds; ++round) {
    job.names = round == kRounds;
    TRY_ASSIGN(auto stable, run_round(job, size, scan));
    if (!stable) continue;
    TRY(finish(job, size, tree));
    warn(job);
    if (job.options->report) job.options->report(*job.counters);
    return scan;
  }
  return std::unexpected(changes_all_the_time(job));
}

// Reads all entries of a tree. `counts` is CopyJob::counts.
base::Result<Sums> look_through(const Root& source, bool counts, const Options& options,
                                const SharedCounters& counters) {
  TRY_ASSIGN(auto header, make_shared_header());
  CopyJob job;
  job.source = source.path;
  job.only = source.only;
  job.options = &options;
  job.counters = &counters.get();
  job.header = header.get();
  job.finalize = true;
  job.counts = counts;
  TRY(run_pass(job, pool_size(options.workers), {&kRoot, 1}, false, work_on));
  if (header->times_made_up && options.warn) {
    options.warn(source.path +
                 ": its files have other times at each look: they are left out of what a copy is "
                 "known by. A file that changes and keeps its size is not noticed");
  }
  if (options.dry_run && options.warn) warn_of_source(job);
  return job.header->sums.value();
}

}  // namespace

base::Result<Scan> scan_tree(const Root& source, const Options& options,
                             const SharedCounters& counters) {
  counters.get().phase = Phase::kScanning;
  // Resets the counters, because those of the last scan do not belong to this one.
  for (auto* count : {&counters.get().entries, &counters.get().bytes, &counters.get().total_entries,
                      &counters.get().total_bytes}) {
    count->store(0);
  }
  TRY_ASSIGN(const auto sums, look_through(source, false, options, counters));
  counters.get().total_entries = sums.size.entries;
  counters.get().total_bytes = sums.size.bytes;
  counters.get().entries = 0;
  counters.get().bytes = 0;
  return Scan{sums.digest, sums.size};
}

base::Result<std::uint64_t> count_entries(const Root& tree, const Options& options,
                                          const SharedCounters& counters) {
  TRY_ASSIGN(const auto sums, look_through(tree, true, options, counters));
  return sums.size.entries;
}

base::Result<Scan> run_copy_job(const Root& source, const std::string& tree,
                                const std::string& state_dir, const Options& options,
                                const SharedCounters& counters) {
  TRY_ASSIGN(auto header, make_shared_header());
  CopyJob job;
  job.source = source.path;
  job.only = source.only;
  job.tree = source.only.empty() ? tree : state_dir + "/one";
  job.state = state_dir;
  job.options = &options;
  job.counters = &counters.get();
  job.header = header.get();
  auto filled = run_rounds(job, tree);
  if (!filled && is_full(job)) {
    for (const std::string& path : {tree, job.state}) {
      std::ignore = remove_tree(path, options.keep);
    }
  }
  return filled;
}

}  // namespace copy
