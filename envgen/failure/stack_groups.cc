#include "envgen/failure/stack_groups.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/constants/words.h"

namespace envgen {
namespace {

constexpr int kRuns = 20;  // per cent of a CPU from which on a thread counts as running; a watchdog
                           // thread uses less

struct KernelWait {
  std::string_view part;  // text that the kernel function's name contains
  const char* does;
  bool peers = false;  // another rank may cause the event that is waited for
};

// Kernel functions in which no collective waits.
constexpr auto kKernelWaits = std::to_array({
    KernelWait{"nanosleep", "sleeps"},
    KernelWait{"request_wait_answer", "waits for a FUSE file system"},
    KernelWait{"fuse", "waits for a FUSE file system"},
    KernelWait{"nfs", "waits for NFS"},
    KernelWait{"rpc_wait", "waits for NFS"},
    KernelWait{"ceph", "waits for Ceph"},
    KernelWait{"cl_sync_io", "waits for Lustre"},
    KernelWait{"io_schedule", "waits for storage"},
    KernelWait{"folio_wait", "waits for storage"},
    KernelWait{"wait_for_partner", "waits for the other end of a FIFO", true},
    KernelWait{"fifo_open", "waits for the other end of a FIFO", true},
    KernelWait{"pipe_read", "reads a pipe", true},
    KernelWait{"pipe_wait_readable", "reads a pipe", true},
    KernelWait{"pipe_write", "writes to a pipe", true},
    KernelWait{"pipe_wait_writable", "writes to a pipe", true},
    KernelWait{"kernel_wait4", "waits for a process"},
    KernelWait{"flock", "waits for a file lock", true},
    KernelWait{"locks_lock", "waits for a file lock", true},
    KernelWait{"n_tty_read", "reads a terminal"},
});

const KernelWait* kernel_wait(const SeenThread& thread) {
  static constexpr KernelWait kProcess{"do_wait", "waits for a process"};
  if (thread.wait == kProcess.part)
    return &kProcess;  // equality, because futex_do_wait contains
                       // it too
  if (thread.wait.contains("futex")) return nullptr;
  const auto found = std::ranges::find_if(
      kKernelWaits, [&](const KernelWait& one) { return thread.wait.contains(one.part); });
  if (!thread.wait.empty() && found != kKernelWaits.end()) return &*found;
  return nullptr;
}

bool is_stopped(char state) { return state == 'T' || state == 't'; }

bool is_stopped(const SeenProcess& process) {
  return !process.threads.empty() &&
         std::ranges::all_of(process.threads,
                             [](const SeenThread& thread) { return is_stopped(thread.state); });
}

bool runs(const SeenThread& thread) { return thread.share_of_cpu >= kRuns || thread.runnable; }

bool runs(const SeenProcess& process) {
  return std::ranges::any_of(process.threads,
                             [](const SeenThread& thread) { return runs(thread); });
}

std::string user_place(const PythonThread& thread) {
  const Frame* frame = user_frame(thread);
  return frame != nullptr ? place_of(*frame) : "";
}

bool is_backward(const PythonThread& thread) {
  if (thread.frames.empty()) return false;
  const Frame& frame = thread.frames.front();
  return frame.file.ends_with("/torch/autograd/__init__.py") ||
         frame.file.ends_with("/torch/autograd/graph.py");
}

constexpr const char* kLoader = "/torch/utils/data/dataloader.py";
constexpr const char* kWorkerLoop = "_worker_loop";

// Returns true for a data loader's worker that processes a batch instead of waiting for work.
bool is_busy_worker(const SeenProcess& process) {
  return !process.python.empty() &&
         has_frame(process.python.front(), "/torch/utils/data/_utils/worker.py", kWorkerLoop) &&
         has_frame(process.python.front(), "/torch/utils/data/_utils/fetch.py");
}

RankPlace at_data_loader(const SeenRank& rank, const PythonThread& main) {
  RankPlace at{.where = Whereabouts::kElsewhere,
               .does = "waits for its data loader",
               .place = user_place(main)};
  const std::span below = std::span(rank.processes).subspan(1);
  const auto stopped =
      std::ranges::find_if(below, [](const SeenProcess& process) { return is_stopped(process); });
  if (stopped != below.end()) {
    at.does += ", whose worker " + std::to_string(stopped->pid) + " is stopped";
    at.peers = false;
    return at;
  }
  const auto busy = std::ranges::find_if(below, is_busy_worker);
  if (busy == below.end()) return at;
  at.does += ", whose worker " + std::to_string(busy->pid) + " is busy";
  at.peers = false;
  at.place = user_place(busy->python.front());
  return at;
}

struct LibraryWait {
  std::string_view file;
  const char* does;
  bool peers;  // another rank may cause the event that is waited for
};

// Returns what a frame in Python's library waits for, if it is not in a known collective; nullptr
// if that is not known.
const LibraryWait* library_wait(const Frame& frame) {
  static constexpr auto kFiles = std::to_array<LibraryWait>({
      {"/subprocess.py", "waits for a process", false},
      {"/multiprocessing/popen_fork.py", "waits for a process", false},
      {"/multiprocessing/connection.py", "waits for a process's message", true},
      {"/multiprocessing/queues.py", "waits for a queue", true},
      {"/queue.py", "waits for a queue", true},
      {"/socket.py", "waits for a connection", true},
      {"/ssl.py", "waits for a connection", true},
      {"/http/client.py", "waits for a connection", true},
      {"/selectors.py", "waits for a connection", true},
      {"/concurrent/futures/_base.py", "waits for another thread", true},
  });
  const auto found = std::ranges::find_if(kFiles, [&frame](const LibraryWait& one) {
    return is_library(frame.file) && frame.file.ends_with(one.file);
  });
  return found == kFiles.end() ? nullptr : &*found;
}

RankPlace place_in_python(const SeenRank& rank, const SeenProcess& process) {
  const PythonThread& main = process.python.front();
  const SeenThread thread = process.threads.empty() ? SeenThread() : process.threads.front();
  RankPlace at{.place = user_place(main)};
  const auto is = [&at](Whereabouts where, std::string does) {
    at.where = where;
    at.peers = where != Whereabouts::kElsewhere;
    at.does = std::move(does);
    return at;
  };
  if (const auto collective = collective_of(main)) {
    at.collective = *collective;
    return is(Whereabouts::kCollective, "waits in " + *collective);
  }
  const bool ends =
      main.frames.empty() || (main.frames.back().function == "_shutdown" && !process.moves);
  if (ends) return is(Whereabouts::kElsewhere, "is at its exit");
  if (process.moves) return is(Whereabouts::kElsewhere, "runs");
  if (has_frame(main, kLoader)) return at_data_loader(rank, main);
  // If the main thread waits for another thread of its process, it waits for that thread's
  // collective.
  const std::span others = std::span(process.python).subspan(1);
  const bool by_thread = std::ranges::any_of(
      others, [](const PythonThread& one) { return collective_of(one).has_value(); });
  if (by_thread) return is(Whereabouts::kUnclear, "has another thread in a collective");
  if (const KernelWait* waits = kernel_wait(thread)) {
    is(Whereabouts::kElsewhere, waits->does);
    // A library that sleeps may be polling for another rank.
    at.peers = waits->peers || is_library(main.frames.front().file);
    return at;
  }
  if (process.device) {
    return is(Whereabouts::kUnclear,
              runs(process) ? "runs, or waits for its device" : "waits, perhaps for its device");
  }
  if (runs(thread)) return is(Whereabouts::kElsewhere, "runs");
  if (is_backward(main)) {
    if (runs(process)) return is(Whereabouts::kUnclear, "runs in backward");
    at.collective = "backward";
    return is(Whereabouts::kCollective, "waits in backward");
  }
  if (thread.state == 'D') return is(Whereabouts::kElsewhere, "waits in the kernel");
  if (const LibraryWait* waits = library_wait(main.frames.front())) {
    is(Whereabouts::kElsewhere, waits->does);
    at.peers = waits->peers;
    return at;
  }
  return is(Whereabouts::kUnclear, "waits");
}

RankPlace place_without_python(const SeenProcess& process) {
  if (process.threads.empty()) return {.does = "could not be looked at"};
  const SeenThread& thread = process.threads.front();
  RankPlace at;
  at.does = runs(process) ? "runs" : std::string("state ") + thread.state;
  if (!thread.wait.empty()) at.does += " in " + thread.wait;
  if (!process.no_stack.empty()) at.does += "; " + process.no_stack;
  return at;
}

}  // namespace

std::string_view name_of(Whereabouts where) {
  static constexpr auto kNames =
      base::words("collective", "elsewhere", "unclear", "stopped", "ended");
  return kNames[static_cast<std::size_t>(where)];
}

RankPlace place_of(const SeenRank& rank) {
  if (!rank.ended.empty()) return {.where = Whereabouts::kEnded, .does = rank.ended};
  if (rank.processes.empty()) return {.does = "could not be looked at"};
  const SeenProcess& process = rank.processes.front();
  if (is_stopped(process)) {
    RankPlace at{.where = Whereabouts::kStopped, .seen = true};
    at.does = process.threads.front().state == 't' ? "is held by a debugger" : "is stopped";
    if (!process.python.empty()) at.place = user_place(process.python.front());
    return at;
  }
  if (process.python.empty()) return place_without_python(process);
  RankPlace at = place_in_python(rank, process);
  at.idle = !process.device && !runs(process);
  at.seen = true;
  return at;
}

std::vector<PlacedRank> places_of(const SeenJob& job) {
  std::vector<PlacedRank> places;
  places.reserve(job.ranks.size());
  for (const SeenRank& rank : job.ranks) {
    places.push_back({.name = rank.name, .node = {}, .rank = rank.rank, .at = place_of(rank)});
  }
  return places;
}

StackVerdict judge_stacks(const SeenJob& job) {
  StackVerdict verdict = judge_places(places_of(job), job.whole, job.recorded);
  for (const std::string& note : job.notes) verdict.text += ". " + note;
  return verdict;
}

}  // namespace envgen
