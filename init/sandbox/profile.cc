#include "init/sandbox/profile.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "init/sandbox/capabilities.h"

namespace sandbox {
namespace {

using base::json::Document;
using base::json::Type;
using base::json::Value;

constexpr const char* kWhat = "reading a seccomp profile";
constexpr const char* kForms = "write it as moby's default.json, or as OCI's linux.seccomp";

template <class T>
struct Named {
  std::string_view name;
  T value;
};

constexpr auto kActions = std::to_array({
    Named{"SCMP_ACT_KILL", Action::kKillThread},  // as in libseccomp and runc
    Named{"SCMP_ACT_KILL_THREAD", Action::kKillThread},
    Named{"SCMP_ACT_KILL_PROCESS", Action::kKillProcess},
    Named{"SCMP_ACT_TRAP", Action::kTrap},
    Named{"SCMP_ACT_ERRNO", Action::kErrno},
    Named{"SCMP_ACT_TRACE", Action::kTrace},
    Named{"SCMP_ACT_LOG", Action::kLog},
    Named{"SCMP_ACT_ALLOW", Action::kAllow},
});

constexpr auto kCompares = std::to_array({
    Named{"SCMP_CMP_NE", Compare::kNe},
    Named{"SCMP_CMP_LT", Compare::kLt},
    Named{"SCMP_CMP_LE", Compare::kLe},
    Named{"SCMP_CMP_EQ", Compare::kEq},
    Named{"SCMP_CMP_GE", Compare::kGe},
    Named{"SCMP_CMP_GT", Compare::kGt},
    Named{"SCMP_CMP_MASKED_EQ", Compare::kMaskedEq},
});

// The arches in moby's conditions are Go's names.
constexpr auto kNativeArchitectures = std::to_array({
    Named<std::string_view>{"amd64", "SCMP_ARCH_X86_64"},
    Named<std::string_view>{"arm64", "SCMP_ARCH_AARCH64"},
});

template <class Table>
auto lookup(const Table& table, std::string_view name)
    -> std::optional<decltype(table.front().value)> {
  const auto at = std::ranges::find_if(table, [name](const auto& row) { return row.name == name; });
  if (at == table.end()) return std::nullopt;
  return at->value;
}

std::unexpected<base::Error> refuse(std::string where, std::string found, std::string fix) {
  return base::fail(kWhat, std::move(where), std::move(found), std::move(fix));
}

bool contains(const std::vector<std::string>& list, std::string_view wanted) {
  return std::ranges::find(list, wanted) != list.end();
}

// Returns a member that exists and is not null. Go programs, whose structs define both formats,
// treat null as absent.
std::optional<Value> member(const Value& object, std::string_view key) {
  auto value = object.find(key);
  if (value && value->is(Type::kNull)) return std::nullopt;
  return value;
}

base::Result<std::optional<Value>> member_of(const Value& object, std::string_view key, Type type,
                                             const std::string& where) {
  auto value = member(object, key);
  if (value && !value->is(type)) {
    return refuse(where + '.' + std::string(key), std::string(type_name(value->type())),
                  "it must be " + std::string(type_name(type)));
  }
  return value;
}

base::Result<std::string> text_of(const Value& object, std::string_view key,
                                  const std::string& where) {
  TRY_ASSIGN(auto value, member_of(object, key, Type::kString, where));
  return value ? std::string(value->text()) : std::string();
}

base::Result<std::vector<std::string>> texts_of(const Value& object, std::string_view key,
                                                const std::string& where) {
  TRY_ASSIGN(auto list, member_of(object, key, Type::kArray, where));
  std::vector<std::string> texts;
  if (!list) return texts;
  for (const Value item : *list) {
    if (!item.is(Type::kString) || item.text().empty()) {
      return refuse(
          where + '.' + std::string(key),
          item.is(Type::kString) ? "an empty string" : std::string(type_name(item.type())),
          "it must be a list of names");
    }
    texts.emplace_back(item.text());
  }
  return texts;
}

base::Result<std::optional<std::uint64_t>> number_of(const Value& object, std::string_view key,
                                                     std::uint64_t most, const std::string& where) {
  const auto value = member(object, key);
  if (!value) return std::nullopt;
  const bool integer = value->is(Type::kInteger);
  const auto number = integer ? base::parse_number<std::uint64_t>(value->text()) : std::nullopt;
  if (number && *number <= most) return number;
  return refuse(where + '.' + std::string(key),
                std::string(integer ? value->text() : type_name(value->type())),
                "it must be a number from 0 to " + std::to_string(most));
}

// Reads `action_key` and `errno_key` of an object: of a rule, or of the profile for its default.
base::Result<SyscallRule> verdict_at(const Value& object, std::string_view action_key,
                                     std::string_view errno_key, const std::string& where) {
  constexpr std::uint64_t kMaxErrno = 4095;
  constexpr std::uint64_t kMaxTrace = 0xFFFF;
  TRY_ASSIGN(auto name, text_of(object, action_key, where));
  const std::string place = where + '.' + std::string(action_key);
  if (name.empty()) return refuse(place, "no action", kForms);
  if (name == "SCMP_ACT_NOTIFY") {
    return refuse(place, "SCMP_ACT_NOTIFY, which hands calls to a supervisor's socket",
                  "trainit is no such supervisor: choose another action");
  }
  const auto action = lookup(kActions, name);
  if (!action) {
    return refuse(place, "the unknown action " + base::quoted(name),
                  "see seccomp_init(3) for the names");
  }
  TRY_ASSIGN(auto number, number_of(object, errno_key,
                                    *action == Action::kErrno ? kMaxErrno : kMaxTrace, where));
  SyscallRule verdict{.action = *action};
  if (*action == Action::kErrno || *action == Action::kTrace) {
    verdict.number = static_cast<std::uint16_t>(number.value_or(EPERM));
  }
  return verdict;
}

base::Result<bool> kernel_is_at_least(const std::string& version, const Host& host,
                                      const std::string& where) {
  std::string_view rest = version;
  const auto major = base::parse_count<int>(base::take_part(rest, '.'));
  const auto minor = base::parse_count<int>(rest);
  if (!major || !minor) {
    return refuse(where + ".minKernel", base::quoted(version),
                  "write MAJOR.MINOR, such as \"4.8\"");
  }
  return std::pair(host.kernel_major, host.kernel_minor) >= std::pair(*major, *minor);
}

struct Filters {
  std::vector<std::string> arches;
  std::vector<std::string> capabilities;
  std::optional<bool> kernel;  // the kernel is new enough
};

base::Result<Filters> filters_at(const Value& rule, std::string_view key, const Host& host,
                                 const std::string& where) {
  TRY_ASSIGN(auto object, member_of(rule, key, Type::kObject, where));
  Filters filters;
  if (!object) return filters;
  const std::string place = where + '.' + std::string(key);
  TRY_ASSIGN(auto arches, texts_of(*object, "arches", place));
  TRY_ASSIGN(auto caps, texts_of(*object, "caps", place));
  TRY_ASSIGN(auto version, text_of(*object, "minKernel", place));
  filters.arches = std::move(arches);
  filters.capabilities = std::move(caps);
  if (!version.empty()) {
    TRY_ASSIGN(filters.kernel, kernel_is_at_least(version, host, place));
  }
  return filters;
}

bool has_capability(const Host& host, const std::string& name) {
  // A name that is not known here (CAP_BPF on Linux 4.19) counts as a capability that the job does
  // not have.
  const auto number = capability(name);
  return number && (host.capabilities & capability_bit(*number)) != 0;
}

// Returns whether the rule applies on this host. By moby's rule, no condition of "excludes" may be
// true, and all conditions of "includes" must be.
base::Result<bool> holds_here(const Value& rule, const Host& host, const std::string& where) {
  const auto is_held = [&host](const std::string& name) { return has_capability(host, name); };
  TRY_ASSIGN(auto excludes, filters_at(rule, "excludes", host, where));
  TRY_ASSIGN(auto includes, filters_at(rule, "includes", host, where));
  if (contains(excludes.arches, host.arch) || std::ranges::any_of(excludes.capabilities, is_held) ||
      excludes.kernel.value_or(false)) {
    return false;
  }
  return (includes.arches.empty() || contains(includes.arches, host.arch)) &&
         std::ranges::all_of(includes.capabilities, is_held) && includes.kernel.value_or(true);
}

base::Result<Condition> condition_at(const Value& value, const std::string& where) {
  constexpr std::uint64_t kLastArgument = 5;
  if (!value.is(Type::kObject)) return refuse(where, std::string(type_name(value.type())), kForms);
  TRY_ASSIGN(auto index, number_of(value, "index", kLastArgument, where));
  TRY_ASSIGN(auto first, number_of(value, "value", ~0ULL, where));
  TRY_ASSIGN(auto second, number_of(value, "valueTwo", ~0ULL, where));
  TRY_ASSIGN(auto name, text_of(value, "op", where));
  const auto compare = lookup(kCompares, name);
  if (!compare) {
    return refuse(where + ".op", "the unknown comparison " + base::quoted(name),
                  "see seccomp_rule_add(3) for the names");
  }
  return Condition{.argument = static_cast<unsigned>(index.value_or(0)),
                   .compare = *compare,
                   .value = first.value_or(0),
                   .value_two = second.value_or(0)};
}

base::Result<Rule> rule_at(const Value& value, std::string where) {
  Rule rule{.calls = {}, .verdict = {}, .conditions = {}, .where = std::move(where)};
  TRY_ASSIGN(rule.verdict, verdict_at(value, "action", "errnoRet", rule.where));
  TRY_ASSIGN(auto names, texts_of(value, "names", rule.where));
  TRY_ASSIGN(auto name, text_of(value, "name", rule.where));
  if (!name.empty() && !names.empty()) {
    return refuse(rule.where, "both \"name\" and \"names\"", "keep one of the two");
  }
  rule.calls = std::move(names);
  if (!name.empty()) rule.calls.push_back(std::move(name));
  TRY_ASSIGN(auto conditions, member_of(value, "args", Type::kArray, rule.where));
  if (!conditions) return rule;
  std::size_t index = 0;
  for (const Value item : *conditions) {
    TRY_ASSIGN(auto condition,
               condition_at(item, rule.where + ".args[" + std::to_string(index++) + ']'));
    rule.conditions.push_back(condition);
  }
  return rule;
}

base::Result<std::vector<std::string>> architectures_of(const Value& root, const Host& host,
                                                        const std::string& where) {
  auto listed = texts_of(root, "architectures", where);
  if (!listed) return std::unexpected(listed.error());
  TRY_ASSIGN(auto map, member_of(root, "archMap", Type::kArray, where));
  if (!map) return listed;
  if (!listed->empty()) {
    return refuse(where, "both \"architectures\" and \"archMap\"", "keep one of the two");
  }
  const auto native = lookup(kNativeArchitectures, host.arch);
  std::size_t index = 0;
  for (const Value entry : *map) {
    const std::string place = where + ".archMap[" + std::to_string(index++) + ']';
    if (!entry.is(Type::kObject)) {
      return refuse(place, std::string(type_name(entry.type())), kForms);
    }
    TRY_ASSIGN(auto name, text_of(entry, "architecture", place));
    auto others = texts_of(entry, "subArchitectures", place);
    if (!others) return others;
    if (native && name == *native) return others;
  }
  return listed;
}

}  // namespace

base::Result<Profile> read_profile(std::string_view json, const Host& host,
                                   std::string_view where) {
  const std::string place(where);
  auto document = Document::parse(json, where);
  if (!document) {
    base::Error error = document.error().error;
    error.what = kWhat;
    return std::unexpected(std::move(error));
  }
  const Value root = document->root();
  if (!root.is(Type::kObject)) return refuse(place, std::string(type_name(root.type())), kForms);
  const std::string whole = place + ": profile";
  Profile profile;
  TRY_ASSIGN(profile.default_verdict, verdict_at(root, "defaultAction", "defaultErrnoRet", whole));
  TRY_ASSIGN(profile.architectures, architectures_of(root, host, whole));
  for (const char* key : {"flags", "listenerPath"}) {
    if (member(root, key)) {
      profile.warnings.push_back(place + ": \"" + key + "\" is not used here, ignoring");
    }
  }
  TRY_ASSIGN(auto rules, member_of(root, "syscalls", Type::kArray, whole));
  if (!rules) return profile;
  std::size_t index = 0;
  for (const Value item : *rules) {
    std::string item_place = place + ": syscalls[" + std::to_string(index++) + ']';
    if (!item.is(Type::kObject)) {
      return refuse(std::move(item_place), std::string(type_name(item.type())), kForms);
    }
    TRY_ASSIGN(auto rule, rule_at(item, item_place));
    TRY_ASSIGN(auto holds, holds_here(item, host, item_place));
    if (holds) profile.rules.push_back(std::move(rule));
  }
  return profile;
}

SyscallRule verdict_of(const Profile& profile, std::string_view call) {
  SyscallRule verdict = profile.default_verdict;
  for (const Rule& rule : profile.rules) {
    if (rule.verdict == profile.default_verdict || !contains(rule.calls, call)) continue;
    if (rule.conditions.empty()) return rule.verdict;
    if (lets_through(rule.verdict)) verdict = rule.verdict;
  }
  return verdict;
}

}  // namespace sandbox
