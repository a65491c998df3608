// The table of the options.

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>

#include "init/cli/kinds.h"
#include "init/cli/options.h"
#include "init/sys/log.h"

namespace cli {
namespace {

using envgen::DataRequest;
using envgen::Observation;
using envgen::Policy;
using envgen::ProcessSettings;
using envgen::Request;
using envgen::SandboxRequest;
using envgen::TorchLauncher;

// --- Rows ---

// The struct that a member is of. One more struct is one more line.
template <class M, class S>
S& part(Options& options, M S::* /*member*/) {
  const auto parts = std::tie(options, options.request, options.request.policy,
                              options.request.observe, options.request.sandbox,
                              options.request.sandbox.settings, options.request.data, options.peer);
  return std::get<S&>(parts);
}

// A function for each kind and type of member, not for each row.
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
constexpr Option row(std::string_view name, std::string_view value, std::string_view help) {
  return {.name = name,
          .value = value,
          .help = help,
          .set =
              [](Options& options, std::string_view text, bool again) {
                return parse_into(kKind.parse, text, part(options, kMember).*kMember, again);
              },
          .kind = kKind.accepts,
          .list = kKind.list,
          .flag_only = false,
          .is_on = is_on<kMember>(kMember)};
}
constexpr Option needs(const Need& need, Option option) {
  option.need = &need;
  return option;
}
// Of these commands, instead of those that take a job.
constexpr Option of(Commands commands, Option option) {
  option.commands = commands;
  option.flag_only = option.flag_only || (commands & kJob) == 0;
  return option;
}
constexpr Option flag(Option option, char letter = '\0') {
  option.flag_only = true;
  option.letter = letter;
  return option;
}

// --- Words: of a kWord, with their meanings ---

constexpr Word<TorchLauncher> kTorchLaunchers[] = {{"torchrun", TorchLauncher::kTorchrun},
                                                   {"launch", TorchLauncher::kLaunch},
                                                   {"fan-out", TorchLauncher::kFanOut}};
constexpr Word<envgen::RankMeans> kRankMeans[] = {{"node", envgen::RankMeans::kNode},
                                                  {"process", envgen::RankMeans::kProcess}};
constexpr Word<envgen::AscendLauncher> kAscendLaunchers[] = {
    {"rank-table", envgen::AscendLauncher::kRankTable},
    {"msrun", envgen::AscendLauncher::kMsrun},
    {"dynamic", envgen::AscendLauncher::kDynamic}};
constexpr Word<envgen::OnNodeFailure> kOnNodeFailure[] = {{"stop", envgen::OnNodeFailure::kStop},
                                                          {"tell", envgen::OnNodeFailure::kTell}};
constexpr Word<envgen::RestartVerdict> kRestartVerdicts[] = {
    {"enforce", envgen::RestartVerdict::kEnforce},
    {"tell", envgen::RestartVerdict::kTell},
    {"off", envgen::RestartVerdict::kOff}};
constexpr Word<envgen::RankOrder> kRankOrders[] = {{"pod-index", envgen::RankOrder::kPodIndex},
                                                   {"server-id", envgen::RankOrder::kServerId}};
constexpr Word<envgen::DeviceIds> kDeviceIds[] = {{"logical", envgen::DeviceIds::kLogical},
                                                  {"physical", envgen::DeviceIds::kPhysical}};
constexpr Word<envgen::Output> kOutputs[] = {{"first", envgen::Output::kFirst},
                                             {"inherit", envgen::Output::kInherit},
                                             {"files", envgen::Output::kFiles},
                                             {"tee", envgen::Output::kTee}};
constexpr Word<envgen::Bind> kBinds[] = {
    {"numa", envgen::Bind::kNuma}, {"core", envgen::Bind::kCore}, {"none", envgen::Bind::kNone}};
constexpr Word<envgen::StopScope> kStopScopes[] = {{"main", envgen::StopScope::kMain},
                                                   {"group", envgen::StopScope::kGroup},
                                                   {"tree", envgen::StopScope::kTree}};
constexpr Word<bool> kSecondTerm[] = {{"kill", true}, {"ignore", false}};
constexpr Word<bool> kPerfPolicy[] = {{"alert", false}, {"reschedule", true}};
constexpr Word<bool> kStallOn[] = {{"both", false}, {"output", true}};
constexpr Word<bool> kStallAction[] = {{"report", false}, {"end", true}};
constexpr Word<envgen::OnDataFailure> kOnDataFailure[] = {
    {"source", envgen::OnDataFailure::kSource}, {"fail", envgen::OnDataFailure::kFail}};
constexpr Word<envgen::Preflight> kPreflights[] = {{"off", envgen::Preflight::kOff},
                                                   {"warn", envgen::Preflight::kWarn},
                                                   {"require", envgen::Preflight::kRequire}};
constexpr Word<sys::log::Level> kLevels[] = {{"debug", sys::log::Level::kDebug},
                                             {"info", sys::log::Level::kInfo},
                                             {"warning", sys::log::Level::kWarning},
                                             {"error", sys::log::Level::kError}};
constexpr Word<sys::log::Format> kFormats[] = {{"human", sys::log::Format::kHuman},
                                               {"json", sys::log::Format::kJson}};

constexpr Word<ReportFormat> kReportFormats[] = {
    {"text", ReportFormat::kText}, {"html", ReportFormat::kHtml}, {"trace", ReportFormat::kTrace}};

// --- What options do nothing without ---

bool restarts(const Options& o) { return o.request.max_restarts.value_or(0) > 0; }
bool elastic(const Options& o) { return o.request.policy.elastic; }

using envgen::Environ;
constexpr Need kRestarts = {{"max-restarts"},
                            [](const Options& o, const Environ&) { return restarts(o); }};
constexpr Need kElastic = {{"elastic"},
                           [](const Options& o, const Environ&) { return elastic(o); }};
constexpr Need kAnyRestart = {{"max-restarts", "elastic"}, [](const Options& o, const Environ&) {
                                return restarts(o) || elastic(o);
                              }};
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
// A variable for datasets that is empty says that this job has none.
constexpr Need kDataset = {{"data"}, [](const Options& o, const Environ& env) {
                             return !o.request.data.specs.empty() || env.get("TRAINIT_DATA");
                           }};

// --- The table ---

constexpr Option kNodes[] = {
    row<kPlatform, &Request::platform>("platform", "NAME", "instead of the one that is detected"),
    row<kFramework, &Request::framework>("framework", "NAME",
                                         "instead of the one that platform and command suggest"),
    row<kPositive, &Request::nodes>("nodes", "N",
                                    "nodes of the job, where the platform does not say"),
    row<kHosts, &Request::hosts>("hosts", "LIST",
                                 "nodes of the job in node-rank order: HOST[:SLOTS],..."),
    row<kPositive, &Request::slots>(
        "slots", "N", "ranks per node; else the platform's, else its devices, else 1"),
    row<kWord<kRankMeans>, &Request::rank_means>(
        "rank-means", "WHAT", "RANK and WORLD_SIZE count: node or process, where it is open"),
    row<kAddress, &Request::master_addr>("master-addr", "HOST", "where the ranks meet"),
    row<kPort, &Request::master_port>(
        "master-port", "PORT", "its port; else the platform's, else 29500 (one node: a free one)"),
    row<kWord<kTorchLaunchers>, &Request::torch_launcher>(
        "torch-launcher", "WHO", "starts PyTorch ranks: torchrun, launch or fan-out (trainit)"),
    Option{.name = "fan-out",
           .value = "",
           .help = "the same as --framework pytorch --torch-launcher fan-out",
           .set = [](Options& options, std::string_view text, bool /*again*/) -> Parsed<void> {
             const auto on = parse_switch(text);
             if (!on) return refused();
             if (!*on) return {};
             options.request.framework = "pytorch";
             options.request.torch_launcher = TorchLauncher::kFanOut;
             return {};
           },
           .kind = kSwitch.accepts,
           .flag_only = false},
    row<kWord<kAscendLaunchers>, &Request::ascend_launcher>(
        "ascend-launcher", "WHO", "rank-table, msrun or dynamic (MindSpore's dynamic cluster)"),
    row<kSwitch, &Request::tf_flags>(
        "tf-flags", "0|1", "TensorFlow on ModelArts: --task_index ... behind the script (1)"),
    row<kPort, &Request::ssh_port>("ssh-port", "PORT",
                                   "of the workers' sshd (22 for root, else 2222)"),
    row<kPath, &Request::ssh_key>("ssh-key", "FILE",
                                  "the private key that all nodes of the job have"),
    row<kDuration, &Request::peer_timeout_ms>("peer-timeout", "DURATION",
                                              "how long a launcher waits for its workers (10m)"),
    row<kDuration, &Request::launcher_timeout_ms>(
        "launcher-timeout", "DURATION", "how long a worker goes on without a launcher (1h)"),
    row<kPath, &Request::job_secret>("job-secret", "FILE",
                                     "proves that a node is of the job; else that of --ssh-key"),
    row<kPort, &Request::link_port>("link-port", "PORT",
                                    "of node 0, for the others; else the master's port plus one"),
    row<kTime, &Request::link_timeout_ms>("link-timeout", "DURATION",
                                          "a node that is silent so long has failed (30s)"),
    row<kWord<kOnNodeFailure>, &Request::on_node_failure>(
        "on-node-failure", "WHAT", "the other nodes: stop, or tell (go on); else by framework"),
};

constexpr Option kConda[] = {
    row<kCondaEnv, &Request::conda_env>("conda-env", "ENV",
                                        "name or prefix; else DEFAULT_CONDA_ENV_NAME"),
    row<kPath, &Request::conda_dir>("conda-dir", "DIR",
                                    "the conda installation; else ANACONDA_DIR"),
    row<kDuration, &Request::script_timeout_ms>(
        "script-timeout", "DURATION", "of conda's activate.d and CANN's set_env.sh (60s)"),
    row<kSwitch, &Request::conda_lib>("conda-lib", "0|1",
                                      "its lib directory in LD_LIBRARY_PATH (1)"),
    row<kOff, &Request::conda_lib>("no-conda-lib", "", "the same as --conda-lib 0"),
};

constexpr Option kRanks[] = {
    row<kPath, &Request::rank_table>("rank-table", "PATH",
                                     "the rank table or its directory, instead of RANK_TABLE_FILE"),
    row<kDuration, &Request::rank_table_timeout_ms>(
        "rank-table-timeout", "DURATION", "how long to wait for it to be completed (30m)"),
    of(kJob | kTableConvert,
       row<kWord<kRankOrders>, &Request::rank_order>(
           "rank-order", "ORDER", "of the pods of a template 2: pod-index or server-id")),
    row<kNumber<0, INT_MAX>, &Request::node_rank>("node-rank", "N",
                                                  "which node of the cluster this is"),
    row<kNumber<0, INT_MAX>, &Request::rank_start>(
        "rank-start", "N", "the same by the rank of its first device; also RANK_START"),
    of(kJob | kTableGenerate,
       row<kDevices, &Request::devices>(
           "devices", "LIST", "devices of this host when there is no rank table: 0,1,4-7")),
    row<kWord<kDeviceIds>, &Request::device_ids>(
        "device-id", "KIND", "meaning of DEVICE_ID: logical (modelarts) or physical (bare)"),
};

constexpr Option kFiles[] = {
    row<kWord<kOutputs>, &Request::output>(
        "output", "WHERE", "first (rank on stdout, others in files), inherit, files, tee"),
    row<kWord<kBinds>, &Observation::bind>(
        "bind", "WHAT", "the ranks: numa (near their devices), core (divided) or none"),
    row<kPath, &Request::work_dir>("work-dir", "DIR", "the ranks' device<i> directories lie there"),
    row<kPath, &Request::log_dir>("log-dir", "DIR",
                                  "logs and environments of the ranks; MA_LOG_DIR, RUN_DIR/logs"),
    row<kSwitch, &Request::log_prefix>("log-prefix", "0|1",
                                       "[rank N] before each line on stdout; 1 with --output tee"),
    row<kLogSize, &Observation::log_max_bytes>("log-max-size", "SIZE",
                                               "begin a new log file at this size: 64k, 100m, 2g"),
    needs(kLogSizes, row<kNumber<0, 1000>, &Observation::log_keep>("log-keep", "N",
                                                                   "old log files that stay (3)")),
    row<kDuration, &Observation::log_patience_ms>(
        "log-patience", "DURATION", "how long a reader that reads nothing holds the job up (30s)"),
    of(kJob | kInstance, row<kPath, &Options::run_dir>(
                             "run-dir", "DIR", "state, control socket and converted rank table")),
    row<kSwitch, &Request::clean_device_dirs>("clean-device-dirs", "",
                                              "empty the device<i> directories first"),
    row<kSwitch, &Request::strict>("strict", "",
                                   "device groups that MindSpore does not support are errors"),
};

constexpr Option kStop[] = {
    row<kDuration, &Request::grace_ms>("grace", "DURATION",
                                       "from a stop request to the exit (8s; 25s in Kubernetes)"),
    row<kDuration, &Request::hold_ms>(
        "hold", "DURATION", "debug window: keep a failed container (0; 4h with a terminal)"),
    row<kWord<kStopScopes>, &Policy::stop_scope>(
        "stop-scope", "WHOM", "gets a stop signal: main (the ranks), group (theirs) or tree"),
    row<kEscalation, &Policy::escalation>(
        "escalate", "LIST", "signals on the way from the stop to KILL: INT@10s,QUIT@20s"),
    row<kExitCodes, &Policy::exit_codes>("exit-codes", "LIST",
                                         "the container's code for the job's: 143=0,1-3=75"),
    row<kSignalMap, &Policy::signals>(
        "signal", "LIST", "maps signals: TERM=QUIT,INT=forward,USR1=checkpoint,HUP=none"),
    row<kWord<kSecondTerm>, &Policy::second_term_kills>(
        "second-term", "WHAT", "a second TERM: ignore (default), or kill as a second INT does"),
    row<kDuration, &Policy::drain_ms>("drain", "DURATION",
                                      "of the grace: from a stop request to the job's stop signal"),
};

constexpr Option kHooks[] = {
    row<kPath, &Request::hooks_dir>(
        "hooks-dir", "DIR", "has <event>.d directories of hooks, as /etc/trainit/hooks has"),
    row<kPath, &Request::lifecycle_script>(
        "lifecycle-script", "FILE", "called for each event of a hook, with the event's name"),
    row<kHookTimes, &Request::hook_timeouts>(
        "hook-timeout", "LIST", "of each hook: 30s, or by event: pre-start=10m,on-failure=1m"),
    row<kFatalHooks, &Request::fatal_hooks>(
        "fatal-hooks", "LIST", "end the job when they fail: pre-start (the default), post-start"),
};

constexpr Option kRestart[] = {
    row<kSignalOrNone, &Request::checkpoint_signal>(
        "checkpoint-signal", "SIGNAL", "asks the job for a checkpoint (USR1), or none"),
    row<kTime, &Policy::checkpoint_ms>("checkpoint-timeout", "DURATION",
                                       "what a checkpoint is granted (5m)"),
    row<kNumber<0, kMostCount>, &Request::max_restarts>("max-restarts", "N",
                                                        "of a job that failed (0)"),
    needs(kRestarts, row<kDuration, &Policy::restart_reset_ms>(
                         "restart-reset", "DURATION",
                         "they count anew after a start that ran so long (never)")),
    needs(kRestarts, row<kDuration, &Policy::restart_delay_ms>(
                         "restart-delay", "DURATION",
                         "before the second one; doubled at each, at most 1m (1s)")),
    needs(kRestarts,
          row<kCodes, &Policy::no_restart_on>("no-restart-on", "LIST",
                                              "exit codes that no restart would mend: 1-2,126")),
    needs(kRestarts, row<kWord<kRestartVerdicts>, &Request::restart_verdict>(
                         "restart-verdict", "WHAT",
                         "of a failure that a restart cannot mend: enforce (end), tell, off")),
    needs(kAnyRestart,
          row<kDuration, &Request::device_wait_ms>(
              "device-wait", "DURATION", "how long a restart waits for devices in use (30s)")),
    needs(kAnyRestart, row<kSwitch, &Request::restart_across_nodes>(
                           "restart-across-nodes", "",
                           "restart jobs of several nodes too: they wait for each other")),
    needs(kRendezvous,
          row<kTime, &Request::restart_window_ms>(
              "restart-window", "DURATION", "how long the nodes wait for each other then (30m)")),
    row<kSwitch, &Policy::elastic>("elastic", "", "restart the job when its list of nodes changes"),
    needs(kElastic,
          row<kPositive, &Request::min_nodes>(
              "min-nodes", "N", "with --elastic: wait for more where there are fewer nodes")),
    row<kDuration, &Policy::max_duration_ms>(
        "max-duration", "DURATION", "of the job, restarts included; then it ends with 124"),
};

constexpr Option kWatch[] = {
    row<kRatio, &Observation::perf_threshold_ppm>(
        "perf-threshold", "RATIO", "watch the iterations' hardware / e2e time: not above it"),
    needs(kPerf,
          row<kWord<kPerfPolicy>, &Observation::perf_reschedules>(
              "perf-policy", "WHAT", "then: alert (default) or reschedule (checkpoint, 75)")),
    needs(kPerf,
          row<kPerfPattern, &Observation::perf_pattern>(
              "perf-pattern", "TEXT", "the line with {hardware} and {e2e}; else the platform's")),
    needs(kPerf, row<kPositive, &Observation::perf_count>(
                     "perf-count", "N", "so many lines in succession above it (1)")),
    row<kProgress, &Observation::progress>(
        "progress", "PATTERN", "a line that tells the {step}, or which one is {saved}; repeatable"),
    row<kDuration, &Observation::stall_ms>(
        "stall-timeout", "DURATION", "a rank without output and CPU time so long has stalled"),
    needs(kStall, row<kWord<kStallOn>, &Observation::stall_by_output>(
                      "stall-on", "WHAT", "both (default) or output: silence is enough")),
    needs(kStall, row<kWord<kStallAction>, &Observation::stall_ends>(
                      "stall-action", "WHAT", "report (default) or end: the job fails with 70")),
    row<kHealthInterval, &Observation::health_interval_ms>(
        "health-interval", "DURATION", "of health hooks and --health-checks (5m); 0 = never"),
    row<kHealthChecks, &Observation::health_checks>(
        "health-checks", "LIST", "of doctor's checks, while the job runs: gpu,disk,peers"),
    row<kPositive, &Observation::health_failures>(
        "health-failures", "N", "in succession: then a checkpoint, and exit code 75 (2)"),
};

constexpr Option kBeside[] = {
    row<kTerminal, &Request::terminal>(
        "terminal", "", "beside the job: sshd, or =COMMAND LINE; holds 4h on failure"),
    row<kSignal, &Options::parent_death_signal>("parent-death-signal", "SIGNAL",
                                                "stop with it when our own parent dies"),
};

constexpr Option kSandbox[] = {
    row<kUser, &SandboxRequest::user>("user", "USER[:GROUP]",
                                      "the job's user: names of the image's passwd, or numbers"),
    row<kCaps, &SandboxRequest::caps>(
        "caps", "LIST", "what the job may keep: all, none, net_raw,kill or -mknod,-net_raw"),
    row<kAmbient, &SandboxRequest::ambient>("ambient", "LIST",
                                            "capabilities that the job has though it is not root"),
    row<kSwitch, &ProcessSettings::no_new_privs>(
        "no-new-privs", "", "no setuid program gives the job more than it has"),
    row<kPath, &SandboxRequest::seccomp>("seccomp", "PROFILE",
                                         "the job's system calls: a file in moby's or OCI's JSON"),
    row<kLimit, &SandboxRequest::limits>("rlimit", "NAME=SOFT[:HARD]",
                                         "a limit of the job: nofile=1024:4096; repeatable"),
    row<kMask, &ProcessSettings::umask>("umask", "MASK", "of the job, octal"),
    row<kNumber<-20, 19>, &ProcessSettings::nice>("nice", "N", "of the job, -20 to 19"),
    row<kNumber<-1000, 1000>, &ProcessSettings::oom_score_adj>(
        "oom-score-adj", "N", "of the job, -1000 to 1000: who is killed first"),
};

constexpr Option kDatasets[] = {
    row<kData, &DataRequest::specs>(
        "data", "SRC[=DST]", "copied to fast local storage before the job starts; repeatable"),
    needs(kDataset,
          of(kJob | kCache, row<kPath, &DataRequest::root>(
                                "data-root", "DIR",
                                "the node's cache of datasets; else the first that has room"))),
    needs(kDataset,
          row<kAnyText, &DataRequest::version>(
              "data-version", "TEXT", "of the sources: with the same one they are not looked at")),
    needs(kDataset,
          of(kJob | kCopy, row<kPattern, &DataRequest::include>(
                               "include", "PATTERN",
                               "only these files of the data: '*.tar', train/**; repeatable"))),
    needs(kDataset, of(kJob | kCopy, row<kPattern, &DataRequest::exclude>(
                                         "exclude", "PATTERN",
                                         "none of these files and directories; repeatable"))),
    needs(kDataset, of(kJob | kCopy,
                       row<kSwitch, &DataRequest::verify>(
                           "verify", "", "each byte that was copied is read again and compared"))),
    needs(kDataset,
          of(kJob | kCopy, row<kSwitch, &DataRequest::durable>(
                               "durable", "", "the copy is synced to the disk before it is used"))),
    needs(kDataset,
          row<kSwitch, &DataRequest::link>(
              "data-link", "", "a source that is a symbolic link is made to lead to the copy")),
    needs(kDataset,
          row<kWord<kOnDataFailure>, &DataRequest::on_failure>(
              "data-on-failure", "WHAT", "the job reads the source (default), or fail: it ends")),
    needs(kDataset, row<kDuration, &DataRequest::timeout_ms>("data-timeout", "DURATION",
                                                             "of each dataset; 0 = none")),
    needs(kDataset, row<kNumber<0, 64>, &DataRequest::workers>(
                        "data-workers", "N", "processes that copy a dataset; 0 = by the machine")),
    needs(kDataset,
          of(kJob | kCache, row<kHeadroom, &DataRequest::headroom>(
                                "data-headroom", "SIZE",
                                "of the disk that stays free: 10g, or a percentage (5%)"))),
    needs(kDataset,
          of(kJob | kCache, row<kDuration, &DataRequest::cache_ttl_ms>(
                                "cache-ttl", "DURATION",
                                "unused for so long, a dataset of the cache may go (7d)"))),
    needs(kDataset, of(kJob | kCache, row<kCacheSize, &DataRequest::cache_max_bytes>(
                                          "cache-max-size", "SIZE",
                                          "of all that one user has in the cache; 0 = no limit"))),
};

constexpr Option kReport[] = {
    row<kWord<kPreflights>, &Observation::preflight>(
        "preflight", "WHAT", "doctor's checks before the job: off, warn, require (fails: 125)"),
    row<kDirectory, &Observation::datasets>(
        "dataset", "DIR", "checked to be mounted read-only, for doctor; repeatable"),
    row<kPath, &Observation::timeline>("timeline", "DIR",
                                       "events, last state and plan are copied there at the end"),
    row<kWord<kLevels>, &Options::log_level>("log-level", "LEVEL", "debug, info, warning or error"),
    row<kWord<kFormats>, &Options::log_format>("log-format", "FORMAT", "human or json"),
    flag(row<kPath, &Options::snapshot>("snapshot", "FILE",
                                        "plan: replay a saved snapshot instead of looking around")),
    of(kJob | kStatus | kStacks | kCopy | kCache,
       flag(row<kSwitch, &Options::json>("json", "",
                                         "plan, status, stacks, doctor, copy, cache: print JSON"))),
    of(kJob | kStatus,
       flag(row<kSwitch, &Options::watch>("watch", "", "status: print again at each change"))),
    of(kAll, flag(row<kSwitch, &Options::help>("help", "", "this text"), 'h')),
    flag(row<kSwitch, &Options::version>("version", "", "the version"), 'V'),
};

constexpr std::int64_t kMostMs = 1'000'000'000'000;  // 31 years

constexpr Option kOthers[] = {
    of(kDoctor, flag(row<kChecks, &Options::checks>("only", "LIST", "these checks alone"))),
    of(kDoctor, flag(row<kPath, &Options::junit>(
                    "junit", "FILE", "a JUnit report too; - for stdout, instead of the table"))),
    of(kDoctor, flag(row<kTime, &Options::check_timeout_ms>(
                    "timeout", "DURATION", "of each check, all of which run at once (30s)"))),
    of(kCopy, row<kNumber<1, 64>, &DataRequest::workers>(
                  "workers", "N", "processes (four for each CPU, from 8 to 32)")),
    of(kCopy, row<kHeadroom, &DataRequest::headroom>(
                  "headroom", "SIZE", "of the disk that stays free: 10g, or a percentage (5%)")),
    of(kCopy, row<kTime, &DataRequest::timeout_ms>("timeout", "DURATION", "of all of it")),
    of(kCopy, row<kOwner, &Options::owner>("owner", "UID:GID",
                                           "of all that is made (the source's, as root)")),
    of(kCacheGc, row<kSwitch, &Options::dry_run>("dry-run", "", "only say what would go")),
    of(kHold | kExtend,
       row<kDuration, &Options::span_ms>("for", "DURATION", "how long; of hold, from now on")),
    of(kCheckpoint, row<kSwitch, &Options::keep_running>("keep-running", "", "save and go on")),
    of(kStatus, flag(row<kSwitch, &Options::all_nodes>(
                    "cluster", "", "all nodes of the job, as its node 0 knows them"))),
    of(kHostsCheck,
       row<kDialect, &Options::from>(
           "for", "DIALECT", "of the program that reads it; else the one whose form it has")),
    of(kHostsConvert,
       row<kDialect, &Options::from>("from", "DIALECT", "of FILE; else the one whose form it has")),
    of(kHostsConvert,
       row<kDialect, &Options::to>("to", "DIALECT", "of the program that is to read it")),
    of(kTableGenerate,
       row<kAnyText, &Options::server_id>("server-id", "ID", "of this host (its first address)")),
    of(kTableGenerate, row<kPath, &Options::hccn_conf>(
                           "hccn-conf", "FILE", "with the devices' addresses (/etc/hccn.conf)")),
    of(kRunReport,
       row<kWord<kReportFormats>, &Options::report_format>(
           "format", "FORMAT", "html, text or trace; else as OUT's name ends, or text")),
    of(kTableConvert | kTableGenerate | kHostsConvert | kRunReport,
       flag(row<kPath, &Options::out>("output", "OUT", "a file instead of stdout"), 'o')),
    of(kPeer, row<kAbsolute, &PeerRequest::directory>("dir", "DIR", "of sshd's files")),
    of(kPeerServe | kPeerEnd,
       row<kPort, &PeerRequest::port>("port", "PORT", "of the workers' sshd")),
    of(kPeerServe | kPeerEnd,
       row<kPath, &PeerRequest::key>("key", "FILE", "the private key that all nodes have")),
    of(kPeerServe, row<kNumber<0, kMostMs>, &PeerRequest::launcher_timeout_ms>(
                       "launcher-timeout-ms", "N", "how long it goes on without a launcher")),
    of(kPeerEnd, row<kAbsolute, &PeerRequest::hosts_file>("hosts-file", "FILE", "a worker a line")),
    of(kPeerEnd, row<kAbsolute, &PeerRequest::link>(
                     "link", "FILE", "the link's socket: who hears the end by it is not called")),
    of(kPeerEnd, row<kExitCode, &PeerRequest::code>("code", "N",
                                                    "how the job ended; else TRAINIT_EXIT_CODE")),
};

template <std::size_t kSize>
struct Group {
  std::string_view title;
  const Option (&rows)[kSize];
};

template <std::size_t... kSizes>
constexpr auto joined(const Group<kSizes>&... groups) {
  std::array<Option, (kSizes + ...)> all{};
  std::size_t at = 0;
  const auto add = [&all, &at](const auto& group) {
    for (const Option& one : group.rows) {
      all[at] = one;
      all[at++].group = group.title;
    }
  };
  (add(groups), ...);
  return all;
}

constexpr auto kTable = joined(
    Group{"Platform, framework and nodes", kNodes}, Group{"Conda", kConda},
    Group{"Rank table and devices", kRanks}, Group{"Output and directories", kFiles},
    Group{"The end", kStop}, Group{"Hooks", kHooks}, Group{"Checkpoints and restarts", kRestart},
    Group{"Watches", kWatch}, Group{"Beside the job", kBeside}, Group{"Sandbox", kSandbox},
    Group{"Datasets", kDatasets}, Group{"Checks and reports", kReport},
    Group{"Of other commands", kOthers});

}  // namespace

std::span<const Option> option_table() { return kTable; }

}  // namespace cli
