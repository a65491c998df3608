#include "init/sshd/serve.h"

#include <poll.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "base/exit_codes.h"
#include "init/proc/reap.h"
#include "init/proc/signals.h"
#include "init/proc/spawn.h"
#include "init/sshd/channel.h"
#include "init/sshd/config.h"
#include "init/sshd/keys.h"
#include "init/sshd/peer_exit.h"
#include "init/sshd/prepare.h"
#include "init/sshd/sessions.h"
#include "init/sshd/tool.h"
#include "init/sys/clock.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"
#include "init/sys/log.h"

namespace sshd {
namespace {

constexpr std::int64_t kNever = -1;
constexpr std::int64_t kPollMs = 1000;
constexpr int kPerTurn = 128;  // maximum number of deaths, and of signals, that one loop handles

// The listener of sshd. The sessions that it starts are separate processes, which survive its end.
class Listener {
 public:
  Listener(std::vector<std::string> argv, base::Environ env, proc::SavedSignals saved)
      : saved_(saved) {
    spec_.argv = std::move(argv);
    spec_.env = std::move(env);
    spec_.cwd = "/";
    spec_.die_with_parent = true;
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::int64_t start_at_ms() const { return start_at_ms_; }

  base::Status start(std::int64_t now_ms) {
    TRY_ASSIGN(auto spawned, proc::spawn(spec_, saved_));
    pid_ = spawned.pid;
    ++starts_;
    started_ms_ = now_ms;
    start_at_ms_ = kNever;
    return {};
  }

  // Handles the death of the listener: plans its next start, unless it was stopped. Returns false
  // if it cannot be started at all.
  bool died(const proc::Death& death, std::int64_t now_ms) {
    constexpr std::int64_t kStartMs = 2000;
    constexpr std::int64_t kStableMs = 60'000;
    pid_ = -1;
    if (stopped_) return true;
    const bool early = now_ms - started_ms_ < kStartMs;
    if (!death.signaled && early && starts_ == 1) return false;
    if (now_ms - started_ms_ >= kStableMs) backoff_ms_ = kFirstBackoffMs;
    sys::log::warning("sshd ended (" +
                      (death.signaled ? proc::signal_name(death.value)
                                      : "exit code " + std::to_string(death.value)) +
                      "); starting it again in " + std::to_string(backoff_ms_) + " ms");
    retry(now_ms);
    return true;
  }

  void retry(std::int64_t now_ms) {
    constexpr std::int64_t kMaxBackoffMs = 10'000;
    start_at_ms_ = now_ms + backoff_ms_;
    backoff_ms_ = std::min(backoff_ms_ * 2, kMaxBackoffMs);
  }

  void stop() {
    stopped_ = true;
    start_at_ms_ = kNever;
    if (pid_ > 0) ::kill(pid_, SIGTERM);
  }

 private:
  static constexpr std::int64_t kFirstBackoffMs = 100;

  proc::SpawnSpec spec_;
  proc::SavedSignals saved_;
  pid_t pid_ = -1;
  std::int64_t started_ms_ = 0;
  std::int64_t start_at_ms_ = kNever;
  std::int64_t backoff_ms_ = kFirstBackoffMs;
  int starts_ = 0;
  bool stopped_ = false;
};

class Server {
 public:
  Server(const ServeOptions& options, Listener listener, Channel channel,
         proc::SignalSource signals)
      : options_(options),
        listener_(std::move(listener)),
        channel_(std::move(channel)),
        signals_(std::move(signals)),
        ending_(options.launcher_timeout_ms, sys::monotonic_ms()) {}

  std::expected<int, proc::StartFailure> run();

 private:
  void handle_signals();
  void handle_requests();
  bool handle_deaths();
  void keep_listening();
  void wait();
  [[nodiscard]] int timeout_ms() const;
  [[nodiscard]] int finish(const PeerExit& verdict);

  ServeOptions options_;
  Listener listener_;
  Channel channel_;
  proc::SignalSource signals_;
  Sessions sessions_;
  PeerExitRule ending_;
  bool childless_ = false;
};

std::expected<int, proc::StartFailure> Server::run() {
  if (auto started = listener_.start(sys::monotonic_ms()); !started) {
    return std::unexpected(proc::StartFailure{exit_code::kOwnFailure, started.error()});
  }
  while (true) {
    handle_signals();
    handle_requests();
    if (!handle_deaths()) {
      return std::unexpected(
          proc::StartFailure{exit_code::kOwnFailure,
                             {"starting sshd", "port " + std::to_string(options_.port),
                              "that it ended at once", "see sshd's own words above"}});
    }
    const std::int64_t now = sys::monotonic_ms();
    // After the launcher's message, waits for all children, so that the connection that sent the
    // message ends too. Otherwise its sender would not learn that it arrived.
    const bool all_gone = ending_.notified() && childless_;
    ending_.set_open(ending_.notified() ? (all_gone ? 0 : 1) : sessions_.count(listener_.pid()),
                     now);
    if (const auto verdict = ending_.verdict(now)) return finish(*verdict);
    keep_listening();
    wait();
  }
}

void Server::handle_signals() {
  const std::int64_t now = sys::monotonic_ms();
  std::array<proc::Received, kPerTurn> room;
  for (const proc::Received& received : signals_.read(room)) {
    switch (received.signal) {
      case SIGTERM:
      case SIGINT:
      case SIGHUP:
      case SIGQUIT:
        ending_.set_open(sessions_.count(listener_.pid()), now);
        ending_.stop(received.signal, now);
        break;
      default:
        break;
    }
  }
}

void Server::handle_requests() {
  for (const auto& [request, connection] : channel_.read_requests()) {
    switch (request.op) {
      case Op::kPing:
        channel_.answer(connection, !ending_.notified());
        break;
      case Op::kSession: {
        const bool takes = !ending_.notified() && request.pid > 0;
        if (takes) sessions_.add(request.pid);
        channel_.answer(connection, takes);
        break;
      }
      case Op::kEnd:
        ending_.notify(request.argument, sys::monotonic_ms());
        channel_.answer(connection, true);
        listener_.stop();
        break;
      case Op::kLauncher:
        ending_.set_launcher_gone(request.argument != 0, sys::monotonic_ms());
        channel_.answer(connection, true);
        break;
    }
  }
}

bool Server::handle_deaths() {
  const proc::Reaped reaped = proc::reap(kPerTurn);
  childless_ = reaped.childless;
  for (const proc::Death& death : reaped.deaths) {
    if (death.pid != listener_.pid()) continue;
    if (!listener_.died(death, sys::monotonic_ms())) return false;
  }
  return true;
}

void Server::keep_listening() {
  const std::int64_t now = sys::monotonic_ms();
  if (ending_.notified() || listener_.start_at_ms() == kNever || now < listener_.start_at_ms())
    return;
  if (auto started = listener_.start(now); !started) {
    sys::log::warning(to_line(started.error()) + "; trying again");
    listener_.retry(now);
  }
}

int Server::timeout_ms() const {
  const std::int64_t now = sys::monotonic_ms();
  std::int64_t until = kNever;
  const auto take = [&until](std::int64_t at) { until = until < 0 ? at : std::min(until, at); };
  if (const auto due = ending_.deadline_ms()) take(*due);
  if (listener_.start_at_ms() != kNever && !ending_.notified()) take(listener_.start_at_ms());
  if (sessions_.must_poll() || channel_.starved()) take(now + kPollMs);
  if (until < 0) return -1;
  return static_cast<int>(std::clamp<std::int64_t>(until - now, 0, kPollMs * 3600));
}

void Server::wait() {
  std::vector<pollfd> sources = {signals_.source()};
  for (const int fd : channel_.descriptors()) sources.push_back({fd, POLLIN, 0});
  for (const int fd : sessions_.descriptors()) sources.push_back({fd, POLLIN, 0});
  signals_.wait(sources, timeout_ms());
}

int Server::finish(const PeerExit& verdict) {
  listener_.stop();
  switch (verdict.why) {
    case Why::kNotified:
      sys::log::info("peer: the launcher says that the job ended with " +
                     std::to_string(verdict.exit_code));
      break;
    case Why::kNoLauncher:
      sys::log::error(base::to_line(
          {"waiting for the launcher",
           "port " + std::to_string(options_.port) + " (--launcher-timeout)",
           "no ssh session for " +
               std::to_string(options_.launcher_timeout_ms.value_or(0) / kPollMs) + " s",
           "look at the launcher's node; its log says whether it reached this one"}));
      break;
    case Why::kLauncherGone:
      sys::log::error(
          base::to_line({"waiting for the launcher", "port " + std::to_string(options_.port),
                         "that its node is gone, and no ssh session for " +
                             std::to_string(kLauncherGoneMs / kPollMs) + " s",
                         "look at the launcher's node; this one has to be started again with it"}));
      break;
    case Why::kStopped:
      break;
  }
  return verdict.exit_code;
}

// Returns the path of this program; without /proc, the path by which it was started.
std::string own_program() {
  std::string program = sys::gather_facts().program;
  const unsigned long started_as = ::getauxval(AT_EXECFN);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel passes it so
  if (program.empty() && started_as != 0) program = reinterpret_cast<const char*>(started_as);
  return program;
}

struct Tools {
  std::string sshd;
  std::string ssh_keygen;
};

std::expected<Tools, proc::StartFailure> find_tools(const base::Environ& env) {
  Tools tools{.sshd = find_program("sshd", env), .ssh_keygen = find_program("ssh-keygen", env)};
  for (const auto& [path, name] :
       {std::pair(tools.sshd, "sshd"), std::pair(tools.ssh_keygen, "ssh-keygen")}) {
    if (path.empty())
      return std::unexpected(proc::StartFailure{exit_code::kNotFound, not_installed(name)});
  }
  return tools;
}

// Writes the files that sshd and its sessions read.
base::Status write_files(const ServeOptions& options, const Paths& paths, const Tools& tools,
                         const base::Environ& env, const proc::SavedSignals& saved) {
  constexpr std::uint32_t kOwnerOnly = 0600;
  TRY_ASSIGN(auto home, check_account(env));
  TRY_ASSIGN(auto config, sshd_config(paths, options.port, own_program()));
  TRY(sys::write_file_atomic(paths.config, kOwnerOnly, config));
  const std::string environment = to_environment_file(env);
  TRY(sys::write_file_atomic(paths.environment, kOwnerOnly, environment));
  const KeyTools key_tools{
      .ssh_keygen = tools.ssh_keygen, .env = tool_environ(env), .saved = saved};
  TRY(make_host_key(paths, key_tools));
  if (!options.key.empty()) {
    TRY(copy_key(paths, options.key));
  }
  TRY(authorize(paths, key_tools, !options.key.empty(), home));
  return test_config(paths, tools.sshd, tool_environ(env), saved);
}

}  // namespace

std::expected<int, proc::StartFailure> serve(const ServeOptions& options,
                                             const base::Environ& env) {
  const auto failed = [](const base::Error& error) {
    return std::unexpected(proc::StartFailure{exit_code::kOwnFailure, error});
  };
  const proc::SavedSignals saved = proc::take_over_signals();
  const bool json = env.get_or("TRAINIT_LOG_FORMAT", "") == "json";
  sys::log::open(sys::log::Level::kInfo, json ? sys::log::Format::kJson : sys::log::Format::kHuman,
                 false);
  const Paths paths(options.directory);
  TRY_ASSIGN(const auto tools, find_tools(env));
  auto lock = take_directory(paths);
  if (!lock) return failed(lock.error());
  // Becomes a subreaper before there are processes to adopt.
  if (auto adopter = proc::become_subreaper(); !adopter) {
    sys::log::warning(to_line(adopter.error()) + "; sessions in the background go uncounted");
  }
  if (auto written = write_files(options, paths, tools, env, saved); !written) {
    return failed(written.error());
  }
  if (auto free = check_port(options.port); !free) return failed(free.error());
  auto channel = Channel::open(paths.socket);
  if (!channel) return failed(channel.error());
  Listener listener({tools.sshd, "-D", "-e", "-f", paths.config}, tool_environ(env), saved);
  Server server(options, std::move(listener), std::move(*channel), proc::SignalSource());
  return server.run();
}

}  // namespace sshd
