#include "init/engine/resolve/resolver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <tuple>

#include "base/exit_codes.h"
#include "base/text.h"
#include "base/wire.h"
#include "envgen/failure/python_hook.h"
#include "envgen/plan/inputs.h"
#include "envgen/resolve/claim.h"
#include "envgen/resolve/warm.h"
#include "envgen/show/plan_text.h"
#include "init/engine/cluster/job_secret.h"
#include "init/engine/cluster/membership.h"
#include "init/engine/cluster/node_claim.h"
#include "init/engine/cluster/peers.h"
#include "init/engine/resolve/collect.h"
#include "init/engine/resolve/device_wait.h"
#include "init/engine/resolve/places.h"
#include "init/engine/resolve/preflight.h"
#include "init/engine/resolve/source_scripts.h"
#include "init/engine/resolve/start_values.h"
#include "init/engine/state/state.h"
#include "init/engine/tasks/start.h"
#include "init/engine/workers/messages.h"
#include "init/proc/child_run.h"
#include "init/proc/spawn.h"
#include "init/sandbox/prepare.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "init/sys/log.h"
#include "init/sys/safe_path.h"
#include "init/sys/terminate.h"
#include "init/sys/umask.h"

namespace engine {
namespace {

enum class Kind : std::uint32_t { kWaits = 1, kFailed = 2, kPlan = 3 };
// Limit of a message. A plan has the command and its environment once for each rank of this node.
constexpr std::uint32_t kMaxMessageBytes = 256U << 20;

constexpr int kFirstPollMs = 100;
constexpr int kMaxPollMs = 1000;
// A platform may rewrite the rank table in place, so it can look wrong for a moment. Only an error
// that lasts for this time counts.
constexpr std::int64_t kSettleMs = 1000;

bool send_resolved(int fd, const ResolverMessage& message) {
  auto send_kind = [fd](Kind kind, std::string_view bytes) {
    return engine::send_message(fd, static_cast<std::uint32_t>(kind), bytes);
  };
  if (const auto* waits = std::get_if<ResolverWaits>(&message)) {
    return send_kind(Kind::kWaits, base::to_wire(*waits));
  }
  if (const auto* failed = std::get_if<ResolverFailed>(&message)) {
    return send_kind(Kind::kFailed, base::to_wire(*failed));
  }
  return send_kind(Kind::kPlan, envgen::encode_plan(std::get<envgen::Plan>(message)));
}

ResolverFailed out_of(const char* found, const char* fix) {
  return {exit_code::kOwnFailure, to_line(base::Error{"resolving the job", "", found, fix})};
}

ResolverFailed timed_out(const envgen::Pending& pending, std::int64_t timeout_ms) {
  const bool is_file = pending.path.starts_with('/');
  base::Error error{is_file ? "waiting for the rank table" : "waiting for the job's nodes",
                    pending.path, "after " + base::seconds(timeout_ms) + " still: " + pending.why,
                    is_file
                        ? "see why the platform did not complete it, or raise --rank-table-timeout"
                        : "see why the others did not come, lower --min-nodes, or raise "
                          "--rank-table-timeout"};
  return {exit_code::kUnavailable, to_line(error)};
}

std::uint64_t id_of(const envgen::Plan& plan) {
  return cluster_id(plan.cluster.value_or(envgen::Cluster{}));
}

// The wait for the input: which reason was reported last, and since when the present error lasts.
class Waiting {
 public:
  // Returns true if `error` has lasted for kSettleMs, or does not depend on files.
  bool settled(const base::Error& error, bool depends_on_files) {
    if (!depends_on_files) return true;
    if (error != error_) {
      error_ = error;
      since_ms_ = sys::monotonic_ms();
    }
    return sys::monotonic_ms() - since_ms_ >= kSettleMs;
  }
  void pending(const envgen::Pending& pending,
               const std::function<bool(const ResolverMessage&)>& send) {
    error_ = {};
    std::string reason = pending.path + ": " + pending.why;
    if (reason == reason_) return;
    reason_ = reason;
    send(ResolverWaits{reason});
  }
  int next_poll_ms() {
    int now = poll_ms_;
    poll_ms_ = std::min(poll_ms_ * 3 / 2, kMaxPollMs);
    return now;
  }

 private:
  base::Error error_;
  std::int64_t since_ms_ = 0;
  std::string reason_;
  int poll_ms_ = kFirstPollMs;
};

}  // namespace

namespace {

base::Result<base::LazyText> content_of(const envgen::PlannedFile& file) {
  if (file.copy_of.empty()) return file.content;
  envgen::PathState state = sys::inspect(file.copy_of, true);
  if (state.kind == envgen::PathState::Kind::kFile) {
    return base::LazyText(std::move(state.content));
  }
  const bool absent = state.kind == envgen::PathState::Kind::kAbsent;
  return base::fail("copying to " + file.path, file.copy_of,
                    absent ? "no such file"
                    : state.kind == envgen::PathState::Kind::kDirectory
                        ? "a directory"
                        : sys::errno_text(state.error),
                    "mount it there, readable for this user, or name another");
}

constexpr mode_t kDirectoryMode = 0755;
constexpr const char* kMaking = "creating a directory";

// Removes a directory of an earlier start. If it belongs to the job, this is done with the job's
// rights: the job may have moved another user's directory with files there. The empty directory
// that remains lies in RUN_DIR, which is trainit's own, and is removed with trainit's rights.
base::Status remove_old(const sys::SafePath& place, const envgen::PlannedDirectory& directory,
                        const std::optional<envgen::Identity>& who) {
  if (!directory.of_job || !sys::is_another_user(who ? &*who : nullptr)) {
    return sys::remove_tree(place, directory.path);
  }
  {
    std::optional<sys::AsUser> rights;
    if (sys::take_rights(who, rights)) std::ignore = sys::remove_tree(place, directory.path);
  }
  if (::unlinkat(place.directory.get(), place.name.c_str(), AT_REMOVEDIR) == 0) return {};
  const int error = errno;
  if (error == ENOENT) return {};
  return base::fail(kMaking, directory.path, sys::errno_text(error),
                    "remove what the job has put there and may not remove itself");
}

// Creates a directory. Requires sys::NoUmask. An existing directory keeps its owner, who may be any
// user. A directory that the job's user may create is created with that user's rights: below a
// directory of that user a name may lead anywhere.
base::Status make_directory(const envgen::PlannedDirectory& directory,
                            const std::optional<envgen::Identity>& who, Places& places) {
  constexpr int kOpen = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  bool removed = false;
  const auto make = [&](const sys::SafePath& place) -> base::Status {
    const auto make_it = [&place] {
      return ::mkdirat(place.directory.get(), place.name.c_str(), kDirectoryMode) == 0;
    };
    bool made = make_it();
    if (!made && directory.clean) {
      removed = true;
      TRY(remove_old(place, directory, who));
      made = make_it();
    }
    int error = errno;
    const bool give = made && directory.of_job && who && ::geteuid() != who->uid;
    if (made && !give) return {};
    // Open the directory before its owner is changed: its name may lead to another user's directory
    // by then.
    const sys::Fd fd(::openat(place.directory.get(), place.name.c_str(), kOpen));
    if (!fd.valid()) {
      if (made || error == EEXIST) error = errno;
      return base::fail(kMaking, directory.path, sys::errno_text(error),
                        error == ENOTDIR ? "remove what is there"
                                         : "make its parent writable, or choose another place");
    }
    if (!give || ::fchownat(fd.get(), "", who->uid, who->gid, AT_EMPTY_PATH) == 0) return {};
    return base::fail("giving a directory to the job's user", directory.path,
                      sys::errno_text(errno),
                      "give the container CAP_CHOWN, or create it for that user");
  };
  const sys::SafePathRule rule{.follow_last = !directory.clean, .make_parents = kDirectoryMode};
  auto done = places.at(directory.path, rule, make);
  if (!done && done.error().what == "following a path") done.error().what = kMaking;
  if (removed) places.forget();
  return done;
}

// Lets the job's user pass through the run directory (0700): files below it are for the job.
base::Status let_through(const std::string& run_dir, const envgen::Identity& job) {
  constexpr mode_t kSearch = 0111;
  if (run_dir.empty()) return {};
  const auto inside = sys::resolve_safely(run_dir + "/.not-there", {.job_user = &job});
  if (!inside || !inside->untrusted_directory.empty()) {
    return base::fail(
        "keeping trainit's state from the job's user", run_dir,
        inside ? "others may change it by " + inside->untrusted_directory : inside.error().found,
        "name a directory with TRAINIT_RUN_DIR that only root may write");
  }
  // If the run directory is RUN_DIR/2 or the like, RUN_DIR itself is another instance's, and needs
  // the permission too.
  const std::string above = sys::parent_of(run_dir);
  const bool is_numbered =
      base::parse_count<int>(std::string_view(run_dir).substr(run_dir.rfind('/') + 1)) &&
      ::access((above + "/lock").c_str(), F_OK) == 0;
  for (const std::string& path : {run_dir, is_numbered ? above : std::string()}) {
    struct stat status{};
    if (path.empty() || ::stat(path.c_str(), &status) != 0) continue;
    if (status.st_uid != ::geteuid() || (status.st_mode & kSearch) == kSearch) continue;
    ::chmod(path.c_str(), (status.st_mode & 07777U) | kSearch);
  }
  return {};
}

bool holds_logs(const envgen::Plan& plan, const std::string& directory) {
  return std::ranges::any_of(plan.processes, [&](const envgen::Process& process) {
    const std::string& file = process.log.empty() ? process.env_file : process.log;
    return file.substr(0, file.rfind('/')) == directory;
  });
}

}  // namespace

namespace {

base::Status carry_out_files(const envgen::Plan& plan, Places& places) {
  const sys::NoUmask exact;
  const auto& who = plan.sandbox.identity;
  for (const envgen::PlannedDirectory& directory : plan.directories) {
    auto made = make_directory(directory, who, places);
    if (!made && holds_logs(plan, directory.path)) {
      made.error().what = "creating the log directory";
      made.error().fix = "make its parent writable, or name another directory with --log-dir";
    }
    TRY(std::move(made));
  }
  for (const envgen::PlannedFile& file : plan.files) {
    TRY_ASSIGN(auto content, content_of(file));
    const auto pieces = [&content](const sys::Sink& sink) { content.write(sink); };
    const auto write = [&](const sys::SafePath& place) {
      return sys::write_file_atomic(place, file.path, file.mode, pieces);
    };
    TRY(places.at(file.path, {}, write));
  }
  return {};
}

}  // namespace

base::Status carry_out_files(const envgen::Plan& plan) {
  Places places(plan.sandbox.identity);
  return carry_out_files(plan, places);
}

namespace {

// Writes the file that the job's Python processes load (python_hook.h), and creates the directory
// of their dumps. Requires Observation::stacks.
base::Status write_stack_hook(const envgen::Plan& plan, const std::string& run_dir,
                              Places& places) {
  const std::string directory = run_dir + "/stacks/";
  envgen::Plan hook;
  hook.sandbox = plan.sandbox;
  hook.directories = {{directory + std::string(envgen::kHookDirectory)},
                      {directory + std::string(envgen::kDumpDirectory), true, true}};
  hook.files = {{.path = hook.directories[0].path + "/" + std::string(envgen::kHookFile),
                 .content = envgen::python_hook()}};
  return carry_out_files(hook, places);
}

// Sets the plan's list of directories below RUN_DIR that the job's user may write to (job_files.h).
// All were emptied for this start.
void note_job_directories(const std::string& run_dir, envgen::Plan& plan) {
  if (run_dir.empty()) return;
  auto& noted = plan.observe.job_directories;
  for (const envgen::PlannedDirectory& one : plan.directories) {
    if (one.of_job && one.clean && one.path.starts_with(run_dir + "/")) noted.push_back(one.path);
  }
  if (plan.observe.stacks) {
    noted.push_back(run_dir + "/stacks/" + std::string(envgen::kDumpDirectory));
  }
}

// Writes the file that the spare processes for a warm restart load.
base::Status write_warm_file(const envgen::Plan& plan, Places& places) {
  envgen::Plan file;
  file.sandbox = plan.sandbox;
  file.directories = {{plan.warm.directory}};
  file.files = {{.path = plan.warm.directory + "/" + std::string(envgen::kWarmFile),
                 .content = std::string(envgen::kWarmPython)}};
  return carry_out_files(file, places);
}

// Runs the plan's post-stop processes, which tell the sshd of each peer that the job is over. Peers
// that answered would otherwise wait for a launcher that will not come.
void notify_peers(const envgen::Plan& plan, const envgen::Snapshot& base,
                  const PeerFailure& failure, const proc::SavedSignals& saved) {
  const std::int64_t deadline_ms = sys::monotonic_ms() + plan.policy.post_stop_ms;
  const std::vector<std::string> none;
  Job job;
  job.plan = plan;
  job.start.first_failure = to_line(failure.error);
  for (std::size_t i = 0; i < plan.post_stop.size(); ++i) {
    TaskRecord record;
    record.kind = lifecycle::TaskKind::kPostStop;
    record.process = static_cast<int>(i);
    const StartContext context{.base = base, .own_variables = none, .exit_code = failure.exit_code};
    auto spawned = proc::spawn(spec_of(job, record, context), saved);
    if (!spawned) return;
    proc::ChildRun run(spawned->pid, {},
                       {.time_ms = deadline_ms - sys::monotonic_ms(), .keeps_group = true});
    run.wait();
    if (!run.exited()) return;
  }
}

// Sets the members of `link` that come from the cluster, which PID 1 does not get. Without a
// secret, the nodes' names are part of the job's key (common_key). With a secret they are not, so
// node 0 can recognize a node that has another list, and report the difference.
void complete_link(const envgen::Cluster& cluster, envgen::NodeLink& link) {
  link.cluster = common_id(cluster);
  if (link.secret.empty()) link.common = common_key(cluster);
  const std::size_t named = link.node_rank == 0 ? cluster.nodes.size() : 1;
  for (std::size_t rank = 0; rank < named; ++rank) {
    link.names.push_back(node_name(cluster, rank));
  }
}

// Writes the plan as text for `trainit report`. An error is not fatal.
void keep_plan(const envgen::Plan& plan, const envgen::Snapshot& base, Places& ours) {
  if (base.facts.run_dir.empty()) return;
  const std::string path = base.facts.run_dir + "/" + kPlanFile;
  const std::string text = envgen::plan_to_text(plan, base.env).text();
  auto status = ours.at(path, {}, [&](const sys::SafePath& place) {
    return sys::write_file_atomic(place, path, 0644, text, sys::Lifetime::kMachine);
  });
  if (!status) sys::log::debug(to_line(status.error()) + ", ignoring");
}

// Does all steps from the plan to the message with it. Returns the child's exit code.
int prepare(envgen::Plan plan, const envgen::Snapshot& base, const envgen::Request& request,
            const sandbox::Prepared& confinement,
            const std::function<bool(const ResolverMessage&)>& send, std::uint32_t restarts) {
  auto fail = [&send](int exit_code, const base::Error& error) {
    send(ResolverFailed{exit_code, to_line(error)});
    return exit_code;
  };
  const auto say = [&send](const std::string& reason) { send(ResolverWaits{reason}); };
  plan.cluster_id = id_of(plan);
  plan.claim = envgen::claim_of(plan, base.env, base.facts.run_dir);
  if (auto status = restarts == 0 ? NodeClaim::look(plan) : base::Status(); !status) {
    return fail(exit_code::kOwnFailure, status.error());
  }
  // If a caller has set SIG_IGN, no end of a child could be seen.
  ::signal(SIGCHLD, SIG_DFL);
  envgen::confine(plan, confinement.sandbox);
  if (auto status = source_scripts(plan, base.env, request.script_timeout_ms); !status)
    return fail(exit_code::kOwnFailure, status.error());
  plan.warnings.insert(plan.warnings.end(), confinement.warnings.begin(),
                       confinement.warnings.end());
  wait_for_devices(plan, base, restarts, say);
  // The checks come before the plan's files: they report a full disk better than a failed write
  // does.
  if (auto status = preflight(plan, base); !status)
    return fail(exit_code::kOwnFailure, status.error());
  if (const auto& who = plan.sandbox.identity; who && who->uid != ::geteuid()) {
    if (auto status = let_through(base.facts.run_dir, *who); !status) {
      return fail(exit_code::kOwnFailure, status.error());
    }
  }
  const std::optional<envgen::Identity> nobody_else;
  Places ours(nobody_else);
  Places theirs(plan.sandbox.identity);
  Places& places = plan.sandbox.identity ? theirs : ours;
  if (auto status = carry_out_files(plan, places); !status)
    return fail(exit_code::kOwnFailure, status.error());
  if (plan.observe.stacks) {
    if (auto status = write_stack_hook(plan, base.facts.run_dir, places); !status) {
      plan.warnings.push_back(to_line(status.error()) + ", so there are no Python stacks");
    }
  }
  if (!plan.warm.directory.empty()) {
    if (auto status = write_warm_file(plan, places); !status) {
      plan.warnings.push_back(to_line(status.error()) + ", so restarts are cold");
      plan.warm = {};
    }
  }
  if (plan.peers) {
    const proc::SavedSignals saved = proc::take_over_signals();
    if (auto failure = wait_for_peers(*plan.peers, base.env, saved, say)) {
      notify_peers(plan, base, *failure, saved);
      return fail(failure->exit_code, failure->error);
    }
  }
  if (auto status = fill_scheduler(plan, base, request.peer_timeout_ms, say); !status) {
    return fail(exit_code::kUnavailable, status.error());
  }
  if (plan.link && plan.cluster) {
    const auto& who = plan.sandbox.identity;
    auto secret = read_job_secret(request, who ? &*who : nullptr);
    if (!secret) return fail(exit_code::kOwnFailure, secret.error());
    if (!secret->warning.empty()) plan.warnings.push_back(std::move(secret->warning));
    plan.link->secret = std::move(secret->bytes);
    complete_link(*plan.cluster, *plan.link);
  }
  if (const auto& who = plan.sandbox.identity; who && who->uid != ::geteuid()) {
    note_job_directories(base.facts.run_dir, plan);
  }
  fill_start_values(plan, restarts);
  keep_plan(plan, base, ours);
  return send(std::move(plan)) ? 0 : exit_code::kOwnFailure;
}

}  // namespace

int resolve_and_prepare(envgen::Snapshot snapshot, const envgen::Request& request,
                        const std::function<bool(const ResolverMessage&)>& send,
                        const Planner& planner, std::uint32_t restarts) {
  std::int64_t deadline = sys::monotonic_ms() + request.rank_table_timeout_ms;
  // Check the user before any wait, because waiting cannot help against a wrong name.
  const auto confinement = sandbox::prepare(request.sandbox, request.strict);
  if (!confinement) {
    send(ResolverFailed{exit_code::kOwnFailure, to_line(confinement.error())});
    return exit_code::kOwnFailure;
  }
  Waiting waiting;
  while (true) {
    snapshot.paths.clear();
    envgen::Answer answer =
        planner ? planner(snapshot, request) : collect_and_resolve(snapshot, request);
    if (auto* planned = std::get_if<envgen::Planned>(&answer.outcome)) {
      return prepare(std::move(planned->plan), snapshot, request, *confinement, send, restarts);
    }
    const auto* pending = std::get_if<envgen::Pending>(&answer.outcome);
    if (pending != nullptr) {
      waiting.pending(*pending, send);
      if (sys::monotonic_ms() >= deadline) {
        send(timed_out(*pending, request.rank_table_timeout_ms));
        return exit_code::kUnavailable;
      }
    } else {
      const auto& error = std::get<base::Error>(answer.outcome);
      // An error that changes at each look never settles; the deadline ends it.
      if (waiting.settled(error, !snapshot.paths.empty()) || sys::monotonic_ms() >= deadline) {
        send(ResolverFailed{exit_code::kOwnFailure, to_line(error), error.not_listed});
        return exit_code::kOwnFailure;
      }
    }
    std::int64_t left = std::max<std::int64_t>(deadline - sys::monotonic_ms(), 1);
    int poll = waiting.next_poll_ms();
    sys::pause_ms(pending != nullptr ? std::min<std::int64_t>(poll, left) : poll);
  }
}

Resolver::Resolver(std::function<void(ResolverMessage)> take)
    : ChildWorker(static_cast<std::uint32_t>(Kind::kPlan), kMaxMessageBytes),
      take_(std::move(take)) {}

base::Status Resolver::start(const envgen::Snapshot& base, const envgen::Request& request,
                             const proc::SavedSignals& saved, const Planner& planner,
                             std::uint32_t restarts) {
  auto body = [&base, &request, &planner, restarts](int fd) {
    auto send = [fd](const ResolverMessage& message) { return send_resolved(fd, message); };
    sys::on_terminate([&send](const sys::Thrown& thrown) {
      send(out_of(thrown.out_of_memory ? "too little memory" : thrown.what, thrown.fix()));
    });
    return resolve_and_prepare(base, request, send, planner, restarts);
  };
  return fork("starting the resolver", saved, body);
}

// No message may follow a plan or a failure.
ChildWorker::Heard Resolver::on_message(std::uint32_t kind, std::string_view payload) {
  if (kind == static_cast<std::uint32_t>(Kind::kWaits)) {
    auto waits = base::from_wire<ResolverWaits>(payload);
    if (!waits) return Heard::kDamaged;
    take_(std::move(*waits));
    return Heard::kMore;
  }
  if (kind == static_cast<std::uint32_t>(Kind::kFailed)) {
    auto failed = base::from_wire<ResolverFailed>(payload);
    if (!failed) return Heard::kDamaged;
    take_(std::move(*failed));
  } else if (auto plan = envgen::decode_plan(payload)) {
    take_(std::move(*plan));
  } else {
    take_(ResolverFailed{exit_code::kOwnFailure, to_line(plan.error())});
  }
  return Heard::kLast;
}

void Resolver::on_silence(bool damaged) {
  if (damaged) take_(ResolverFailed{exit_code::kOwnFailure, "the resolver sent a damaged message"});
}

}  // namespace engine
