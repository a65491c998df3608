#include "init/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "init/cli/commands.h"
#include "init/cli/help.h"

namespace {

using base::Environ;
using cli::Option;
using cli::Options;
using envgen::DataRequest;
using envgen::Observation;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Words = std::vector<std::string>;

base::Result<Options> parse(const Words& arguments, Words variables = {},
                            cli::Commands command = cli::kRun) {
  return cli::parse_options(arguments, Environ(std::move(variables)), command);
}

std::string error_of(const Words& arguments, Words variables = {},
                     cli::Commands command = cli::kRun) {
  auto options = parse(arguments, std::move(variables), command);
  return options ? "" : to_line(options.error());
}

// --- Each option, in each of its forms ---

// A value that is accepted and differs from the default, another one, and one that is refused.
struct Sample {
  std::string_view name;
  std::string good;
  std::string other;
  std::string bad;
  std::string (*read)(const Options& options);
};

template <class T>
std::string text(const std::optional<T>& value) {
  return value ? std::to_string(static_cast<long long>(*value)) : "unset";
}
std::string text(bool value) { return value ? "1" : "0"; }
std::string text(std::int64_t value) { return std::to_string(value); }

template <auto kMember>
std::string observed(const Options& options) {
  return std::to_string(static_cast<long long>(options.request.observe.*kMember));
}

std::string last_of(const std::vector<std::string>& list) {
  return list.empty() ? "" : list.back();
}

template <auto kMember>
std::string of_data(const Options& options) {
  return std::to_string(static_cast<long long>(options.request.data.*kMember));
}

const Sample kSamples[] = {
    {"platform", "bare", "local", "", [](const Options& o) { return o.request.platform; }},
    {"framework", "single", "ascend", "", [](const Options& o) { return o.request.framework; }},
    {"nodes", "4", "1", "0", [](const Options& o) { return text(o.request.nodes); }},
    {"hosts", "a:8,b:8", "c", "", [](const Options& o) { return o.request.hosts; }},
    {"slots", "8", "1", "0", [](const Options& o) { return text(o.request.slots); }},
    {"rank-means", "node", "process", "host", [](const Options& o) { return text(o.request.rank_means); }},
    {"master-addr", "a", "b", "", [](const Options& o) { return o.request.master_addr; }},
    {"master-port", "2222", "1", "65536",
     [](const Options& o) { return text(o.request.master_port); }},
    {"torch-launcher", "launch", "torchrun", "mpirun",
     [](const Options& o) { return text(o.request.torch_launcher); }},
    {"fan-out", "1", "0", "x",
     [](const Options& o) { return o.request.framework + text(o.request.torch_launcher); }},
    {"ascend-launcher", "msrun", "dynamic", "static",
     [](const Options& o) { return text(o.request.ascend_launcher); }},
    {"tf-flags", "0", "1", "some", [](const Options& o) { return text(o.request.tf_flags); }},
    {"ssh-port", "2222", "22", "ssh", [](const Options& o) { return text(o.request.ssh_port); }},
    {"ssh-key", "/k", "/l", "", [](const Options& o) { return o.request.ssh_key; }},
    {"peer-timeout", "1m", "2m", "never",
     [](const Options& o) { return std::to_string(o.request.peer_timeout_ms); }},
    {"launcher-timeout", "1m", "2m", "never",
     [](const Options& o) { return std::to_string(o.request.launcher_timeout_ms); }},
    {"job-secret", "/k", "/l", "", [](const Options& o) { return o.request.job_secret; }},
    {"link-port", "2222", "1", "0", [](const Options& o) { return text(o.request.link_port); }},
    {"link-timeout", "5s", "1m", "0",
     [](const Options& o) { return std::to_string(o.request.link_timeout_ms); }},
    {"on-node-failure", "tell", "stop", "restart",
     [](const Options& o) { return text(o.request.on_node_failure); }},
    {"conda-env", "py310", "/opt/env", "", [](const Options& o) { return o.request.conda_env; }},
    {"conda-dir", "/opt/conda", "/c", "", [](const Options& o) { return o.request.conda_dir; }},
    {"script-timeout", "1s", "2s", "x",
     [](const Options& o) { return std::to_string(o.request.script_timeout_ms); }},
    {"conda-lib", "0", "1", "x", [](const Options& o) { return text(o.request.conda_lib); }},
    {"no-conda-lib", "1", "0", "x", [](const Options& o) { return text(o.request.conda_lib); }},
    {"rank-table", "/t.json", "/u.json", "", [](const Options& o) { return o.request.rank_table; }},
    {"rank-table-timeout", "90m", "1m", "soon",
     [](const Options& o) { return std::to_string(o.request.rank_table_timeout_ms); }},
    {"rank-order", "server-id", "pod-index", "alphabetic",
     [](const Options& o) { return text(o.request.rank_order); }},
    {"node-rank", "3", "4", "-1", [](const Options& o) { return text(o.request.node_rank); }},
    {"rank-start", "8", "16", "8x", [](const Options& o) { return text(o.request.rank_start); }},
    {"devices", "0-3", "5", "", [](const Options& o) { return o.request.devices; }},
    {"device-id", "physical", "logical", "both",
     [](const Options& o) { return text(o.request.device_ids); }},
    {"output", "files", "inherit", "stdout",
     [](const Options& o) { return text(o.request.output); }},
    {"work-dir", "/w", "/v", "", [](const Options& o) { return o.request.work_dir; }},
    {"log-dir", "/l", "/m", "", [](const Options& o) { return o.request.log_dir; }},
    {"run-dir", "/r", "/q", "", [](const Options& o) { return o.run_dir; }},
    {"clean-device-dirs", "1", "0", "maybe",
     [](const Options& o) { return text(o.request.clean_device_dirs); }},
    {"strict", "1", "0", "2", [](const Options& o) { return text(o.request.strict); }},
    {"grace", "25s", "9s", "8 s", [](const Options& o) { return text(o.request.grace_ms); }},
    {"failure-grace", "1s", "0", "soon",
     [](const Options& o) { return text(o.request.failure_grace_ms); }},
    {"hold", "2h", "3h", "-2h", [](const Options& o) { return text(o.request.hold_ms); }},
    {"stop-scope", "group", "tree", "all",
     [](const Options& o) { return std::to_string(static_cast<int>(o.request.policy.stop_scope)); }},
    {"escalate", "INT@1s,QUIT@2s", "RTMIN+1@10ms", "INT@2s,QUIT@1s",
     [](const Options& o) {
       std::string steps;
       for (const auto& step : o.request.policy.escalation) {
         steps += std::to_string(step.signal) + "@" + std::to_string(step.after_ms) + " ";
       }
       return steps;
     }},
    {"exit-codes", "143=0", "1-3=75,4=5", "256=0",
     [](const Options& o) {
       std::string rules;
       for (const auto& rule : o.request.policy.exit_codes) {
         rules += std::to_string(rule.first) + "-" + std::to_string(rule.last) + "=" +
                  std::to_string(rule.to) + " ";
       }
       return rules;
     }},
    {"signal", "TERM=INT", "USR1=checkpoint", "TERM",
     [](const Options& o) {
       std::string rules;
       for (const auto& rule : o.request.policy.signals) {
         rules += std::to_string(rule.from) + "=" + std::to_string(static_cast<int>(rule.kind)) +
                  std::to_string(rule.to) + rule.path + " ";
       }
       return rules;
     }},
    {"second-term", "kill", "ignore", "hold",
     [](const Options& o) { return text(o.request.policy.second_term_kills); }},
    {"drain", "3s", "4s", "x", [](const Options& o) { return std::to_string(o.request.policy.drain_ms); }},
    {"hooks-dir", "/h", "/i", "", [](const Options& o) { return o.request.hooks_dir; }},
    {"lifecycle-script", "/s", "/t", "",
     [](const Options& o) { return o.request.lifecycle_script; }},
    {"hook-timeout", "30s", "pre-start=1m", "0",
     [](const Options& o) { return text(o.request.hook_timeouts[0]); }},
    {"fatal-hooks", "none", "post-start", "pre-stop",
     [](const Options& o) {
       const auto& events = o.request.fatal_hooks;
       return events ? std::to_string(events->size()) : "unset";
     }},
    {"checkpoint-signal", "none", "USR2", "KILL",
     [](const Options& o) { return text(o.request.checkpoint_signal); }},
    {"checkpoint-timeout", "1m", "2m", "0",
     [](const Options& o) { return text(o.request.policy.checkpoint_ms); }},
    {"max-restarts", "3", "0", "1000001",
     [](const Options& o) { return text(o.request.max_restarts); }},
    {"restart-reset", "1h", "0", "x",
     [](const Options& o) { return text(o.request.policy.restart_reset_ms); }},
    {"restart-delay", "2s", "0", "x",
     [](const Options& o) { return text(o.request.policy.restart_delay_ms); }},
    {"no-restart-on", "1-2,126", "3", "256",
     [](const Options& o) {
       std::string codes;
       for (const auto& range : o.request.policy.no_restart_on) {
         codes += std::to_string(range.first) + "-" + std::to_string(range.last) + " ";
       }
       return codes;
     }},
    {"restart-verdict", "tell", "off", "never",
     [](const Options& o) { return text(o.request.restart_verdict); }},
    {"device-wait", "5s", "0", "x",
     [](const Options& o) { return std::to_string(o.request.device_wait_ms); }},
    {"restart-across-nodes", "1", "0", "x",
     [](const Options& o) { return text(o.request.restart_across_nodes); }},
    {"restart-window", "1m", "2m", "0",
     [](const Options& o) { return std::to_string(o.request.restart_window_ms); }},
    {"elastic", "1", "0", "x", [](const Options& o) { return text(o.request.policy.elastic); }},
    {"warm", "torch,numpy", "auto", "torch,,", [](const Options& o) { return last_of(o.request.warm); }},
    {"warm-free", "RUN_ID,LOG_*", "A", "*", [](const Options& o) { return last_of(o.request.warm_free); }},
    {"min-nodes", "2", "1", "0", [](const Options& o) { return text(o.request.min_nodes); }},
    {"max-duration", "2d", "0", "x",
     [](const Options& o) { return text(o.request.policy.max_duration_ms); }},
    {"terminal", "1", "bash -i", "", [](const Options& o) { return o.request.terminal; }},
    {"parent-death-signal", "TERM", "9", "SIG",
     [](const Options& o) { return text(o.parent_death_signal); }},
    {"user", "bob", "0:0", "", [](const Options& o) { return o.request.sandbox.user; }},
    {"caps", "none", "-kill", "", [](const Options& o) { return o.request.sandbox.caps; }},
    {"ambient", "kill", "chown", "", [](const Options& o) { return o.request.sandbox.ambient; }},
    {"untrusted-image", "1", "0", "x",
     [](const Options& o) { return text(o.untrusted_image); }},
    {"no-new-privs", "1", "0", "x",
     [](const Options& o) { return text(o.request.sandbox.settings.no_new_privs); }},
    {"seccomp", "/p.json", "/q.json", "",
     [](const Options& o) { return o.request.sandbox.seccomp; }},
    {"rlimit", "core=0", "nofile=1", "",
     [](const Options& o) {
       const auto& limits = o.request.sandbox.limits;
       return limits.empty() ? "" : limits.back();
     }},
    {"bind", "numa", "core", "socket", observed<&Observation::bind>},
    {"log-prefix", "1", "0", "x", [](const Options& o) { return text(o.request.log_prefix); }},
    {"log-max-size", "64k", "2g", "1k", observed<&Observation::log_max_bytes>},
    {"log-keep", "0", "1000", "1001", observed<&Observation::log_keep>},
    {"log-reader-timeout", "0", "5m", "soon", observed<&Observation::log_reader_timeout_ms>},
    {"perf-threshold", "0.5", "1.25", "0", observed<&Observation::perf_threshold_ppm>},
    {"perf-policy", "reschedule", "alert", "x", observed<&Observation::perf_reschedules>},
    {"perf-pattern", "took {hardware} of {e2e}", "hw {hardware} all {e2e}", "none",
     [](const Options& o) { return o.request.observe.perf_pattern; }},
    {"perf-count", "3", "2", "0", observed<&Observation::perf_count>},
    {"progress", "step {step}", "iter {step}/", "step",
     [](const Options& o) {
       const auto& progress = o.request.observe.progress;
       return progress.empty() ? "" : progress.back();
     }},
    {"stall-timeout", "30m", "1h", "x", observed<&Observation::stall_ms>},
    {"stall-on", "output", "both", "x", observed<&Observation::stall_by_output>},
    {"stall-action", "end", "report", "x", observed<&Observation::stall_ends>},
    {"health-interval", "1m", "2m", "x", observed<&Observation::health_interval_ms>},
    {"health-checks", "gpu,disk", "all", "gpus",
     [](const Options& o) { return o.request.observe.health_checks; }},
    {"health-failures", "3", "1", "0", observed<&Observation::health_failures>},
    {"preflight", "warn", "require", "yes", observed<&Observation::preflight>},
    {"dataset", "/d", "/e", "",
     [](const Options& o) {
       const auto& datasets = o.request.observe.datasets;
       return datasets.empty() ? "" : datasets.back();
     }},
    {"data", "/a/b=/c", "/d", "", [](const Options& o) { return last_of(o.request.data.specs); }},
    {"data-root", "/c", "/d", "", [](const Options& o) { return o.request.data.root; }},
    {"data-version", "1", "2", "", [](const Options& o) { return o.request.data.version; }},
    {"include", "*.tar", "a/**", "",
     [](const Options& o) { return last_of(o.request.data.include); }},
    {"exclude", "*.tmp", "b/", "",
     [](const Options& o) { return last_of(o.request.data.exclude); }},
    {"verify", "1", "0", "x", of_data<&DataRequest::verify>},
    {"durable", "1", "0", "x", of_data<&DataRequest::durable>},
    {"data-link", "1", "0", "x", of_data<&DataRequest::link>},
    {"data-on-failure", "fail", "source", "wait", of_data<&DataRequest::on_failure>},
    {"data-timeout", "1h", "2h", "x", of_data<&DataRequest::timeout_ms>},
    {"data-workers", "2", "64", "65", of_data<&DataRequest::workers>},
    {"data-headroom", "10g", "7%", "101%",
     [](const Options& o) {
       const envgen::Headroom& headroom = o.request.data.headroom;
       return std::to_string(headroom.bytes) + " " + std::to_string(headroom.percent);
     }},
    {"cache-ttl", "1h", "30d", "x", of_data<&DataRequest::cache_ttl_ms>},
    {"cache-max-size", "2t", "1", "-1", of_data<&DataRequest::cache_max_bytes>},
    {"umask", "027", "0", "8", [](const Options& o) { return text(o.request.sandbox.settings.umask); }},
    {"nice", "-20", "19", "20", [](const Options& o) { return text(o.request.sandbox.settings.nice); }},
    {"oom-score-adj", "-1000", "5", "1001",
     [](const Options& o) { return text(o.request.sandbox.settings.oom_score_adj); }},
    {"timeline", "/t", "/u", "", [](const Options& o) { return o.request.observe.timeline; }},
    {"log-level", "debug", "error", "trace",
     [](const Options& o) { return std::to_string(static_cast<int>(o.log_level)); }},
    {"log-format", "json", "human", "xml",
     [](const Options& o) { return std::to_string(static_cast<int>(o.log_format)); }},
    {"plan snapshot", "/s.json", "/z.json", "", [](const Options& o) { return o.snapshot; }},
    {"plan json", "1", "0", "x", [](const Options& o) { return text(o.json); }},
    {"plan verbose", "1", "0", "x", [](const Options& o) { return text(o.verbose); }},
    {"status watch", "1", "0", "x", [](const Options& o) { return text(o.watch); }},
    {"status cluster", "1", "0", "x", [](const Options& o) { return text(o.all_nodes); }},
    {"help", "1", "0", "x", [](const Options& o) { return text(o.help); }},
    {"version", "1", "0", "x", [](const Options& o) { return text(o.version); }},
    {"doctor only", "gpu,disk", "npu", "gpus",
     [](const Options& o) { return last_of(o.checks) + std::to_string(o.checks.size()); }},
    {"doctor junit", "-", "/j.xml", "", [](const Options& o) { return o.junit; }},
    {"doctor timeout", "1s", "2s", "0",
     [](const Options& o) { return std::to_string(o.check_timeout_ms); }},
    {"copy workers", "2", "64", "0", of_data<&DataRequest::workers>},
    {"copy headroom", "10g", "7%", "101%",
     [](const Options& o) { return std::to_string(o.request.data.headroom.percent); }},
    {"copy timeout", "1s", "2s", "0", of_data<&DataRequest::timeout_ms>},
    {"copy owner", "1:2", "3:4", "root",
     [](const Options& o) { return o.owner ? std::to_string(o.owner->uid) : "unset"; }},
    {"copy dry-run", "1", "0", "x", [](const Options& o) { return text(o.dry_run); }},
    {"extend for", "2h", "3h", "soon", [](const Options& o) { return text(o.span_ms); }},
    {"extend left", "2h", "3h", "soon", [](const Options& o) { return text(o.left_ms); }},
    {"hold for", "2h", "3h", "soon", [](const Options& o) { return text(o.span_ms); }},
    {"checkpoint keep-running", "1", "0", "x",
     [](const Options& o) { return text(o.keep_running); }},
    {"hostfile check for", "intel", "plain", "slurm",
     [](const Options& o) { return text(o.from); }},
    {"hostfile convert from", "intel", "plain", "slurm",
     [](const Options& o) { return text(o.from); }},
    {"hostfile convert to", "intel", "plain", "", [](const Options& o) { return text(o.to); }},
    {"ranktable generate server-id", "a", "b", "", [](const Options& o) { return o.server_id; }},
    {"ranktable generate hccn-conf", "/c", "/d", "", [](const Options& o) { return o.hccn_conf; }},
    {"report format", "html", "trace", "pdf",
     [](const Options& o) { return text(o.report_format); }},
    {"report output", "/o", "-", "", [](const Options& o) { return o.out; }},
    {"peer serve dir", "/d", "/e/", "d", [](const Options& o) { return o.peer.directory; }},
    {"peer serve port", "1", "2", "0", [](const Options& o) { return std::to_string(o.peer.port); }},
    {"peer serve key", "/k", "/l", "", [](const Options& o) { return o.peer.key; }},
    {"peer serve launcher-timeout-ms", "0", "1", "1s",
     [](const Options& o) { return text(o.peer.launcher_timeout_ms); }},
    {"peer end hosts-file", "/h", "/i", "h", [](const Options& o) { return o.peer.hosts_file; }},
    {"peer end link", "/l", "/m", "l", [](const Options& o) { return o.peer.link; }},
    {"peer end code", "0", "255", "256", [](const Options& o) { return text(o.peer.code); }},
};

// The first command that has it, "" for run, and its name.
std::string full_name(const Option& option) {
  for (const cli::Command& command : cli::command_table()) {
    if ((option.commands & command.bit) == 0) continue;
    return (command.bit == cli::kRun ? "" : std::string(command.name) + " ") +
           std::string(option.name);
  }
  return "";
}

const Sample& sample_of(const Option& option) {
  const Sample* found = std::ranges::find(kSamples, full_name(option), &Sample::name);
  EXPECT_NE(found, std::end(kSamples)) << "no sample for --" << option.name;
  return *found;
}

const Words& words_of(const Options& options) {
  return (options.command & cli::kJob) != 0 ? options.request.command : options.operands;
}

class EachOption : public testing::TestWithParam<Option> {
 protected:
  const Option& option_ = GetParam();
  const Sample& sample_ = sample_of(option_);
  // One of the commands that have it.
  cli::Commands command_ = option_.commands & (~option_.commands + 1);
  std::string flag_ = "--" + std::string(option_.name);
  std::string default_ = sample_.read(Options{});
};

TEST_P(EachOption, IsSetByItsFlag) {
  Words arguments = {flag_};
  if (!option_.value.empty()) arguments.push_back(sample_.good);
  arguments.emplace_back("train");
  auto options = parse(arguments, {}, command_);
  ASSERT_TRUE(options) << to_line(options.error());
  EXPECT_NE(sample_.read(*options), default_);
  EXPECT_THAT(words_of(*options), ElementsAre("train"));
}

TEST_P(EachOption, TakesItsValueAfterAnEqualsSign) {
  auto options = parse({flag_ + "=" + sample_.good, "train"}, {}, command_);
  ASSERT_TRUE(options) << to_line(options.error());
  EXPECT_NE(sample_.read(*options), default_);
  EXPECT_THAT(words_of(*options), ElementsAre("train"));
}

TEST_P(EachOption, IsSetByItsVariableIfItHasOne) {
  auto options = parse({"train"}, {cli::variable_name(option_) + "=" + sample_.good}, command_);
  ASSERT_TRUE(options) << to_line(options.error());
  EXPECT_EQ(sample_.read(*options) != default_, cli::has_variable(option_));
}

TEST_P(EachOption, IsWhatTheFlagSaysWhereTheVariableSaysAnother) {
  auto options = parse({flag_ + "=" + sample_.good, "train"},
                       {cli::variable_name(option_) + "=" + sample_.other}, command_);
  ASSERT_TRUE(options) << to_line(options.error());
  EXPECT_EQ(sample_.read(*options),
            sample_.read(*parse({flag_ + "=" + sample_.good}, {}, command_)));
  EXPECT_NE(sample_.read(*options),
            sample_.read(*parse({flag_ + "=" + sample_.other}, {}, command_)));
}

TEST_P(EachOption, RefusesABadValueAndNamesItselfTheValueAndWhatItTakes) {
  EXPECT_THAT(error_of({flag_ + "=" + sample_.bad, "train"}, {}, command_),
              AllOf(HasSubstr(flag_), HasSubstr('"' + sample_.bad + '"'),
                    HasSubstr("give " + option_.accepts())));
}

TEST_P(EachOption, NamesItsVariableWhenThatIsBad) {
  const std::string variable = cli::variable_name(option_);
  const std::string error = error_of({"train"}, {variable + "=" + sample_.bad}, command_);
  const bool refused = cli::has_variable(option_) && !sample_.bad.empty();  // empty is unset
  EXPECT_EQ(error.find(variable + ": found \"" + sample_.bad + '"') != std::string::npos, refused)
      << error;
  EXPECT_EQ(error.empty(), !refused);
}

TEST_P(EachOption, SaysThatItsValueIsMissingIfItTakesOne) {
  const std::string error = error_of({flag_}, {}, command_);
  EXPECT_EQ(error.find(flag_ + ": found no value") != std::string::npos, !option_.value.empty())
      << error;
}

TEST_P(EachOption, StandsInTheHelpWithWhatItTakesAndItsVariable) {
  if (option_.commands == cli::kAll) return;
  const bool of_job = (option_.commands & cli::kRun) != 0;
  const std::string_view name = cli::name_of(command_);
  std::string help =
      of_job ? cli::topic_help(*option_.topic) : cli::command_help(name.substr(0, name.find(' ')));
  std::ranges::replace(help, '\n', ' ');
  EXPECT_THAT(help, HasSubstr(" " + cli::flag_of(option_)));
  if (!of_job) return;
  EXPECT_THAT(help, HasSubstr(" " + cli::variable_name(option_) + " "));
}

// It is read in grep's output and in a menu.
TEST_P(EachOption, HasATextThatStandsAlone) {
  const std::string_view text = option_.help;
  for (const char* dangling :
       {"its ", "the same ", "of the ", "of each ", "then", "they ", "these ", "none of ",
        "of all ", "only these ", "with the ", "on the ", "of "}) {
    EXPECT_FALSE(text.starts_with(dangling)) << text;
  }
  EXPECT_LE(text.size(), 90U) << text;
  EXPECT_GE(text.size(), 9U) << text;
  EXPECT_FALSE(text.ends_with('.')) << text;
}

std::vector<Option> all_options() {
  std::vector<Option> all;
  for (const Option& option : cli::option_table()) all.push_back(option);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Options, EachOption, testing::ValuesIn(all_options()),
                         [](const auto& param) {
                           std::string name = full_name(param.param);
                           std::ranges::replace(name, '-', '_');
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

// --- Earlier names ---

TEST(EarlierName, SetsTheOptionAsAFlagAndAsAVariable) {
  for (const Words& flag :
       {Words{"--log-patience", "5s", "train"}, Words{"--log-patience=5s", "train"},
        Words{"--log-reader-timeout", "5s", "train"}}) {
    auto options = parse(flag);
    ASSERT_TRUE(options) << to_line(options.error());
    EXPECT_EQ(options->request.observe.log_reader_timeout_ms, 5000);
    EXPECT_THAT(options->request.command, ElementsAre("train"));
  }
  for (const char* name : {"TRAINIT_LOG_PATIENCE", "TRAINIT_LOG_READER_TIMEOUT"}) {
    auto options = parse({"train"}, {std::string(name) + "=5s"});
    ASSERT_TRUE(options) << to_line(options.error());
    EXPECT_EQ(options->request.observe.log_reader_timeout_ms, 5000);
    EXPECT_THAT(cli::variable_warnings(Environ({std::string(name) + "=5s"})), IsEmpty());
  }
}

TEST(EarlierName, IsKnownWhereItsVariableHasAMisspeltPrefix) {
  EXPECT_THAT(cli::variable_warnings(Environ({"TRANIT_LOG_PATIENCE=5s"})),
              ElementsAre("ignoring TRANIT_LOG_PATIENCE: there is no such option; did you mean "
                          "TRAINIT_LOG_PATIENCE?"));
}

TEST(EarlierName, MayStandBesideThePresentOneWithTheSameValue) {
  EXPECT_EQ(error_of({"--log-patience", "5s", "--log-reader-timeout", "5s", "train"}), "");
  EXPECT_EQ(error_of({"train"}, {"TRAINIT_LOG_PATIENCE=5s", "TRAINIT_LOG_READER_TIMEOUT=5s"}), "");
}

TEST(EarlierName, IsRefusedBesideThePresentOneWithADifferentValue) {
  EXPECT_EQ(
      error_of({"--log-patience", "5s", "--log-reader-timeout=6s", "train"}),
      "reading the options: --log-reader-timeout: found \"6s\", but --log-patience is \"5s\"; "
      "give one of them: both are names of --log-reader-timeout");
  EXPECT_EQ(
      error_of({"--log-reader-timeout=6s", "--log-patience", "5s", "train"}),
      "reading the options: --log-patience: found \"5s\", but --log-reader-timeout is \"6s\"; "
      "give one of them: both are names of --log-reader-timeout");
  EXPECT_EQ(
      error_of({"train"}, {"TRAINIT_LOG_READER_TIMEOUT=6s", "TRAINIT_LOG_PATIENCE=5s"}),
      "reading the options: TRAINIT_LOG_READER_TIMEOUT: found \"6s\", but TRAINIT_LOG_PATIENCE "
      "is \"5s\"; give one of them: both are names of --log-reader-timeout");
}

TEST(EarlierName, AsAFlagBeatsThePresentVariableAndTheOtherWayRound) {
  auto old = parse({"--log-patience", "5s", "train"}, {"TRAINIT_LOG_READER_TIMEOUT=6s"});
  ASSERT_TRUE(old) << to_line(old.error());
  EXPECT_EQ(old->request.observe.log_reader_timeout_ms, 5000);
  auto present = parse({"--log-reader-timeout", "5s", "train"}, {"TRAINIT_LOG_PATIENCE=6s"});
  ASSERT_TRUE(present) << to_line(present.error());
  EXPECT_EQ(present->request.observe.log_reader_timeout_ms, 5000);
}

TEST(EarlierName, IsNamedWhereItsValueIsBadAndNotListed) {
  EXPECT_THAT(error_of({"--log-patience", "soon", "train"}),
              AllOf(HasSubstr("--log-patience"), HasSubstr("\"soon\"")));
  EXPECT_THAT(error_of({"train"}, {"TRAINIT_LOG_PATIENCE=soon"}),
              HasSubstr("TRAINIT_LOG_PATIENCE"));
  for (const Option& option : cli::option_table()) EXPECT_NE(option.name, "log-patience");
  EXPECT_THAT(cli::topic_help(cli::topics()[5]), Not(HasSubstr("patience")));
}

TEST(Options, AnEmptyVariableIsAnUnsetOne) {
  auto options = parse({"train"}, {"TRAINIT_GRACE=", "TRAINIT_STRICT=", "TRAINIT_LOG_DIR="});
  ASSERT_TRUE(options) << to_line(options.error());
  EXPECT_FALSE(options->request.grace_ms);
  EXPECT_FALSE(options->request.strict);
}

TEST(Options, ASwitchIsTurnedOffByAFlagOverItsVariable) {
  for (const char* off : {"--strict=0", "--strict=no", "--strict=false", "--strict=off"}) {
    auto options = parse({off, "train"}, {"TRAINIT_STRICT=true"});
    ASSERT_TRUE(options) << off;
    EXPECT_FALSE(options->request.strict) << off;
  }
}

TEST(Options, ASwitchTakesNoWordAfterIt) {
  auto options = parse({"--strict", "0"});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->request.strict);
  EXPECT_THAT(options->request.command, ElementsAre("0"));
}

TEST(Options, OfTwoTheLastCounts) {
  auto options = parse({"--grace", "1s", "--grace=2s", "train"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->request.grace_ms, 2000);
}

TEST(Options, AValueMayHoldAnEqualsSignAndMayLookLikeAFlag) {
  auto options = parse({"--log-dir=/a=b", "--work-dir", "--odd", "train"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->request.log_dir, "/a=b");
  EXPECT_EQ(options->request.work_dir, "--odd");
}

// The variables of a Kubernetes Service that is called "trainit".
TEST(Options, VariablesOfAServiceOfTheSameNameDoNotHurt) {
  auto options =
      parse({"train"}, {"TRAINIT_PORT=tcp://10.0.0.1:80", "TRAINIT_SERVICE_HOST=10.0.0.1",
                        "TRAINIT_SERVICE_PORT=80", "TRAINIT_PORT_80_TCP=tcp://10.0.0.1:80",
                        "TRAINIT_PORT_80_TCP_ADDR=10.0.0.1", "TRAINIT_PORT_80_TCP_PROTO=tcp"});
  ASSERT_TRUE(options) << to_line(options.error());
  EXPECT_THAT(options->request.command, ElementsAre("train"));
}

// --- Where options end ---

TEST(Options, EndAtTheFirstArgumentThatIsNone) {
  auto options = parse({"--grace", "1s", "python", "--grace", "9s", "-h", "--"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->request.grace_ms, 1000);
  EXPECT_THAT(options->request.command, ElementsAre("python", "--grace", "9s", "-h", "--"));
}

TEST(Options, EndAtTwoDashes) {
  auto options = parse({"--strict", "--", "--strict=no", "--", "x"});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->request.strict);
  EXPECT_THAT(options->request.command, ElementsAre("--strict=no", "--", "x"));
}

TEST(Options, OneDashIsACommand) {
  auto options = parse({"-", "x"});
  ASSERT_TRUE(options);
  EXPECT_THAT(options->request.command, ElementsAre("-", "x"));
}

TEST(Options, AnEmptyWordIsACommand) {
  auto options = parse({"", "x"});
  ASSERT_TRUE(options);
  EXPECT_THAT(options->request.command, ElementsAre("", "x"));
}

TEST(Options, NothingAtAllIsNoCommand) {
  for (const Words& arguments :
       {Words{}, Words{"--"}, Words{"--strict"}, Words{"--strict", "--"}}) {
    auto options = parse(arguments);
    ASSERT_TRUE(options);
    EXPECT_THAT(options->request.command, IsEmpty());
  }
}

TEST(Options, ThatDoNotExistAreErrorsThatNameThem) {
  EXPECT_THAT(error_of({"--grce", "8s"}), AllOf(HasSubstr("--grce"), HasSubstr("no such option")));
  EXPECT_THAT(error_of({"--grce=8s"}), AllOf(HasSubstr("--grce:"), HasSubstr("no such option")));
  EXPECT_THAT(error_of({"-z"}), AllOf(HasSubstr("-z"), HasSubstr("no such option")));
  EXPECT_THAT(error_of({"---"}), HasSubstr("no such option"));
  EXPECT_THAT(error_of({"--=x"}), HasSubstr("no such option"));
}

TEST(Options, AreNotGuessedFromTheirBeginning) {
  EXPECT_THAT(error_of({"--rank-table-time", "1m"}), HasSubstr("no such option"));
}

TEST(Options, HaveTwoShortForms) {
  EXPECT_TRUE(parse({"-h"})->help);
  EXPECT_TRUE(parse({"-V"})->version);
}

TEST(Options, LaterArgumentsGoOnTopOfEarlierOnes) {
  auto options = parse({"--grace=1s", "--strict", "train"}, {}, cli::kPlan);
  ASSERT_TRUE(options);
  const Words more = {"--grace=2s", "--json"};
  ASSERT_TRUE(cli::parse_arguments(more, *options));
  EXPECT_EQ(options->request.grace_ms, 2000);
  EXPECT_TRUE(options->request.strict);
  EXPECT_TRUE(options->json);
  EXPECT_THAT(options->request.command, ElementsAre("train"));
}

// --- Other commands ---

TEST(Options, StandAmongTheOperandsOfACommandThatStartsNothing) {
  auto options = parse({"a", "--verify", "b", "--", "--verify=0"}, {}, cli::kCopy);
  ASSERT_TRUE(options) << to_line(options.error());
  EXPECT_TRUE(options->request.data.verify);
  EXPECT_THAT(options->operands, ElementsAre("a", "b", "--verify=0"));
}

// All options with all commands: what a command does not use is an error that says whose it is.
TEST(Options, OfOtherCommandsAreErrors) {
  for (const cli::Command& command : cli::command_table()) {
    for (const Option& option : cli::option_table()) {
      const bool used = std::ranges::any_of(cli::option_table(), [&](const Option& one) {
        return one.name == option.name && (one.commands & command.bit) != 0;
      });
      const std::string flag = "--" + std::string(option.name);
      const std::string error = error_of({flag + "=?"}, {}, command.bit);
      EXPECT_EQ(error.find(flag + ": found an option of trainit ") == std::string::npos, used)
          << command.name << ": " << error;
    }
  }
  EXPECT_THAT(error_of({"--grace", "1s"}, {}, cli::kCopy),
              HasSubstr("--grace: found an option of trainit run, which means nothing to trainit "
                        "copy; leave it out, or see trainit copy --help"));
  EXPECT_THAT(error_of({"--snapshot", "f"}), HasSubstr("an option of trainit plan"));
  EXPECT_THAT(error_of({"-o", "f"}),
              HasSubstr("-o: found an option of trainit ranktable convert, trainit ranktable "
                        "generate, trainit hostfile convert, trainit report"));
}

// --- "Did you mean" ---

TEST(Options, ThatAreNearlyNamedAreGuessed) {
  EXPECT_THAT(error_of({"--grase", "1s"}), HasSubstr("did you mean --grace?"));
  EXPECT_THAT(error_of({"-grace", "1s"}), HasSubstr("did you mean --grace?"));
  EXPECT_THAT(error_of({"--max_restarts", "1"}), HasSubstr("did you mean --max-restarts?"));
  EXPECT_THAT(error_of({"--restarts", "1"}), HasSubstr("did you mean --max-restarts?"));
  EXPECT_THAT(error_of({"--nproc_per_node=8"}), HasSubstr("did you mean --slots?"));
  EXPECT_THAT(error_of({"--wacth"}, {}, cli::kStatus), HasSubstr("did you mean --watch?"));
  EXPECT_THAT(error_of({"--frobnicate"}), Not(HasSubstr("did you mean")));
}

TEST(Options, ValuesThatAreNearlyAWordAreGuessed) {
  EXPECT_THAT(error_of({"--output", "flies"}),
              HasSubstr("give first, inherit, files or tee; did you mean files?"));
  EXPECT_THAT(error_of({"--output=TEE"}), HasSubstr("did you mean tee?"));
  EXPECT_THAT(error_of({"--health-checks", "gpu,dsik"}), HasSubstr("did you mean disk?"));
  EXPECT_THAT(error_of({"train"}, {"TRAINIT_BIND=nuam"}),
              AllOf(HasSubstr("TRAINIT_BIND"), HasSubstr("did you mean numa?")));
  EXPECT_THAT(error_of({"--output", "nowhere"}), Not(HasSubstr("did you mean")));
}

Words warnings_of(Words variables) { return cli::variable_warnings(Environ(std::move(variables))); }

TEST(Options, VariablesThatAreNearlyAnOptionsAreTold) {
  EXPECT_THAT(
      warnings_of({"TRAINIT_GRASE=1s"}),
      ElementsAre("ignoring TRAINIT_GRASE: there is no such option; did you mean TRAINIT_GRACE?"));
  EXPECT_THAT(warnings_of({"TRAINIT_MAXRESTARTS=3", "TRAINIT_HOST=a,b"}),
              ElementsAre(HasSubstr("TRAINIT_MAX_RESTARTS?"), HasSubstr("TRAINIT_HOSTS?")));
}

TEST(Options, PrefixesThatAreNearlyOursAreWarnedOf) {
  EXPECT_THAT(
      warnings_of({"TRANIT_SLOTS=2", "trainit_max_restarts=3", "TRIANIT_GRACE=1s"}),
      ElementsAre("ignoring TRANIT_SLOTS: there is no such option; did you mean TRAINIT_SLOTS?",
                  "ignoring trainit_max_restarts: there is no such option; did you mean "
                  "TRAINIT_MAX_RESTARTS?",
                  "ignoring TRIANIT_GRACE: there is no such option; did you mean TRAINIT_GRACE?"));
  EXPECT_THAT(warnings_of({"TRAINER_SLOTS=2", "TRAINING_SLOTS=2", "TRANIT_OTHER=1", "TRANIT=1"}),
              ElementsAre());
}

TEST(Options, OfAServicesLinkIsNone) {
  const Environ env({"TRAINIT_MASTER_PORT=tcp://10.3.2.1:2222",
                     "TRAINIT_MASTER_SERVICE_HOST=10.3.2.1", "TRAINIT_SSH_PORT=tcp://10.3.2.2:22",
                     "TRAINIT_SSH_PORT_22_TCP=tcp://10.3.2.2:22",
                     "TRAINIT_LNK_PORT=tcp://10.3.2.3:1", "TRAINIT_LNK_SERVICE_HOST=10.3.2.3"});
  const auto options = cli::parse_options({}, env);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->request.master_port, std::nullopt);
  EXPECT_THAT(cli::variable_warnings(env), ElementsAre(HasSubstr("ignoring TRAINIT_MASTER_PORT="),
                                                       HasSubstr("ignoring TRAINIT_SSH_PORT=")));
}

// Others may use the prefix: an image, a Service of this name, hooks, trainit itself.
TEST(Options, VariablesThatAreNotNearAnOptionsAreLeftAlone) {
  EXPECT_THAT(warnings_of({"TRAINIT_GRACE=1s",
                           "TRAINIT_GRASE=",
                           "TRAINIT_VERSION=1",
                           "TRAINIT_HOME=/opt",
                           "TRAINIT_PORT=tcp://10.0.0.1:80",
                           "TRAINIT_SERVICE_PORT=80",
                           "TRAINIT_SERVICE_HOST=10.0.0.1",
                           "TRAINIT_PORT_80_TCP_PORT=80",
                           "TRAINIT_EXIT_CODE=3",
                           "TRAINIT_HOOK=x",
                           "TRAINIT_ENV=x",
                           "TRAINIT_PID=1",
                           "TRAINIT_FIRST_FAILURE=x",
                           "TRAINIT_NODE_COUNT=1",
                           "TRAINIT_WORLD_SIZE=1",
                           "TRAINIT_LOCAL_WORLD_SIZE=1",
                           "TRAINIT_RESTART_COUNT=0",
                           "TRAINIT_STALLED_RANK=1",
                           "TRAINIT_STALLED_PID=1",
                           "TRAINIT_STALLED_FOR_S=1",
                           "TRAINIT_WORKSPACE=/w",
                           "TRAINIT_NETWORK_WAIT=1",
                           "TRAINIT_DATASET_DIR=/d",
                           "TRAINIT_DATASET_A=/a",
                           "TRAINIT_MODEL_DIR=/m",
                           "TRAINIT_OUTPUTS_DIR=/o",
                           "TRAINER_GRASE=1"}),
              IsEmpty());
}

TEST(Options, OfOneNameMeanWhatTheCommandMeans) {
  EXPECT_EQ(parse({"--output", "files"})->request.output, envgen::Output::kFiles);
  EXPECT_EQ(parse({"-o", "files"}, {}, cli::kTableConvert)->out, "files");
}

TEST(Options, HaveVariablesWhereTheirCommandDoes) {
  const Words variables = {"TRAINIT_GRACE=x", "TRAINIT_RANK_ORDER=server-id", "TRAINIT_VERIFY=1"};
  EXPECT_EQ(parse({}, variables, cli::kTableConvert)->request.rank_order,
            envgen::RankOrder::kServerId);
  EXPECT_FALSE(parse({"a", "b"}, variables, cli::kCopy)->request.data.verify)
      << "a variable is about the datasets of a job";
}

TEST(Options, LimitsOfAFlagReplaceTheVariables) {
  auto options = parse({"--rlimit", "nofile=2", "--rlimit", "core=0", "train"},
                       {"TRAINIT_RLIMIT=nofile=1\nnproc=5"});
  ASSERT_TRUE(options);
  EXPECT_THAT(options->request.sandbox.limits, ElementsAre("nofile=2", "core=0"));
}

}  // namespace
