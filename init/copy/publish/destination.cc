#include "init/copy/publish/destination.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/content_hash.h"
#include "envgen/plan/inputs.h"
#include "init/copy/stall.h"
#include "init/copy/storage_call.h"
#include "init/proc/child_run.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"
#include "init/sys/path_state.h"
#include "init/sys/safe_path.h"

namespace copy {
namespace {

constexpr const char* kWhatPlace = "looking at the place of a copy";
constexpr const char* kWhatSource = "looking at the source of a copy";
constexpr const char* kAnotherPlace = "name another place";

std::string resolved(const std::string& path) {
  std::array<char, PATH_MAX> real{};
  return ::realpath(path.c_str(), real.data()) != nullptr ? real.data() : "";
}

std::string working_directory() {
  std::array<char, PATH_MAX> here{};
  return ::getcwd(here.data(), here.size()) != nullptr ? here.data() : "";
}

std::string absolute(const std::string& path) {
  return path.starts_with('/') ? path : envgen::join_path(working_directory(), path);
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::uint64_t mount_id(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  return fd.valid() ? sys::mount_id_of(fd.get()) : 0;
}

bool is_mount_point(const std::string& path, const struct stat& status) {
  const std::string parent = sys::parent_of(path);
  struct stat above{};
  if (::stat(parent.c_str(), &above) == 0 && above.st_dev != status.st_dev) return true;
  return mount_id(path) != mount_id(parent);
}

// Returns `path` without symlinks in the part that exists. The rest of it will be created.
base::Result<std::string> resolved_by_parents(const std::string& path) {
  const std::string above = sys::present_part(sys::parent_of(path));
  const std::string real = resolved(above);
  const std::string rest = path.substr(above == "/" ? 0 : above.size());
  if (real.empty()) return base::fail(kWhatPlace, above, sys::errno_text(errno), kAnotherPlace);
  if ((rest + "/").find("/../") != std::string::npos) {
    return base::fail(kWhatPlace, path, ".. below a directory that is not there", kAnotherPlace);
  }
  return (real == "/" ? "" : real) + rest;
}

// Returns the destination's path without symlinks. Sets `exists`, and `status` of what is there.
base::Result<std::string> resolve_destination(const std::string& destination_path,
                                              struct stat* status, bool* exists) {
  const std::string path = without_trailing_slashes(absolute(destination_path));
  const std::string name = name_of(path);
  if (destination_path.empty()) return base::fail(kWhatPlace, "", "no name", kAnotherPlace);
  *exists = ::lstat(path.c_str(), status) == 0;
  if (*exists && (S_ISLNK(status->st_mode) || name.empty() || name == "." || name == "..")) {
    std::string real = resolved(path);
    if (real.empty() || ::stat(real.c_str(), status) != 0) {
      return base::fail(kWhatPlace, path, "a symbolic link to nothing",
                        "remove it, or let it point to a directory");
    }
    return real;
  }
  if (!*exists && errno != ENOENT) {
    return base::fail(kWhatPlace, path, sys::errno_text(errno), kAnotherPlace);
  }
  return resolved_by_parents(path);
}

// The answer of the child process that looks at the source.
struct Answer {
  int error = 0;
  bool link = false;  // if `error` is set: the path is a symlink
  bool directory = false;
  bool refused = false;  // the source may not be read; the answer's path is the reason
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t owner = 0;
  std::array<char, PATH_MAX> path{};
};

// Returns whether a source may be copied for the job's user. Root follows no link that another user
// may have made. If another user could change what the path means, the job's user must be able to
// read what it leads to.
bool is_for(const envgen::Identity* job_user, const std::string& path, std::string* why,
            bool* weak) {
  base::Result<sys::SafePath> reached = sys::SafePath();
  ask_source(nullptr, [&] {
    errno = 0;
    reached = sys::resolve_safely(path, {.job_user = job_user, .follow_last = true});
    return reached.has_value();
  });
  if (!reached) {
    *why = reached.error().found;
    *weak = true;
    return !sys::is_foreign_link(reached.error());
  }
  if (reached->untrusted_directory.empty()) return true;
  *weak = true;
  if (job_user == nullptr) return true;
  const sys::AsUser user(*job_user);
  *why = "others may change it by " + reached->untrusted_directory + ", and user " +
         std::to_string(job_user->uid) + " may not read it";
  if (!user.switched()) return false;
  return sys::Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)).valid();
}

// Returns whether `resolved`, a path without symlinks, now leads elsewhere than when it was
// resolved. Its directories can be changed by other users, so a path that only root can change is a
// different one.
bool has_changed(const envgen::Identity* job_user, const std::string& resolved) {
  const auto reached = sys::resolve_safely(resolved, {.job_user = job_user, .follow_last = true});
  return !reached || reached->untrusted_directory.empty();
}

int refuse(Answer& answer, std::string_view why, int fd) {
  answer.path = {};
  why.copy(answer.path.data(), answer.path.size() - 1);
  answer.error = EPERM;
  answer.refused = true;
  return ::write(fd, &answer, sizeof answer) == ssize_t{sizeof answer} ? 0 : 1;
}

int inspect_and_send(const std::string& path, const envgen::Identity* job_user, int fd) {
  sys::leave_callers_descriptors();
  Answer answer;
  struct stat status{};
  std::string why;
  bool weak = false;
  if (job_user != nullptr && job_user->uid == 0) job_user = nullptr;
  if (::geteuid() == 0 && !is_for(job_user, path, &why, &weak)) return refuse(answer, why, fd);
  const auto look = [&] {
    return ::realpath(path.c_str(), answer.path.data()) != nullptr &&
           ::stat(answer.path.data(), &status) == 0;
  };
  if (!ask_source(nullptr, look)) {
    answer.error = errno;
    answer.link = ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
  } else if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
    answer.error = EINVAL;
  }
  if (weak && answer.error == 0 && has_changed(job_user, answer.path.data())) {
    return refuse(answer, "that it changes while it is looked at", fd);
  }
  answer.directory = S_ISDIR(status.st_mode);
  answer.device = status.st_dev;
  answer.inode = status.st_ino;
  answer.owner = status.st_uid;
  return ::write(fd, &answer, sizeof answer) == ssize_t{sizeof answer} ? 0 : 1;
}

bool lies_in(const std::string& path, const std::string& directory) {
  if (directory == "/") return true;
  return path == directory || (path.starts_with(directory) && path[directory.size()] == '/');
}

}  // namespace

// Returns the name of the state directory. A long name is shortened and gets a hash, because names
// have a limit.
std::string state_name(const std::string& name) {
  constexpr std::size_t kKept = 200;
  std::string full = std::string(kStateName) + "." + name;
  if (full.size() <= NAME_MAX) return full;
  return full.substr(0, kKept) + "-" + std::to_string(base::hash_of(name));
}

std::string Destination::parent() const { return sys::parent_of(path); }
std::string Destination::named_parent() const { return sys::parent_of(real); }

base::Status describe_destination(Destination& destination) {
  if (destination.real == "/") {
    return base::fail(kWhatPlace, "/", "the root directory", "name a directory below it");
  }
  const std::string name = name_of(destination.real);
  // Refuses a path inside a state directory, also if a link such as <mount>/current leads there.
  // Its use would not be noticed.
  if (destination.real.find("/" + std::string(kStateName)) != std::string::npos) {
    return base::fail(kWhatPlace, destination.real, "a name that trainit keeps for itself",
                      kAnotherPlace);
  }
  struct stat status{};
  destination.exists = ::lstat(destination.path.c_str(), &status) == 0;
  // True if the path leads through a descriptor (/proc/self/fd/N), as that of an open mount point.
  const bool held =
      destination.exists && S_ISLNK(status.st_mode) && destination.path != destination.real;
  if (held && destination.mount_point)
    destination.exists = ::stat(destination.path.c_str(), &status) == 0;
  destination.directory = destination.mount_point = false;
  if (destination.exists) {
    destination.directory = S_ISDIR(status.st_mode);
    if (!destination.directory && !S_ISREG(status.st_mode)) {
      return base::fail(kWhatPlace, destination.real, "neither a directory nor a regular file",
                        kAnotherPlace);
    }
    destination.device = status.st_dev;
    destination.inode = status.st_ino;
    destination.mount_point = destination.directory && is_mount_point(destination.path, status);
    if (!destination.mount_point && lies_in(working_directory(), destination.real)) {
      return base::fail(kWhatPlace, destination.real, "the working directory in it",
                        "start in another directory, or name another place");
    }
  }
  const std::string parent = destination.parent();
  destination.state = destination.mount_point
                          ? destination.path + "/" + std::string(kStateName)
                          : (parent == "/" ? "" : parent) + "/" + state_name(name);
  return {};
}

base::Result<Destination> find_destination(const std::string& destination_path) {
  struct stat status{};
  Destination destination;
  TRY_ASSIGN(destination.path, resolve_destination(destination_path, &status, &destination.exists));
  destination.real = destination.path;
  TRY(describe_destination(destination));
  return destination;
}

namespace {

void await_look(proc::ChildRun& child, const Options& options) {
  constexpr std::int64_t kReportMs = 200;
  Counters counters{};
  StallWatch watch;
  std::int64_t next_ms = sys::monotonic_ms() + kReportMs;
  while (!child.step()) {
    const std::int64_t left_ms = child.next_look_ms() - sys::monotonic_ms();
    pollfd ready{child.fd(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left_ms, 1, kReportMs)));
    const std::int64_t now_ms = sys::monotonic_ms();
    const Stall stall = watch.look(now_ms, 0, CopySide::kSource);
    counters.stalled_side = stall.side;
    counters.stalled_ms = stall.for_ms;
    if (now_ms < next_ms || !options.report) continue;
    next_ms = now_ms + kReportMs;
    options.report(counters);
  }
}

const char* fix_of_source(const Answer& answer) {
  if (answer.error == EACCES) return "let this user read it, or run as its owner";
  if (is_storage_error(answer.error)) return kCheckStorage;
  return answer.link ? "it is a symbolic link: let it lead to a directory or a file that is there"
                     : "name a directory or a file that is there";
}

}  // namespace

base::Result<Source> find_source(const std::string& path, const Options& options) {
  if (path.empty()) {
    return base::fail(kWhatSource, path, "no name", "name a directory or a file");
  }
  constexpr std::int64_t kNoLimitMs = 1'000'000'000'000;
  const std::string name = absolute(path);
  const std::int64_t left_ms =
      options.deadline_ms == 0 ? kNoLimitMs : options.deadline_ms - sys::monotonic_ms();
  TRY_ASSIGN(auto child, proc::ChildRun::start({.time_ms = left_ms}, [&](int fd) {
               return inspect_and_send(name, options.job_user, fd);
             }));
  await_look(child, options);
  child.end();
  Answer answer;
  if (child.output().size() != sizeof answer) {
    const std::string why = child.cut_short();
    return base::fail(kWhatSource, path, why.empty() ? "no answer" : why,
                      "see whether its file system's server is there");
  }
  std::memcpy(&answer, child.output().data(), sizeof answer);
  if (answer.refused) {
    return base::fail(kWhatSource, path, answer.path.data(),
                      "name the place itself; with --user, let that user read it");
  }
  if (answer.error == EINVAL) {
    return base::fail(kWhatSource, path, "neither a directory nor a regular file",
                      "name one of these");
  }
  if (answer.error != 0) {
    return base::fail(kWhatSource, path, tried_text(answer.error), fix_of_source(answer));
  }
  return Source{.path = answer.path.data(),
                .directory = answer.directory,
                .device = answer.device,
                .inode = answer.inode,
                .owner = answer.owner};
}

base::Status check_apart(const Source& source, const Destination& destination) {
  constexpr const char* kWhat = "comparing the source and the place of a copy";
  const std::string both = source.path + " and " + destination.real;
  const bool same = destination.exists && source.device == destination.device &&
                    source.inode == destination.inode;
  if (same || source.path == destination.real) {
    return base::fail(kWhat, both, "one and the same", kAnotherPlace);
  }
  if (lies_in(destination.real, source.path)) {
    return base::fail(kWhat, both, "the place inside the source", kAnotherPlace);
  }
  if (lies_in(source.path, destination.real)) {
    return base::fail(kWhat, both, "the source inside the place", kAnotherPlace);
  }
  if (destination.exists && source.directory != destination.directory) {
    return base::fail(kWhat, both,
                      source.directory ? "a directory to be copied to a file"
                                       : "a file to be copied to a directory",
                      source.directory ? "remove the file, or name another place"
                                       : "name the place of the file: " + destination.real + "/" +
                                             name_of(source.path));
  }
  return {};
}

}  // namespace copy
