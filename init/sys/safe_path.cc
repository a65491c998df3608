#include "init/sys/safe_path.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
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

#include "base/text.h"
#include "envgen/plan/command.h"
#include "envgen/plan/inputs.h"
#include "init/sys/find_program.h"
#include "init/sys/mounts.h"
#include "init/sys/path_state.h"
#include "init/sys/umask.h"

namespace sys {
namespace {

constexpr std::string_view kForeignLink = "the link ";  // is_foreign_link() recognises the error by
                                                        // this text

constexpr const char* kWhat = "following a path";
constexpr int kMaxLinks = 40;  // the kernel's MAXSYMLINKS
constexpr int kOpenPath = O_PATH | O_NOFOLLOW | O_CLOEXEC;

// The uid that the kernel shows for every user that a user namespace does not map (fs.overflowuid).
constexpr uid_t kUnmapped = 65534;

// Returns whether the user namespace does not map kUnmapped, so that no process in it has that uid.
// An example is Apptainer or `unshare -r`, which map one user: the files of the image, which belong
// to root, then show kUnmapped as their owner.
bool nobody_is_unmapped() {
  const envgen::PathState map = inspect("/proc/self/uid_map", true);
  if (map.kind != envgen::PathState::Kind::kFile) return false;
  // Each line of uid_map is "inside outside count". No stream is used, because it would link
  // libstdc++'s locales, half a megabyte.
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

bool has_roots_group(const envgen::Identity* job_user) {
  if (job_user == nullptr) return false;
  return job_user->gid == 0 || std::ranges::find(job_user->groups, 0U) != job_user->groups.end();
}

// Returns whether the file has an access control list. The group bits of its mode are then the
// maximum that any entry of the list gives.
bool has_list(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) >= 0) return true;
  return errno != ENODATA && errno != EOPNOTSUPP;
}

// Returns whether another user can write a file that root or trainit's user owns.
bool lets_others_write(int fd, const struct stat& status, const envgen::Identity* job_user) {
  if ((status.st_mode & S_IWOTH) != 0) return true;
  if ((status.st_mode & S_IWGRP) == 0 || ::geteuid() != 0) return false;
  return status.st_gid != 0 || has_roots_group(job_user) || has_list(fd);
}

std::string mode_text(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777U));
  return text.data();
}

}  // namespace

std::string described(const std::string& path, const struct stat& status) {
  return path + " (owner " + std::to_string(status.st_uid) + ", group " +
         std::to_string(status.st_gid) + ", mode " + mode_text(status.st_mode) + ")";
}

bool is_ours(uid_t owner) {
  if (owner == 0 || owner == ::geteuid()) return true;
  static const bool unmapped = nobody_is_unmapped();
  return owner == kUnmapped && unmapped;
}

bool lets_others_change(int fd, const struct stat& status, const envgen::Identity* job_user) {
  return !is_ours(status.st_uid) || lets_others_write(fd, status, job_user);
}

namespace {

// Returns whether another user can change the directory.
bool is_foreign(int fd, const struct stat& status, const envgen::Identity* job_user) {
  if (!is_ours(status.st_uid)) return true;
  return lets_others_write(fd, status, job_user) && !is_written_nowhere(fd);
}

// Opens the root directory, through /proc if possible, because an emulator (qemu-user -L) shows
// another tree as "/".
Fd open_root() {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  const int fd = ::open("/proc/self/root", kFlags);
  return Fd(fd >= 0 ? fd : ::open("/", kFlags));
}

class Walk {
 public:
  Walk(const std::string& path, const SafePathRule& rule) : path_(path), rule_(rule) {}
  base::Result<SafePath> run();
  base::Result<SafePath> go_on(const Fd& from, std::string at);

 private:
  base::Result<SafePath> walk();
  [[nodiscard]] std::unexpected<base::Error> fail(int error) const;
  [[nodiscard]] std::string shown(const std::string& name) const;
  // Makes `directory` the current one: sets directory_ and status_. Returns false on failure, with
  // errno. `known` is its status, if the caller already has it.
  bool stand_in(Fd directory, const struct stat* known = nullptr);
  void push(std::string_view path);
  // Returns whether only the owner of the entry can replace it.
  [[nodiscard]] bool is_safe(const struct stat* entry) const;
  void note_weakness(const struct stat* entry);
  base::Status follow(const Fd& link, const std::string& name, const struct stat& status);
  base::Status enter(const std::string& name);
  base::Status last(const std::string& name, bool* done);

  const std::string& path_;
  const SafePathRule& rule_;
  Fd directory_;
  struct stat status_{};
  std::string at_;  // path of directory_, for messages
  std::string weakness_;
  std::deque<std::string> rest_;
  int links_ = 0;
  bool magic_ = false;  // the last component is a link that only the kernel can follow
};

std::unexpected<base::Error> Walk::fail(int error) const {
  const std::string where = at_.empty() ? "/" : at_;
  std::string found = errno_text(error);
  if (error != ENOENT || where != parent_of(path_)) found += " at " + where;
  const char* fix = error == ENOENT                      ? "create the directory first"
                    : error == EMFILE || error == ENFILE ? "raise the limit on open files"
                    : error == ENOTDIR ? "remove what is there, or choose another path"
                    : error == EACCES
                        ? "let this user search that directory, or choose another path"
                        : "choose another path";
  return base::fail(kWhat, path_, std::move(found), fix);
}

std::string Walk::shown(const std::string& name) const {
  return at_.empty() || at_.back() != '/' ? at_ + "/" + name : at_ + name;
}

bool Walk::stand_in(Fd directory, const struct stat* known) {
  if (!directory.valid()) return false;
  if (known != nullptr) {
    status_ = *known;
  } else if (::fstat(directory.get(), &status_) != 0) {
    return false;
  }
  directory_ = std::move(directory);
  return true;
}

void Walk::push(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::string_view name = base::take_part(path, '/');
    if (!name.empty() && name != ".") names.emplace_back(name);
  }
  rest_.insert(rest_.begin(), names.begin(), names.end());
}

bool Walk::is_safe(const struct stat* entry) const {
  if (!weakness_.empty()) return false;
  if (!is_foreign(directory_.get(), status_, rule_.job_user)) return true;
  const bool sticky = is_ours(status_.st_uid) && (status_.st_mode & S_ISVTX) != 0;
  // An entry with an unmapped owner does not count as safe: a user outside may have created it.
  return sticky && entry != nullptr && (entry->st_uid == 0 || entry->st_uid == ::geteuid());
}

void Walk::note_weakness(const struct stat* entry) {
  if (!is_safe(entry) && weakness_.empty()) weakness_ = described(at_.empty() ? "/" : at_, status_);
}

base::Status Walk::follow(const Fd& link, const std::string& name, const struct stat& status) {
  note_weakness(&status);
  if (!weakness_.empty()) {
    return base::fail(kWhat, path_,
                      std::string(kForeignLink) + shown(name) + " of user " +
                          std::to_string(status.st_uid) + ", in " + weakness_ +
                          ", which others may change",
                      "name the place itself instead of a link to it, or put the link where "
                      "only root may write");
  }
  if (++links_ > kMaxLinks) return fail(ELOOP);
  struct statfs system{};
  if (name != "self" && ::fstatfs(link.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC) {
    // A link below /proc/PID may lead to a file that its text does not name, as /dev/stdout does.
    // If it is the last component, the caller's open() follows it. Otherwise the path is not
    // trusted.
    if (rest_.empty()) {
      magic_ = true;
      rest_.push_front(name);
      return {};
    }
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
    if (!stand_in(open_root())) return fail(errno);
  }
  push(target);
  return {};
}

base::Status Walk::enter(const std::string& name) {
  // With O_DIRECTORY, an automounter mounts the directory.
  Fd next(::openat(directory_.get(), name.c_str(), kOpenPath | O_DIRECTORY));
  if (!next.valid() && errno == ENOENT && rule_.make_parents) {
    const NoUmask exact;
    const bool made = ::mkdirat(directory_.get(), name.c_str(), *rule_.make_parents) == 0;
    const int error = errno;
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
  const bool known = next.valid() && ::fstat(next.get(), &status) == 0;
  if (known && name != "..") note_weakness(&status);
  at_ = shown(name);
  if (!next.valid()) return fail(error);
  if (!stand_in(std::move(next), known ? &status : nullptr)) return fail(errno);
  return {};
}

// Handles the last component. Sets `done` unless it is a link that has to be followed.
base::Status Walk::last(const std::string& name, bool* done) {
  *done = true;
  struct stat status{};
  const bool there = ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && S_ISLNK(status.st_mode) && rule_.follow_last && !magic_) {
    *done = false;
    const Fd link(::openat(directory_.get(), name.c_str(), kOpenPath));
    if (!link.valid() || ::fstat(link.get(), &status) != 0) return fail(errno);
    // The entry was replaced by a link meanwhile, so it is handled as a link.
    if (S_ISLNK(status.st_mode)) return follow(link, name, status);
    rest_.push_front(name);
    return ++links_ > kMaxLinks ? base::Status(fail(ELOOP)) : base::Status();
  }
  note_weakness(there ? &status : nullptr);
  return {};
}

base::Result<SafePath> Walk::run() {
  const bool absolute = path_.starts_with('/');
  if (path_.empty()) return fail(ENOENT);
  at_ = absolute ? "" : ".";
  if (!stand_in(absolute ? open_root() : Fd(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)))) {
    return fail(errno);
  }
  push(path_);
  return walk();
}

base::Result<SafePath> Walk::go_on(const Fd& from, std::string at) {
  if (!stand_in(Fd(::fcntl(from.get(), F_DUPFD_CLOEXEC, 0)))) return fail(errno);
  if (status_.st_nlink == 0) return fail(ENOENT);
  at_ = std::move(at);
  push(std::string_view(path_).substr(at_.size()));
  return walk();
}

base::Result<SafePath> Walk::walk() {
  while (!rest_.empty()) {
    const std::string name = std::move(rest_.front());
    rest_.pop_front();
    if (rest_.empty() && name != "..") {
      bool done = false;
      TRY(last(name, &done));
      if (done) return SafePath{std::move(directory_), name, std::move(weakness_), magic_};
      continue;
    }
    TRY(enter(name));
  }
  note_weakness(nullptr);
  return SafePath{std::move(directory_), ".", std::move(weakness_), false};
}

}  // namespace

base::Result<SafePath> resolve_safely(const std::string& path, const SafePathRule& rule) {
  return Walk(path, rule).run();
}

base::Result<SafePath> resolve_safely_from(const SafePath& known, const std::string& directory,
                                           const std::string& path, const SafePathRule& rule) {
  if (!known.untrusted_directory.empty()) return resolve_safely(path, rule);
  auto reached = Walk(path, rule).go_on(known.directory, directory);
  return reached ? std::move(reached) : resolve_safely(path, rule);
}

namespace {

// Returns whether all paths in a word of a script's first line are absolute. A `PATH=` may have no
// empty or relative element. Only an option or the `=` of a variable may be before the first slash.
bool names_absolute_paths(std::string_view word) {
  constexpr std::string_view kPath = "PATH=";
  const std::size_t path = word.find(kPath);
  if (path != word.npos) word.remove_prefix(path + kPath.size());
  if (path != word.npos && word.ends_with(':')) return false;
  do {
    const std::string_view part = word.substr(0, word.find(':'));
    const std::string_view before = part.substr(0, part.find('/'));
    const bool option = before.starts_with('-') && before.size() == 2;
    const bool plain = before.size() == part.size()
                           ? path == word.npos
                           : before.empty() || before.ends_with('=') || option;
    if (!plain || (path != word.npos && !part.starts_with('/'))) return false;
    word.remove_prefix(std::min(part.size() + 1, word.size()));
  } while (!word.empty());
  return true;
}

// Returns the programs and paths that a script's first line names: the interpreter, the program
// that env(1) finds in `search`, and each path in the arguments. The arguments count because env
// has other names, and accepts PATH= there.
//
// Returns nullopt if `search` is given and the line may hide a program. Reasons are a quote, a
// backslash or a variable (env expands these), a relative path, or the length of the line.
std::optional<std::vector<std::string>> interpreters_of(const SafePath& reached,
                                                        std::string_view search) {
  constexpr std::size_t kMaxBytes = 255;  // the kernel's BINPRM_BUF_SIZE without the NUL
  std::vector<std::string> found;
  const Fd file(::openat(reached.directory.get(), reached.name.c_str(),
                         O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  std::array<char, kMaxBytes> bytes;
  const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
  std::string_view text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (!text.starts_with("#!")) return found;
  const bool is_cut = text.size() == kMaxBytes && text.find('\n') == text.npos;
  text = text.substr(2, text.find('\n') - 2);
  if (!search.empty() && (is_cut || text.find_first_of("$\\'\"") != text.npos)) return {};
  found.emplace_back(base::take_word(text));
  std::array<char, PATH_MAX> working;
  const char* here = ::getcwd(working.data(), working.size());
  while (!text.empty()) {
    std::string_view word = base::take_word(text);
    if (!search.empty() && !names_absolute_paths(word)) return {};
    const bool is_name = word.find_first_of("/=-") != 0 && !word.contains('=');
    // A name without '/' is opened in the working directory by a shell, which may be that of
    // trainit or the root.
    for (const char* directory : {here != nullptr ? here : "/", "/"}) {
      std::string path = envgen::join_path(directory, word);
      struct stat status{};
      if (is_name && !search.empty() && ::lstat(path.c_str(), &status) == 0) {
        found.push_back(std::move(path));
      }
    }
    if (const std::size_t at = word.find('/'); at != word.npos) found.emplace_back(word.substr(at));
    if (is_name && !search.empty()) {
      if (std::string path = find_program(search, word); !path.empty()) found.push_back(path);
    }
    while (!word.empty()) {
      const std::string_view part = base::take_part(word, ':');
      if (const std::size_t at = part.find('/'); at != part.npos)
        found.emplace_back(part.substr(at));
    }
  }
  return found;
}

}  // namespace

bool is_foreign_link(const base::Error& error) { return error.found.starts_with(kForeignLink); }

bool is_absent(const base::Error& error) { return error.found.starts_with("No such"); }

base::Status check_ours_alone(const std::string& path, const envgen::Identity* job_user,
                              std::string_view search) {
  constexpr const char* kRefused = "running a program with trainit's rights";
  constexpr const char* kMend =
      "let only root own and write it and every directory on the way (chown root:root, chmod "
      "go-w), or run it as part of the job";
  constexpr std::size_t kMaxPrograms = 64;
  std::vector<std::string> programs{path};
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const std::string program = programs[i];
    if (i == kMaxPrograms) return base::fail(kRefused, path, "too many interpreters", kMend);
    auto reached = resolve_safely(program, {.job_user = job_user, .follow_last = true});
    // A missing program is no error: the caller reports it when it runs the program. But a missing
    // directory of PATH= is one, because other users could create it.
    if (!reached && is_absent(reached.error())) {
      if (i > 0 && program.size() > 1) programs.push_back(parent_of(program));
      continue;
    }
    if (!reached) return std::unexpected(std::move(reached.error()));
    if (!reached->untrusted_directory.empty()) {
      return base::fail(kRefused, program,
                        "others may change it by " + reached->untrusted_directory, kMend);
    }
    const Fd file(::openat(reached->directory.get(), reached->name.c_str(), kOpenPath));
    struct stat status{};
    if (!file.valid() || ::fstat(file.get(), &status) != 0) continue;
    if (!is_ours(status.st_uid) || lets_others_write(file.get(), status, job_user)) {
      return base::fail(kRefused, program, "others may change it: " + described(program, status),
                        kMend);
    }
    auto named = interpreters_of(*reached, search);
    if (!named) {
      return base::fail(
          kRefused, program,
          "a quote, a backslash, a variable, a relative path or 255 bytes in its first "
          "line",
          "name the interpreter and its arguments plainly, by absolute paths");
    }
    for (std::string& one : *named) programs.push_back(std::move(one));
  }
  return {};
}

}  // namespace sys
