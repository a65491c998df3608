#include "init/engine/cluster/link_task.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/printed_text.h"
#include "base/wire.h"
#include "init/engine/cluster/hang_dumps.h"
#include "init/engine/cluster/link_worker.h"
#include "init/engine/report/printed_cause.h"
#include "init/engine/report/timeline.h"
#include "init/engine/state/failure.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/log.h"
#include "lifecycle/node_names.h"

namespace engine {
namespace {

namespace event = lifecycle::event;
using lifecycle::NodeFailure;
using lifecycle::NodeReport;
using lifecycle::NodeVerdict;

constexpr std::int64_t kPauseMs = 1000;
// After a closed connection, the link counts as up for this time: it may be restored. Otherwise the
// verdict with the loss comes before the time is over.
constexpr std::int64_t kDownMs = lifecycle::kReconnectMs + 1000;
constexpr std::int64_t kFlushMs = 20;
constexpr int kDeathsThatAreSaid = 3;
constexpr std::int64_t kFarewellMs = 1500;
static_assert(kFirstFarewellMs < kFarewellMs);
// Shorter after a stop request, because its sender waits for the exit.
constexpr std::int64_t kStoppedFarewellMs = 300;

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  // The number need not be secret: it only distinguishes this process from an earlier one.
  return static_cast<std::uint64_t>(sys::wall_ms()) << 20 ^ static_cast<std::uint64_t>(::getpid());
}

// True if trainit starts the ranks, and no launcher in the user's command, which may start another
// number of ranks than the plan says.
bool starts_ranks(const envgen::Plan& plan) {
  return std::ranges::any_of(plan.processes, [](const auto& one) { return one.rank >= 0; });
}

LinkSettings settings_of(const envgen::NodeLink& link, const envgen::Plan& plan,
                         std::uint64_t instance, const std::string& run_dir) {
  const base::Policy& policy = plan.policy;
  // false: each node restarts alone after a failure.
  const bool together = policy.rendezvous_ms > 0 || policy.max_restarts == 0;
  return {.address = link.address,
          .port = link.port,
          .node = static_cast<std::uint32_t>(link.node_rank),
          .node_count = static_cast<std::uint32_t>(link.node_count),
          .world_size = plan.world_size,
          .cluster = link.cluster,
          .instance = instance,
          .names = link.names,
          .secret = link.secret,
          .common = link.common,
          .timeout_ms = link.timeout_ms,
          .stops = link.stops,
          .loss_counts = link.loss_counts,
          .stop_counts = link.stop_counts,
          .together = together,
          .restart_reset_ms = policy.restart_reset_ms,
          .elastic = policy.elastic,
          .must_agree = !policy.elastic && starts_ranks(plan),
          .free_port = link.master_port,
          .socket = run_dir.empty() ? "" : run_dir + "/link",
          .recorder = recorder_file(run_dir)};
}

// Returns the report without ages and running times, which grow all the time and are no change.
NodeReport without_age(NodeReport report) {
  report.ran_ms = std::min<lifecycle::TimeMs>(report.ran_ms, 0);
  if (report.failure) report.failure->age_ms = 0;
  return report;
}

}  // namespace

LinkTask::LinkTask(const WorkerContext& context, LauncherNotifier& launcher, Tees& tees,
                   std::function<std::int64_t()> now_ms)
    : ChildWorker(kLinkKinds, kMaxLinkMessage),
      context_(context),
      launcher_(launcher),
      tees_(tees),
      now_ms_(std::move(now_ms)) {}

// --- The worker ---

void LinkTask::turned() {
  const auto& planned = context_.job.plan.link;
  if (!planned || context_.machine.phase() == lifecycle::Phase::kExited) return;
  if (link_ != planned) {
    retire();
    link_ = planned;
    side_.relink(static_cast<std::uint32_t>(planned->node_rank),
                 context_.job.plan.policy.rendezvous_ms > 0);
    if (link_->secret.empty()) {
      sys::log::info("link to the other nodes: " + std::string(envgen::kNoSecret));
    }
    start(*planned);
  }
  if (context_.machine.awaits_nodes() && context_.job.missing_nodes.empty()) {
    context_.job.missing_nodes = "node 0 at " + link_->address + " port " +
                                 std::to_string(link_->port) + ": no word from it yet";
  }
  if (pid_ == 0) return;
  if (context_.machine.phase() == lifecycle::Phase::kRunning) tell_machine(false);
  const NodeReport now = report();
  if (told_ != without_age(now)) send(now);
}

void LinkTask::start(const envgen::NodeLink& link) {
  std::array<int, 2> ends{-1, -1};
  if (instance_ == 0) {
    instance_ = random_number();
    began_ms_ = sys::monotonic_ms();
  }
  // A socket, not a pipe: a write into a pipe without a reader would raise SIGPIPE.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return sys::log::warning("no link to the other nodes: " + sys::errno_text(errno));
  }
  sys::Fd its_end(ends[0]);
  down_.reset(ends[1]);
  const StartContext start = context_.start_context();
  LinkSettings settings = settings_of(link, context_.job.plan, instance_, start.base.facts.run_dir);
  settings.node0_instance = node0_instance_;
  settings.restarts = context_.machine.restarts();
  settings.all_connected = all_connected_;
  settings.last_output_ms = tees_.last_output_ms();
  const std::array keep = {its_end.get()};
  auto status = fork(
      "starting the link to the other nodes", context_.saved,
      [&](int fd) { return run_link(settings, start.base.env, its_end.release(), fd); }, keep);
  if (!status) {
    down_.reset();
    return sys::log::warning(to_line(status.error()) + "; the job runs without it");
  }
  told_.reset();
  unsent_.clear();
  context_.job.link_pid = pid_;
  tell_machine(false);
  await_next(sys::monotonic_ms());
}

// Kills the worker, without a leave message: this node connects again with another list of nodes.
void LinkTask::retire() {
  if (pid_ > 0) context_.job.helpers.push_back(pid_);
  kill();
  adopt(0);
  down_.reset();
  context_.job.link_pid = 0;
  start_at_ms_.reset();
  node0_instance_ = 0;
  all_connected_ = false;
}

void LinkTask::on_silence(bool damaged) {
  if (damaged) sys::log::warning("the process that keeps the link sent a damaged message");
}

void LinkTask::on_exit(const proc::Death& /*death*/) {
  context_.job.link_pid = 0;
  down_.reset();
  take(LinkState{});
  if (++deaths_ <= kDeathsThatAreSaid) {
    sys::log::warning(
        "the process that keeps the link to the other nodes has ended; another one "
        "takes its place");
  }
  start_at_ms_ = sys::monotonic_ms() + (deaths_ == 1 ? 0 : kPauseMs);
  await_next(sys::monotonic_ms());
}

void LinkTask::tend(std::int64_t now_ms) {
  if (start_at_ms_ && now_ms >= *start_at_ms_) {
    start_at_ms_.reset();
    if (link_) start(*link_);
  }
  if (down_at_ms_ && now_ms >= *down_at_ms_) set_up(false);
  if (!unsent_.empty()) flush();
  if (linked_ && !up_) tell_machine(false);
  await_next(now_ms);
}

void LinkTask::await_next(std::int64_t now_ms) {
  deadline_ms_ = start_at_ms_;
  const auto sooner = [this](std::int64_t at_ms) {
    deadline_ms_ = std::min(deadline_ms_.value_or(at_ms), at_ms);
  };
  if (down_at_ms_) sooner(*down_at_ms_);
  if (awaits_first_connection(now_ms)) sooner(began_ms_ + kFirstMs);
  if (!unsent_.empty()) sooner(now_ms + kFlushMs);
}

// --- Reports of this node ---

NodeReport LinkTask::report() {
  const Job& job = context_.job;
  const lifecycle::Machine& machine = context_.machine;
  NodeReport report = side_.report(machine, link_->cluster, now_ms_());
  report.ranks = static_cast<std::uint32_t>(main_pids(job).size());
  if (!report.failure) {
    job.hang_agent.add_to(report);
    return report;
  }
  NodeFailure& failure = *report.failure;
  const std::string node =
      lifecycle::named_node(static_cast<std::uint32_t>(link_->node_rank), job.host);
  if (failure.kind == NodeFailure::Kind::kStopped) {
    failure.message = node + " was stopped by " + proc::signal_name(machine.stop_signal());
  } else if (failure.kind == NodeFailure::Kind::kReplanned) {
    failure.message = "the list of nodes has changed on " + node;
  } else if (failure.kind == NodeFailure::Kind::kExpired) {
    failure.message = "the job's time is over (--max-duration) on " + node;
  } else if (failure.kind == NodeFailure::Kind::kFailed && !job.start.first_failure.empty()) {
    failure.message =
        std::string(base::cut_text(job.start.first_failure, lifecycle::kMaxTextBytes));
    FailureDetail detail = job.start.failure;
    detail.torn_down.clear();
    if (detail.cause) detail.cause->traceback.clear();  // leaves more room for the last lines
    failure.detail = base::to_wire(detail);
    failure.complete = job.start.failure_complete;
    failure.role = role_of(job.start.failure.cause, job.start.failure.signal);
  }
  return report;
}

// Sends a report, unless an earlier one is not sent completely: then turned() sends the changes
// later.
void LinkTask::send(const NodeReport& report) {
  if (!unsent_.empty() && !flush()) return;
  unsent_ = message_of(kLinkReport, base::to_wire(report));
  told_ = without_age(report);
  if (!flush()) await_next(sys::monotonic_ms());
}

// Sends the rest of a message. Returns false if the worker has no room for it yet.
bool LinkTask::flush() {
  while (!unsent_.empty()) {
    const ssize_t sent =
        ::send(down_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return false;
    if (sent < 0) unsent_.clear();  // the worker has exited; the next worker gets the whole report
    if (sent > 0) unsent_.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

// True while the first connection is still expected.
bool LinkTask::awaits_first_connection(std::int64_t now_ms) const {
  return pid_ > 0 && !was_up_ && now_ms < began_ms_ + kFirstMs;
}

// Returns until when to wait for the delivery of the leave message (monotonic clock).
std::int64_t LinkTask::heard_until_ms(int exit_code) const {
  const std::int64_t now_ms = sys::monotonic_ms();
  const bool stopped = context_.machine.stop_signal() != 0;
  const std::int64_t most_ms = stopped ? kStoppedFarewellMs : kFarewellMs;
  if (up_) return down_at_ms_ ? now_ms : now_ms + most_ms;
  if (was_up_ || exit_code == 0) return now_ms;
  // A failure has already waited for the first connection, so count from the failure.
  const lifecycle::Cause* cause = context_.machine.cause();
  const std::int64_t failed_ms = cause == nullptr ? now_ms : now_ms - (now_ms_() - cause->at);
  return failed_ms < began_ms_ + kFirstMs ? failed_ms + most_ms : now_ms;
}

void LinkTask::farewell(int exit_code) {
  const std::int64_t until_ms = heard_until_ms(exit_code);
  if (pid_ == 0 || !link_ || until_ms <= sys::monotonic_ms()) return;
  NodeReport last = report();
  last.stage = NodeReport::Stage::kEnded;
  last.exit_code = exit_code;
  for (send(last); !flush() && sys::monotonic_ms() < until_ms;) sys::pause_ms(1);
  // Wait for the worker's exit, which closes its end of the pipe.
  while (channel() >= 0) {
    if (!sys::await_ready(channel(), POLLIN, until_ms)) return;
    read();
  }
}

// --- Messages of the worker ---

ChildWorker::Heard LinkTask::on_message(std::uint32_t kind, std::string_view bytes) {
  if (kind == kLinkVerdict) {
    const auto verdict = base::from_wire<NodeVerdict>(bytes);
    if (!verdict) return Heard::kDamaged;
    take(*verdict);
  } else if (kind == kLinkState) {
    const auto state = base::from_wire<LinkState>(bytes);
    if (!state) return Heard::kDamaged;
    if (state->up) {
      all_connected_ = state->all_connected;
      context_.job.never_connected = state->absent;
    }
    take(*state);
  } else {
    sys::log::warning(bytes);
  }
  return Heard::kMore;
}

// Handles a state of the worker. The reason for a lost connection is logged once, not for each
// further attempt, which goes on as long as the job runs. If that lasts, the worker itself sends a
// warning.
void LinkTask::take(const LinkState& state) {
  if (state.up) down_said_ = false;
  // Before the first connection the text is only logged at debug level: node 0 may not exist yet.
  const bool message = state.up || (up_ && !std::exchange(down_said_, true));
  if (!state.text.empty()) {
    sys::log::write(message ? sys::log::Level::kInfo : sys::log::Level::kDebug, state.text);
  }
  if (!state.up && !state.text.empty() && context_.machine.awaits_nodes()) {
    context_.job.missing_nodes = state.text;
  }
  if (state.up) {
    if (!up_ || down_at_ms_) set_up(true);
    return;
  }
  if (!up_ || down_at_ms_) return;
  down_at_ms_ = sys::monotonic_ms() + kDownMs;
  await_next(sys::monotonic_ms());
}

void LinkTask::set_up(bool is_up) {
  down_at_ms_.reset();
  up_ = is_up;
  was_up_ = was_up_ || is_up;
  context_.job.hang_agent.linked(is_up);
  tell_machine(false);
}

// Posts event::Linked if it has changed. The machine gets `up` if node 0 can say which failure was
// the first. That includes the time before the first connection, for which a failure waits. There
// are two exceptions. If the other nodes continue after a failure, node 0 decides nothing. If this
// node restarts alone after a failure, it does not report the failure.
void LinkTask::tell_machine(bool fails) {
  const bool restarts =
      context_.job.plan.policy.rendezvous_ms == 0 && context_.machine.may_restart();
  const bool alone = !link_->stops || (restarts && !fails);
  const bool is_linked = (up_ || awaits_first_connection(sys::monotonic_ms())) && !alone;
  if (std::exchange(linked_, is_linked) != is_linked) context_.post(event::Linked{.up = is_linked});
}

void LinkTask::take(const NodeVerdict& verdict) {
  if (verdict.instance != 0) node0_instance_ = verdict.instance;
  note_missing(verdict);
  context_.job.hang_agent.apply_verdict(verdict, sys::monotonic_ms());
  if (!link_->tell_sshd.empty()) tell_sshd(verdict);
  if (verdict.failure) note_failure(verdict);
  if (verdict.state >= NodeVerdict::State::kFailing) tell_machine(true);
  for (lifecycle::Event& next : side_.apply_verdict(verdict, context_.machine, now_ms_())) {
    context_.post(std::move(next));
  }
  if (verdict.ended) note_end(verdict);
}

// Handles node 0's leave message. From then on no verdict comes, and no start is granted.
void LinkTask::note_end(const NodeVerdict& verdict) {
  set_up(false);
  const bool why_known = verdict.state == NodeVerdict::State::kFailed && !verdict.again;
  if (context_.machine.phase() == lifecycle::Phase::kPreparing && !why_known) {
    context_.job.start.remote = RemoteFailure{
        .is_failure = true,
        .message = lifecycle::node_text(0, link_->names) + " has ended with exit code " +
                   std::to_string(verdict.exit_code) + ", so it gives no start any more",
        .detail = {}};
  }
  context_.post(event::Linked{.up = false, .ended = true});
}

void LinkTask::note_failure(const NodeVerdict& verdict) {
  using Kind = NodeFailure::Kind;
  const NodeFailure& failure = *verdict.failure;
  const bool own = failure.node == static_cast<std::uint32_t>(link_->node_rank);
  const bool told = verdict.state == NodeVerdict::State::kTold;
  if (failure.kind == Kind::kDiffers || (own && failure.kind == Kind::kUnfit)) {
    context_.job.unfit = failure.message;
  }
  if (verdict.state == NodeVerdict::State::kFailed && failure.kind != Kind::kReplanned) {
    const bool is_failure = failure.kind != Kind::kStopped && failure.kind != Kind::kExpired;
    context_.job.start.remote =
        RemoteFailure{.is_failure = is_failure, .message = failure.message, .detail = {}};
    if (auto detail = base::from_wire<FailureDetail>(failure.detail)) {
      context_.job.start.remote->detail = std::move(*detail);
    }
    return;
  }
  if (own || failure.message == told_failure_) return;
  told_failure_ = failure.message;
  if (told) {
    sys::log::warning(told_failure_ + "; this node goes on");
    context_.timeline.note("node", told_failure_);
  } else {
    sys::log::info(told_failure_ + ", and this one starts again");
  }
}

// Passes node 0's exit or loss on to the sshd. A loss is passed on even if it stops this node as
// well; that does no harm.
void LinkTask::tell_sshd(const NodeVerdict& verdict) {
  using Kind = NodeFailure::Kind;
  if (verdict.ended) return launcher_.ended(verdict.exit_code);
  const auto& failure = verdict.failure;
  launcher_.lost(failure && failure->node == 0 &&
                 (failure->kind == Kind::kClosed || failure->kind == Kind::kSilent));
}

void LinkTask::note_missing(const NodeVerdict& verdict) {
  Job& job = context_.job;
  if (!context_.machine.awaits_nodes()) {
    if (!job.missing_nodes.empty()) note_waiting(job, "");
    job.missing_nodes.clear();
    return;
  }
  if (job.missing_nodes == verdict.waits_for || verdict.waits_for.empty()) return;
  job.missing_nodes = verdict.waits_for;
  note_waiting(job, std::to_string(verdict.missing) + " of " + std::to_string(link_->node_count) +
                        " nodes: " + job.missing_nodes);
  context_.timeline.waits(job.waiting_for);
  context_.note_change();
}

}  // namespace engine
