// The table of options.

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/constants/packed_texts.h"
#include "init/cli/options.h"
#include "init/cli/values/kinds.h"
#include "init/cli/values/words.h"

namespace cli {
namespace {

using base::Policy;
using envgen::DataRequest;
using envgen::Observation;
using envgen::ProcessSettings;
using envgen::Request;
using envgen::SandboxRequest;
using envgen::TorchLauncher;

// --- Rows ---

// Returns the struct that contains the member. A further struct needs one more entry.
template <class M, class S>
S& part(Options& options, M S::* /*member*/) {
  const auto parts = std::tie(options, options.request, options.request.policy,
                              options.request.observe, options.request.sandbox,
                              options.request.sandbox.settings, options.request.data, options.peer);
  return std::get<S&>(parts);
}

// Parses a value into a member. The template makes one function per kind and type of member, not
// per row.
template <class T, class Target>
Parsed<void> parse_into(Parsed<T> (*parse)(std::string_view), std::string_view text, Target& target,
                        bool again) {
  auto parsed = parse(text);
  if (!parsed) return refused(std::move(parsed.error()));
  if constexpr (std::is_same_v<Target, std::vector<std::string>>) {
    if (!again) target.clear();
    std::ranges::move(*parsed, std::back_inserter(target));
  } else if constexpr (std::is_same_v<Target, int> || std::is_same_v<Target, std::optional<int>>) {
    target = static_cast<int>(*parsed);
  } else {
    target = std::move(*parsed);
  }
  return {};
}

template <auto kMember, class S>
constexpr auto is_on(bool S::* /*member*/) -> bool (*)(Options&) {
  return [](Options& options) { return part(options, kMember).*kMember; };
}
template <auto kMember, class T, class S>
constexpr auto is_on(T S::* /*member*/) -> bool (*)(Options&) {
  return nullptr;
}

template <const auto& kKind, auto kMember>
Parsed<void> set_by_kind(Options& options, std::string_view text, bool again) {
  return parse_into(kKind.parse, text, part(options, kMember).*kMember, again);
}
template <const auto& kWords, auto kMember>
Parsed<void> set_by_word(Options& options, std::string_view text, bool /*again*/) {
  const std::size_t at = place_of(text, kListed<kWords>);
  if (at == std::size(kWords)) return refused();
  part(options, kMember).*kMember = kWords[at].meaning;
  return {};
}

template <const auto& kKind, auto kMember>
constexpr Option row(std::string_view name, std::string_view value, std::string_view help,
                     std::string_view standard = {}) {
  constexpr auto kKindOf = [] {
    return OptionKind{
        set_by_kind<kKind, kMember>, kKind.accepts, kKind.list, kKind.words, kKind.many,
        is_on<kMember>(kMember)};
  };
  return {.name = name,
          .value = value,
          .help = help,
          .standard = standard,
          .kind = kKindOf,
          .flag_only = false};
}
// A row whose value is one word of a list.
template <const auto& kWords, auto kMember>
constexpr Option word_row(std::string_view name, std::string_view value, std::string_view help,
                          std::string_view standard = {}) {
  constexpr auto kKindOf = [] {
    return OptionKind{.set = set_by_word<kWords, kMember>,
                      .words = [] { return list_of(kListed<kWords>); }};
  };
  return {.name = name,
          .value = value,
          .help = help,
          .standard = standard,
          .kind = kKindOf,
          .flag_only = false};
}
constexpr Option needs(const Need& need, Option option) {
  option.need = &need;
  return option;
}
// Changes the commands of an option, which by default are those that take a job.
constexpr Option of(Commands commands, Option option) {
  option.commands = commands;
  option.flag_only = option.flag_only || (commands & kJob) == 0;
  return option;
}
// Adds an earlier name, whose flag and variable still work.
constexpr Option earlier(std::string_view name, Option option) {
  option.earlier = name;
  return option;
}
// Marks an option for the first screen of help.
constexpr Option common(Option option) {
  option.common = true;
  return option;
}
constexpr Option flag(Option option, char letter = '\0') {
  option.flag_only = true;
  option.letter = letter;
  return option;
}

// --- Conditions for an effect ---

bool restarts(const Options& o) { return o.request.max_restarts.value_or(0) > 0; }
bool elastic(const Options& o) { return o.request.policy.elastic; }

using base::Environ;
constexpr Need kRestarts = {{"max-restarts"},
                            [](const Options& o, const Environ&) { return restarts(o); }};
constexpr Need kElastic = {{"elastic"},
                           [](const Options& o, const Environ&) { return elastic(o); }};
constexpr Need kAnyRestart = {{"max-restarts", "elastic"}, [](const Options& o, const Environ&) {
                                return restarts(o) || elastic(o);
                              }};
constexpr Need kWarm = {{"warm"},
                        [](const Options& o, const Environ&) { return !o.request.warm.empty(); }};
constexpr Need kRendezvous = {
    {"restart-across-nodes", "elastic"},
    [](const Options& o, const Environ&) { return o.request.restart_across_nodes || elastic(o); }};
constexpr Need kLogSizes = {{"log-max-size"}, [](const Options& o, const Environ&) {
                              return o.request.observe.log_max_bytes > 0;
                            }};
constexpr Need kPerf = {{"perf-threshold"}, [](const Options& o, const Environ&) {
                          return o.request.observe.perf_threshold_ppm > 0;
                        }};
constexpr Need kStall = {{"stall-timeout"}, [](const Options& o, const Environ&) {
                           return o.request.observe.stall_ms > 0;
                         }};
// An empty variable for datasets says that this job has none.
constexpr Need kDataset = {{"data"}, [](const Options& o, const Environ& env) {
                             return !o.request.data.specs.empty() || env.get("TRAINIT_DATA");
                           }};

Parsed<void> fan_out(Options& options, std::string_view text, bool /*again*/) {
  const auto on = parse_switch(text);
  if (!on) return refused();
  if (!*on) return {};
  options.request.framework = "pytorch";
  options.request.torch_launcher = TorchLauncher::kFanOut;
  return {};
}

// --- The table ---
// Each help text is understandable alone, because users read it in grep's output and in a menu.

constexpr Option kNodes[] = {
    of(kJob | kTableConvert,
       row<kPlatform, &Request::platform>(
           "platform", "NAME", "platform whose variables say which node this is", "detected")),
    row<kFramework, &Request::framework>(
        "framework", "NAME", "framework that the ranks are started for", "by platform and command"),
    row<kPositive, &Request::nodes>("nodes", "N", "number of nodes of the job",
                                    "the platform's, else 1"),
    common(row<kHosts, &Request::hosts>("hosts", "LIST",
                                        "hosts of the job in node-rank order, with slots: a:8,b:8",
                                        "the platform's")),
    common(row<kPositive, &Request::slots>("slots", "N", "number of ranks on each node",
                                           "the platform's, else one a device, else 1")),
    row<kNumber<0, INT_MAX>, &Request::node_rank>(
        "node-rank", "N", "which node of the job this is, from 0", "the platform's"),
    word_row<kRankMeans, &Request::rank_means>(
        "rank-means", "WHAT", "what RANK and WORLD_SIZE of the container count, where it is open"),
    row<kAddress, &Request::master_addr>("master-addr", "HOST",
                                         "host at which the ranks meet, MASTER_ADDR",
                                         "the platform's, else node 0"),
    row<kPort, &Request::master_port>("master-port", "PORT",
                                      "port at which the ranks meet, MASTER_PORT",
                                      "the platform's, else 29500; on one node a free one"),
    word_row<kTorchLaunchers, &Request::torch_launcher>(
        "torch-launcher", "WHO", "what starts PyTorch's ranks; fan-out is trainit itself",
        "by platform and command"),
    common(Option{.name = "fan-out",
                  .value = "",
                  .help = "start PyTorch's ranks by trainit itself, without torchrun",
                  .kind = [] { return OptionKind{.set = fan_out, .accepts = kSwitch.accepts}; },
                  .flag_only = false}),
    row<kSwitch, &Request::tf_flags>(
        "tf-flags", "0|1", "on ModelArts, --task_index and its like behind TensorFlow's script",
        "1"),
};

constexpr Option kLinks[] = {
    row<kPort, &Request::ssh_port>(
        "ssh-port", "PORT", "port of the workers' sshd, by which MPI's launcher reaches them",
        "22 for root, else 2222"),
    row<kPath, &Request::ssh_key>("ssh-key", "FILE",
                                  "private SSH key that all nodes of the job have"),
    row<kDuration, &Request::peer_timeout_ms>(
        "peer-timeout", "DURATION", "how long MPI's launcher waits for its workers' sshd", "10m"),
    row<kDuration, &Request::launcher_timeout_ms>(
        "launcher-timeout", "DURATION", "how long an MPI worker goes on without a launcher", "1h"),
    row<kPath, &Request::job_secret>(
        "job-secret", "FILE", "secret that proves that a node is of the job", "that of --ssh-key"),
    row<kPort, &Request::link_port>("link-port", "PORT",
                                    "port of node 0 by which a job's nodes fail and stop together",
                                    "one from 3400 to 3998, by the master's port"),
    row<kTime, &Request::link_timeout_ms>(
        "link-timeout", "DURATION", "silence after which another node counts as failed", "30s"),
    word_row<kOnNodeFailure, &Request::on_node_failure>(
        "on-node-failure", "WHAT", "the other nodes when one fails: stop, or are told and go on",
        "by the framework"),
};

constexpr Option kConda[] = {
    row<kCondaEnv, &Request::conda_env>(
        "conda-env", "ENV", "conda environment that the job runs in", "DEFAULT_CONDA_ENV_NAME"),
    row<kPath, &Request::conda_dir>("conda-dir", "DIR", "directory of the conda installation",
                                    "ANACONDA_DIR"),
    row<kDuration, &Request::script_timeout_ms>(
        "script-timeout", "DURATION", "how long conda's activate.d and CANN's set_env.sh may take",
        "60s"),
    row<kSwitch, &Request::conda_lib>(
        "conda-lib", "0|1", "lib directory of the conda environment in LD_LIBRARY_PATH", "1"),
    row<kOff, &Request::conda_lib>("no-conda-lib", "",
                                   "no lib directory of conda in LD_LIBRARY_PATH: --conda-lib 0"),
};

constexpr Option kRanks[] = {
    row<kPath, &Request::rank_table>("rank-table", "PATH",
                                     "Ascend's rank table, or the directory in which it appears",
                                     "RANK_TABLE_FILE"),
    row<kDuration, &Request::rank_table_timeout_ms>(
        "rank-table-timeout", "DURATION", "how long to wait for a rank table to be complete",
        "30m"),
    of(kJob | kTableConvert,
       word_row<kRankOrders, &Request::rank_order>(
           "rank-order", "ORDER", "order of the pods of a rank table of template 2",
           "by the platform")),
    row<kNumber<0, INT_MAX>, &Request::rank_start>(
        "rank-start", "N", "rank of this node's first device, which says which node this is",
        "RANK_START"),
    of(kJob | kTableGenerate,
       row<kDevices, &Request::devices>(
           "devices", "LIST", "devices of this host, where there is no rank table: 0,1,4-7")),
    word_row<kDeviceIds, &Request::device_ids>(
        "device-id", "KIND", "whether DEVICE_ID counts a node's ranks or is the physical device",
        "logical on ModelArts, physical on bare"),
    word_row<kAscendLaunchers, &Request::ascend_launcher>(
        "ascend-launcher", "WHO", "how the ranks of MindSpore are started and meet", "rank-table"),
};

constexpr Option kFiles[] = {
    common(word_row<kOutputs, &Request::output>(
        "output", "WHERE", "where the ranks print: first is rank 0 on stdout, the others in files",
        "first")),
    word_row<kBinds, &Observation::bind>(
        "bind", "WHAT", "CPUs of each rank: near its device (numa), divided evenly (core), or all",
        "none"),
    row<kPath, &Request::work_dir>("work-dir", "DIR",
                                   "directory in which each rank has its device<i> directory"),
    row<kPath, &Request::log_dir>("log-dir", "DIR",
                                  "directory for the ranks' logs and environments",
                                  "MA_LOG_DIR, else logs in the run directory"),
    row<kSwitch, &Request::log_prefix>("log-prefix", "0|1",
                                       "[rank N] before each line of a rank on stdout",
                                       "1 with --output tee"),
    row<kLogSize, &Observation::log_max_bytes>(
        "log-max-size", "SIZE", "size at which a rank's log file begins anew", "none"),
    needs(kLogSizes, row<kNumber<0, 1000>, &Observation::log_keep>(
                         "log-keep", "N", "number of old log files of a rank that stay", "3")),
    earlier("log-patience",
            row<kDuration, &Observation::log_reader_timeout_ms>(
                "log-reader-timeout", "DURATION",
                "how long a reader of stdout that reads nothing may block the job", "30s")),
    of(kJob | kInstance,
       row<kPath, &Options::run_dir>("run-dir", "DIR",
                                     "directory of trainit's state, control socket and logs",
                                     "/run/trainit, else one in /tmp or /dev/shm")),
    row<kSwitch, &Request::clean_device_dirs>("clean-device-dirs", "",
                                              "empty the ranks' device<i> directories first"),
    row<kSwitch, &Request::strict>(
        "strict", "",
        "errors instead of warnings: device groups that HCCL refuses, seccomp's doubts"),
    row<kPath, &Observation::timeline>(
        "timeline", "DIR", "directory that events, last state and plan are copied to at the end"),
    word_row<kLevels, &Options::log_level>("log-level", "LEVEL",
                                           "least level of trainit's own lines", "info"),
    word_row<kFormats, &Options::log_format>("log-format", "FORMAT", "form of trainit's own lines",
                                             "human"),
};

constexpr Option kStop[] = {
    common(row<kDuration, &Request::grace_ms>(
        "grace", "DURATION", "time that a job has from a stop request to its end, to save",
        "8s; 25s in Kubernetes")),
    row<kDuration, &Request::failure_grace_ms>(
        "failure-grace", "DURATION",
        "time from TERM to KILL for the other ranks after a failure, unless they write",
        "3s for ranks with peers; otherwise the grace"),
    word_row<base::kStopScopes, &Policy::stop_scope>(
        "stop-scope", "WHOM",
        "who gets a stop signal: the ranks (main), their process groups, all below them (tree)",
        "main"),
    row<kEscalation, &Policy::escalation>(
        "escalate", "LIST", "further signals after the stop signal, before KILL: INT@10s,QUIT@20s"),
    row<kExitCodes, &Policy::exit_codes>(
        "exit-codes", "LIST", "exit code of the container for that of the job: 143=0,1-3=75"),
    row<kSignalMap, &Policy::signals>(
        "signal", "LIST", "what a signal to trainit becomes: TERM=QUIT,USR1=checkpoint,HUP=none"),
    word_row<kSecondTerm, &Policy::second_term_kills>(
        "second-term", "WHAT", "what a second TERM does; kill ends the grace, as a second INT does",
        "ignore"),
    row<kDuration, &Policy::drain_ms>("drain", "DURATION",
                                      "time of the grace before the job gets its stop signal", "0"),
    row<kDuration, &Policy::max_duration_ms>(
        "max-duration", "DURATION",
        "longest time of the job, restarts included; then it ends with exit code 124", "none"),
    row<kSignal, &Options::parent_death_signal>(
        "parent-death-signal", "SIGNAL", "signal to stop with when trainit's own parent dies",
        "none"),
};

constexpr Option kDebug[] = {
    common(row<kDuration, &Request::hold_ms>(
        "hold", "DURATION", "debug window: how long the container of a failed job stays",
        "0; 4h with --terminal")),
    row<kTerminal, &Request::terminal>(
        "terminal", "", "sshd beside the job, or another command line: --terminal='COMMAND LINE'"),
};

constexpr Option kHooks[] = {
    row<kPath, &Request::hooks_dir>("hooks-dir", "DIR",
                                    "directory of hooks, in <event>.d, beside /etc/trainit/hooks"),
    row<kPath, &Request::lifecycle_script>(
        "lifecycle-script", "FILE", "script that is called at each event of hooks, with its name"),
    row<kHookTimes, &Request::hook_timeouts>(
        "hook-timeout", "LIST", "time that one hook has: 30s, or pre-start=10m,on-failure=1m",
        "by event"),
    row<kFatalHooks, &Request::fatal_hooks>("fatal-hooks", "LIST",
                                            "hooks whose failure ends the job", "pre-start"),
};

constexpr Option kRestart[] = {
    row<kSignalOrNone, &Request::checkpoint_signal>("checkpoint-signal", "SIGNAL",
                                                    "signal that asks the ranks for a checkpoint",
                                                    "USR1; none with hooks in checkpoint.d"),
    row<kTime, &Policy::checkpoint_ms>("checkpoint-timeout", "DURATION",
                                       "how long a checkpoint may take", "5m"),
    common(row<kNumber<0, kMaxCount>, &Request::max_restarts>(
        "max-restarts", "N", "how often a job that has failed is started again here", "0")),
    needs(kRestarts, row<kDuration, &Policy::restart_reset_ms>(
                         "restart-reset", "DURATION",
                         "time that a start has to run for restarts to count anew", "none")),
    needs(kRestarts, row<kDuration, &Policy::restart_delay_ms>(
                         "restart-delay", "DURATION",
                         "pause before the second restart, doubled at each, up to 1m", "1s")),
    needs(kRestarts,
          row<kCodes, &Policy::no_restart_on>("no-restart-on", "LIST",
                                              "exit codes that no restart would mend: 1-2,126")),
    needs(kRestarts,
          word_row<kRestartVerdicts, &Request::restart_verdict>(
              "restart-verdict", "WHAT",
              "on a failure that a restart cannot mend: end the job (enforce), or say so (tell)",
              "enforce")),
    needs(kAnyRestart,
          row<kDuration, &Request::device_wait_ms>(
              "device-wait", "DURATION", "how long a restart waits for devices in use", "30s")),
    needs(kAnyRestart, row<kSwitch, &Request::restart_across_nodes>(
                           "restart-across-nodes", "",
                           "restart jobs of several nodes too, which wait for each other")),
    needs(kRendezvous, row<kTime, &Request::restart_window_ms>(
                           "restart-window", "DURATION",
                           "how long nodes wait for each other at a restart", "30m")),
    needs(kAnyRestart, row<kModules, &Request::warm>(
                           "warm", "LIST",
                           "modules that a restarted Python rank has imported before: torch,numpy, "
                           "or auto")),
    needs(kWarm,
          row<kVariables, &Request::warm_free>(
              "warm-free", "LIST", "variables that may be others at a warm restart: RUN_ID,LOG_*")),
    row<kSwitch, &Policy::elastic>("elastic", "", "restart the job when its list of nodes changes"),
    needs(kElastic, row<kPositive, &Request::min_nodes>(
                        "min-nodes", "N", "nodes that an elastic job waits for", "1")),
};

constexpr Option kWatch[] = {
    row<kRatio, &Observation::perf_threshold_ppm>(
        "perf-threshold", "RATIO",
        "highest good ratio of an iteration's hardware time to its e2e time, as printed"),
    needs(kPerf,
          word_row<kPerfPolicy, &Observation::perf_reschedules>(
              "perf-policy", "WHAT",
              "on slow iterations: alert, or save and exit 75 to be placed elsewhere", "alert")),
    needs(kPerf, row<kPerfPattern, &Observation::perf_pattern>(
                     "perf-pattern", "TEXT",
                     "line that tells an iteration's {hardware} and {e2e} time", "the platform's")),
    needs(kPerf, row<kPositive, &Observation::perf_count>(
                     "perf-count", "N", "number of slow iterations in succession that count", "1")),
    row<kProgress, &Observation::progress>(
        "progress", "PATTERN",
        "line by which a rank tells its {step}, or which one is {saved}; repeatable"),
    common(row<kDuration, &Observation::stall_ms>(
        "stall-timeout", "DURATION", "silence, without CPU time, after which a rank has stalled",
        "none")),
    needs(kStall, word_row<kStallOn, &Observation::stall_by_output>(
                      "stall-on", "WHAT",
                      "signs of a stall: no output and no CPU time, or no output", "both")),
    needs(kStall, word_row<kStallAction, &Observation::stall_ends>(
                      "stall-action", "WHAT",
                      "on a stall: report it, or end the job with exit code 70", "report")),
    row<kHealthInterval, &Observation::health_interval_ms>(
        "health-interval", "DURATION",
        "time between two rounds of health hooks and checks; 0: none", "5m"),
    row<kHealthChecks, &Observation::health_checks>(
        "health-checks", "LIST",
        "checks of doctor that are run while the job runs: gpu,disk,peers"),
    row<kPositive, &Observation::health_failures>(
        "health-failures", "N",
        "failed rounds of health checks in succession; then a checkpoint and exit code 75", "2"),
};

constexpr Option kSandbox[] = {
    row<kUser, &SandboxRequest::user>(
        "user", "USER[:GROUP]", "user that the job runs as, of the image's passwd or a number"),
    row<kCaps, &SandboxRequest::caps>(
        "caps", "LIST", "capabilities that the job may keep: none, net_raw,kill or -mknod"),
    row<kAmbient, &SandboxRequest::ambient>("ambient", "LIST",
                                            "capabilities that the job has though it is not root"),
    row<kSwitch, &ProcessSettings::no_new_privs>(
        "no-new-privs", "", "no setuid program gives the job more rights than it has"),
    row<kPath, &SandboxRequest::seccomp>(
        "seccomp", "PROFILE",
        "file of the system calls that the job may use, as moby or OCI writes it"),
    row<kSwitch, &Options::untrusted_image>(
        "untrusted-image", "",
        "trainit itself becomes the job's user before it reads anything of the image"),
    row<kLimit, &SandboxRequest::limits>("rlimit", "NAME=SOFT[:HARD]",
                                         "resource limit of the job: nofile=1024:4096; repeatable"),
    row<kMask, &ProcessSettings::umask>("umask", "MASK", "umask of the job, octal"),
    row<kNumber<-20, 19>, &ProcessSettings::nice>("nice", "N", "nice value of the job"),
    row<kNumber<-1000, 1000>, &ProcessSettings::oom_score_adj>(
        "oom-score-adj", "N", "oom_score_adj of the job: the highest is killed first"),
};

constexpr Option kDatasets[] = {
    common(row<kData, &DataRequest::specs>(
        "data", "SRC[=DST]", "dataset that is copied to fast local storage first; repeatable")),
    needs(kDataset, of(kJob | kCache, row<kPath, &DataRequest::root>(
                                          "data-root", "DIR",
                                          "existing directory for the node's cache of datasets",
                                          "the first that has room"))),
    needs(kDataset, row<kAnyText, &DataRequest::version>(
                        "data-version", "TEXT",
                        "version of the datasets: while it is the same they are not looked at")),
    needs(kDataset,
          of(kJob | kCopy, row<kPattern, &DataRequest::include>(
                               "include", "PATTERN",
                               "files that are copied: '*.tar', train/**; repeatable", "all"))),
    needs(kDataset, of(kJob | kCopy, row<kPattern, &DataRequest::exclude>(
                                         "exclude", "PATTERN",
                                         "files and directories that are not copied; repeatable"))),
    needs(kDataset,
          of(kJob | kCopy, row<kSwitch, &DataRequest::verify>(
                               "verify", "", "read each byte that was copied again, and compare"))),
    needs(kDataset,
          of(kJob | kCopy, row<kSwitch, &DataRequest::durable>(
                               "durable", "", "sync the copy to the disk before it is used"))),
    needs(kDataset, row<kSwitch, &DataRequest::link>(
                        "data-link", "", "make a source that is a symbolic link lead to the copy")),
    needs(kDataset, word_row<kOnDataFailure, &DataRequest::on_failure>(
                        "data-on-failure", "WHAT",
                        "on a dataset that cannot be copied: read the source, or fail", "source")),
    needs(kDataset,
          row<kDuration, &DataRequest::timeout_ms>(
              "data-timeout", "DURATION", "how long the copy of a dataset may take", "none")),
    needs(kDataset, row<kNumber<0, 64>, &DataRequest::workers>(
                        "data-workers", "N", "number of processes that copy a dataset",
                        "automatic, at most 64")),
    needs(kDataset, of(kJob | kCache, row<kHeadroom, &DataRequest::headroom>(
                                          "data-headroom", "SIZE",
                                          "part of the cache's disk that stays free", "5%"))),
    needs(kDataset, of(kJob | kCache,
                       row<kDuration, &DataRequest::cache_ttl_ms>(
                           "cache-ttl", "DURATION",
                           "time without use after which a dataset may leave the cache", "7d"))),
    needs(kDataset,
          of(kJob | kCache, row<kCacheSize, &DataRequest::cache_max_bytes>(
                                "cache-max-size", "SIZE",
                                "size of all that one user has in the cache", "no limit"))),
};

constexpr Option kChecksBefore[] = {
    word_row<envgen::kPreflights, &Observation::preflight>(
        "preflight", "WHAT",
        "doctor's checks before the job: require ends it with exit code 125 where one fails",
        "off"),
    row<kDirectory, &Observation::datasets>(
        "dataset", "DIR", "directory that doctor checks to be mounted read-only; repeatable"),
};

constexpr std::int64_t kMaxMs = 1'000'000'000'000;  // 31 years

constexpr Option kOthers[] = {
    of(kPlan, flag(row<kPath, &Options::snapshot>(
                  "snapshot", "FILE", "saved snapshot to plan from, instead of looking around"))),
    of(kPlan | kDoctor | kStatus | kStacks | kCopy | kCache,
       flag(row<kSwitch, &Options::json>("json", "", "print JSON instead of text"))),
    of(kPlan, flag(row<kSwitch, &Options::verbose>(
                  "verbose", "", "print every variable of every process, instead of a summary"))),
    of(kStatus, flag(row<kSwitch, &Options::watch>("watch", "", "print again at each change"))),
    of(kStatus, flag(row<kSwitch, &Options::all_nodes>(
                    "cluster", "", "all nodes of the job, as its node 0 knows them"))),
    of(kDoctor, flag(row<kChecks, &Options::checks>("only", "LIST", "checks to run", "all"))),
    of(kDoctor,
       flag(row<kPath, &Options::junit>(
           "junit", "FILE", "file for a JUnit report; - is stdout, instead of the table"))),
    of(kDoctor, flag(row<kTime, &Options::check_timeout_ms>(
                    "timeout", "DURATION", "how long a check may take; all run at once", "30s"))),
    of(kCopy, row<kNumber<1, 64>, &DataRequest::workers>(
                  "workers", "N", "number of processes that copy", "automatic, at most 64")),
    of(kCopy, row<kHeadroom, &DataRequest::headroom>("headroom", "SIZE",
                                                     "part of the disk that stays free", "5%")),
    of(kCopy, row<kTime, &DataRequest::timeout_ms>("timeout", "DURATION",
                                                   "how long the whole copy may take", "none")),
    of(kCopy, row<kOwner, &Options::owner>("owner", "UID:GID", "owner of all that is copied",
                                           "the source's, for root")),
    of(kCacheGc | kCopy,
       row<kSwitch, &Options::dry_run>("dry-run", "", "only say what would be done")),
    of(kHold, row<kDuration, &Options::span_ms>(
                  "for", "DURATION", "time from now on that the debug window stays open")),
    of(kExtend, row<kDuration, &Options::span_ms>("for", "DURATION",
                                                  "time that is added to --max-duration")),
    of(kExtend, row<kDuration, &Options::left_ms>(
                    "left", "DURATION",
                    "time that is left from now on, more or less than before, or the first limit")),
    of(kCheckpoint, row<kSwitch, &Options::keep_running>(
                        "keep-running", "", "save a checkpoint, and let the job go on")),
    of(kHostsCheck,
       row<kDialect, &Options::from>("for", "DIALECT", "program that is to read the hostfile",
                                     "by the form of the file")),
    of(kHostsConvert,
       row<kDialect, &Options::from>("from", "DIALECT", "program that FILE was written for",
                                     "by the form of the file")),
    of(kHostsConvert,
       row<kDialect, &Options::to>("to", "DIALECT", "program that is to read the result")),
    of(kTableGenerate, row<kAnyText, &Options::server_id>(
                           "server-id", "ID", "server_id of this host", "its first address")),
    of(kTableGenerate,
       row<kPath, &Options::hccn_conf>("hccn-conf", "FILE",
                                       "file with the addresses of the devices", "/etc/hccn.conf")),
    of(kRunReport, word_row<kReportFormats, &Options::report_format>(
                       "format", "FORMAT", "form of the report; a trace is for Perfetto",
                       "by the end of --output, else text")),
    of(kTableConvert | kTableGenerate | kHostsConvert | kRunReport,
       flag(row<kPath, &Options::out>("output", "OUT", "file to write the result to", "stdout"),
            'o')),
    of(kPeer, row<kAbsolute, &PeerRequest::directory>("dir", "DIR", "directory of sshd's files")),
    of(kPeerServe | kPeerEnd,
       row<kPort, &PeerRequest::port>("port", "PORT", "port of the workers' sshd")),
    of(kPeerServe | kPeerEnd,
       row<kPath, &PeerRequest::key>("key", "FILE", "private SSH key that all nodes have")),
    of(kPeerServe,
       row<kNumber<0, kMaxMs>, &PeerRequest::launcher_timeout_ms>(
           "launcher-timeout-ms", "N", "milliseconds that a worker goes on without a launcher")),
    of(kPeerEnd, row<kAbsolute, &PeerRequest::hosts_file>("hosts-file", "FILE",
                                                          "file with the name of a worker a line")),
    of(kPeerEnd, row<kAbsolute, &PeerRequest::link>(
                     "link", "FILE",
                     "socket of the link: a worker that hears of the end by it is not called")),
    of(kPeerEnd, row<kExitCode, &PeerRequest::code>("code", "N", "exit code of the job",
                                                    "TRAINIT_EXIT_CODE")),
    of(kAll, flag(row<kSwitch, &Options::help>("help", "", "show help"), 'h')),
    of(kAll, flag(row<kSwitch, &Options::version>("version", "", "show the version"), 'V')),
};

constexpr Topic kTopics[] = {{"nodes", "Platform, framework and nodes"},
                             {"links", "Between the nodes of a job"},
                             {"ascend", "Rank tables and devices"},
                             {"conda", "Conda"},
                             {"data", "Datasets"},
                             {"output", "Output, logs and directories"},
                             {"stop", "Stopping and exit codes"},
                             {"restart", "Checkpoints and restarts"},
                             {"watch", "Watches"},
                             {"debug", "The debug window"},
                             {"hooks", "Hooks"},
                             {"checks", "Checks before the job"},
                             {"sandbox", "User, rights and limits"},
                             {"", "Of single commands"}};

constexpr std::span<const Option> kRows[] = {
    kNodes,   kLinks, kRanks, kConda, kDatasets,     kFiles,   kStop,
    kRestart, kWatch, kDebug, kHooks, kChecksBefore, kSandbox, kOthers};  // same order as kTopics
static_assert(std::size(kRows) == std::size(kTopics));

// --- Packed form in the program ---

constexpr std::size_t kTexts = 5;  // of a row
consteval std::array<std::string_view, kTexts> texts_of(const Option& option) {
  return {option.name, option.value, option.help, option.standard, option.earlier};
}

// Returns the number of rows and the total bytes of their texts.
consteval std::pair<std::size_t, std::size_t> sizes_of_rows() {
  std::size_t count = 0;
  std::size_t bytes = 0;
  for (const std::span<const Option> rows : kRows) {
    count += rows.size();
    for (const Option& option : rows) {
      for (const std::string_view text : texts_of(option)) bytes += text.size();
    }
  }
  return {count, bytes};
}
constexpr std::size_t kCount = sizes_of_rows().first;

struct Packed {
  std::array<base::TextPlace, kTexts> texts;
  Commands commands = 0;
  char letter = '\0';
  bool flag_only = false;
  bool common = false;
  std::uint8_t topic = 0;
};
struct Table {
  std::array<Packed, kCount> rows{};
  base::PackedTexts<sizes_of_rows().second> texts;
};
// The pointers, in an array separate from the data without addresses.
struct Addresses {
  std::array<OptionKind (*)(), kCount> kind{};
  std::array<const Need*, kCount> need{};
};

consteval std::pair<Table, Addresses> packed() {
  Table table;
  Addresses addresses;
  std::size_t at = 0;
  for (std::size_t topic = 0; topic < std::size(kRows); ++topic) {
    for (const Option& option : kRows[topic]) {
      Packed& row = table.rows[at];
      row = {.commands = option.commands,
             .letter = option.letter,
             .flag_only = option.flag_only,
             .common = option.common,
             .topic = static_cast<std::uint8_t>(topic)};
      for (std::size_t i = 0; i < row.texts.size(); ++i) {
        row.texts[i] = table.texts.add(texts_of(option)[i]);
      }
      addresses.kind[at] = option.kind;
      addresses.need[at] = option.need;
      ++at;
    }
  }
  return {table, addresses};
}
constexpr Table kTable = packed().first;
constexpr Addresses kAddresses = packed().second;

}  // namespace

std::uint32_t option_count() { return kCount; }

Option option_at(std::uint32_t at) {
  const Packed& row = kTable.rows[at];
  const auto text = [&row](std::size_t i) { return kTable.texts.at(row.texts[i]); };
  return {.name = text(0),
          .value = text(1),
          .help = text(2),
          .standard = text(3),
          .earlier = text(4),
          .kind = kAddresses.kind[at],
          .commands = row.commands,
          .letter = row.letter,
          .flag_only = row.flag_only,
          .common = row.common,
          .topic = &kTopics[row.topic],
          .need = kAddresses.need[at]};
}

std::span<const Topic> topics() { return {kTopics, std::size(kTopics) - 1}; }

}  // namespace cli
