// scan_tree and fill_tree: the process that has others work, and waits for them.
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "init/copy/space.h"
#include "init/copy/tree/copy.h"
#include "init/copy/tree/phase.h"
#include "init/copy/tree/seal.h"
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

// When the first run began, and on which boot of the machine: "<boot id> <ns>". Written before
// there is anything that it says something about, and never again.
envgen::Status read_beginning(Job& job) {
  const std::string path = job.state + "/boot";
  struct stat status{};
  const bool tree = ::lstat(job.tree.c_str(), &status) == 0;
  const envgen::PathState found = sys::look(path, true);
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
    if (auto written = sys::write_file_atomic(path, 0600, text); !written) return written;
  }
  job.compare = job.options->compare || job.options->verify || !job.rules.same_boot;
  return {};
}

// What only one run uses.
envgen::Status clear_scratch(const Job& job) {
  for (const char* name : {"/links", "/trash", "/late"}) {
    const std::string path = job.state + name;
    if (auto removed = remove_tree(path, job.options->keep); !removed) return removed;
    if (name == std::string_view("/late")) continue;
    if (auto made = sys::make_directories(path, 0700); !made) return made;
  }
  return {};
}

// One file is filled in a directory of its own, and is the tree when it is whole.
envgen::Status take_in(const Job& job, const std::string& tree) {
  struct stat status{};
  if (::lstat(tree.c_str(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode)) return sys::remove_tree(tree);
  if (auto made = sys::make_directories(job.tree, 0700); !made) return made;
  const std::string inside = job.tree + "/" + job.only;
  if (::rename(tree.c_str(), inside.c_str()) == 0) return {};
  return envgen::fail("copying", inside, sys::errno_text(errno), "remove it");
}

envgen::Status bring_out(const Job& job, const std::string& tree) {
  const std::string inside = job.tree + "/" + job.only;
  if (::rename(inside.c_str(), tree.c_str()) == 0) return sys::remove_tree(job.tree);
  return envgen::fail("copying", tree, sys::errno_text(errno), "run it again: it goes on");
}

envgen::Status prepare(Job& job, const std::string& tree) {
  if (auto made = sys::make_directories(job.state, 0700); !made) return made;
  if (!job.only.empty()) {
    if (auto taken = take_in(job, tree); !taken) return taken;
  }
  if (auto begun = read_beginning(job); !begun) return begun;
  return check_room(job);
}

void warn(const Job& job) {
  if (!job.options->warn) return;
  warn_of_memory(job, job.tree);
  if (job.board->no_links) {
    job.options->warn(job.tree + ": its file system has no hard links, copying each name instead");
  }
  if (job.board->no_owners) {
    job.options->warn(job.tree + ": the files' owners cannot be set there, leaving them ours");
  }
}

envgen::Error changes_all_the_time(const Job& job) {
  std::string paths;
  const std::size_t count = std::min<std::size_t>(job.board->noted, kNoted);
  for (std::size_t index = 0; index < count; ++index) {
    const std::string path = job.board->changed.at(index).data();
    if (("," + paths + ",").find("," + path + ",") != std::string::npos) continue;
    paths += (paths.empty() ? "" : ",") + path;
  }
  return {"copying", job.source,
          "that it changes while it is copied" + (paths.empty() ? "" : ": " + paths),
          "copy when nothing writes to it, or exclude what is written"};
}

// One time through: copies, and then looks whether the source still is what was copied.
envgen::Result<bool> run_round(Job& job, int size, Scan& scan) {
  if (auto cleared = clear_scratch(job); !cleared) return std::unexpected(cleared.error());
  Counters& counters = *job.counters;
  for (auto* count :
       {&counters.entries, &counters.bytes, &counters.kept_entries, &counters.kept_bytes}) {
    count->store(0);
  }
  job.board->unstable = false;
  job.board->noted = 0;
  counters.phase = Phase::kCopying;
  job.seal = false;
  if (auto done = run_phase(job, size, {&kRoot, 1}, true, work_on); !done) {
    return std::unexpected(done.error());
  }
  const Sums copied = job.board->sums.value();
  counters.phase = Phase::kChecking;
  job.seal = true;
  if (auto done = run_phase(job, size, {&kRoot, 1}, false, work_on); !done) {
    return std::unexpected(done.error());
  }
  const Sums now = job.board->sums.value();
  scan = {now.identity, now.size};
  return !job.board->unstable && now.change == copied.change && now.identity == copied.identity;
}

envgen::Status sync_tree(Worker& worker) {
  worker.tree.reset(::open(worker.job.state.c_str(), O_RDONLY | O_CLOEXEC));
  if (!worker.tree.valid() || ::syncfs(worker.tree.get()) != 0) {
    return cannot_write(worker, errno);
  }
  return {};
}

envgen::Status finish(Job& job, int size, const std::string& tree) {
  // What is quick was not asked in between.
  if (auto room = check_room(job); !room) return room;
  struct stat status{};
  if (::lstat((job.state + "/late").c_str(), &status) == 0) {
    if (auto done = run_phase(job, 1, {}, false, seal_late); !done) return done;
  }
  if (auto joined = join_manifests(job.state, size, job.board->closed ? 0600 : 0644); !joined)
    return joined;
  if (auto cleared = sys::remove_tree(job.state + "/links"); !cleared) return cleared;
  if (!job.only.empty()) {
    if (auto brought = bring_out(job, tree); !brought) return brought;
  }
  if (!job.options->durable) return {};
  job.counters->phase = Phase::kSyncing;
  return run_phase(job, 1, {}, false, sync_tree);
}

// A disk that is full is of no use to anybody. Not who writes the copy alone may have found it so.
bool is_full(const Job& job) {
  constexpr std::uint64_t kLeast = 1ULL << 20U;  // bytes
  if (job.board->full) return true;
  const auto space = space_of(job.state, job.options->headroom);
  return space &&
         (space->available_bytes < std::max(kLeast, space->headroom) || space->free_inodes == 0);
}

envgen::Result<Scan> fill(Job& job, const std::string& tree) {
  if (auto prepared = prepare(job, tree); !prepared) return std::unexpected(prepared.error());
  auto journal = Journal::open(job.state);
  if (!journal) return std::unexpected(journal.error());
  job.journal = &*journal;
  const int size = team_size(job.options->workers);
  Scan scan;
  for (int round = 1; round <= kRounds; ++round) {
    auto stable = run_round(job, size, scan);
    if (!stable) return std::unexpected(stable.error());
    if (!*stable) continue;
    if (auto done = finish(job, size, tree); !done) return std::unexpected(done.error());
    warn(job);
    if (job.options->report) job.options->report(*job.counters);
    return scan;
  }
  return std::unexpected(changes_all_the_time(job));
}

}  // namespace

envgen::Result<Scan> scan_tree(const Root& source, const Options& options,
                               const SharedCounters& counters) {
  auto board = make_board();
  if (!board) return std::unexpected(board.error());
  Job job;
  job.source = source.path;
  job.only = source.only;
  job.options = &options;
  job.counters = &counters.get();
  job.board = board->get();
  job.seal = true;
  counters.get().phase = Phase::kScanning;
  if (auto done = run_phase(job, team_size(options.workers), {&kRoot, 1}, false, work_on); !done) {
    return std::unexpected(done.error());
  }
  const Sums sums = job.board->sums.value();
  counters.get().total_entries = sums.size.entries;
  counters.get().total_bytes = sums.size.bytes;
  return Scan{sums.identity, sums.size};
}

envgen::Result<Scan> fill_tree(const Root& source, const std::string& tree,
                               const std::string& state_dir, const Options& options,
                               const SharedCounters& counters) {
  auto board = make_board();
  if (!board) return std::unexpected(board.error());
  Job job;
  job.source = source.path;
  job.only = source.only;
  job.tree = source.only.empty() ? tree : state_dir + "/one";
  job.state = state_dir;
  job.options = &options;
  job.counters = &counters.get();
  job.board = board->get();
  auto filled = fill(job, tree);
  if (!filled && is_full(job)) {
    for (const std::string& path : {tree, job.state}) {
      std::ignore = remove_tree(path, options.keep);
    }
  }
  return filled;
}

}  // namespace copy
