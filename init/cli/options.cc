#include "init/cli/options.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "envgen/formats/perf_line.h"
#include "envgen/plan/observation.h"
#include "init/cli/values.h"
#include "init/doctor/doctor.h"
#include "init/proc/signals.h"

namespace cli {
namespace {

using envgen::AscendLauncher;
using envgen::Bind;
using envgen::DeviceIds;
using envgen::OnDataFailure;
using envgen::Output;
using envgen::RankOrder;
using envgen::TorchLauncher;
using sys::log::Format;
using sys::log::Level;

constexpr std::string_view kDuration = "a duration such as 500ms, 8s, 30m, 2h";
constexpr std::string_view kTime = "a duration above 0 such as 500ms, 8s, 30m, 2h";
constexpr std::string_view kPort = "a port from 1 to 65535";
constexpr std::string_view kPositive = "a number from 1 to 1000000";
constexpr std::string_view kCount = "a number from 0";
constexpr std::string_view kRestarts = "a number from 0 to 1000000";
constexpr std::string_view kSwitch = "1 or 0";
constexpr std::string_view kPath = "a path";
constexpr std::string_view kPattern = "a pattern such as *.tar or train/**";
constexpr int kMostCopiers = 64;
constexpr std::int64_t kLeastLog = 4096;

constexpr std::array kTable = {
    Option{"platform", "NAME", "instead of the one that is detected",
           [](Options& o, std::string_view v) { return set_text(v, o.request.platform); },
           "one of modelarts, dlc, vk, volcano, kubeflow, slurm, indexed, bare, local"},
    Option{"framework", "NAME", "instead of the one that platform and command suggest",
           [](Options& o, std::string_view v) { return set_text(v, o.request.framework); },
           "one of ascend, pytorch, deepspeed, tensorflow, horovod, mpi, single"},
    Option{"nodes", "N", "nodes of the job, where the platform does not say",
           [](Options& o, std::string_view v) { return set_positive(v, o.request.nodes); },
           kPositive},
    Option{"hosts", "LIST", "nodes of the job in node-rank order: HOST[:SLOTS],...",
           [](Options& o, std::string_view v) { return set_text(v, o.request.hosts); },
           "a list such as a:8,b:8"},
    Option{"slots", "N", "ranks per node; else the platform's, else its devices, else 1",
           [](Options& o, std::string_view v) { return set_positive(v, o.request.slots); },
           kPositive},
    Option{"master-addr", "HOST", "where the ranks meet",
           [](Options& o, std::string_view v) { return set_text(v, o.request.master_addr); },
           "a name or an address"},
    Option{"master-port", "PORT", "its port; else the platform's, else 29500",
           [](Options& o, std::string_view v) { return set_port(v, o.request.master_port); },
           kPort},
    Option{"torch-launcher", "WHO", "starts PyTorch ranks: torchrun, launch or fan-out (trainit)",
           [](Options& o, std::string_view v) {
             return set_word(v, o.request.torch_launcher,
                             {{"torchrun", TorchLauncher::kTorchrun},
                              {"launch", TorchLauncher::kLaunch},
                              {"fan-out", TorchLauncher::kFanOut}});
           },
           "torchrun, launch or fan-out"},
    Option{"fan-out", "", "the same as --framework pytorch --torch-launcher fan-out",
           [](Options& o, std::string_view v) {
             bool on = false;
             if (!set_switch(v, on)) return false;
             if (!on) return true;
             o.request.framework = "pytorch";
             o.request.torch_launcher = TorchLauncher::kFanOut;
             return true;
           },
           kSwitch},
    Option{"ascend-launcher", "WHO", "rank-table, msrun or dynamic (MindSpore's dynamic cluster)",
           [](Options& o, std::string_view v) {
             return set_word(v, o.request.ascend_launcher,
                             {{"rank-table", AscendLauncher::kRankTable},
                              {"msrun", AscendLauncher::kMsrun},
                              {"dynamic", AscendLauncher::kDynamic}});
           },
           "rank-table, msrun or dynamic"},
    Option{"tf-flags", "0|1", "TensorFlow on ModelArts: --task_index ... behind the script (1)",
           [](Options& o, std::string_view v) {
             bool on = false;
             if (!set_switch(v, on)) return false;
             o.request.tf_flags = on;
             return true;
           },
           kSwitch},
    Option{"ssh-port", "PORT", "of the workers' sshd (22 for root, else 2222)",
           [](Options& o, std::string_view v) { return set_port(v, o.request.ssh_port); }, kPort},
    Option{"ssh-key", "FILE", "the private key that all nodes of the job have",
           [](Options& o, std::string_view v) { return set_text(v, o.request.ssh_key); }, kPath},
    Option{"peer-timeout", "DURATION", "how long a launcher waits for its workers (10m)",
           [](Options& o, std::string_view v) {
             return set_duration(v, o.request.peer_timeout_ms);
           },
           kDuration},
    Option{"launcher-timeout", "DURATION", "how long a worker goes on without a launcher (1h)",
           [](Options& o, std::string_view v) {
             return set_duration(v, o.request.launcher_timeout_ms);
           },
           kDuration},
    Option{"conda-env", "ENV", "name or prefix; else DEFAULT_CONDA_ENV_NAME",
           [](Options& o, std::string_view v) { return set_text(v, o.request.conda_env); },
           "a name or a path"},
    Option{"conda-dir", "DIR", "the conda installation; else ANACONDA_DIR",
           [](Options& o, std::string_view v) { return set_text(v, o.request.conda_dir); }, kPath},
    Option{"script-timeout", "DURATION", "of conda's activate.d and CANN's set_env.sh (60s)",
           [](Options& o, std::string_view v) {
             return set_duration(v, o.request.script_timeout_ms);
           },
           kDuration},
    Option{"conda-lib", "0|1", "its lib directory in LD_LIBRARY_PATH (1)",
           [](Options& o, std::string_view v) { return set_switch(v, o.request.conda_lib); },
           kSwitch},
    Option{"no-conda-lib", "", "the same as --conda-lib 0",
           [](Options& o, std::string_view v) {
             bool off = false;
             if (!set_switch(v, off)) return false;
             o.request.conda_lib = !off;
             return true;
           },
           kSwitch},
    Option{"rank-table", "PATH", "the rank table or its directory, instead of RANK_TABLE_FILE",
           [](Options& o, std::string_view v) { return set_text(v, o.request.rank_table); }, kPath},
    Option{"rank-table-timeout", "DURATION", "how long to wait for it to be completed (30m)",
           [](Options& o, std::string_view v) {
             return set_duration(v, o.request.rank_table_timeout_ms);
           },
           kDuration},
    Option{"rank-order", "ORDER", "of the pods of a template 2: pod-index or server-id",
           [](Options& o, std::string_view v) {
             return set_word(
                 v, o.request.rank_order,
                 {{"pod-index", RankOrder::kPodIndex}, {"server-id", RankOrder::kServerId}});
           },
           "pod-index or server-id"},
    Option{"node-rank", "N", "which node of the cluster this is",
           [](Options& o, std::string_view v) { return set_number(v, o.request.node_rank); },
           kCount},
    Option{"rank-start", "N", "the same by the rank of its first device; also RANK_START",
           [](Options& o, std::string_view v) { return set_number(v, o.request.rank_start); },
           kCount},
    Option{"devices", "LIST", "devices of this host when there is no rank table: 0,1,4-7",
           [](Options& o, std::string_view v) { return set_text(v, o.request.devices); },
           "a list such as 0-7 or 0,1"},
    Option{"device-id", "KIND", "meaning of DEVICE_ID: logical (modelarts) or physical (bare)",
           [](Options& o, std::string_view v) {
             return set_word(
                 v, o.request.device_ids,
                 {{"logical", DeviceIds::kLogical}, {"physical", DeviceIds::kPhysical}});
           },
           "logical or physical"},
    Option{"output", "WHERE", "first (rank on stdout, others in files), inherit, files, tee",
           [](Options& o, std::string_view v) {
             return set_word(v, o.request.output,
                             {{"first", Output::kFirst},
                              {"inherit", Output::kInherit},
                              {"files", Output::kFiles},
                              {"tee", Output::kTee}});
           },
           "first, inherit, files or tee (files, and all of it on stdout)"},
    Option{"bind", "WHAT", "the ranks: numa (near their devices), core (divided) or none",
           [](Options& o, std::string_view v) {
             std::optional<Bind> bind;
             bool ok = set_word(
                 v, bind, {{"numa", Bind::kNuma}, {"core", Bind::kCore}, {"none", Bind::kNone}});
             o.request.observe.bind = bind.value_or(o.request.observe.bind);
             return ok;
           },
           "numa, core or none"},
    Option{"work-dir", "DIR", "the ranks' device<i> directories lie there",
           [](Options& o, std::string_view v) { return set_text(v, o.request.work_dir); }, kPath},
    Option{"log-dir", "DIR", "logs and environments of the ranks; MA_LOG_DIR, RUN_DIR/logs",
           [](Options& o, std::string_view v) { return set_text(v, o.request.log_dir); }, kPath},
    Option{"log-prefix", "0|1", "[rank N] before each line on stdout; 1 with --output tee",
           [](Options& o, std::string_view v) { return set_switch(v, o.request.log_prefix); },
           kSwitch},
    Option{"log-max-size", "SIZE", "begin a new log file at this size: 64k, 100m, 2g",
           [](Options& o, std::string_view v) {
             return set_size(v, kLeastLog, o.request.observe.log_max_bytes);
           },
           "a size from 4k such as 64k, 100m, 2g, or 0 for none"},
    Option{"log-keep", "N", "old log files that stay (3)",
           [](Options& o, std::string_view v) {
             return set_up_to(v, 1000, o.request.observe.log_keep);
           },
           "a number from 0 to 1000"},
    Option{"run-dir", "DIR", "state, control socket and converted rank table",
           [](Options& o, std::string_view v) { return set_text(v, o.run_dir); }, kPath},
    Option{
        "clean-device-dirs", "", "empty the device<i> directories first",
        [](Options& o, std::string_view v) { return set_switch(v, o.request.clean_device_dirs); },
        kSwitch},
    Option{"strict", "", "device groups that MindSpore does not support are errors",
           [](Options& o, std::string_view v) { return set_switch(v, o.request.strict); }, kSwitch},
    Option{"grace", "DURATION", "from a stop signal to the end (8s; 25s in Kubernetes)",
           [](Options& o, std::string_view v) { return set_duration(v, o.request.grace_ms); },
           kDuration},
    Option{"hold", "DURATION", "debug window: keep a failed container (0; 4h with a terminal)",
           [](Options& o, std::string_view v) { return set_duration(v, o.request.hold_ms); },
           kDuration},
    Option{"stop-scope", "WHOM", "gets a stop signal: main (the ranks), group (theirs) or tree",
           [](Options& o, std::string_view v) {
             std::optional<envgen::StopScope> scope;
             bool ok = set_word(v, scope,
                                {{"main", envgen::StopScope::kMain},
                                 {"group", envgen::StopScope::kGroup},
                                 {"tree", envgen::StopScope::kTree}});
             o.request.stop_scope = scope.value_or(o.request.stop_scope);
             return ok;
           },
           "main, group or tree"},
    Option{"escalate", "LIST", "signals on the way from the stop to KILL: INT@10s,QUIT@20s",
           [](Options& o, std::string_view v) { return set_escalation(v, o.request.escalation); },
           "a list of SIGNAL@DURATION, each later than the one before: INT@10s,QUIT@20s"},
    Option{"exit-codes", "LIST", "the container's code for the job's: 143=0,1-3=75",
           [](Options& o, std::string_view v) { return set_exit_codes(v, o.request.exit_codes); },
           "a list of CODE=CODE or FIRST-LAST=CODE, 0 to 255: 143=0,1-3=75"},
    Option{"signal", "LIST", "maps signals: TERM=QUIT,INT=forward,USR1=checkpoint,HUP=none",
           [](Options& o, std::string_view v) {
             return set_parsed(parse_signal_map(v), o.request.signals);
           },
           "a list of SIGNAL=SIGNAL, =forward, =checkpoint, =file:/PATH or =none, each signal once",
           [](std::string_view v) { return parse_signal_map(v).error(); }},
    Option{"second-term", "WHAT", "a second TERM: ignore (default), or kill as a second INT does",
           [](Options& o, std::string_view v) {
             if (v != "kill" && v != "ignore") return false;
             o.request.second_term_kills = v == "kill";
             return true;
           },
           "kill or ignore"},
    Option{"drain", "DURATION", "of the grace: from a stop request to the job's stop signal",
           [](Options& o, std::string_view v) { return set_duration(v, o.request.drain_ms); },
           kDuration},
    Option{"hooks-dir", "DIR", "has <event>.d directories of hooks, as /etc/trainit/hooks has",
           [](Options& o, std::string_view v) { return set_text(v, o.request.hooks_dir); }, kPath},
    Option{"lifecycle-script", "FILE", "called for each event of a hook, with the event's name",
           [](Options& o, std::string_view v) { return set_text(v, o.request.lifecycle_script); },
           kPath},
    Option{"hook-timeout", "LIST", "of each hook: 30s, or by event: pre-start=10m,on-failure=1m",
           [](Options& o, std::string_view v) {
             return set_parsed(parse_hook_times(v), o.request.hook_timeouts);
           },
           "a duration above 0, or a list of EVENT=DURATION: pre-start, post-start, pre-stop, "
           "post-stop, checkpoint, on-failure, stall or health",
           [](std::string_view v) { return parse_hook_times(v).error(); }},
    Option{"fatal-hooks", "LIST", "end the job when they fail: pre-start (the default), post-start",
           [](Options& o, std::string_view v) {
             return set_parsed(parse_fatal_hooks(v), o.request.fatal_hooks);
           },
           "none, pre-start, post-start or pre-start,post-start",
           [](std::string_view v) { return parse_fatal_hooks(v).error(); }},
    Option{"checkpoint-signal", "SIGNAL", "asks the job for a checkpoint (USR1), or none",
           [](Options& o, std::string_view v) {
             return set_signal_or_none(v, o.request.checkpoint_signal);
           },
           "none or a signal that a process can answer, such as USR1"},
    Option{"checkpoint-timeout", "DURATION", "what a checkpoint is granted (5m)",
           [](Options& o, std::string_view v) {
             return set_time(v, o.request.checkpoint_timeout_ms);
           },
           kTime},
    Option{"max-restarts", "N", "of a job that failed (0)",
           [](Options& o, std::string_view v) { return set_count(v, o.request.max_restarts); },
           kRestarts},
    Option{"restart-delay", "DURATION", "before the first one; doubled at each, at most 1m (1s)",
           [](Options& o, std::string_view v) {
             return set_duration(v, o.request.restart_delay_ms);
           },
           kDuration},
    Option{"no-restart-on", "LIST", "exit codes that no restart would mend: 1-2,126",
           [](Options& o, std::string_view v) {
             return set_code_ranges(v, o.request.no_restart_on);
           },
           "a list of CODE or FIRST-LAST, 0 to 255: 1-2,126"},
    Option{"restart-across-nodes", "", "restart jobs of several nodes too: they wait for each other",
           [](Options& o, std::string_view v) {
             return set_switch(v, o.request.restart_across_nodes);
           },
           kSwitch},
    Option{"restart-window", "DURATION", "how long the nodes wait for each other then (30m)",
           [](Options& o, std::string_view v) { return set_time(v, o.request.restart_window_ms); },
           kTime},
    Option{"elastic", "", "restart the job when its list of nodes changes",
           [](Options& o, std::string_view v) { return set_switch(v, o.request.elastic); },
           kSwitch},
    Option{"min-nodes", "N", "with --elastic: wait for more where there are fewer nodes",
           [](Options& o, std::string_view v) { return set_positive(v, o.request.min_nodes); },
           kPositive},
    Option{"max-duration", "DURATION", "of the job, restarts included; then it ends with 124",
           [](Options& o, std::string_view v) {
             return set_duration(v, o.request.max_duration_ms);
           },
           kDuration},
    Option{"perf-threshold", "RATIO", "watch the iterations' hardware / e2e time: not above it",
           [](Options& o, std::string_view v) {
             return set_ratio(v, o.request.observe.perf_threshold_ppm);
           },
           "a ratio above 0 and up to 100, such as 0.8"},
    Option{"perf-policy", "WHAT", "then: alert (default) or reschedule (checkpoint, 75)",
           [](Options& o, std::string_view v) {
             return set_either(v, "alert", "reschedule", o.request.observe.perf_reschedules);
           },
           "alert or reschedule"},
    Option{"perf-pattern", "TEXT", "the line with {hardware} and {e2e}; else the platform's",
           [](Options& o, std::string_view v) {
             o.request.observe.perf_pattern = v;
             return envgen::parse_perf_pattern(v).has_value();
           },
           "a text with {hardware} and {e2e} behind it",
           [](std::string_view v) {
             const auto pattern = envgen::parse_perf_pattern(v);
             return pattern ? std::string() : pattern.error().found;
           }},
    Option{"perf-count", "N", "so many lines in succession above it (1)",
           [](Options& o, std::string_view v) {
             return set_positive(v, o.request.observe.perf_count);
           },
           kPositive},
    Option{"stall-timeout", "DURATION", "a rank without output and CPU time so long has stalled",
           [](Options& o, std::string_view v) {
             return set_duration(v, o.request.observe.stall_ms);
           },
           kDuration},
    Option{"stall-on", "WHAT", "both (default) or output: silence is enough",
           [](Options& o, std::string_view v) {
             return set_either(v, "both", "output", o.request.observe.stall_by_output);
           },
           "both or output"},
    Option{"stall-action", "WHAT", "report (default) or end: the job fails with 124",
           [](Options& o, std::string_view v) {
             return set_either(v, "report", "end", o.request.observe.stall_ends);
           },
           "report or end"},
    Option{"health-interval", "DURATION", "of health hooks and --health-checks (5m); 0 = never",
           [](Options& o, std::string_view v) {
             auto& interval_ms = o.request.observe.health_interval_ms;
             if (!set_duration(v, interval_ms)) return false;
             if (interval_ms == 0) interval_ms = envgen::kNoHealth;
             return true;
           },
           kDuration},
    Option{"health-checks", "LIST", "of doctor's checks, while the job runs: gpu,disk,peers",
           [](Options& o, std::string_view v) {
             const bool known = v == envgen::kAllChecks || doctor::parse_check_names(v);
             return set_text(v, o.request.observe.health_checks) && known;
           },
           "all, or a list of checks that `trainit doctor` names"},
    Option{"health-failures", "N", "in succession: then a checkpoint, and exit code 75 (2)",
           [](Options& o, std::string_view v) {
             return set_positive(v, o.request.observe.health_failures);
           },
           kPositive},
    Option{"terminal", "", "beside the job: sshd, or =COMMAND LINE; holds 4h on failure",
           [](Options& o, std::string_view v) {
             bool on = false;
             if (!set_switch(v, on)) return set_text(v, o.request.terminal);
             o.request.terminal = on ? "1" : "0";
             return true;
           },
           "1 (sshd), 0 or a command line"},
    Option{"parent-death-signal", "SIGNAL", "stop with it when our own parent dies",
           [](Options& o, std::string_view v) {
             o.parent_death_signal = proc::parse_signal(v);
             return o.parent_death_signal.has_value();
           },
           "a signal such as TERM"},
    Option{"user", "USER[:GROUP]", "the job's user: names of the image's passwd, or numbers",
           [](Options& o, std::string_view v) { return set_text(v, o.request.sandbox.user); },
           "a name or a number, with :GROUP or without"},
    Option{"caps", "LIST", "what the job may keep: \"none\", \"net_raw,kill\", \"-mknod,-net_raw\"",
           [](Options& o, std::string_view v) { return set_text(v, o.request.sandbox.caps); },
           "none, a list of capabilities, or a list of -CAPABILITY"},
    Option{"ambient", "LIST", "capabilities that the job has though it is not root",
           [](Options& o, std::string_view v) { return set_text(v, o.request.sandbox.ambient); },
           "a list of capabilities"},
    Option{"no-new-privs", "", "no setuid program gives the job more than it has",
           [](Options& o, std::string_view v) {
             return set_switch(v, o.request.sandbox.no_new_privs);
           },
           kSwitch},
    Option{"seccomp", "PROFILE", "the job's system calls: a file in moby's or OCI's JSON",
           [](Options& o, std::string_view v) { return set_text(v, o.request.sandbox.seccomp); },
           kPath},
    Option{"rlimit", "NAME=SOFT[:HARD]", "a limit of the job: nofile=1024:4096; repeatable",
           [](Options& o, std::string_view v) { return add_lines(v, o.request.sandbox.limits); },
           "NAME=SOFT[:HARD]"},
    Option{"umask", "MASK", "of the job, octal",
           [](Options& o, std::string_view v) { return set_umask(v, o.request.sandbox.umask); },
           "an octal mask such as 027"},
    Option{"nice", "N", "of the job, -20 to 19",
           [](Options& o, std::string_view v) {
             return set_between(v, -20, 19, o.request.sandbox.nice);
           },
           "a number from -20 to 19"},
    Option{"oom-score-adj", "N", "of the job, -1000 to 1000: who is killed first",
           [](Options& o, std::string_view v) {
             return set_between(v, -1000, 1000, o.request.sandbox.oom_score_adj);
           },
           "a number from -1000 to 1000"},
    Option{"data", "SRC[=DST]", "copied to fast local storage before the job starts; repeatable",
           [](Options& o, std::string_view v) { return add_lines(v, o.request.data.specs); },
           "SRC or SRC=DST, absolute paths"},
    Option{"data-root", "DIR", "the node's cache of datasets; else the first that has room",
           [](Options& o, std::string_view v) { return set_text(v, o.request.data.root); }, kPath},
    Option{"data-version", "TEXT", "of the sources: with the same one they are not looked at",
           [](Options& o, std::string_view v) { return set_text(v, o.request.data.version); },
           "a text"},
    Option{"include", "PATTERN", "of the datasets' files only these: '*.tar'; repeatable",
           [](Options& o, std::string_view v) { return add_lines(v, o.request.data.include); },
           kPattern},
    Option{"exclude", "PATTERN", "none of these files and directories; repeatable",
           [](Options& o, std::string_view v) { return add_lines(v, o.request.data.exclude); },
           kPattern},
    Option{"verify", "", "each byte that was copied is read again and compared",
           [](Options& o, std::string_view v) { return set_switch(v, o.request.data.verify); },
           kSwitch},
    Option{"durable", "", "datasets are synced to the disk before they are used",
           [](Options& o, std::string_view v) { return set_switch(v, o.request.data.durable); },
           kSwitch},
    Option{"data-link", "", "a source that is a symbolic link is made to lead to the copy",
           [](Options& o, std::string_view v) { return set_switch(v, o.request.data.link); },
           kSwitch},
    Option{"data-on-failure", "WHAT", "the job reads the source (default), or fail: it ends",
           [](Options& o, std::string_view v) {
             bool fails = o.request.data.on_failure == OnDataFailure::kFail;
             const bool ok = set_either(v, "source", "fail", fails);
             o.request.data.on_failure = fails ? OnDataFailure::kFail : OnDataFailure::kSource;
             return ok;
           },
           "source or fail"},
    Option{"data-timeout", "DURATION", "of each dataset; 0 = none",
           [](Options& o, std::string_view v) {
             return set_duration(v, o.request.data.timeout_ms);
           },
           kDuration},
    Option{"data-workers", "N", "processes that copy a dataset; 0 = by the machine",
           [](Options& o, std::string_view v) {
             return set_up_to(v, kMostCopiers, o.request.data.workers);
           },
           "a number from 0 to 64"},
    Option{"data-headroom", "SIZE", "of the disk that stays free: 10g, or a percentage (5%)",
           [](Options& o, std::string_view v) { return set_headroom(v, o.request.data.headroom); },
           "a size such as 500m or 10g, or a percentage from 0% to 100%"},
    Option{"cache-ttl", "DURATION", "unused for so long, a dataset of the cache may go (7d)",
           [](Options& o, std::string_view v) {
             return set_duration(v, o.request.data.cache_ttl_ms);
           },
           kDuration},
    Option{"cache-max-size", "SIZE", "of all that one user has in the cache; 0 = no limit",
           [](Options& o, std::string_view v) {
             return set_size(v, 1, o.request.data.cache_max_bytes);
           },
           "a size such as 500g or 2t, or 0 for no limit"},
    Option{"preflight", "WHAT", "doctor's checks before the job: off, warn, require (fails: 125)",
           [](Options& o, std::string_view v) {
             std::optional<envgen::Preflight> preflight;
             bool ok = set_word(v, preflight,
                                {{"off", envgen::Preflight::kOff},
                                 {"warn", envgen::Preflight::kWarn},
                                 {"require", envgen::Preflight::kRequire}});
             o.request.observe.preflight = preflight.value_or(o.request.observe.preflight);
             return ok;
           },
           "off, warn or require"},
    Option{"dataset", "DIR", "checked to be mounted read-only, for doctor; repeatable",
           [](Options& o, std::string_view v) { return add_lines(v, o.request.observe.datasets); },
           "a directory"},
    Option{"timeline", "DIR", "events.jsonl and trace.json are copied there at the end",
           [](Options& o, std::string_view v) { return set_text(v, o.request.observe.timeline); },
           kPath},
    Option{"log-level", "LEVEL", "debug, info, warning or error",
           [](Options& o, std::string_view v) {
             std::optional<Level> level;
             bool ok = set_word(v, level,
                                {{"debug", Level::kDebug},
                                 {"info", Level::kInfo},
                                 {"warning", Level::kWarning},
                                 {"error", Level::kError}});
             o.log_level = level.value_or(o.log_level);
             return ok;
           },
           "debug, info, warning or error"},
    Option{"log-format", "FORMAT", "human or json",
           [](Options& o, std::string_view v) {
             std::optional<Format> format;
             bool ok = set_word(v, format, {{"human", Format::kHuman}, {"json", Format::kJson}});
             o.log_format = format.value_or(o.log_format);
             return ok;
           },
           "human or json"},
    Option{"snapshot", "FILE", "plan: replay a saved snapshot instead of looking around",
           [](Options& o, std::string_view v) { return set_text(v, o.snapshot); }, kPath},
    Option{"json", "", "plan, status, doctor: print JSON",
           [](Options& o, std::string_view v) { return set_switch(v, o.json); }, kSwitch},
    Option{"watch", "", "status: print again at each change",
           [](Options& o, std::string_view v) { return set_switch(v, o.watch); }, kSwitch},
    Option{"help", "", "this text",
           [](Options& o, std::string_view v) { return set_switch(v, o.help); }, kSwitch},
    Option{"version", "", "the version",
           [](Options& o, std::string_view v) { return set_switch(v, o.version); }, kSwitch},
};

const Option* find_option(std::string_view name) {
  const auto* found = std::ranges::find(kTable, name, &Option::name);
  return found == kTable.end() ? nullptr : found;
}

envgen::Status apply_option(const Option& option, Options& options, std::string_view value,
                            const std::string& where) {
  if (option.set(options, value)) {
    options.given.push_back({option.name, where, std::string(value), options.layers});
    return {};
  }
  std::string found = '"' + std::string(value) + '"';
  if (option.wrong != nullptr) found += ", where " + option.wrong(value);
  return envgen::fail("reading the options", where, std::move(found),
                      "give " + std::string(option.accepts));
}

envgen::Status apply_variables(const envgen::Environ& env, Options& options) {
  for (const Option& option : kTable) {
    if (!has_variable(option)) continue;
    std::string name = variable_name(option);
    std::string_view value = env.get_or(name, "");
    if (value.empty()) continue;
    if (auto status = apply_option(option, options, value, name); !status) return status;
  }
  return {};
}

// One option at arguments[at]; moves `at` behind it.
envgen::Status apply_argument(std::span<const std::string> arguments, std::size_t& at,
                              Options& options) {
  std::string_view argument = arguments[at];
  if (argument == "-h") argument = "--help";
  if (argument == "-V") argument = "--version";
  std::size_t equals = argument.find('=');
  std::string_view name = argument.substr(0, equals);
  const Option* option = name.starts_with("--") ? find_option(name.substr(2)) : nullptr;
  if (option == nullptr) {
    return envgen::fail("reading the options", std::string(name), "no such option",
                        "see trainit --help; put -- before a command that starts with a dash");
  }
  ++at;
  if (equals != std::string_view::npos) {
    return apply_option(*option, options, argument.substr(equals + 1), std::string(name));
  }
  if (option->value.empty()) return apply_option(*option, options, "1", std::string(name));
  if (at == arguments.size()) {
    return envgen::fail("reading the options", std::string(name), "no value",
                        "give " + std::string(option->accepts));
  }
  return apply_option(*option, options, arguments[at++], std::string(name));
}

}  // namespace

std::span<const Option> option_table() { return kTable; }

std::string variable_name(const Option& option) {
  std::string name = "TRAINIT_";
  for (char c : option.name) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

bool has_variable(const Option& option) {
  return option.name != "help" && option.name != "version" && option.name != "json" &&
         option.name != "watch" && option.name != "snapshot";
}

envgen::Status parse_arguments(std::span<const std::string> arguments, Options& options) {
  ++options.layers;
  envgen::Request& request = options.request;
  const std::array repeated = {&request.sandbox.limits, &request.observe.datasets,
                               &request.data.specs, &request.data.include, &request.data.exclude};
  std::array<std::ptrdiff_t, repeated.size()> replaced{};
  std::ranges::transform(repeated, replaced.begin(), [](const auto* list) { return list->size(); });
  std::size_t at = 0;
  while (at < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "-") {
    if (arguments[at] == "--") {
      ++at;
      break;
    }
    if (auto status = apply_argument(arguments, at, options); !status) return status;
  }
  // A flag beats the variable in this too, though it may be repeated.
  for (std::size_t i = 0; i < repeated.size(); ++i) {
    std::vector<std::string>& list = *repeated.at(i);
    const std::ptrdiff_t before = replaced.at(i);
    if (std::ssize(list) > before) list.erase(list.begin(), list.begin() + before);
  }
  auto command = arguments.subspan(at);
  if (!command.empty()) options.request.command.assign(command.begin(), command.end());
  return {};
}

envgen::Result<Options> parse_options(std::span<const std::string> arguments,
                                      const envgen::Environ& env) {
  Options options;
  if (auto status = apply_variables(env, options); !status) {
    return std::unexpected(status.error());
  }
  if (auto status = parse_arguments(arguments, options); !status) {
    return std::unexpected(status.error());
  }
  return options;
}

std::string option_help() {
  std::string text;
  for (const Option& option : kTable) {
    std::string flag = "  --" + std::string(option.name);
    if (!option.value.empty()) flag += " " + std::string(option.value);
    if (flag.size() < 33) flag.append(33 - flag.size(), ' ');
    text += flag + std::string(option.help) + "\n";
  }
  return text;
}

}  // namespace cli
