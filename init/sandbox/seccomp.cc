#include "init/sandbox/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "base/text.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace sandbox {
namespace {

constexpr const char* kWhat = "compiling a seccomp profile";
// Maximum number of rules, more than fit into any filter. libseccomp searches its rules one by one.
constexpr std::size_t kMaxRules = 16'384;
constexpr std::size_t kMaxWarnings = 32;

struct Release {
  void operator()(void* context) const { ::seccomp_release(context); }
};
using Context = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, Release>;

std::uint32_t to_libseccomp(const SyscallRule& verdict) {
  switch (verdict.action) {
    case Action::kKillProcess:
      return SCMP_ACT_KILL_PROCESS;
    case Action::kKillThread:
      return SCMP_ACT_KILL_THREAD;
    case Action::kTrap:
      return SCMP_ACT_TRAP;
    case Action::kErrno:
      return SCMP_ACT_ERRNO(verdict.number);
    case Action::kTrace:
      return SCMP_ACT_TRACE(verdict.number);
    case Action::kLog:
      return SCMP_ACT_LOG;
    case Action::kAllow:
      return SCMP_ACT_ALLOW;
  }
  return SCMP_ACT_KILL_PROCESS;
}

scmp_arg_cmp to_libseccomp(const Condition& condition) {
  constexpr auto kCompares = std::to_array({SCMP_CMP_NE, SCMP_CMP_LT, SCMP_CMP_LE, SCMP_CMP_EQ,
                                            SCMP_CMP_GE, SCMP_CMP_GT, SCMP_CMP_MASKED_EQ});
  return {.arg = condition.argument,
          .op = kCompares[static_cast<std::size_t>(condition.compare)],
          .datum_a = condition.value,
          .datum_b = condition.value_two};
}

// Returns libseccomp's number of "SCMP_ARCH_X86_64" or "amd64"; nullopt for a name that it does not
// know.
std::optional<std::uint32_t> architecture(std::string_view name) {
  if (name == "amd64") return SCMP_ARCH_X86_64;
  if (name == "arm64") return SCMP_ARCH_AARCH64;
  constexpr std::string_view kPrefix = "SCMP_ARCH_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string own = base::lowercased(name.substr(kPrefix.size()));
  const std::uint32_t token = ::seccomp_arch_resolve_name(own.c_str());
  if (token == 0) return std::nullopt;
  return token;
}

std::string refused_text(int code) {
  return code == -EINVAL ? "an action that this kernel does not have" : sys::errno_text(-code);
}

class Compiler {
 public:
  Compiler(const Host& host, bool strict, std::string_view where)
      : host_(host), where_(where), strict_(strict) {}

  base::Result<Filter> compile(const Profile& profile);

 private:
  base::Status start(const Profile& profile);
  base::Status add_architectures(const Profile& profile);
  base::Status add_rule(const Profile& profile, const Rule& rule);
  base::Status add(const Rule& rule, int call, std::span<const Condition> conditions);
  // Reports something that libseccomp does not know: adds a warning, or returns an error with
  // --strict.
  base::Status object(const std::string& where, const std::string& found);
  void find_deciding(const Profile& profile);
  base::Status check_contradiction(const Rule& rule, const std::string& call);
  base::Result<std::string> export_program() const;
  [[nodiscard]] std::string newer_calls(const Profile& profile) const;

  const Host& host_;
  std::string where_;
  bool strict_;
  Context context_;
  std::uint32_t native_ = 0;
  std::size_t rules_ = 0;
  std::set<std::string> unknown_;
  // For each call, the first rule that looks at no argument. It overrides all other rules for that
  // call.
  std::map<std::string_view, const Rule*> deciding_;
  std::vector<std::string> warnings_;
};

base::Status Compiler::start(const Profile& profile) {
  const auto native = architecture(host_.arch);
  if (!native) {
    return base::fail(kWhat, where_, "the machine's architecture " + host_.arch,
                      "filters are made for amd64 and arm64");
  }
  native_ = *native;
  context_.reset(::seccomp_init(to_libseccomp(profile.default_verdict)));
  if (!context_) {
    return base::fail(kWhat, where_ + ": profile.defaultAction", refused_text(-EINVAL),
                      "choose SCMP_ACT_ERRNO");
  }
  // The filter is a binary tree and not a list, so a call costs about eight comparisons instead of
  // three hundred.
  constexpr std::uint32_t kBinaryTree = 2;
  ::seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, kBinaryTree);
  if (native_ != ::seccomp_arch_native()) {
    int code = ::seccomp_arch_add(context_.get(), native_);
    if (code == 0) code = ::seccomp_arch_remove(context_.get(), SCMP_ARCH_NATIVE);
    if (code != 0) return base::fail(kWhat, where_, sys::errno_text(-code), "");
  }
  return {};
}

base::Status Compiler::add_architectures(const Profile& profile) {
  for (const std::string& name : profile.architectures) {
    const auto token = architecture(name);
    const int code = token ? ::seccomp_arch_add(context_.get(), *token) : -EINVAL;
    if (code == 0 || code == -EEXIST) continue;
    // EDOM means that the architecture has the other byte order, so none of its programs can run
    // here.
    TRY(object(where_, "the architecture " + name +
                           (code == -EDOM ? " of another byte order" : ", which is unknown")));
  }
  return {};
}

base::Status Compiler::object(const std::string& where, const std::string& found) {
  if (strict_) return base::fail(kWhat, where, found, "correct it, or leave --strict out");
  if (warnings_.size() < kMaxWarnings) {
    warnings_.push_back(where + ": " + found + ", ignoring");
  } else if (warnings_.size() == kMaxWarnings) {
    warnings_.push_back(where_ + ": more of the kind, which are not shown");
  }
  return {};
}

void Compiler::find_deciding(const Profile& profile) {
  for (const Rule& rule : profile.rules) {
    if (!rule.conditions.empty() || rule.verdict == profile.default_verdict) continue;
    for (const std::string& call : rule.calls) deciding_.try_emplace(call, &rule);
  }
}

// Reports a rule that contradicts the deciding one. libseccomp would silently let a call through
// that the author wanted to refuse.
base::Status Compiler::check_contradiction(const Rule& rule, const std::string& call) {
  const auto at = deciding_.find(call);
  if (at == deciding_.end() || at->second->verdict == rule.verdict) return {};
  return object(rule.where,
                "a rule on " + call + " that contradicts the one in " + at->second->where);
}

base::Status Compiler::add(const Rule& rule, int call, std::span<const Condition> conditions) {
  if (++rules_ > kMaxRules) {
    return base::fail(kWhat, where_, "more than " + std::to_string(kMaxRules) + " rules",
                      "make it shorter");
  }
  std::vector<scmp_arg_cmp> arguments;
  for (const Condition& condition : conditions) arguments.push_back(to_libseccomp(condition));
  const int code =
      ::seccomp_rule_add_array(context_.get(), to_libseccomp(rule.verdict), call,
                               static_cast<unsigned>(arguments.size()), arguments.data());
  if (code == 0) return {};
  if (code == -EEXIST) return object(rule.where, "a rule that contradicts an earlier one");
  return base::fail(kWhat, rule.where, refused_text(code), "correct the rule");
}

base::Status Compiler::add_rule(const Profile& profile, const Rule& rule) {
  // A rule with the same answer as the default is left out, because libseccomp refuses it.
  const bool redundant = rule.verdict == profile.default_verdict;
  std::array<int, 6> of_argument = {};
  for (const Condition& condition : rule.conditions) ++of_argument[condition.argument];
  // In libseccomp a rule can have only one condition for each argument. If there are more, each
  // condition becomes a rule of its own, as in runc, and one of them is enough.
  const bool apart = std::ranges::any_of(of_argument, [](int count) { return count > 1; });
  for (const std::string& name : rule.calls) {
    const int call =
        name.contains('\0') ? __NR_SCMP_ERROR : ::seccomp_syscall_resolve_name(name.c_str());
    if (call == __NR_SCMP_ERROR) {
      if (!unknown_.insert(name).second) continue;
      TRY(object(rule.where, "the unknown call " + base::quoted(name)));
      continue;
    }
    if (redundant) continue;
    TRY(check_contradiction(rule, name));
    const std::span<const Condition> all = rule.conditions;
    const std::size_t width = apart ? 1 : std::max<std::size_t>(all.size(), 1);
    for (std::size_t at = 0; at < std::max<std::size_t>(all.size(), 1); at += width) {
      auto part = all.subspan(at, std::min(width, all.size() - at));
      TRY(add(rule, call, part));
    }
  }
  return {};
}

base::Result<std::string> Compiler::export_program() const {
  const sys::Fd file(::memfd_create("seccomp", MFD_CLOEXEC));
  if (!file.valid()) return base::fail(kWhat, where_, sys::errno_text(errno), "");
  if (const int code = ::seccomp_export_bpf(context_.get(), file.get()); code != 0) {
    return base::fail(kWhat, where_, sys::errno_text(-code), "make it shorter");
  }
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  std::string program(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  if (::pread(file.get(), program.data(), program.size(), 0) != size) {
    return base::fail(kWhat, where_, sys::errno_text(errno), "");
  }
  return program;
}

// Returns instructions that run before the rules. They answer ENOSYS to a call of the native
// architecture whose number is higher than those of all calls in the profile. Otherwise the libc of
// a newer image would get EPERM for calls that are newer than the profile, and would not fall back.
std::string Compiler::newer_calls(const Profile& profile) const {
  const SyscallRule& verdict = profile.default_verdict;
  if (verdict.action != Action::kErrno || verdict.number == ENOSYS) return {};
  int last = -1;
  for (const Rule& rule : profile.rules) {
    for (const std::string& name : rule.calls) {
      last = std::max(last, ::seccomp_syscall_resolve_name_arch(native_, name.c_str()));
    }
  }
  if (last < 0) return {};
  constexpr std::uint32_t kX32 = 0x4000'0000;  // numbers of x32 calls have this bit, with the same
                                               // arch
  const auto field = [](std::size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  };
  const auto jump = [](std::uint16_t how, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
    return sock_filter BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | how | BPF_K), value, yes, no);
  };
  const std::array program = {
      field(offsetof(seccomp_data, arch)),
      jump(BPF_JEQ, native_, 0, 4),
      field(offsetof(seccomp_data, nr)),
      jump(BPF_JGE, kX32, 2, 0),
      jump(BPF_JGT, static_cast<std::uint32_t>(last), 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
  };
  std::string bytes(sizeof program, '\0');
  std::memcpy(bytes.data(), program.data(), sizeof program);
  return bytes;
}

base::Result<Filter> Compiler::compile(const Profile& profile) {
  warnings_ = profile.warnings;
  for (const char* call : {"execve", "exit_group"}) {
    if (lets_through(verdict_of(profile, call))) continue;
    return base::fail(kWhat, where_, std::string("no rule that allows ") + call,
                      "allow it: by this profile no program could start or end");
  }
  TRY(start(profile));
  TRY(add_architectures(profile));
  find_deciding(profile);
  for (const Rule& rule : profile.rules) {
    TRY(add_rule(profile, rule));
  }
  TRY_ASSIGN(auto program, export_program());
  Filter filter{.program = newer_calls(profile) + program, .warnings = std::move(warnings_)};
  const std::size_t instructions = filter.program.size() / sizeof(sock_filter);
  if (instructions > kMaxInstructions) {
    return base::fail(kWhat, where_, std::to_string(instructions) + " instructions",
                      "the kernel takes " + std::to_string(kMaxInstructions) + ": make it shorter");
  }
  return filter;
}

// Makes clone3 answer ENOSYS, the only error after which a libc falls back to clone. If the author
// of the profile kills for clone3 by name, that stays.
void answer_clone3(Profile& profile) {
  const std::string call = "clone3";
  constexpr SyscallRule kNoSuchCall{.action = Action::kErrno, .number = ENOSYS};
  bool named = false;
  std::vector<Rule> answers;
  for (Rule& rule : profile.rules) {
    if (std::ranges::find(rule.calls, call) == rule.calls.end()) continue;
    named = true;
    if (rule.verdict.action != Action::kErrno || rule.verdict == kNoSuchCall) continue;
    std::erase(rule.calls, call);
    answers.push_back({{call}, kNoSuchCall, rule.conditions, rule.where});
  }
  if (!named && !lets_through(profile.default_verdict)) {
    answers.push_back({{call}, kNoSuchCall, {}, "the answer to clone3"});
  }
  std::ranges::move(answers, std::back_inserter(profile.rules));
}

}  // namespace

Host this_host(std::uint64_t capabilities) {
  Host host{.arch = "", .kernel_major = 0, .kernel_minor = 0, .capabilities = capabilities};
#if defined(__x86_64__)
  host.arch = "amd64";
#elif defined(__aarch64__)
  host.arch = "arm64";
#endif
  utsname names = {};
  if (::uname(&names) == 0) {
    const char* end = names.release + std::strlen(names.release);
    auto [dot, error] = std::from_chars(names.release, end, host.kernel_major);
    if (error == std::errc() && dot != end) std::from_chars(dot + 1, end, host.kernel_minor);
  }
  return host;
}

base::Result<Filter> compile_profile(std::string_view json, const Host& host, bool strict,
                                     std::string_view where) {
  TRY_ASSIGN(auto profile, read_profile(json, host, where));
  answer_clone3(profile);
  return Compiler(host, strict, where).compile(profile);
}

}  // namespace sandbox
