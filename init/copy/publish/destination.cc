#include "init/copy/publish/destination.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/content_hash.h"
#include "envgen/plan/inputs.h"
#include "init/proc/spawn.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"
#include "init/sys/path_state.h"
#include "init/sys/reach.h"

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

// The links of what is there of it resolved; the rest is still to be made.
envgen::Result<std::string> resolved_by_parents(const std::string& path) {
  std::string above = sys::parent_of(path);
  while (above != "/" && ::access(above.c_str(), F_OK) != 0 && errno == ENOENT) {
    above = sys::parent_of(above);
  }
  const std::string real = resolved(above);
  const std::string rest = path.substr(above == "/" ? 0 : above.size());
  if (real.empty()) return envgen::fail(kWhatPlace, above, sys::errno_text(errno), kAnotherPlace);
  if ((rest + "/").find("/../") != std::string::npos) {
    return envgen::fail(kWhatPlace, path, ".. below a directory that is not there", kAnotherPlace);
  }
  return (real == "/" ? "" : real) + rest;
}

// The path with its links resolved; what is there, if anything, into `status`.
envgen::Result<std::string> resolve_destination(const std::string& destination_path,
                                                struct stat* status, bool* exists) {
  const std::string path = without_trailing_slashes(absolute(destination_path));
  const std::string name = name_of(path);
  if (destination_path.empty()) return envgen::fail(kWhatPlace, "", "no name", kAnotherPlace);
  *exists = ::lstat(path.c_str(), status) == 0;
  if (*exists && (S_ISLNK(status->st_mode) || name.empty() || name == "." || name == "..")) {
    std::string real = resolved(path);
    if (real.empty() || ::stat(real.c_str(), status) != 0) {
      return envgen::fail(kWhatPlace, path, "a symbolic link to nothing",
                          "remove it, or let it point to a directory");
    }
    return real;
  }
  if (!*exists && errno != ENOENT) {
    return envgen::fail(kWhatPlace, path, sys::errno_text(errno), kAnotherPlace);
  }
  return resolved_by_parents(path);
}

// What the process that looks tells.
struct Answer {
  int error = 0;
  bool directory = false;
  bool refused = false;  // `path` is why
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t owner = 0;
  std::array<char, PATH_MAX> path{};
};

// Root follows no link that somebody else may have made; and what is not as the caller named it,
// but as the job's user or another one has made it, is the job's only where that one may read it.
bool is_for(const envgen::Identity* job_user, const std::string& path, std::string* why,
            bool* weak) {
  const auto reached = sys::reach(path, {.job_user = job_user, .follow_last = true});
  if (!reached) {
    *why = reached.error().found;
    *weak = true;
    return !sys::is_foreign_link(reached.error());
  }
  if (reached->weakness.empty()) return true;
  *weak = true;
  if (job_user == nullptr) return true;
  const sys::AsUser user(*job_user);
  *why = "others may change it by " + reached->weakness + ", and user " +
         std::to_string(job_user->uid) + " may not read it";
  if (!user.switched()) return false;
  return sys::Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)).valid();
}

// A way that others may change leads, without their links, to a path that they may change: else it
// was another one when its links were resolved.
bool has_changed(const envgen::Identity* job_user, const std::string& resolved) {
  const auto reached = sys::reach(resolved, {.job_user = job_user, .follow_last = true});
  return !reached || reached->weakness.empty();
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
  if (::realpath(path.c_str(), answer.path.data()) == nullptr ||
      ::stat(answer.path.data(), &status) != 0) {
    answer.error = errno;
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

// Whether all of it came. PATH_MAX is the size of an atomic write to a pipe: it comes in parts.
bool read_answer(int fd, std::int64_t deadline_ms, Answer* answer) {
  auto* bytes = reinterpret_cast<char*>(answer);
  std::size_t had = 0;
  while (had < sizeof *answer) {
    const std::int64_t left =
        deadline_ms == 0 ? -1 : std::max<std::int64_t>(deadline_ms - sys::monotonic_ms(), 0);
    pollfd ready{fd, POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, INT_MAX)));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    const ssize_t part = ::read(fd, bytes + had, sizeof *answer - had);
    if (part <= 0) return false;
    had += static_cast<std::size_t>(part);
  }
  return true;
}

bool lies_in(const std::string& path, const std::string& directory) {
  if (directory == "/") return true;
  return path == directory || (path.starts_with(directory) && path[directory.size()] == '/');
}

}  // namespace

// A long name and what goes before it would be longer than a name may be.
std::string state_name(const std::string& name) {
  constexpr std::size_t kKept = 200;
  std::string full = std::string(kStateName) + "." + name;
  if (full.size() <= NAME_MAX) return full;
  return full.substr(0, kKept) + "-" + std::to_string(envgen::hash_of(name));
}

std::string Destination::parent() const { return sys::parent_of(path); }
std::string Destination::named_parent() const { return sys::parent_of(real); }

envgen::Status describe_destination(Destination& destination) {
  if (destination.real == "/") {
    return envgen::fail(kWhatPlace, "/", "the root directory", "name a directory below it");
  }
  const std::string name = name_of(destination.real);
  // Also by a link, as <mount>/current: nobody would see who uses what is there.
  if (destination.real.find("/" + std::string(kStateName)) != std::string::npos) {
    return envgen::fail(kWhatPlace, destination.real, "a name that trainit keeps for itself",
                        kAnotherPlace);
  }
  struct stat status{};
  destination.exists = ::lstat(destination.path.c_str(), &status) == 0;
  // What is mounted there, held by a descriptor.
  const bool held =
      destination.exists && S_ISLNK(status.st_mode) && destination.path != destination.real;
  if (held && destination.mount_point)
    destination.exists = ::stat(destination.path.c_str(), &status) == 0;
  destination.directory = destination.mount_point = false;
  if (destination.exists) {
    destination.directory = S_ISDIR(status.st_mode);
    if (!destination.directory && !S_ISREG(status.st_mode)) {
      return envgen::fail(kWhatPlace, destination.real, "neither a directory nor a regular file",
                          kAnotherPlace);
    }
    destination.device = status.st_dev;
    destination.inode = status.st_ino;
    destination.mount_point = destination.directory && is_mount_point(destination.path, status);
    if (!destination.mount_point && lies_in(working_directory(), destination.real)) {
      return envgen::fail(kWhatPlace, destination.real, "the working directory in it",
                          "start in another directory, or name another place");
    }
  }
  const std::string parent = destination.parent();
  destination.state = destination.mount_point
                          ? destination.path + "/" + std::string(kStateName)
                          : (parent == "/" ? "" : parent) + "/" + state_name(name);
  return {};
}

envgen::Result<Destination> find_destination(const std::string& destination_path) {
  struct stat status{};
  Destination destination;
  TRY_ASSIGN(destination.path, resolve_destination(destination_path, &status, &destination.exists));
  destination.real = destination.path;
  TRY(describe_destination(destination));
  return destination;
}

envgen::Result<Source> find_source(const std::string& path, std::int64_t deadline_ms,
                                   const envgen::Identity* job_user) {
  if (path.empty()) {
    return envgen::fail(kWhatSource, path, "no name", "name a directory or a file");
  }
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return envgen::fail(kWhatSource, path, sys::errno_text(errno), "raise the limit on open files");
  }
  const sys::Fd out(ends[0]);
  sys::Fd in(ends[1]);
  const std::string name = absolute(path);
  auto child =
      proc::fork_worker({}, in.get(), [&] { return inspect_and_send(name, job_user, in.get()); });
  if (!child) return std::unexpected(child.error());
  in.reset();
  Answer answer;
  const bool answered = read_answer(out.get(), deadline_ms, &answer);
  ::kill(*child, SIGKILL);
  if (!answered) {
    // One that hangs in the kernel cannot be waited for; it is init's when we are gone.
    ::waitpid(*child, nullptr, WNOHANG);
    return envgen::fail(kWhatSource, path, "no answer in time",
                        "see whether its file system's server is there");
  }
  ::waitpid(*child, nullptr, 0);
  if (answer.refused) {
    return envgen::fail(kWhatSource, path, answer.path.data(),
                        "name the place itself; with --user, let that user read it");
  }
  if (answer.error == EINVAL) {
    return envgen::fail(kWhatSource, path, "neither a directory nor a regular file",
                        "name one of these");
  }
  if (answer.error != 0) {
    const char* fix = answer.error == EACCES ? "let this user read it, or run as its owner"
                                             : "name a directory or a file that is there";
    return envgen::fail(kWhatSource, path, sys::errno_text(answer.error), fix);
  }
  return Source{.path = answer.path.data(),
                .directory = answer.directory,
                .device = answer.device,
                .inode = answer.inode,
                .owner = answer.owner};
}

envgen::Status check_apart(const Source& source, const Destination& destination) {
  constexpr const char* kWhat = "comparing the source and the place of a copy";
  const std::string both = source.path + " and " + destination.real;
  const bool same = destination.exists && source.device == destination.device &&
                    source.inode == destination.inode;
  if (same || source.path == destination.real) {
    return envgen::fail(kWhat, both, "one and the same", kAnotherPlace);
  }
  if (lies_in(destination.real, source.path)) {
    return envgen::fail(kWhat, both, "the place inside the source", kAnotherPlace);
  }
  if (lies_in(source.path, destination.real)) {
    return envgen::fail(kWhat, both, "the source inside the place", kAnotherPlace);
  }
  if (destination.exists && source.directory != destination.directory) {
    return envgen::fail(kWhat, both,
                        source.directory ? "a directory and a file" : "a file and a directory",
                        source.directory ? "remove the file, or name another place"
                                         : "name the file in that directory");
  }
  return {};
}

}  // namespace copy
