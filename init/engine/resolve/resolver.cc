#include "init/engine/resolve/resolver.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>

#include "init/engine/cluster/membership.h"
#include "init/engine/cluster/peers.h"
#include "init/engine/cluster/rendezvous.h"
#include "init/engine/resolve/collect.h"
#include "init/engine/resolve/preflight.h"
#include "init/engine/resolve/source_scripts.h"
#include "init/engine/tasks/start.h"
#include "init/engine/workers/messages.h"
#include "init/proc/spawn.h"
#include "init/sandbox/prepare.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "init/sys/reach.h"

namespace engine {
namespace {

enum class Kind : std::uint32_t { kWaits = 1, kFailed = 2, kPlan = 3 };
// A plan's size is the command and its environment times the ranks of this node.
constexpr std::uint32_t kMostMessageBytes = 256U << 20;

constexpr int kFirstPollMs = 100;
constexpr int kMostPollMs = 1000;
// Writers truncate and rewrite in place, so a table may look wrong for a moment: an error counts
// when it has stood for this long.
constexpr std::int64_t kSettleMs = 1000;

bool send_news(int fd, const ResolverNews& news) {
  auto send_kind = [fd](Kind kind, std::string_view bytes) {
    return send_message(fd, static_cast<std::uint32_t>(kind), bytes);
  };
  if (const auto* waits = std::get_if<ResolverWaits>(&news)) {
    return send_kind(Kind::kWaits, waits->reason);
  }
  if (const auto* failed = std::get_if<ResolverFailed>(&news)) {
    return send_kind(Kind::kFailed, static_cast<char>(failed->exit_code) + failed->message);
  }
  return send_kind(Kind::kPlan, envgen::encode_plan(std::get<envgen::Plan>(news)));
}

void wait_ms(int duration_ms) { ::poll(nullptr, 0, duration_ms); }

std::string out_of(const std::exception& error) {
  const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return to_line(
      envgen::Error{"resolving the job", "", memory ? "too little memory" : error.what(),
                    memory ? "raise the memory limit of the container"
                           : "this is a defect of trainit: report it with `trainit snapshot`"});
}

ResolverFailed timed_out(const envgen::Pending& pending, std::int64_t timeout_ms) {
  const bool is_file = pending.path.starts_with('/');
  envgen::Error error{
      is_file ? "waiting for the rank table" : "waiting for the job's nodes", pending.path,
      "after " + std::to_string(timeout_ms / 1000) + " s still: " + pending.why,
      is_file ? "see why the platform did not complete it, or raise --rank-table-timeout"
              : "see why the others did not come, lower --min-nodes, or raise "
                "--rank-table-timeout"};
  return {124, to_line(error)};
}

std::uint64_t id_of(const envgen::Plan& plan) {
  return cluster_id(plan.cluster.value_or(envgen::Cluster{}));
}

// One wait: the last reason told, and how long an error has stood.
class Waiting {
 public:
  // True when `error` has been the answer for long enough.
  bool settled(const envgen::Error& error, bool depends_on_files) {
    if (!depends_on_files) return true;
    if (error != error_) {
      error_ = error;
      since_ms_ = sys::monotonic_ms();
    }
    return sys::monotonic_ms() - since_ms_ >= kSettleMs;
  }
  void pending(const envgen::Pending& pending,
               const std::function<bool(const ResolverNews&)>& send) {
    error_ = {};
    std::string reason = pending.path + ": " + pending.why;
    if (reason == reason_) return;
    reason_ = reason;
    send(ResolverWaits{reason});
  }
  int next_poll_ms() {
    int now = poll_ms_;
    poll_ms_ = std::min(poll_ms_ * 3 / 2, kMostPollMs);
    return now;
  }

 private:
  envgen::Error error_;
  std::int64_t since_ms_ = 0;
  std::string reason_;
  int poll_ms_ = kFirstPollMs;
};

}  // namespace

namespace {

envgen::Result<std::string> content_of(const envgen::PlannedFile& file) {
  if (file.copy_of.empty()) return file.content;
  envgen::PathState state = sys::look(file.copy_of, true);
  if (state.kind == envgen::PathState::Kind::kFile) return std::move(state.content);
  const bool absent = state.kind == envgen::PathState::Kind::kAbsent;
  return envgen::fail("copying to " + file.path, file.copy_of,
                      absent ? "no such file"
                      : state.kind == envgen::PathState::Kind::kDirectory
                          ? "a directory"
                          : sys::errno_text(state.error),
                      "mount it there, readable for this user, or name another");
}

constexpr mode_t kDirectoryMode = 0755;
constexpr const char* kMaking = "creating a directory";

// One that was there keeps its owner: it may be anybody's. What the job's user may make is that
// user's work: below a directory of that one any name may lead anywhere.
envgen::Status make_directory(const envgen::PlannedDirectory& directory,
                              const std::optional<envgen::Identity>& who) {
  constexpr int kOpen = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const auto make = [&](const sys::Reached& place) -> envgen::Status {
    if (directory.clean) {
      if (auto status = sys::remove_tree(place, directory.path); !status) return status;
    }
    const mode_t mask = ::umask(0);
    const bool made = ::mkdirat(place.directory.get(), place.name.c_str(), kDirectoryMode) == 0;
    int error = errno;
    ::umask(mask);
    // Held: between its making and its giving away somebody else's could take its place.
    const sys::Fd fd(::openat(place.directory.get(), place.name.c_str(), kOpen));
    if (!fd.valid()) {
      if (made || error == EEXIST) error = errno;
      return envgen::fail(kMaking, directory.path, sys::errno_text(error),
                          error == ENOTDIR ? "remove what is there"
                                           : "make its parent writable, or choose another place");
    }
    const bool give = made && directory.of_job && who && ::geteuid() != who->uid;
    if (!give || ::fchownat(fd.get(), "", who->uid, who->gid, AT_EMPTY_PATH) == 0) return {};
    return envgen::fail("giving a directory to the job's user", directory.path,
                        sys::errno_text(errno),
                        "give the container CAP_CHOWN, or create it for that user");
  };
  const sys::ReachRule rule{.follow_last = !directory.clean, .make_parents = kDirectoryMode};
  auto done = sys::with_rights_of(who ? &*who : nullptr, directory.path, rule, make);
  if (!done && done.error().what == "following a path") done.error().what = kMaking;
  return done;
}

// We keep it to ourselves (0700), and what the job has to read lies below it. A second instance's
// lies below the first one's.
envgen::Status let_through(const std::string& run_dir, const envgen::Identity& job) {
  constexpr mode_t kSearch = 0111;
  if (run_dir.empty()) return {};
  const auto inside = sys::reach(run_dir + "/.not-there", {.job = &job});
  if (!inside || !inside->weakness.empty()) {
    return envgen::fail(
        "keeping trainit's state from the job's user", run_dir,
        inside ? "others may change it by " + inside->weakness : inside.error().found,
        "name a directory with TRAINIT_RUN_DIR that only root may write");
  }
  std::size_t slash = run_dir.rfind("/instance-");
  if (slash != std::string::npos && run_dir.find('/', slash + 1) != std::string::npos) {
    slash = std::string::npos;
  }
  for (const std::string& path : {run_dir, run_dir.substr(0, slash)}) {
    struct stat status{};
    if (path.empty() || ::stat(path.c_str(), &status) != 0) continue;
    if (status.st_uid != ::geteuid() || (status.st_mode & kSearch) == kSearch) continue;
    ::chmod(path.c_str(), (status.st_mode & 07777U) | kSearch);
  }
  return {};
}

}  // namespace

envgen::Status carry_out_files(const envgen::Plan& plan) {
  const auto& who = plan.sandbox.identity;
  for (const envgen::PlannedDirectory& directory : plan.directories) {
    if (auto status = make_directory(directory, who); !status) return status;
  }
  for (const envgen::PlannedFile& file : plan.files) {
    auto content = content_of(file);
    if (!content) return std::unexpected(content.error());
    const auto write = [&](const sys::Reached& place) {
      return sys::write_file_atomic(place, file.path, file.mode, *content);
    };
    auto status = sys::with_rights_of(who ? &*who : nullptr, file.path, {}, write);
    if (!status) return status;
  }
  return {};
}

namespace {

// The peers that answered wait for a launcher that will not come: they are told as after a job.
void tell_peers(const envgen::Plan& plan, const envgen::Snapshot& base, const PeerFailure& failure,
                const proc::SavedSignals& saved) {
  constexpr int kLookMs = 20;
  const std::int64_t deadline_ms = sys::monotonic_ms() + plan.policy.post_stop_ms;
  const std::vector<std::string> none;
  Job job;
  job.plan = plan;
  job.first_failure = to_line(failure.error);
  for (std::size_t i = 0; i < plan.post_stop.size(); ++i) {
    TaskRecord record;
    record.kind = lifecycle::TaskKind::kPostStop;
    record.process = static_cast<int>(i);
    const StartContext context{.base = base, .own_variables = none, .exit_code = failure.exit_code};
    auto spawned = proc::spawn(spec_of(job, record, context), saved);
    if (!spawned) return;
    while (::waitpid(spawned->pid, nullptr, WNOHANG) == 0) {
      if (sys::monotonic_ms() >= deadline_ms) {
        ::kill(-spawned->pid, SIGKILL);
        ::kill(spawned->pid, SIGKILL);
        return;
      }
      wait_ms(kLookMs);
    }
  }
}

// What stays the same however often the cluster is resolved.
struct Work {
  const envgen::Request& request;
  const sandbox::Prepared& confinement;
  const std::function<bool(const ResolverNews&)>& send;
  const Planner& planner;
  std::uint32_t restarts;
  std::int64_t meeting_deadline_ms = 0;  // 0: no meeting has begun

  [[nodiscard]] envgen::Answer look(envgen::Snapshot& snapshot) const {
    snapshot.paths.clear();
    return planner ? planner(snapshot, request) : collect_and_resolve(snapshot, request);
  }
};

// The other nodes, before a restart. Its window counts from the first try, however often the list
// of nodes changes.
MeetingEnd meet_nodes(const envgen::Plan& plan, const envgen::Snapshot& base, Work& work) {
  Meeting meeting{.place = *plan.rendezvous, .names = {}, .restarts = work.restarts};
  if (plan.cluster) {
    meeting.cluster = common_id(*plan.cluster);
    for (std::size_t rank = 0; rank < plan.cluster->nodes.size(); ++rank) {
      meeting.names.push_back(node_name(*plan.cluster, rank));
    }
  }
  if (work.meeting_deadline_ms == 0) {
    work.meeting_deadline_ms = sys::monotonic_ms() + plan.rendezvous->window_ms;
  }
  meeting.deadline_ms = work.meeting_deadline_ms;
  envgen::Snapshot snapshot{.argv = base.argv, .env = base.env, .facts = base.facts, .paths = {}};
  LookedAt looked;
  auto changed = [&] {
    if (!looked.may_have_changed()) return false;
    const envgen::Answer answer = work.look(snapshot);
    looked.seen(snapshot.paths);
    // A list that is being written, or is short of nodes, is none to go by.
    const auto* planned = std::get_if<envgen::Planned>(&answer.outcome);
    return planned != nullptr && id_of(planned->plan) != plan.cluster_id;
  };
  auto say = [&work](const std::string& reason) { work.send(ResolverWaits{reason}); };
  return meet(meeting, base.env, say, changed);
}

// What is left to do between the plan and the start. Nothing: to be resolved again.
std::optional<int> prepare(envgen::Plan plan, const envgen::Snapshot& base, Work& work) {
  const auto& send = work.send;
  const sandbox::Prepared& confinement = work.confinement;
  auto fail = [&send](int exit_code, const envgen::Error& error) {
    send(ResolverFailed{exit_code, to_line(error)});
    return exit_code;
  };
  plan.cluster_id = id_of(plan);
  ::signal(SIGCHLD, SIG_DFL);  // a caller may have left it ignored: no end could be awaited
  envgen::confine(plan, confinement.sandbox);
  auto edits = source_scripts(plan, base.env, plan.policy.script_timeout_ms);
  if (!edits) return fail(125, edits.error());
  plan.env.insert(plan.env.end(), edits->begin(), edits->end());
  plan.warnings.insert(plan.warnings.end(), confinement.warnings.begin(),
                       confinement.warnings.end());
  // Before its files are written: a full disk is told in full.
  if (auto status = preflight(plan, base); !status) return fail(125, status.error());
  if (const auto& who = plan.sandbox.identity; who && who->uid != ::geteuid()) {
    if (auto status = let_through(base.facts.run_dir, *who); !status) {
      return fail(125, status.error());
    }
  }
  if (auto status = carry_out_files(plan); !status) return fail(125, status.error());
  if (plan.peers) {
    auto say = [&send](const std::string& reason) { send(ResolverWaits{reason}); };
    const proc::SavedSignals saved = proc::take_over_signals();
    if (auto failure = wait_for_peers(*plan.peers, base.env, saved, say)) {
      tell_peers(plan, base, *failure, saved);
      return fail(failure->exit_code, failure->error);
    }
  }
  if (plan.rendezvous) {
    const MeetingEnd end = meet_nodes(plan, base, work);
    if (std::holds_alternative<ClusterChanged>(end)) return std::nullopt;
    if (const auto* failed = std::get_if<MeetingFailed>(&end)) {
      return fail(failed->exit_code, failed->error);
    }
    plan.restarts = std::get<Met>(end).restarts;
  }
  return send(std::move(plan)) ? 0 : 125;
}

}  // namespace

int resolve_and_prepare(envgen::Snapshot snapshot, const envgen::Request& request,
                        const std::function<bool(const ResolverNews&)>& send,
                        const Planner& planner, std::uint32_t restarts) {
  std::int64_t deadline = sys::monotonic_ms() + request.rank_table_timeout_ms;
  // Before anything is waited for: a wrong name of a user does not get better.
  const auto confinement = sandbox::prepare(request.sandbox, request.strict);
  if (!confinement) {
    send(ResolverFailed{125, to_line(confinement.error())});
    return 125;
  }
  Work work{request, *confinement, send, planner, restarts};
  Waiting waiting;
  while (true) {
    envgen::Answer answer = work.look(snapshot);
    if (auto* planned = std::get_if<envgen::Planned>(&answer.outcome)) {
      if (auto code = prepare(std::move(planned->plan), snapshot, work)) return *code;
      deadline = sys::monotonic_ms() + request.rank_table_timeout_ms;
      continue;
    }
    const auto* pending = std::get_if<envgen::Pending>(&answer.outcome);
    if (pending != nullptr) {
      waiting.pending(*pending, send);
      if (sys::monotonic_ms() >= deadline) {
        send(timed_out(*pending, request.rank_table_timeout_ms));
        return 124;
      }
    } else {
      const auto& error = std::get<envgen::Error>(answer.outcome);
      // One that changes at each look is bounded by the deadline alone.
      if (waiting.settled(error, !snapshot.paths.empty()) || sys::monotonic_ms() >= deadline) {
        send(ResolverFailed{125, to_line(error)});
        return 125;
      }
    }
    std::int64_t left = std::max<std::int64_t>(deadline - sys::monotonic_ms(), 1);
    int poll = waiting.next_poll_ms();
    wait_ms(pending != nullptr ? static_cast<int>(std::min<std::int64_t>(poll, left)) : poll);
  }
}

envgen::Result<Resolver> Resolver::start(const envgen::Snapshot& base,
                                         const envgen::Request& request,
                                         const proc::SavedSignals& saved, const Planner& planner,
                                         std::uint32_t restarts) {
  auto body = [&base, &request, &planner, restarts](int fd) {
    auto send = [fd](const ResolverNews& news) { return send_news(fd, news); };
    try {
      return resolve_and_prepare(base, request, send, planner, restarts);
    } catch (const std::exception& error) {
      send(ResolverFailed{125, out_of(error)});
      return 125;
    }
  };
  auto messenger = fork_messenger("starting the resolver", saved, body);
  if (!messenger) return std::unexpected(messenger.error());
  return Resolver(messenger->pid, std::move(messenger->pipe));
}

Resolver::Resolver(pid_t pid, sys::Fd pipe)
    : pid_(pid),
      messages_(std::move(pipe), static_cast<std::uint32_t>(Kind::kPlan), kMostMessageBytes) {}

std::vector<ResolverNews> Resolver::read_news() {
  std::vector<ResolverNews> news;
  auto take = [&news](std::uint32_t kind, std::string_view payload) {
    if (kind == static_cast<std::uint32_t>(Kind::kWaits)) {
      news.emplace_back(ResolverWaits{std::string(payload)});
      return true;
    }
    // A plan and a failure are answers: nothing may follow them.
    if (kind == static_cast<std::uint32_t>(Kind::kFailed)) {
      const int code = payload.empty() ? 125 : static_cast<unsigned char>(payload[0]);
      news.emplace_back(ResolverFailed{code, std::string(payload.substr(payload.empty() ? 0 : 1))});
    } else if (auto plan = envgen::decode_plan(payload)) {
      news.emplace_back(std::move(*plan));
    } else {
      news.emplace_back(ResolverFailed{125, to_line(plan.error())});
    }
    return false;
  };
  if (!messages_.read(take)) {
    news.emplace_back(ResolverFailed{125, "the resolver sent a damaged message"});
  }
  return news;
}

}  // namespace engine
