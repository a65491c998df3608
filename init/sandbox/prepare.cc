#include "init/sandbox/prepare.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/text.h"
#include "init/sandbox/apply.h"
#include "init/sandbox/capabilities.h"
#include "init/sandbox/passwd.h"
#include "init/sandbox/seccomp.h"
#include "init/sys/files.h"

namespace sandbox {
namespace {

using base::Result;
using base::Status;
using envgen::Identity;
using envgen::PathState;
using envgen::ProcessSettings;
using envgen::SandboxRequest;

constexpr const char* kWhat = "preparing the sandbox";
// Maximum size of a profile. moby's default profile has 15 kB.
constexpr std::size_t kMaxProfileBytes = 4ULL << 20;

// The capabilities of this process. The child that starts the job gets them too.
struct Own {
  std::uint64_t permitted = 0;
  std::uint64_t bounding = 0;

  [[nodiscard]] bool may(int number) const { return (permitted & capability_bit(number)) != 0; }
};

Result<Own> own_capabilities() {
  TRY_ASSIGN(auto permitted, permitted_capabilities());
  return Own{.permitted = permitted, .bounding = bounding_capabilities()};
}

std::unexpected<base::Error> lacks(std::string_view option, std::string found, int number) {
  return base::fail(kWhat, std::string(option), std::move(found),
                    "the container needs " + capability_name(number) + " for it");
}

Result<std::string> read_database(const std::string& path) {
  PathState file = sys::inspect(path, true);
  if (file.kind == PathState::Kind::kError) {
    return base::fail("reading the image's users", path, sys::errno_text(file.error),
                      "make it readable, or leave --user out");
  }
  return std::move(file.content);
}

Result<Identity> prepare_identity(const std::string& spec, const Own& own,
                                  const std::string& root) {
  TRY_ASSIGN(const auto passwd, read_database(root + "/etc/passwd"));
  TRY_ASSIGN(const auto group, read_database(root + "/etc/group"));
  auto identity = find_identity(spec, passwd, group, "--user");
  if (!identity) return identity;
  if (auto ours = find_identity(std::to_string(::geteuid()), passwd, group, "--user")) {
    ours->groups.push_back(::getegid());
    keep_platform_groups(*identity, present_groups(), *ours);
  }
  const std::string from = " from uid " + std::to_string(::geteuid());
  if (identity->uid != ::geteuid() && !own.may(CAP_SETUID)) {
    return lacks("--user", "a change to uid " + std::to_string(identity->uid) + from, CAP_SETUID);
  }
  // Without CAP_KILL, even root cannot signal processes of another user, so no stop would reach the
  // job.
  if (identity->uid != ::geteuid() && !own.may(CAP_KILL)) {
    return lacks("--user",
                 "a job of uid " + std::to_string(identity->uid) + " to be stopped" + from,
                 CAP_KILL);
  }
  const bool same_groups = identity->gid == ::getegid() &&
                           (has_groups(identity->groups) || counts_as_groups(identity->groups));
  if (!same_groups && !own.may(CAP_SETGID)) {
    return lacks("--user", "groups that are not ours", CAP_SETGID);
  }
  return identity;
}

Status prepare_capabilities(const SandboxRequest& request, const Own& own,
                            envgen::Sandbox& sandbox) {
  std::uint64_t kept = own.bounding;
  if (!request.caps.empty()) {
    TRY_ASSIGN(kept, keep_capabilities(request.caps, own.bounding, "--caps"));
    if (kept != own.bounding && !own.may(CAP_SETPCAP)) {
      return lacks("--caps", capability_names(own.bounding & ~kept) + " to be taken away",
                   CAP_SETPCAP);
    }
    sandbox.capabilities = kept;
  }
  if (request.ambient.empty()) return {};
  TRY_ASSIGN(auto ambient, keep_capabilities(request.ambient, own.permitted, "--ambient"));
  if ((ambient & ~kept) != 0) {
    return base::fail(kWhat, "--ambient",
                      capability_names(ambient & ~kept) + ", which --caps takes away",
                      "name it in both, or in neither");
  }
  sandbox.ambient = ambient;
  return {};
}

std::optional<std::uint64_t> limit_value(std::string_view text) {
  if (text == "unlimited" || text == "-1") return RLIM_INFINITY;
  std::uint64_t value = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  const char* const end = text.data() + text.size();
  if (stop == end) return value;
  constexpr std::string_view kUnits = "kmg";
  constexpr unsigned kBitsPerUnit = 10;
  // the OR makes the letter lower case
  const std::size_t unit = kUnits.find(static_cast<char>(*stop | 0x20));
  if (stop + 1 != end || unit == std::string_view::npos) return std::nullopt;
  const auto shift = static_cast<unsigned>(unit + 1) * kBitsPerUnit;
  if (value > RLIM_INFINITY >> shift) return std::nullopt;
  return value << shift;
}

std::optional<int> resource(std::string_view name) {
  std::string own = base::lowercased(name);
  constexpr std::string_view kPrefix = "rlimit_";
  if (own.starts_with(kPrefix)) own.erase(0, kPrefix.size());
  for (int number = 0; number < envgen::kResources; ++number) {
    if (envgen::resource_name(number) == own) return number;
  }
  return std::nullopt;
}

// Returns the maximum number of descriptors, even for root; nullopt if the kernel does not report
// it.
std::optional<std::uint64_t> most_descriptors() {
  const PathState file = sys::inspect("/proc/sys/fs/nr_open", true);
  return base::parse_number<std::uint64_t>(base::trimmed(file.content));
}

Status check_limit(const envgen::ResourceLimit& limit, const Own& own) {
  const std::string name(envgen::resource_name(limit.resource));
  const std::string found =
      name + " with the hard limit " +
      (limit.hard == RLIM_INFINITY ? "unlimited" : std::to_string(limit.hard));
  rlimit present{};
  if (::getrlimit(static_cast<__rlimit_resource>(limit.resource), &present) == 0 &&
      limit.hard > present.rlim_max && !own.may(CAP_SYS_RESOURCE)) {
    return lacks("--rlimit", found + " above our own " + std::to_string(present.rlim_max),
                 CAP_SYS_RESOURCE);
  }
  const auto most = limit.resource == RLIMIT_NOFILE ? most_descriptors() : std::nullopt;
  if (most && limit.hard > *most) {
    return base::fail(kWhat, "--rlimit", found,
                      "the kernel's own limit (fs.nr_open) is " + std::to_string(*most));
  }
  return {};
}

Result<std::vector<envgen::ResourceLimit>> prepare_limits(const SandboxRequest& request,
                                                          const Own& own) {
  std::vector<envgen::ResourceLimit> limits;
  for (const std::string& text : request.limits) {
    const auto limit = parse_limit(text);
    if (!limit) return std::unexpected(limit.error());
    const auto same = [&limit](const auto& other) { return other.resource == limit->resource; };
    if (std::ranges::any_of(limits, same)) {
      return base::fail(kWhat, "--rlimit",
                        std::string(envgen::resource_name(limit->resource)) + " twice",
                        "keep one of the two");
    }
    TRY(check_limit(*limit, own));
    limits.push_back(*limit);
  }
  return limits;
}

Status check_nice(int wanted, const Own& own) {
  constexpr int kLowest = -20;
  constexpr int kHighest = 19;
  const std::string found = std::to_string(wanted);
  if (wanted < kLowest || wanted > kHighest) {
    return base::fail(kWhat, "--nice", found, "nice values go from -20 to 19");
  }
  rlimit present{};
  ::getrlimit(RLIMIT_NICE, &present);
  const bool within_limit = static_cast<rlim_t>(kHighest + 1 - wanted) <= present.rlim_cur;
  if (wanted >= ::getpriority(PRIO_PROCESS, 0) || within_limit || own.may(CAP_SYS_NICE)) return {};
  return lacks("--nice", found + ", which is lower than ours", CAP_SYS_NICE);
}

Status check_oom_score_adj(int wanted, const Own& own) {
  constexpr const char* kPath = "/proc/self/oom_score_adj";
  constexpr int kMax = 1000;
  const std::string found = std::to_string(wanted);
  if (wanted < -kMax || wanted > kMax) {
    return base::fail(kWhat, "--oom-score-adj", found, "values go from -1000 to 1000");
  }
  const PathState file = sys::inspect(kPath, true);
  const auto present = base::parse_number<int>(base::trimmed(file.content));
  if (!present) {
    return base::fail(kWhat, "--oom-score-adj", std::string("no ") + kPath,
                      "mount /proc in the container, or leave the option out");
  }
  if (wanted >= *present || own.may(CAP_SYS_RESOURCE)) return {};
  return lacks("--oom-score-adj",
               found + ", which is lower than our own " + std::to_string(*present),
               CAP_SYS_RESOURCE);
}

Status check_settings(const ProcessSettings& settings, const Own& own) {
  constexpr std::uint32_t kMaxUmask = 0777;
  if (settings.umask && *settings.umask > kMaxUmask) {
    return base::fail(kWhat, "--umask", "bits that a umask does not have", "write 022, say");
  }
  if (settings.nice) {
    TRY(check_nice(*settings.nice, own));
  }
  return settings.oom_score_adj ? check_oom_score_adj(*settings.oom_score_adj, own) : Status{};
}

Result<std::string> read_profile_file(const std::string& path) {
  constexpr const char* kReading = "reading a seccomp profile";
  PathState file = sys::inspect(path, true);
  switch (file.kind) {
    case PathState::Kind::kAbsent:
      return base::fail(kReading, path, "no such file", "name a profile that the image has");
    case PathState::Kind::kDirectory:
      return base::fail(kReading, path, "a directory", "name the file in it");
    case PathState::Kind::kError:
      return base::fail(kReading, path, sys::errno_text(file.error), "make it readable");
    case PathState::Kind::kFile:
      break;
  }
  if (file.content.size() > kMaxProfileBytes) {
    return base::fail(kReading, path, std::to_string(file.content.size()) + " bytes",
                      "a profile has at most " + std::to_string(kMaxProfileBytes));
  }
  return std::move(file.content);
}

Status prepare_filter(const std::string& path, bool strict, const Own& own, Prepared& prepared) {
  TRY_ASSIGN(const auto profile, read_profile_file(path));
  envgen::Sandbox& sandbox = prepared.sandbox;
  const Host host = this_host(sandbox.capabilities.value_or(own.bounding));
  TRY_ASSIGN(auto filter, compile_profile(profile, host, strict, path));
  sandbox.filter = std::move(filter.program);
  sandbox.profile = path;
  prepared.warnings = std::move(filter.warnings);
  if (sandbox.settings.no_new_privs || own.may(CAP_SYS_ADMIN)) return {};
  sandbox.settings.no_new_privs = true;
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return {};  // already set, so nothing changes
  prepared.warnings.push_back(
      "--seccomp implies --no-new-privs, as the container lacks "
      "CAP_SYS_ADMIN: sudo and other setuid programs give no rights");
  return {};
}

// Returns whether the job keeps CAP_SYS_PTRACE, which lets a process read and change the memory of
// any other process of its container.
bool may_trace(const envgen::Sandbox& sandbox, const Own& own) {
  const bool root = sandbox.identity ? sandbox.identity->uid == 0 : ::geteuid() == 0;
  const std::uint64_t kept = root ? sandbox.capabilities.value_or(own.bounding) : sandbox.ambient;
  return (kept & capability_bit(CAP_SYS_PTRACE)) != 0;
}

}  // namespace

Result<envgen::ResourceLimit> parse_limit(std::string_view text) {
  const auto refuse = [text](const std::string& found, const std::string& fix) {
    return base::fail("reading a limit", "--rlimit", found + " in " + base::quoted(text), fix);
  };
  const std::size_t equals = text.find('=');
  const auto number = resource(text.substr(0, equals));
  if (!number) {
    return refuse("an unknown name",
                  "write NAME=SOFT[:HARD] with a name of setrlimit(2), such as "
                  "nofile=1024:4096");
  }
  const std::string_view values = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  const std::size_t colon = values.find(':');
  const auto soft = limit_value(values.substr(0, colon));
  const auto hard = colon == std::string_view::npos ? soft : limit_value(values.substr(colon + 1));
  if (!soft || !hard) {
    return refuse("no value", "write NAME=SOFT[:HARD] in numbers, 64k, 8m, 1g or unlimited");
  }
  if (*soft > *hard)
    return refuse("a soft limit above the hard one", "lower it, or raise the other");
  return envgen::ResourceLimit{.resource = *number, .soft = *soft, .hard = *hard};
}

Result<Prepared> prepare(const SandboxRequest& request, bool strict, const std::string& root) {
  if (request == SandboxRequest{}) return Prepared{};
  TRY_ASSIGN(const auto own, own_capabilities());
  Prepared prepared;
  envgen::Sandbox& sandbox = prepared.sandbox;
  if (!request.user.empty()) {
    TRY_ASSIGN(sandbox.identity, prepare_identity(request.user, own, root));
  }
  TRY(prepare_capabilities(request, own, sandbox));
  TRY_ASSIGN(sandbox.limits, prepare_limits(request, own));
  TRY(check_settings(request.settings, own));
  sandbox.settings = request.settings;
  if (!request.seccomp.empty()) {
    TRY(prepare_filter(request.seccomp, strict, own, prepared));
  }
  if (request.is_border() && may_trace(sandbox, own)) {
    prepared.warnings.push_back(
        "the job keeps CAP_SYS_PTRACE, by which it can change trainit's memory: --caps, "
        "--no-new-privs and --seccomp do not hold it; take the capability away (--caps none)");
  }
  return prepared;
}

}  // namespace sandbox
