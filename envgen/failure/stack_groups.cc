#include "envgen/failure/stack_groups.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/constants/words.h"

namespace envgen {
namespace {

constexpr int kRuns = 20;  // per cent of a CPU: more than a watchdog's looks
constexpr std::size_t kMostNames = 8;
constexpr std::size_t kMostVerdictBytes = 1000;
constexpr std::size_t kMostGroupsTold = 4;

struct KernelWait {
  std::string_view part;  // of the name of the kernel's function
  const char* does;
};

// What no collective waits in.
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
    KernelWait{"wait_for_partner", "waits for the other end of a FIFO"},
    KernelWait{"fifo_open", "waits for the other end of a FIFO"},
    KernelWait{"pipe_read", "reads a pipe"},
    KernelWait{"pipe_wait_readable", "reads a pipe"},
    KernelWait{"pipe_write", "writes to a pipe"},
    KernelWait{"pipe_wait_writable", "writes to a pipe"},
    KernelWait{"kernel_wait4", "waits for a process"},
    KernelWait{"flock", "waits for a file lock"},
    KernelWait{"locks_lock", "waits for a file lock"},
    KernelWait{"n_tty_read", "reads a terminal"},
});

const char* kernel_wait(const SeenThread& thread) {
  if (thread.wait == "do_wait") return "waits for a process";  // not: futex_do_wait
  if (thread.wait.contains("futex")) return nullptr;
  const auto found = std::ranges::find_if(
      kKernelWaits, [&](const KernelWait& one) { return thread.wait.contains(one.part); });
  if (!thread.wait.empty() && found != kKernelWaits.end()) return found->does;
  return nullptr;
}

bool is_stopped(char state) { return state == 'T' || state == 't'; }

bool is_stopped(const SeenProcess& process) {
  return !process.threads.empty() &&
         std::ranges::all_of(process.threads,
                             [](const SeenThread& thread) { return is_stopped(thread.state); });
}

bool runs(const SeenProcess& process) {
  return std::ranges::any_of(process.threads,
                             [](const SeenThread& thread) { return thread.share_of_cpu >= kRuns; });
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

// A worker of a data loader that works on something, rather than waiting for work.
bool is_busy_worker(const SeenProcess& process) {
  return !process.python.empty() &&
         has_frame(process.python.front(), "/torch/utils/data/_utils/worker.py", kWorkerLoop) &&
         has_frame(process.python.front(), "/torch/utils/data/_utils/fetch.py");
}

RankPlace at_data_loader(const SeenRank& rank, const PythonThread& main) {
  RankPlace at{Whereabouts::kElsewhere, "waits for its data loader", user_place(main), ""};
  const std::span below = std::span(rank.processes).subspan(1);
  const auto stopped =
      std::ranges::find_if(below, [](const SeenProcess& process) { return is_stopped(process); });
  if (stopped != below.end()) {
    at.does += ", whose worker " + std::to_string(stopped->pid) + " is stopped";
    return at;
  }
  const auto busy = std::ranges::find_if(below, is_busy_worker);
  if (busy == below.end()) return at;
  at.does += ", whose worker " + std::to_string(busy->pid) + " is busy";
  at.place = user_place(busy->python.front());
  return at;
}

// A place in Python's library where something else than a rank is waited for.
const char* library_wait(const Frame& frame) {
  constexpr std::array<std::pair<std::string_view, const char*>, 10> kFiles = {{
      {"/subprocess.py", "waits for a process"},
      {"/multiprocessing/popen_fork.py", "waits for a process"},
      {"/multiprocessing/connection.py", "waits for a process's message"},
      {"/multiprocessing/queues.py", "waits for a queue"},
      {"/queue.py", "waits for a queue"},
      {"/socket.py", "waits for a connection"},
      {"/ssl.py", "waits for a connection"},
      {"/http/client.py", "waits for a connection"},
      {"/selectors.py", "waits for a connection"},
      {"/concurrent/futures/_base.py", "waits for another thread"},
  }};
  for (const auto& [file, does] : kFiles) {
    if (is_library(frame.file) && frame.file.ends_with(file)) return does;
  }
  return nullptr;
}

RankPlace place_in_python(const SeenRank& rank, const SeenProcess& process) {
  const PythonThread& main = process.python.front();
  const SeenThread thread = process.threads.empty() ? SeenThread() : process.threads.front();
  RankPlace at{.place = user_place(main)};
  const auto is = [&at](Whereabouts where, std::string does) {
    at.where = where;
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
  // One that waits for a thread of its own waits for what that one waits for.
  const std::span others = std::span(process.python).subspan(1);
  const bool by_thread = std::ranges::any_of(
      others, [](const PythonThread& one) { return collective_of(one).has_value(); });
  if (by_thread) return is(Whereabouts::kUnclear, "has another thread in a collective");
  if (const char* does = kernel_wait(thread)) return is(Whereabouts::kElsewhere, does);
  if (process.device) {
    return is(Whereabouts::kUnclear,
              runs(process) ? "runs, or waits for its device" : "waits, perhaps for its device");
  }
  if (thread.share_of_cpu >= kRuns) return is(Whereabouts::kElsewhere, "runs");
  if (is_backward(main)) {
    if (runs(process)) return is(Whereabouts::kUnclear, "runs in backward");
    at.collective = "backward";
    return is(Whereabouts::kCollective, "waits in backward");
  }
  if (thread.state == 'D') return is(Whereabouts::kElsewhere, "waits in the kernel");
  if (const char* does = library_wait(main.frames.front())) {
    return is(Whereabouts::kElsewhere, does);
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

bool same_group(const RankPlace& a, const RankPlace& b) {
  return a.where == b.where && a.does == b.does && a.place == b.place;
}

std::vector<StackGroup> grouped(const SeenJob& job) {
  std::vector<StackGroup> groups;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    RankPlace at = place_of(job.ranks[i]);
    auto found = std::ranges::find_if(
        groups, [&at](const StackGroup& group) { return same_group(group.at, at); });
    if (found == groups.end()) {
      groups.push_back({std::move(at), {i}});
    } else {
      found->ranks.push_back(i);
    }
  }
  std::ranges::stable_sort(groups, std::ranges::greater(),
                           [](const StackGroup& group) { return group.ranks.size(); });
  return groups;
}

using Groups = std::vector<const StackGroup*>;

Groups groups_at(const std::vector<StackGroup>& groups, Whereabouts where) {
  Groups found;
  for (const StackGroup& group : groups) {
    if (group.at.where == where) found.push_back(&group);
  }
  return found;
}

std::size_t count_of(const Groups& groups) {
  std::size_t count = 0;
  for (const StackGroup* group : groups) count += group->ranks.size();
  return count;
}

// Of several collectives the one that is told.
std::string told(const SeenJob& job, const Groups& groups) {
  std::string text;
  for (std::size_t i = 0; i < groups.size() && i < kMostGroupsTold; ++i) {
    text += (i > 0 ? "; " : "") + to_line(job, *groups[i]);
  }
  if (groups.size() > kMostGroupsTold) {
    text += "; and " + std::to_string(groups.size() - kMostGroupsTold) + " more groups";
  }
  return text;
}

// The rank that alone is in another collective than all the others of the job.
const StackGroup* out_of_order(const SeenJob& job, const Groups& waiting) {
  if (!job.whole || waiting.size() != 2 || count_of(waiting) != job.ranks.size()) return nullptr;
  const bool between_two = std::ranges::any_of(
      waiting, [](const StackGroup* group) { return is_between_two(group->at.collective); });
  const bool alone = waiting[1]->ranks.size() == 1 && waiting[0]->ranks.size() > 1;
  return alone && !between_two ? waiting[1] : nullptr;
}

// Whom all that was seen allows to name.
const StackGroup* suspected(const SeenJob& job, const std::vector<StackGroup>& groups) {
  const Groups waiting = groups_at(groups, Whereabouts::kCollective);
  const Groups stopped = groups_at(groups, Whereabouts::kStopped);
  const Groups ended = groups_at(groups, Whereabouts::kEnded);
  const Groups elsewhere = groups_at(groups, Whereabouts::kElsewhere);
  const Groups unclear = groups_at(groups, Whereabouts::kUnclear);
  // All stopped: by whoever froze the job.
  if (stopped.size() == 1 && count_of(stopped) < job.ranks.size()) return stopped[0];
  if (!stopped.empty() || waiting.empty()) return nullptr;
  if (ended.size() == 1 && elsewhere.empty() && unclear.empty()) return ended[0];
  if (!ended.empty()) return nullptr;
  if (elsewhere.size() == 1 && count_of(elsewhere) <= count_of(waiting)) return elsewhere[0];
  if (!elsewhere.empty()) return nullptr;
  // Nothing but itself could keep it from where all the others of the job are.
  const bool lone = job.whole && unclear.size() == 1 && unclear[0]->ranks.size() == 1 &&
                    waiting.size() == 1 && waiting[0]->ranks.size() + 1 == job.ranks.size();
  if (lone) {
    const SeenRank& rank = job.ranks[unclear[0]->ranks[0]];
    const bool seen = !rank.processes.empty() && !rank.processes[0].python.empty();
    return seen && !rank.processes[0].device && !runs(rank.processes[0]) ? unclear[0] : nullptr;
  }
  return unclear.empty() ? out_of_order(job, waiting) : nullptr;
}

std::string verdict_text(const SeenJob& job, const StackVerdict& verdict,
                         const StackGroup* suspect) {
  Groups others;
  for (const StackGroup& group : verdict.groups) {
    if (&group != suspect) others.push_back(&group);
  }
  if (suspect != nullptr) {
    return "the others wait for " + to_line(job, *suspect) + ". " + told(job, others);
  }
  if (verdict.all_wait && !job.whole) {
    return "all ranks of this node wait, so the cause is on another node. " + told(job, others);
  }
  return "the cause is not known. " + told(job, others);
}

}  // namespace

std::string_view name_of(Whereabouts where) {
  static constexpr auto kNames = words("collective", "elsewhere", "unclear", "stopped", "ended");
  return kNames[static_cast<std::size_t>(where)];
}

RankPlace place_of(const SeenRank& rank) {
  if (!rank.ended.empty()) return {.where = Whereabouts::kEnded, .does = rank.ended};
  if (rank.processes.empty()) return {.does = "could not be looked at"};
  const SeenProcess& process = rank.processes.front();
  if (is_stopped(process)) {
    RankPlace at{.where = Whereabouts::kStopped};
    at.does = process.threads.front().state == 't' ? "is held by a debugger" : "is stopped";
    if (!process.python.empty()) at.place = user_place(process.python.front());
    return at;
  }
  if (process.python.empty()) return place_without_python(process);
  return place_in_python(rank, process);
}

StackVerdict judge_stacks(const SeenJob& job) {
  StackVerdict verdict;
  verdict.groups = grouped(job);
  const StackGroup* suspect = suspected(job, verdict.groups);
  if (suspect != nullptr) verdict.suspects = suspect->ranks;
  verdict.all_wait =
      !job.ranks.empty() &&
      count_of(groups_at(verdict.groups, Whereabouts::kCollective)) == job.ranks.size();
  verdict.text = verdict_text(job, verdict, suspect);
  if (verdict.text.size() > kMostVerdictBytes) {
    verdict.text.resize(kMostVerdictBytes - 3);  // names and paths are ASCII
    verdict.text += "...";
  }
  for (const std::string& note : job.notes) verdict.text += ". " + note;
  return verdict;
}

std::string names_of(const SeenJob& job, const std::vector<std::size_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < kMostNames; ++i) {
    text += (i > 0 ? ", " : "") + job.ranks[ranks[i]].name;
  }
  if (ranks.size() > kMostNames) {
    text += " and " + std::to_string(ranks.size() - kMostNames) + " more";
  }
  return text;
}

std::string to_line(const SeenJob& job, const StackGroup& group) {
  std::string text = names_of(job, group.ranks) + ": " + group.at.does;
  if (!group.at.place.empty()) text += ", " + group.at.place;
  return text;
}

}  // namespace envgen
