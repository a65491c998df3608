#include "envgen/plan/sandbox_json.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/constants/words.h"
#include "base/json_fields.h"
#include "base/text.h"

namespace envgen {
namespace {

constexpr std::uint64_t kUnlimited = ~0ULL;
constexpr std::size_t kFilterStepBytes = 8;

// Names in the order of linux/capability.h.
constexpr auto kCapabilities = base::words(
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID",
    "SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW",
    "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT",
    "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD",
    "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG",
    "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE");

std::vector<std::string> capability_list(std::uint64_t set) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 64; ++i) {
    if ((set >> i & 1) == 0) continue;
    names.push_back("CAP_" +
                    (i < kCapabilities.size() ? std::string(kCapabilities[i]) : std::to_string(i)));
  }
  return names;
}

std::string octal(std::uint32_t value) {
  std::string text;
  for (int shift = 9; shift >= 0; shift -= 3) text += static_cast<char>('0' + (value >> shift & 7));
  return text;
}

std::string limit_value(std::uint64_t value) {
  return value == kUnlimited ? "unlimited" : std::to_string(value);
}

void write_limit(base::json::Writer& out, std::uint64_t value) {
  if (value > INT64_MAX) {
    out.string(limit_value(value));
  } else {
    out.integer(static_cast<std::int64_t>(value));
  }
}

void write_set(base::json::Writer& out, const char* key, std::uint64_t set) {
  out.key(key).begin_array();
  for (const std::string& name : capability_list(set)) out.string(name);
  out.end_array();
}

void write_filter(base::json::Writer& out, const Sandbox& sandbox) {
  out.key("seccomp").begin_object();
  out.key("profile").string(sandbox.profile);
  out.key("instructions")
      .integer(static_cast<std::int64_t>(sandbox.filter.size() / kFilterStepBytes));
  out.end_object();
}

void write_limits(base::json::Writer& out, const std::vector<ResourceLimit>& limits) {
  out.key("limits").begin_object();
  for (const ResourceLimit& limit : limits) {
    out.key(resource_name(limit.resource)).begin_object();
    out.key("soft");
    write_limit(out, limit.soft);
    out.key("hard");
    write_limit(out, limit.hard);
    out.end_object();
  }
  out.end_object();
}

std::string set_text(std::uint64_t set) {
  return set == 0 ? "none" : base::joined(capability_list(set), ", ");
}

}  // namespace

void write_sandbox(base::json::Writer& out, const Sandbox& sandbox) {
  constexpr base::Rule kOmit{.omit = true};
  base::JsonOut v(out);
  out.begin_object();
  v.add("user", sandbox.identity, kOmit);
  if (sandbox.capabilities) write_set(out, "capabilities", *sandbox.capabilities);
  if (sandbox.ambient != 0) write_set(out, "ambient", sandbox.ambient);
  v.add("no_new_privs", sandbox.settings.no_new_privs, kOmit);
  if (!sandbox.profile.empty()) write_filter(out, sandbox);
  if (!sandbox.limits.empty()) write_limits(out, sandbox.limits);
  if (sandbox.settings.umask) out.key("umask").string(octal(*sandbox.settings.umask));
  v.add("nice", sandbox.settings.nice, kOmit);
  v.add("oom_score_adj", sandbox.settings.oom_score_adj, kOmit);
  out.end_object();
}

std::string sandbox_text(const Sandbox& sandbox) {
  std::vector<std::string> parts;
  if (sandbox.identity) {
    const Identity& who = *sandbox.identity;
    parts.push_back("user " + (who.name.empty() ? "" : who.name + " ") + "(" +
                    std::to_string(who.uid) + ":" + std::to_string(who.gid) + ")");
    std::string groups;
    for (const std::uint32_t gid : who.groups) {
      if (gid != who.gid) groups += (groups.empty() ? " in " : ", ") + std::to_string(gid);
    }
    parts.back() += groups;
  }
  if (sandbox.capabilities) parts.push_back("capabilities " + set_text(*sandbox.capabilities));
  if (sandbox.ambient != 0) parts.push_back("ambient " + set_text(sandbox.ambient));
  if (sandbox.settings.no_new_privs) parts.emplace_back("no_new_privs");
  if (!sandbox.profile.empty()) parts.push_back("seccomp " + sandbox.profile);
  for (const ResourceLimit& limit : sandbox.limits) {
    parts.push_back(std::string(resource_name(limit.resource)) + "=" + limit_value(limit.soft) +
                    ":" + limit_value(limit.hard));
  }
  if (sandbox.settings.umask) parts.push_back("umask " + octal(*sandbox.settings.umask));
  if (sandbox.settings.nice) parts.push_back("nice " + std::to_string(*sandbox.settings.nice));
  if (sandbox.settings.oom_score_adj) {
    parts.push_back("oom_score_adj " + std::to_string(*sandbox.settings.oom_score_adj));
  }
  return base::joined(parts, ", ");
}

}  // namespace envgen
