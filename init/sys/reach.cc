#include "init/sys/reach.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "init/sys/files.h"

namespace sys {
namespace {

constexpr const char* kWhat = "following a path";
constexpr int kMostLinks = 40;  // as the kernel's MAXSYMLINKS
constexpr int kOpenPath = O_PATH | O_NOFOLLOW | O_CLOEXEC;

// What stands for every user that a user namespace does not know (fs.overflowuid).
constexpr uid_t kUnmapped = 65534;

// Without a process of that user in here: Apptainer and `unshare -r` map a single one, and the
// image's files, which are root's, show as this one's.
bool nobody_is_unmapped() {
  const envgen::PathState map = look("/proc/self/uid_map", true);
  if (map.kind != envgen::PathState::Kind::kFile) return false;
  // "inside outside count" a line. No stream: that brings libstdc++'s locales, half a megabyte.
  std::array<std::uint64_t, 3> line{};
  const char* at = map.content.c_str();
  while (true) {
    for (std::uint64_t& number : line) {
      char* end = nullptr;
      number = std::strtoull(at, &end, 10);
      if (end == at) return true;
      at = end;
    }
    if (kUnmapped >= line[0] && kUnmapped - line[0] < line[2]) return false;
  }
}

bool is_ours(uid_t owner) {
  if (owner == 0 || owner == ::geteuid()) return true;
  static const bool unmapped = nobody_is_unmapped();
  return owner == kUnmapped && unmapped;
}

bool has_roots_group(const envgen::Identity* job) {
  if (job == nullptr) return false;
  return job->gid == 0 || std::ranges::find(job->groups, 0U) != job->groups.end();
}

// The bits by which somebody else may write what we or root own.
mode_t foreign_bits(const struct stat& status, const envgen::Identity* job) {
  if (::geteuid() != 0) return S_IWOTH;
  const bool roots = status.st_gid == 0 && !has_roots_group(job);
  return roots ? S_IWOTH : S_IWGRP | S_IWOTH;
}

bool is_read_only(int fd) {
  struct statvfs status{};
  return ::fstatvfs(fd, &status) == 0 && (status.f_flag & ST_RDONLY) != 0;
}

// Whether somebody else may change the file or directory, as far as its mode tells.
bool is_foreign(int fd, const struct stat& status, const envgen::Identity* job) {
  if (!is_ours(status.st_uid)) return true;
  return (status.st_mode & foreign_bits(status, job)) != 0 && !is_read_only(fd);
}

std::string mode_text(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777U));
  return text.data();
}

std::string described(const std::string& path, const struct stat& status) {
  return path + " (owner " + std::to_string(status.st_uid) + ", group " +
         std::to_string(status.st_gid) + ", mode " + mode_text(status.st_mode) + ")";
}

std::string parent_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return "/";
  const std::size_t slash = path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

class Walk {
 public:
  Walk(const std::string& path, const ReachRule& rule) : path_(path), rule_(rule) {}
  envgen::Result<Reached> run();

 private:
  [[nodiscard]] std::unexpected<envgen::Error> fail(int error) const;
  [[nodiscard]] std::string shown(const std::string& name) const;
  // Directory and its status at once; false with errno.
  bool stand_in(Fd directory);
  void push(std::string_view path);
  // Whether only its owner may replace the entry.
  [[nodiscard]] bool is_safe(const struct stat* entry) const;
  void note_weakness(const struct stat* entry);
  envgen::Status follow(const Fd& link, const std::string& name, const struct stat& status);
  envgen::Status enter(const std::string& name);
  envgen::Status last(const std::string& name, bool* done);

  const std::string& path_;
  const ReachRule& rule_;
  Fd directory_;
  struct stat status_{};
  std::string at_;  // where directory_ is, for messages
  std::string weakness_;
  std::deque<std::string> rest_;
  int links_ = 0;
};

std::unexpected<envgen::Error> Walk::fail(int error) const {
  const std::string where = at_.empty() ? "/" : at_;
  std::string found = errno_text(error);
  if (error != ENOENT || where != parent_of(path_)) found += " at " + where;
  const char* fix = error == ENOENT    ? "create the directory first"
                    : error == ENOTDIR ? "remove what is there, or choose another path"
                    : error == EACCES
                        ? "let this user search that directory, or choose another path"
                        : "choose another path";
  return envgen::fail(kWhat, path_, std::move(found), fix);
}

std::string Walk::shown(const std::string& name) const {
  return at_.empty() || at_.back() != '/' ? at_ + "/" + name : at_ + name;
}

bool Walk::stand_in(Fd directory) {
  if (!directory.valid() || ::fstat(directory.get(), &status_) != 0) return false;
  directory_ = std::move(directory);
  return true;
}

void Walk::push(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0 && path.substr(0, end) != ".") names.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  rest_.insert(rest_.begin(), names.begin(), names.end());
}

bool Walk::is_safe(const struct stat* entry) const {
  if (!weakness_.empty()) return false;
  if (!is_foreign(directory_.get(), status_, rule_.job)) return true;
  const bool sticky = is_ours(status_.st_uid) && (status_.st_mode & S_ISVTX) != 0;
  return sticky && entry != nullptr && is_ours(entry->st_uid);
}

void Walk::note_weakness(const struct stat* entry) {
  if (!is_safe(entry) && weakness_.empty()) weakness_ = described(at_.empty() ? "/" : at_, status_);
}

envgen::Status Walk::follow(const Fd& link, const std::string& name, const struct stat& status) {
  note_weakness(&status);
  if (!weakness_.empty()) {
    return envgen::fail(kWhat, path_,
                        "the link " + shown(name) + " of user " + std::to_string(status.st_uid) +
                            ", in " + weakness_ + ", which others may change",
                        "name the place itself instead of a link to it, or put the link where "
                        "only root may write");
  }
  if (++links_ > kMostLinks) return fail(ELOOP);
  struct statfs system{};
  if (name != "self" && ::fstatfs(link.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC) {
    // A link below /proc/PID may stand for a file that its text does not lead to. Where it leads is
    // not known by its path: nothing behind it counts as ours alone.
    Fd target(::openat(directory_.get(), name.c_str(), O_PATH | O_CLOEXEC));
    if (!target.valid()) return fail(errno);
    at_ = shown(name);
    if (!stand_in(std::move(target))) return fail(errno);
    if (!S_ISDIR(status_.st_mode)) return fail(ENOTDIR);
    weakness_ = described(at_, status_);
    return {};
  }
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
  if (size < 0) return fail(errno);
  target.resize(static_cast<std::size_t>(size));
  if (target.starts_with('/')) {
    at_ = "";
    if (!stand_in(Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)))) return fail(errno);
  }
  // What ends in a slash is a directory: its last name is not the last of the path.
  push(target);
  return {};
}

envgen::Status Walk::enter(const std::string& name) {
  // With O_DIRECTORY, by which an automounter mounts it.
  Fd next(::openat(directory_.get(), name.c_str(), kOpenPath | O_DIRECTORY));
  if (!next.valid() && errno == ENOENT && rule_.make_parents) {
    const mode_t mask = ::umask(0);
    const bool made = ::mkdirat(directory_.get(), name.c_str(), *rule_.make_parents) == 0;
    const int error = errno;
    ::umask(mask);
    if (!made && error != EEXIST) {
      at_ = shown(name);
      return fail(error);
    }
    next.reset(::openat(directory_.get(), name.c_str(), kOpenPath | O_DIRECTORY));
  }
  struct stat status{};
  if (!next.valid() && (errno == ENOTDIR || errno == ELOOP)) {
    const Fd link(::openat(directory_.get(), name.c_str(), kOpenPath));
    if (link.valid() && ::fstat(link.get(), &status) == 0 && S_ISLNK(status.st_mode)) {
      return follow(link, name, status);
    }
    errno = ENOTDIR;
  }
  const int error = errno;
  if (next.valid() && ::fstat(next.get(), &status) == 0 && name != "..") note_weakness(&status);
  at_ = shown(name);
  if (!next.valid()) return fail(error);
  if (!stand_in(std::move(next))) return fail(errno);
  return {};
}

// The last component: done, unless it is a link that has to be followed.
envgen::Status Walk::last(const std::string& name, bool* done) {
  *done = true;
  struct stat status{};
  const bool there = ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && S_ISLNK(status.st_mode) && rule_.follow_last) {
    *done = false;
    const Fd link(::openat(directory_.get(), name.c_str(), kOpenPath));
    if (!link.valid() || ::fstat(link.get(), &status) != 0) return fail(errno);
    // Swapped meanwhile: the next look decides.
    if (S_ISLNK(status.st_mode)) return follow(link, name, status);
    rest_.push_front(name);
    return ++links_ > kMostLinks ? envgen::Status(fail(ELOOP)) : envgen::Status();
  }
  note_weakness(there ? &status : nullptr);
  return {};
}

envgen::Result<Reached> Walk::run() {
  const bool absolute = path_.starts_with('/');
  if (path_.empty()) return fail(ENOENT);
  at_ = absolute ? "" : ".";
  if (!stand_in(Fd(::open(absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC)))) {
    return fail(errno);
  }
  push(path_);
  while (!rest_.empty()) {
    const std::string name = std::move(rest_.front());
    rest_.pop_front();
    if (rest_.empty() && name != "..") {
      bool done = false;
      if (auto status = last(name, &done); !status) return std::unexpected(status.error());
      if (done) return Reached{std::move(directory_), name, std::move(weakness_)};
      continue;
    }
    if (auto status = enter(name); !status) return std::unexpected(status.error());
  }
  note_weakness(nullptr);
  return Reached{std::move(directory_), ".", std::move(weakness_)};
}

std::string name_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return ".";
  const std::size_t slash = path.rfind('/', end);
  return path.substr(slash + 1, end - slash);
}

}  // namespace

envgen::Result<Reached> reach(const std::string& path, const ReachRule& rule) {
  return Walk(path, rule).run();
}

envgen::Result<Reached> reach_as(const envgen::Identity& job, const std::string& path,
                                 const ReachRule& rule) {
  const std::string name = name_of(path);
  if (name != "." && name != "..") {
    const AsUser as(job);
    const std::string parent = parent_of(path);
    if (as.switched()) {
      // What cannot be made is what reach() then says in full.
      if (rule.make_parents) std::ignore = make_directories(parent, *rule.make_parents);
      Fd directory(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      struct stat status{};
      // By the real ids, which are the user's too.
      if (directory.valid() && ::faccessat(directory.get(), ".", W_OK | X_OK, 0) == 0 &&
          ::fstat(directory.get(), &status) == 0) {
        return Reached{std::move(directory), name, described(parent, status)};
      }
    }
  }
  ReachRule ours = rule;
  ours.job = &job;
  return reach(path, ours);
}

envgen::Status check_ours_alone(const std::string& path, const envgen::Identity* job) {
  constexpr const char* kRefused = "running a program with trainit's rights";
  constexpr const char* kFix =
      "let only root own and write it and every directory on the way (chown root:root, chmod "
      "go-w), or run it as part of the job";
  auto reached = reach(path, {.job = job, .follow_last = true});
  if (!reached) return std::unexpected(std::move(reached.error()));
  if (!reached->weakness.empty()) {
    return envgen::fail(kRefused, path, "others may change it by " + reached->weakness, kFix);
  }
  const Fd file(::openat(reached->directory.get(), reached->name.c_str(), kOpenPath));
  struct stat status{};
  // What is not there is said by whoever runs it.
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return {};
  if (!is_foreign(file.get(), status, job)) return {};
  return envgen::fail(kRefused, path, "others may change it: " + described(path, status), kFix);
}

namespace {

bool is_of(const envgen::Identity* job, uid_t owner) {
  return is_ours(owner) || (job != nullptr && job->uid == owner);
}

constexpr const char* kOpening = "opening the log file";
constexpr const char* kFix =
    "create its directory, make it writable, or choose another log directory";

envgen::Result<Fd> no_log(envgen::Error error) {
  error.what = kOpening;
  if (error.found.starts_with("No such")) error.fix = kFix;
  return std::unexpected(std::move(error));
}

// Opened where others may write: only what is certainly meant.
envgen::Result<Fd> accept(Fd fd, const Reached& reached, const std::string& path,
                          const envgen::Identity* job) {
  if (!fd.valid()) {
    const int error = errno;
    const char* fix = error == ELOOP ? "it is a link, and others may write there: remove it" : kFix;
    return envgen::fail(kOpening, path, errno_text(error), fix);
  }
  if (reached.weakness.empty()) return fd;
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return envgen::fail(kOpening, path, errno_text(errno), kFix);
  if (S_ISREG(status.st_mode) && status.st_nlink <= 1 && is_of(job, status.st_uid)) return fd;
  const std::string found = !S_ISREG(status.st_mode) ? "no regular file"
                            : status.st_nlink > 1
                                ? "a file with " + std::to_string(status.st_nlink) + " names"
                                : "a file of user " + std::to_string(status.st_uid);
  return envgen::fail(kOpening, path, found + ", in " + reached.weakness,
                      "remove it, or choose another log directory");
}

}  // namespace

envgen::Result<Reached> reach_log(const std::string& path, const envgen::Identity* job) {
  const ReachRule rule{.job = job, .follow_last = true};
  return job != nullptr ? reach_as(*job, path, rule) : reach(path, rule);
}

envgen::Result<Fd> open_to_append(const std::string& path, std::uint32_t mode,
                                  const envgen::Identity* job, bool patiently) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC;
  constexpr int kAttempts = 16;
  auto reached = reach_log(path, job);
  if (!reached) return no_log(std::move(reached.error()));
  const int flags = kFlags | (patiently && reached->weakness.empty() ? 0 : O_NONBLOCK);
  const int directory = reached->directory.get();
  const char* name = reached->name.c_str();
  Fd fd;
  for (int attempt = 0; attempt < kAttempts && !fd.valid(); ++attempt) {
    fd.reset(::openat(directory, name, flags));
    if (fd.valid() || errno != ENOENT) break;
    fd.reset(::openat(directory, name, flags | O_CREAT | O_EXCL, mode));
    if (!fd.valid() && errno != EEXIST) break;
  }
  const int error = errno;
  if (patiently && fd.valid()) ::fcntl(fd.get(), F_SETFL, O_APPEND);
  errno = error;
  return accept(std::move(fd), *reached, path, job);
}

envgen::Result<Fd> open_to_read(const std::string& path, const envgen::Identity* job) {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC;
  auto reached = reach_log(path, job);
  if (!reached) return no_log(std::move(reached.error()));
  Fd fd(::openat(reached->directory.get(), reached->name.c_str(), kFlags));
  return accept(std::move(fd), *reached, path, job);
}

namespace {

// The kernel forgets it with each change of credentials; the parent may have died meanwhile.
void keep_death_signal(int number, pid_t parent) {
  if (number == 0) return;
  ::prctl(PR_SET_PDEATHSIG, number, 0, 0, 0);
  if (::getppid() != parent) ::raise(number);
}

}  // namespace

AsUser::AsUser(const envgen::Identity& who) : group_(::getegid()) {
  if (::geteuid() != 0 || ::getuid() != 0 || who.uid == 0) return;
  const int count = ::getgroups(0, nullptr);
  groups_.resize(static_cast<std::size_t>(std::max(count, 0)));
  if (count > 0) ::getgroups(count, groups_.data());
  int death = 0;
  ::prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0);
  const pid_t parent = ::getppid();
  const std::vector<gid_t> theirs(who.groups.begin(), who.groups.end());
  switched_ = ::setgroups(theirs.size(), theirs.data()) == 0 &&
              ::setresgid(who.gid, who.gid, group_) == 0 && ::setresuid(who.uid, who.uid, 0) == 0;
  // Half of it would be worse than nothing: the groups go back with the same right.
  if (!switched_ && (::setresgid(group_, group_, group_) != 0 ||
                     ::setgroups(groups_.size(), groups_.data()) != 0)) {
    ::_exit(125);
  }
  keep_death_signal(death, parent);
}

AsUser::~AsUser() {
  if (!switched_) return;
  int death = 0;
  ::prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0);
  const pid_t parent = ::getppid();
  // Never on with another's ids by mistake.
  if (::setresuid(0, 0, 0) != 0 || ::setresgid(group_, group_, group_) != 0 ||
      ::setgroups(groups_.size(), groups_.data()) != 0) {
    ::_exit(125);
  }
  keep_death_signal(death, parent);
}

}  // namespace sys
