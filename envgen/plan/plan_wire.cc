#include <algorithm>

#include "envgen/plan/plan.h"

namespace envgen {
namespace {

constexpr std::uint32_t kMagic = 0x356c7054;  // "Tpl5"

// Far above what any node has, far below what could exhaust PID 1: an item in memory is several
// times its least bytes on the wire.
constexpr std::uint32_t kMostProcesses = 4096;
constexpr std::uint32_t kMostEdits = 65'536;
constexpr std::uint32_t kMostTexts = 1U << 20;
constexpr std::uint32_t kMostRules = 65'536;
constexpr std::uint32_t kMostRestarts = 1'000'000;
constexpr std::uint8_t kLastSignal = 64;
constexpr std::uint8_t kLastExitCode = 255;
// The kernel's own.
constexpr std::uint32_t kMostGroups = 65'536;
constexpr std::size_t kFilterStepBytes = 8;
constexpr std::size_t kMostFilterBytes = 4096 * kFilterStepBytes;

class Encoder {
 public:
  void number(std::uint32_t value) { raw(value, 4); }
  void time(std::int64_t value) { raw(static_cast<std::uint64_t>(value), 8); }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  std::string take() && { return std::move(bytes_); }

 private:
  void raw(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  std::string bytes_;
};

// Reads as long as all is well; afterwards every read gives nothing.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  std::uint32_t number() { return static_cast<std::uint32_t>(raw(4)); }
  std::int64_t time() { return static_cast<std::int64_t>(raw(8)); }
  std::string text() {
    std::uint32_t size = number();
    if (size > bytes_.size()) ok_ = false;
    if (!ok_) return {};
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }
  // The count of a list of at most `most` items, which take at least `least` bytes each.
  std::uint32_t count(std::size_t least, std::uint32_t most) {
    std::uint32_t value = number();
    if (value > most || value > bytes_.size() / least) ok_ = false;
    return ok_ ? value : 0;
  }
  std::uint32_t at_most(std::uint32_t last) {
    std::uint32_t value = number();
    if (value > last) ok_ = false;
    return ok_ ? value : 0;
  }
  std::uint8_t choice(std::uint8_t last) { return static_cast<std::uint8_t>(at_most(last)); }
  [[nodiscard]] bool finished() const { return ok_ && bytes_.empty(); }

 private:
  std::uint64_t raw(std::size_t size) {
    if (size > bytes_.size()) ok_ = false;
    if (!ok_) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    }
    bytes_.remove_prefix(size);
    return value;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

void put(Encoder& out, const std::vector<std::string>& list) {
  out.number(static_cast<std::uint32_t>(list.size()));
  for (const std::string& item : list) out.text(item);
}

std::vector<std::string> get_texts(Decoder& in) {
  std::vector<std::string> list(in.count(4, kMostTexts));
  for (std::string& item : list) item = in.text();
  return list;
}

void put(Encoder& out, const std::vector<EnvEdit>& edits) {
  out.number(static_cast<std::uint32_t>(edits.size()));
  for (const EnvEdit& edit : edits) {
    out.number(static_cast<std::uint32_t>(edit.kind));
    out.text(edit.name);
    out.text(edit.value);
  }
}

std::vector<EnvEdit> get_edits(Decoder& in) {
  std::vector<EnvEdit> edits(in.count(12, kMostEdits));
  for (EnvEdit& edit : edits) {
    edit.kind = static_cast<EnvEdit::Kind>(
        in.choice(static_cast<std::uint8_t>(EnvEdit::Kind::kPrependPath)));
    edit.name = in.text();
    edit.value = in.text();
  }
  return edits;
}

void put(Encoder& out, const Process& process) {
  out.text(process.name);
  out.number(static_cast<std::uint32_t>(process.rank));
  out.number(static_cast<std::uint32_t>(process.device));
  put(out, process.argv);
  out.text(process.cwd);
  put(out, process.env);
  out.text(process.log);
  out.text(process.env_file);
  out.number(process.tee ? 1 : 0);
  out.number(process.echo ? 1 : 0);
  out.text(process.prefix);
  out.text(process.cpus);
  out.number(process.of_job ? 1 : 0);
}

Process get_process(Decoder& in) {
  Process process;
  process.name = in.text();
  process.rank = static_cast<int>(in.number());
  process.device = static_cast<int>(in.number());
  process.argv = get_texts(in);
  process.cwd = in.text();
  process.env = get_edits(in);
  process.log = in.text();
  process.env_file = in.text();
  process.tee = in.choice(1) != 0;
  process.echo = in.choice(1) != 0;
  process.prefix = in.text();
  process.cpus = in.text();
  process.of_job = in.choice(1) != 0;
  return process;
}

void put(Encoder& out, const std::vector<Process>& processes) {
  out.number(static_cast<std::uint32_t>(processes.size()));
  for (const Process& process : processes) put(out, process);
}

std::vector<Process> get_processes(Decoder& in) {
  std::vector<Process> processes(in.count(52, kMostProcesses));
  for (Process& process : processes) process = get_process(in);
  return processes;
}

void put(Encoder& out, const std::optional<Identity>& who) {
  out.number(who ? 1 : 0);
  if (!who) return;
  out.number(who->uid);
  out.number(who->gid);
  out.number(static_cast<std::uint32_t>(who->groups.size()));
  for (std::uint32_t group : who->groups) out.number(group);
  out.text(who->name);
  out.text(who->home);
}

std::optional<Identity> get_identity(Decoder& in) {
  if (in.choice(1) == 0) return std::nullopt;
  Identity who;
  who.uid = in.number();
  who.gid = in.number();
  who.groups.resize(in.count(4, kMostGroups));
  for (std::uint32_t& group : who.groups) group = in.number();
  who.name = in.text();
  who.home = in.text();
  return who;
}

template <class T>
void put(Encoder& out, const std::optional<T>& value) {
  out.number(value ? 1 : 0);
  if (value) out.time(static_cast<std::int64_t>(*value));
}

template <class T>
void get(Decoder& in, std::optional<T>& value) {
  if (in.choice(1) != 0) value = static_cast<T>(in.time());
}

void put(Encoder& out, const Sandbox& sandbox) {
  put(out, sandbox.identity);
  put(out, sandbox.capabilities);
  out.time(static_cast<std::int64_t>(sandbox.ambient));
  out.number(sandbox.no_new_privs ? 1 : 0);
  out.text(sandbox.filter);
  out.text(sandbox.profile);
  out.number(static_cast<std::uint32_t>(sandbox.limits.size()));
  for (const ResourceLimit& limit : sandbox.limits) {
    out.number(static_cast<std::uint32_t>(limit.resource));
    out.time(static_cast<std::int64_t>(limit.soft));
    out.time(static_cast<std::int64_t>(limit.hard));
  }
  put(out, sandbox.umask);
  put(out, sandbox.nice);
  put(out, sandbox.oom_score_adj);
}

Sandbox get_sandbox(Decoder& in) {
  Sandbox sandbox;
  sandbox.identity = get_identity(in);
  get(in, sandbox.capabilities);
  sandbox.ambient = static_cast<std::uint64_t>(in.time());
  sandbox.no_new_privs = in.choice(1) != 0;
  sandbox.filter = in.text();
  sandbox.profile = in.text();
  sandbox.limits.resize(in.count(20, kResources));
  for (ResourceLimit& limit : sandbox.limits) {
    limit.resource = in.choice(kResources - 1);
    limit.soft = static_cast<std::uint64_t>(in.time());
    limit.hard = static_cast<std::uint64_t>(in.time());
  }
  get(in, sandbox.umask);
  get(in, sandbox.nice);
  get(in, sandbox.oom_score_adj);
  return sandbox;
}

// A filter that the kernel would not take for its size.
bool has_sound_filter(const Sandbox& sandbox) {
  const std::size_t size = sandbox.filter.size();
  return size % kFilterStepBytes == 0 && size <= kMostFilterBytes;
}

void put(Encoder& out, const std::vector<Escalation>& steps) {
  out.number(static_cast<std::uint32_t>(steps.size()));
  for (const Escalation& step : steps) {
    out.number(static_cast<std::uint32_t>(step.signal));
    out.time(step.after_ms);
  }
}

void get(Decoder& in, std::vector<Escalation>& steps) {
  steps.resize(in.count(12, kMostRules));
  for (Escalation& step : steps) {
    step.signal = in.choice(kLastSignal);
    step.after_ms = in.time();
  }
}

void put(Encoder& out, const std::vector<ExitCodeRule>& rules) {
  out.number(static_cast<std::uint32_t>(rules.size()));
  for (const ExitCodeRule& rule : rules) {
    out.number(static_cast<std::uint32_t>(rule.first));
    out.number(static_cast<std::uint32_t>(rule.last));
    out.number(static_cast<std::uint32_t>(rule.to));
  }
}

void get(Decoder& in, std::vector<ExitCodeRule>& rules) {
  rules.resize(in.count(12, kMostRules));
  for (ExitCodeRule& rule : rules) {
    rule.first = in.choice(kLastExitCode);
    rule.last = in.choice(kLastExitCode);
    rule.to = in.choice(kLastExitCode);
  }
}

void put(Encoder& out, const std::vector<CodeRange>& ranges) {
  out.number(static_cast<std::uint32_t>(ranges.size()));
  for (const CodeRange& range : ranges) {
    out.number(static_cast<std::uint32_t>(range.first));
    out.number(static_cast<std::uint32_t>(range.last));
  }
}

void get(Decoder& in, std::vector<CodeRange>& ranges) {
  ranges.resize(in.count(8, kMostRules));
  for (CodeRange& range : ranges) {
    range.first = in.choice(kLastExitCode);
    range.last = in.choice(kLastExitCode);
  }
}

void put(Encoder& out, const std::vector<SignalRule>& rules) {
  out.number(static_cast<std::uint32_t>(rules.size()));
  for (const SignalRule& rule : rules) {
    out.number(static_cast<std::uint32_t>(rule.from));
    out.number(static_cast<std::uint32_t>(rule.kind));
    out.number(static_cast<std::uint32_t>(rule.to));
    out.text(rule.path);
  }
}

void get(Decoder& in, std::vector<SignalRule>& rules) {
  rules.resize(in.count(16, kLastSignal));
  for (SignalRule& rule : rules) {
    rule.from = in.choice(kLastSignal);
    rule.kind = static_cast<SignalRule::Kind>(
        in.choice(static_cast<std::uint8_t>(SignalRule::Kind::kForward)));
    rule.to = in.choice(kLastSignal);
    rule.path = in.text();
  }
}

void put(Encoder& out, const PlanPolicy& policy) {
  out.number(static_cast<std::uint32_t>(policy.success));
  out.time(policy.grace_ms);
  out.time(policy.rank_table_timeout_ms);
  out.time(policy.hold_ms);
  out.time(policy.post_stop_ms);
  out.number(static_cast<std::uint32_t>(policy.stop_scope));
  put(out, policy.escalation);
  put(out, policy.exit_codes);
  put(out, policy.signals);
  out.number(policy.second_term_kills ? 1 : 0);
  out.time(policy.drain_ms);
  out.time(policy.pre_stop_ms);
  out.time(policy.checkpoint_ms);
  out.number(static_cast<std::uint32_t>(policy.checkpoint_signal));
  out.number(static_cast<std::uint32_t>(policy.max_restarts));
  out.time(policy.restart_delay_ms);
  out.time(policy.restart_least_ms);
  put(out, policy.no_restart_on);
  out.number(policy.elastic ? 1 : 0);
  out.time(policy.max_duration_ms);
}

PlanPolicy get_policy(Decoder& in) {
  PlanPolicy policy;
  policy.success = static_cast<Success>(in.choice(static_cast<std::uint8_t>(Success::kServe)));
  policy.grace_ms = in.time();
  policy.rank_table_timeout_ms = in.time();
  policy.hold_ms = in.time();
  policy.post_stop_ms = in.time();
  policy.stop_scope =
      static_cast<StopScope>(in.choice(static_cast<std::uint8_t>(StopScope::kTree)));
  get(in, policy.escalation);
  get(in, policy.exit_codes);
  get(in, policy.signals);
  policy.second_term_kills = in.choice(1) != 0;
  policy.drain_ms = in.time();
  policy.pre_stop_ms = in.time();
  policy.checkpoint_ms = in.time();
  policy.checkpoint_signal = in.choice(kLastSignal);
  policy.max_restarts = static_cast<int>(in.at_most(kMostRestarts));
  policy.restart_delay_ms = in.time();
  policy.restart_least_ms = in.time();
  get(in, policy.no_restart_on);
  policy.elastic = in.choice(1) != 0;
  policy.max_duration_ms = in.time();
  return policy;
}

void put(Encoder& out, const Observation& observe) {
  out.time(observe.log_max_bytes);
  out.number(static_cast<std::uint32_t>(observe.log_keep));
  out.time(observe.perf_threshold_ppm);
  out.text(observe.perf_pattern);
  out.number(observe.perf_reschedules ? 1 : 0);
  out.number(static_cast<std::uint32_t>(observe.perf_count));
  out.time(observe.stall_ms);
  out.number(observe.stall_by_output ? 1 : 0);
  out.number(observe.stall_ends ? 1 : 0);
  out.time(observe.health_interval_ms);
  out.text(observe.health_checks);
  out.number(static_cast<std::uint32_t>(observe.health_failures));
  out.number(static_cast<std::uint32_t>(observe.preflight));
  out.number(static_cast<std::uint32_t>(observe.bind));
  out.text(observe.timeline);
  out.text(observe.preflight_found);
  put(out, observe.datasets);
}

Observation get_observation(Decoder& in) {
  Observation observe;
  observe.log_max_bytes = in.time();
  observe.log_keep = static_cast<int>(in.at_most(kMostRestarts));
  observe.perf_threshold_ppm = in.time();
  observe.perf_pattern = in.text();
  observe.perf_reschedules = in.choice(1) != 0;
  observe.perf_count = static_cast<int>(in.at_most(kMostRestarts));
  observe.stall_ms = in.time();
  observe.stall_by_output = in.choice(1) != 0;
  observe.stall_ends = in.choice(1) != 0;
  observe.health_interval_ms = in.time();
  observe.health_checks = in.text();
  observe.health_failures = static_cast<int>(in.at_most(kMostRestarts));
  observe.preflight =
      static_cast<Preflight>(in.choice(static_cast<std::uint8_t>(Preflight::kRequire)));
  observe.bind = static_cast<Bind>(in.choice(static_cast<std::uint8_t>(Bind::kCore)));
  observe.timeline = in.text();
  observe.preflight_found = in.text();
  observe.datasets = get_texts(in);
  return observe;
}

void put(Encoder& out, const std::vector<HookGroup>& groups) {
  out.number(static_cast<std::uint32_t>(groups.size()));
  for (const HookGroup& group : groups) {
    out.number(static_cast<std::uint32_t>(group.event));
    put(out, group.paths);
    out.text(group.script);
    out.time(group.timeout_ms);
    out.number(group.fatal ? 1 : 0);
  }
}

std::vector<HookGroup> get_hooks(Decoder& in) {
  std::vector<HookGroup> groups(in.count(24, kHookEvents));
  for (HookGroup& group : groups) {
    group.event = static_cast<HookEvent>(in.choice(kHookEvents - 1));
    group.paths = get_texts(in);
    group.script = in.text();
    group.timeout_ms = in.time();
    group.fatal = in.choice(1) != 0;
  }
  return groups;
}

bool have_paths(const std::vector<HookGroup>& groups) {
  return std::ranges::none_of(groups, [](const HookGroup& one) { return one.paths.empty(); });
}

bool all_runnable(const std::vector<Process>& processes) {
  return std::ranges::none_of(processes, [](const Process& one) { return one.argv.empty(); });
}

}  // namespace

std::string encode_plan(const Plan& plan) {
  Encoder out;
  out.number(kMagic);
  out.text(plan.platform);
  out.text(plan.platform_reason);
  out.text(plan.framework);
  out.number(plan.self ? static_cast<std::uint32_t>(plan.self->node_rank) : 0);
  out.text(plan.self ? plan.self->reason : "");
  out.number(static_cast<std::uint32_t>(plan.node_count));
  out.number(static_cast<std::uint32_t>(plan.world_size));
  out.time(static_cast<std::int64_t>(plan.cluster_id));
  out.number(plan.restarts);
  put(out, plan.policy);
  put(out, plan.observe);
  put(out, plan.env);
  put(out, plan.processes);
  put(out, plan.services);
  put(out, plan.post_stop);
  put(out, plan.hooks);
  put(out, plan.hook_env);
  put(out, plan.sandbox);
  put(out, plan.warnings);
  return std::move(out).take();
}

Result<Plan> decode_plan(std::string_view bytes) {
  Decoder in(bytes);
  Plan plan;
  bool ours = in.number() == kMagic;
  plan.platform = in.text();
  plan.platform_reason = in.text();
  plan.framework = in.text();
  Self self;
  self.node_rank = static_cast<int>(in.number());
  self.reason = in.text();
  plan.self = self;
  plan.node_count = static_cast<int>(in.number());
  plan.world_size = static_cast<int>(in.number());
  plan.cluster_id = static_cast<std::uint64_t>(in.time());
  plan.restarts = in.at_most(kMostRestarts);
  plan.policy = get_policy(in);
  plan.observe = get_observation(in);
  plan.env = get_edits(in);
  plan.processes = get_processes(in);
  plan.services = get_processes(in);
  plan.post_stop = get_processes(in);
  plan.hooks = get_hooks(in);
  plan.hook_env = get_edits(in);
  plan.sandbox = get_sandbox(in);
  plan.warnings = get_texts(in);
  const bool runnable = all_runnable(plan.processes) && all_runnable(plan.services) &&
                        all_runnable(plan.post_stop) && have_paths(plan.hooks);
  if (!ours || !in.finished() || !runnable || !has_sound_filter(plan.sandbox)) {
    return fail("receiving the plan", "the resolver", "a damaged plan",
                "this is a defect of trainit: report it with `trainit snapshot`");
  }
  return plan;
}

}  // namespace envgen
