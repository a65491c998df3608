#include "init/engine/report/printed_cause.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "envgen/failure/printed_line.h"
#include "init/sys/path_state.h"

namespace engine {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;
constexpr std::uint64_t kDockersShm = 64 * kMiB;
constexpr const char* kShm = "/dev/shm";
constexpr const char* kHostOom = "host-oom";
constexpr const char* kShmBusError = "shm-bus-error";
constexpr const char* kShmAdvice =
    "make /dev/shm larger (docker --shm-size, an emptyDir of medium Memory), or use fewer data "
    "loader workers";

FailureCause cause_of(envgen::FoundCause found, std::string task) {
  for (std::string& line : found.traceback) line = std::string(envgen::without_rank(line));
  return {.line = std::move(found.line),
          .task = std::move(task),
          .failure_class = std::move(found.failure_class),
          .role = std::string(envgen::role_name(found.role)),
          .advice = std::move(found.advice),
          .restart = std::string(envgen::restart_name(found.restart)),
          .certain = found.certain,
          .traceback = std::move(found.traceback)};
}

constexpr const char* kBySigbus = "killed by SIGBUS: ";

// Returns the cause that the kernel reports, which is more certain than printed output; nullopt:
// none. `said`: the output already names the cause.
std::optional<FailureCause> cause_by_kernel(FailedHow how, bool said) {
  if (how.by_oom) {
    return FailureCause{.failure_class = kHostOom,
                        .role = "root",
                        .advice = "",  // the failure's message has the advice already
                        .restart = "unknown"};
  }
  struct statvfs status{};
  if (!how.by_sigbus || said || ::statvfs(kShm, &status) != 0) return std::nullopt;
  std::string text = shm_text(std::uint64_t{status.f_blocks} * status.f_frsize,
                              std::uint64_t{status.f_bfree} * status.f_frsize);
  if (text.empty()) return std::nullopt;
  return FailureCause{.line = kBySigbus + std::move(text),
                      .failure_class = kShmBusError,
                      .role = "root",
                      .advice = kShmAdvice,
                      .restart = "unknown"};
}

}  // namespace

std::string shm_text(std::uint64_t total_bytes, std::uint64_t free_bytes) {
  const std::string total = std::to_string(total_bytes / kMiB) + " MiB";
  if (total_bytes == 0) return "";
  if (free_bytes < total_bytes / 10) {
    return std::string(kShm) + " is full, " + std::to_string(free_bytes / kMiB) + " MiB of " +
           total + " are free";
  }
  // A small /dev/shm is suspect even with free space: the data that filled it may have been deleted
  // with the process.
  return total_bytes <= kDockersShm ? std::string(kShm) + " has only " + total : "";
}

envgen::FailureCatalog failure_catalog(const std::string& directory,
                                       std::vector<std::string>* warnings) {
  using Kind = envgen::PathState::Kind;
  constexpr std::string_view kEnd = ".json";
  envgen::FailureCatalog catalog = envgen::FailureCatalog::shipped();
  const envgen::PathState all = sys::inspect(directory, true);
  for (const std::string& name : all.entries) {
    if (!name.ends_with(kEnd)) continue;
    const std::string path = directory + "/" + name;
    const envgen::PathState file = sys::inspect(path, true);
    if (file.kind != Kind::kFile) {
      const bool known = file.kind == Kind::kError && file.error != 0;
      warnings->push_back("reading a catalogue of failures: " + path + ": found " +
                          (known ? sys::errno_text(file.error) : "no file") + "; remove it");
      continue;
    }
    for (const base::Error& error : catalog.add(file.content, path)) {
      warnings->push_back(to_line(error));
    }
  }
  constexpr std::size_t kMaxWarnings = 8;
  if (warnings->size() > kMaxWarnings) {
    const std::size_t more = warnings->size() - kMaxWarnings;
    warnings->resize(kMaxWarnings);
    warnings->push_back("reading the catalogues of failures in " + directory + ": " +
                        std::to_string(more) + " more rows or files are wrong");
  }
  return catalog;
}

std::optional<FailureCause> cause_in(std::string_view printed,
                                     const envgen::FailureCatalog& catalog,
                                     const envgen::HowEnded& how) {
  auto found = envgen::find_cause(printed, catalog, how);
  if (!found) return std::nullopt;
  return cause_of(*std::move(found), "");
}

// A cause of this class from a launcher's table is only a guess, so check the line as well.
bool is_by_kernel(const FailureCause& cause) {
  return cause.failure_class == kHostOom ? cause.line.empty() : cause.line.starts_with(kBySigbus);
}

lifecycle::NodeFailure::Role role_of(const std::optional<FailureCause>& cause,
                                     std::string_view signal) {
  using Role = lifecycle::NodeFailure::Role;
  if (!cause) return Role::kOpen;
  if (cause->role != envgen::role_name(envgen::FailureRole::kVictim)) {
    return cause->certain ? Role::kRoot : Role::kOpen;
  }
  return signal.empty() || signal == "SIGABRT" || signal == "SIGPIPE" ? Role::kVictim : Role::kOpen;
}

std::size_t likely_first(const std::vector<lifecycle::NodeFailure::Role>& roles) {
  using Role = lifecycle::NodeFailure::Role;
  if (roles.empty() || roles.front() != Role::kVictim) return 0;
  for (const Role role : {Role::kRoot, Role::kOpen}) {
    const auto found = std::ranges::find(roles, role);
    if (found != roles.end()) return static_cast<std::size_t>(found - roles.begin());
  }
  return 0;
}

void look_for_cause(const PrintedBy& first, const std::vector<PrintedBy>& others, FailedHow how,
                    const envgen::FailureCatalog& catalog,
                    const std::function<void(const PrintedEnd&)>& tell) {
  PrintedEnd end;
  std::optional<envgen::FoundCause> found;
  if (first.read) {
    const LastBytes last = first.read();
    end.last_lines = last_lines_of(last.bytes, last.whole);
    found = envgen::find_cause(last.bytes, catalog, how.own);
  }
  const bool certain = found && found->certain;
  if (found) end.cause = cause_of(*std::move(found), "");
  if (auto known = cause_by_kernel(how, certain)) {
    end.cause = std::move(known);
    return tell(end);
  }
  tell(end);
  if (certain) return;
  // The failed process is a victim, or printed no cause. Another process may have printed it.
  for (const PrintedBy& other : others) {
    auto theirs = envgen::find_cause(other.read().bytes, catalog, {.lives = true});
    if (!theirs || !theirs->certain) continue;
    end.cause = cause_of(*std::move(theirs), other.task);
    return tell(end);
  }
}

}  // namespace engine
