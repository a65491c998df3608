#include "init/engine/monitor/stack_taker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "envgen/failure/python_hook.h"
#include "init/proc/load.h"
#include "init/proc/threads.h"
#include "init/proc/tree.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"

namespace engine {
namespace {

constexpr std::size_t kMaxProcesses = 64;  // limit of processes per main process
constexpr std::size_t kMaxThreads = 64;    // limit of threads per process
constexpr std::size_t kMaxThreadsTold = 16;
constexpr std::size_t kMaxDumpBytes = 256U << 10;
constexpr std::int64_t kGapMs = 500;     // pause between the two looks at the threads
constexpr std::int64_t kAnswerMs = 400;  // time for one thread to answer
constexpr int kPollMs = 5;
constexpr std::uint64_t kStackBit = 1ULL << (envgen::kStackSignal - 1);

// The file that the Python hook in a process has opened for its stacks. Processes that are forked
// from it share it.
struct DumpFile {
  sys::Fd fd;
  envgen::DumpHeader header;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

std::shared_ptr<DumpFile> open_dump(const std::string& directory, pid_t pid) {
  const std::string path =
      directory + "/" + std::string(envgen::kDumpDirectory) + "/" + std::to_string(pid);
  auto dump = std::make_shared<DumpFile>();
  dump->fd = sys::Fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!dump->fd.valid() || ::fstat(dump->fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return nullptr;
  }
  dump->device = status.st_dev;
  dump->inode = status.st_ino;
  std::array<char, 128> text;
  const ssize_t size = ::pread(dump->fd.get(), text.data(), text.size(), 0);
  if (size > 0) {
    dump->header = envgen::parse_dump_header({text.data(), static_cast<std::size_t>(size)});
  }
  return dump->header.signal == envgen::kStackSignal ? dump : nullptr;
}

off_t size_of(const DumpFile& dump) {
  struct stat status{};
  return ::fstat(dump.fd.get(), &status) == 0 ? status.st_size : 0;
}

struct Process {
  proc::Load load;
  std::shared_ptr<DumpFile> dump;  // nullptr: no Python stacks are taken of the process
  bool own_dump = false;           // the process has opened the file itself, not an ancestor
  std::string no_stack;
  std::vector<proc::Thread> before;
  std::vector<proc::Thread> after;
  std::int64_t before_ms = 0;
  std::int64_t after_ms = 0;
  std::array<std::string, 2> dumps;
  bool device = true;
};

// A main process with its descendants.
struct Tree {
  const StackTarget* target;
  std::vector<Process> processes;
};

class Taker {
 public:
  explicit Taker(const StackOrder& order)
      : order_(order), deadline_ms_(sys::monotonic_ms() + order.most_ms) {}

  TakenStacks take() {
    find_processes();
    look(&Process::before, &Process::before_ms);
    const std::int64_t begun_ms = sys::monotonic_ms();
    dump_all(0);
    const std::int64_t left_ms = begun_ms + kGapMs - sys::monotonic_ms();
    if (left_ms > 0) sys::sleep_ms(left_ms);
    look(&Process::after, &Process::after_ms);
    dump_all(1);
    TakenStacks taken;
    taken.seen.whole = order_.whole;
    for (const Tree& tree : trees_) add_ranks(tree, taken);
    return taken;
  }

 private:
  void find_processes();
  void find_dump(Tree& tree, Process& process) const;
  void look(std::vector<proc::Thread> Process::* threads, std::int64_t Process::* at_ms);
  void dump_all(std::size_t round);
  void dump(Process& process, std::size_t round) const;
  bool answers(const Process& process, off_t size, std::int64_t until_ms) const;
  static void add_ranks(const Tree& tree, TakenStacks& taken);

  const StackOrder& order_;
  std::int64_t deadline_ms_;
  std::vector<Tree> trees_;
};

void Taker::find_processes() {
  const std::vector<proc::Load> loads = proc::all_loads();
  for (const StackTarget& target : order_.targets) {
    Tree tree{.target = &target, .processes = {}};
    const std::vector<pid_t> pids =
        target.pid > 0 ? proc::tree_of(loads, target.pid) : std::vector<pid_t>();
    for (const pid_t pid : std::span(pids).first(std::min(pids.size(), kMaxProcesses))) {
      const auto load = std::ranges::lower_bound(loads, pid, {}, &proc::Load::pid);
      if (load == loads.end() || load->pid != pid || load->state == 'Z') continue;
      tree.processes.push_back({.load = *load});
    }
    for (Process& process : tree.processes) find_dump(tree, process);
    trees_.push_back(std::move(tree));
  }
}

// Finds the file for the process's Python stacks: its own, or that of an ancestor from which it was
// forked without an exec.
void Taker::find_dump(Tree& tree, Process& process) const {
  if (order_.directory.empty()) {
    process.no_stack = "no Python stack: the job has no hook for it";
    return;
  }
  process.no_stack = "no Python stack: it is no Python, or one started with -S, -E or -I";
  process.device = proc::holds_accelerator(process.load.pid);
  pid_t at = process.load.pid;
  for (std::size_t depth = 0; depth < kMaxProcesses && at > 0; ++depth) {
    if (auto dump = open_dump(order_.directory, at)) {
      // If the process does not hold the file open, it has executed another program since.
      if (!proc::holds_open(process.load.pid, dump->header.fd, dump->device, dump->inode)) return;
      process.dump = std::move(dump);
      process.own_dump = at == process.load.pid;
      process.no_stack.clear();
      return;
    }
    const auto found =
        std::ranges::find(tree.processes, at, [](const Process& one) { return one.load.pid; });
    at = found == tree.processes.end() || at == tree.target->pid ? 0 : found->load.parent;
  }
}

void Taker::look(std::vector<proc::Thread> Process::* threads, std::int64_t Process::* at_ms) {
  for (Tree& tree : trees_) {
    for (Process& process : tree.processes) {
      process.*threads = proc::threads_of(process.load.pid, kMaxThreads);
      process.*at_ms = sys::monotonic_ms();
    }
  }
}

void Taker::dump_all(std::size_t round) {
  for (Tree& tree : trees_) {
    for (Process& process : tree.processes) {
      if (process.dump == nullptr) continue;
      // The second round only finds out whether the rank's own process moves.
      if (round > 0 && (!process.own_dump || process.dumps[0].empty())) continue;
      if (sys::monotonic_ms() >= deadline_ms_) {
        if (round == 0) process.no_stack = "no Python stack: there was no time left";
        continue;
      }
      dump(process, round);
    }
  }
}

bool may_handle(pid_t pid, const proc::Thread& thread) {
  if (thread.state == 'T' || thread.state == 't' || thread.state == 'D') return false;
  // The thread reads from a dead FUSE server. A signal would only move its wait to state D.
  if (thread.wait.contains("request_wait_answer")) return false;
  return (proc::signal_masks(pid, thread.tid).blocked & kStackBit) == 0;
}

void Taker::dump(Process& process, std::size_t round) const {
  const pid_t pid = process.load.pid;
  const auto& threads = process.before;
  if (threads.empty()) return;
  if ((proc::signal_masks(pid, pid).caught & kStackBit) == 0) {
    process.no_stack = "no Python stack: it no longer catches the signal";
    return;
  }
  const proc::Member member{.pid = pid, .start = process.load.start};
  const off_t size = size_of(*process.dump);
  bool asked = false;
  // Try the main thread first (a signal to the process), then each other thread until one answers.
  // faulthandler's handler writes the stacks of all threads.
  for (const proc::Thread& thread : threads) {
    if (!may_handle(pid, thread)) continue;
    const bool still =
        proc::holds_open(pid, process.dump->header.fd, process.dump->device, process.dump->inode);
    if (!still || sys::monotonic_ms() >= deadline_ms_) break;
    asked = true;
    if (thread.tid == pid) {
      proc::signal_member(member, envgen::kStackSignal);
    } else {
      const auto now = proc::find_member(pid);
      if (!now || now->start != member.start) break;
      ::syscall(SYS_tgkill, pid, thread.tid, envgen::kStackSignal);
    }
    if (!answers(process, size, sys::monotonic_ms() + kAnswerMs)) continue;
    std::string text(std::min<std::size_t>(static_cast<std::size_t>(size_of(*process.dump) - size),
                                           kMaxDumpBytes),
                     '\0');
    const ssize_t count = ::pread(process.dump->fd.get(), text.data(), text.size(), size);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    process.dumps.at(round) = std::move(text);
    return;
  }
  if (round > 0) return;
  process.no_stack = asked ? "no Python stack: it does not answer"
                           : "no Python stack: none of its threads can answer";
}

// Waits for the answer. Returns true if the process has written something and no thread is in the
// handler any more. At the deadline it is enough that something was written.
bool Taker::answers(const Process& process, off_t size, std::int64_t until_ms) const {
  const pid_t pid = process.load.pid;
  const std::int64_t last_ms = std::min(until_ms, deadline_ms_);
  while (true) {
    if (size_of(*process.dump) > size) {
      const bool handles = std::ranges::any_of(process.before, [pid](const proc::Thread& thread) {
        const proc::SignalMasks masks = proc::signal_masks(pid, thread.tid);
        return (masks.blocked & kStackBit) != 0;
      });
      if (!handles) return true;
    }
    if (sys::monotonic_ms() >= last_ms) return size_of(*process.dump) > size;
    sys::pause_ms(kPollMs);
  }
}

envgen::SeenProcess seen_of(const Process& process) {
  envgen::SeenProcess seen{.pid = process.load.pid};
  seen.no_stack = process.no_stack;
  seen.device = process.device;
  seen.python = envgen::parse_python_dump(process.dumps[0]);
  const auto again = envgen::parse_python_dump(process.dumps[1]);
  seen.moves =
      !seen.python.empty() && !again.empty() && seen.python.front().frames != again.front().frames;
  const std::int64_t span_ms = std::max<std::int64_t>(process.after_ms - process.before_ms, 1);
  const std::int64_t tick_ms = 1000 / std::max(::sysconf(_SC_CLK_TCK), 1L);
  for (const proc::Thread& thread : process.after) {
    const auto before = std::ranges::find(process.before, thread.tid,
                                          [](const proc::Thread& one) { return one.tid; });
    const bool known = before != process.before.end();
    const std::int64_t used = known ? thread.used_ticks - before->used_ticks : 0;
    seen.threads.push_back({.tid = thread.tid,
                            .name = thread.name,
                            .state = thread.state,
                            .wait = thread.wait,
                            .share_of_cpu = static_cast<int>(used * tick_ms * 100 / span_ms),
                            .runnable = known && before->state == 'R' && thread.state == 'R'});
  }
  if (!seen.threads.empty()) seen.name = seen.threads.front().name;
  // After the main thread sort by CPU time: of a hundred idle threads a few are enough.
  if (seen.threads.size() > 1) {
    std::stable_sort(seen.threads.begin() + 1, seen.threads.end(),
                     [](const envgen::SeenThread& a, const envgen::SeenThread& b) {
                       return a.share_of_cpu > b.share_of_cpu;
                     });
  }
  if (seen.threads.size() > kMaxThreadsTold) seen.threads.resize(kMaxThreadsTold);
  return seen;
}

// Returns the processes with a dump file of their own, except for those below another one. If `top`
// is given, returns only descendants of `top`, whose own file does not count.
std::vector<const Process*> nearest_own(const Tree& tree, const Process* top) {
  std::map<pid_t, const Process*> by_pid;
  for (const Process& process : tree.processes) by_pid[process.load.pid] = &process;
  std::vector<const Process*> found;
  for (const Process& process : tree.processes) {
    if (!process.own_dump || &process == top) continue;
    bool below_top = top == nullptr;
    bool hidden = false;
    std::set<pid_t> passed;
    for (auto at = by_pid.find(process.load.parent);
         at != by_pid.end() && passed.insert(at->first).second;
         at = by_pid.find(at->second->load.parent)) {
      if (at->second == top) {
        below_top = true;
        break;
      }
      hidden = hidden || at->second->own_dump;
    }
    if (below_top && !hidden) found.push_back(&process);
  }
  return found;
}

bool are_ranks(const std::vector<const Process*>& processes) {
  std::set<int> ranks;
  for (const Process* one : processes) {
    if (one->dump->header.rank >= 0) ranks.insert(one->dump->header.rank);
  }
  return ranks.size() > 1 && ranks.size() == processes.size();
}

bool is_in_tree(const Tree& tree, const Process& process, const Process& root) {
  const Process* at = &process;
  for (std::size_t depth = 0; depth < kMaxProcesses; ++depth) {
    if (at == &root) return true;
    const auto parent = std::ranges::find(tree.processes, at->load.parent,
                                          [](const Process& one) { return one.load.pid; });
    if (parent == tree.processes.end()) return false;
    at = &*parent;
  }
  return false;
}

// Adds the rank of a main process to `taken`. If the process is a launcher, adds each of its ranks.
void Taker::add_ranks(const Tree& tree, TakenStacks& taken) {
  const StackTarget& target = *tree.target;
  std::vector<const Process*> own = nearest_own(tree, nullptr);
  std::vector<const Process*> ranks = own;
  if (ranks.size() == 1 && target.rank < 0) ranks = nearest_own(tree, ranks[0]);
  if (target.rank < 0 && are_ranks(ranks)) {
    for (const Process* root : ranks) {
      envgen::SeenRank rank{.name = "rank-" + std::to_string(root->dump->header.rank),
                            .rank = root->dump->header.rank};
      rank.processes.push_back(seen_of(*root));
      for (const Process& process : tree.processes) {
        if (&process != root && is_in_tree(tree, process, *root)) {
          rank.processes.push_back(seen_of(process));
        }
      }
      taken.seen.ranks.push_back(std::move(rank));
      taken.processes.push_back(target.process);
    }
    return;
  }
  envgen::SeenRank rank{.name = target.name, .rank = target.rank, .ended = target.ended};
  // The Python process comes first, before a shell that started it.
  const Process* first = own.empty() ? nullptr : own[0];
  if (first != nullptr) rank.processes.push_back(seen_of(*first));
  for (const Process& process : tree.processes) {
    if (&process != first) rank.processes.push_back(seen_of(process));
  }
  taken.seen.ranks.push_back(std::move(rank));
  taken.processes.push_back(target.process);
}

}  // namespace

TakenStacks take_stacks(const StackOrder& order) {
  // Use the rights of the job's user to open the job's files.
  std::optional<sys::AsUser> as_job;
  if (sys::take_rights(order.job, as_job)) return Taker(order).take();
  // If these rights cannot be taken, use only the threads in /proc: root opens no file of the job.
  StackOrder native = order;
  native.directory.clear();
  return Taker(native).take();
}

}  // namespace engine
