#include "init/proc/exec.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/exit_codes.h"
#include "base/nearest.h"
#include "base/search_path.h"
#include "base/secrets/secrets.h"
#include "base/shown_lines.h"
#include "base/text.h"
#include "envgen/plan/command.h"
#include "envgen/plan/shell_text.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace proc {
namespace {

constexpr const char* kShell = "/bin/sh";
constexpr std::string_view kListenPid = "LISTEN_PID=";
constexpr std::size_t kHeadBytes = 512;

#if defined(__x86_64__)
constexpr unsigned kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kOwnMachine = EM_AARCH64;
#else
#error "add this machine's ELF number"
#endif

struct Reason {
  std::string found;
  std::string fix;
};

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "arm64";
    case EM_386:
      return "32-bit x86";
    case EM_ARM:
      return "32-bit arm";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390x";
    case EM_RISCV:
      return "riscv";
    case EM_LOONGARCH:
      return "loongarch";
    default:
      return "ELF machine " + std::to_string(machine);
  }
}

std::string read_at(int fd, off_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  const ssize_t count = ::pread(fd, bytes.data(), size, offset);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return bytes;
}

// Opens a file for reading. O_NONBLOCK is used because the file may be a FIFO.
sys::Fd open_program(const std::string& path) {
  return sys::Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

bool is_elf(std::string_view head) { return head.starts_with(std::string_view(ELFMAG, SELFMAG)); }

// Returns whether the file is binary, by the rule of shells: a NUL among its first bytes.
bool is_binary(std::string_view head) {
  return is_elf(head) || head.substr(0, 128).find('\0') != std::string_view::npos;
}

// Returns the interpreter in the first line of a script: "/bin/sh" for "#!/bin/sh -e".
std::string interpreter_of(std::string_view head) {
  if (!head.starts_with("#!")) return {};
  std::string_view line = head.substr(2, head.find('\n') - 2);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

// Returns the dynamic loader that a 64-bit program names; "" for a static one.
std::string loader_of(int fd, std::string_view head) {
  Elf64_Ehdr header;
  if (head.size() < sizeof header || !is_elf(head) || head[EI_CLASS] != ELFCLASS64) return {};
  std::memcpy(&header, head.data(), sizeof header);
  constexpr unsigned kMaxSegments = 128;
  const unsigned segments = std::min<unsigned>(header.e_phnum, kMaxSegments);
  for (unsigned i = 0; i < segments; ++i) {
    Elf64_Phdr segment;
    const auto offset = static_cast<off_t>(header.e_phoff + i * sizeof segment);
    const std::string bytes = read_at(fd, offset, sizeof segment);
    if (bytes.size() != sizeof segment) return {};
    std::memcpy(&segment, bytes.data(), sizeof segment);
    if (segment.p_type != PT_INTERP) continue;
    const auto size = std::min<std::uint64_t>(segment.p_filesz, PATH_MAX);
    return read_at(fd, static_cast<off_t>(segment.p_offset), size).c_str();
  }
  return {};
}

// Returns the first directory of a path that this process may not search, also if it is reached
// through links; "" if it may search all.
std::string closed_directory(const std::string& path) {
  constexpr int kMaxLinks = 40;  // the kernel's limit
  std::string done = path.starts_with('/') ? "/" : "./";
  std::string rest = path;
  for (int links = 0; !rest.empty();) {
    if (::access(done.c_str(), X_OK) != 0) {
      if (errno != EACCES) return {};
      if (done.size() > 1) done.pop_back();
      return done;
    }
    const std::size_t slash = rest.find('/');
    const std::string name = rest.substr(0, slash);
    rest.erase(0, slash == std::string::npos ? slash : slash + 1);
    if (name.empty()) continue;
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlink((done + name).c_str(), target.data(), target.size());
    if (size <= 0 || ++links > kMaxLinks) {
      done += name + "/";
      continue;
    }
    rest = std::string(target.data(), static_cast<std::size_t>(size)) + "/" + rest;
    if (rest.starts_with('/')) done = "/";
  }
  return {};
}

constexpr const char* kOpenIt = "open it (chmod o+x), or install the program elsewhere";

// Returns "the directory /root, which uid 1000 may not search"; "" if it may search all.
std::string closed_text(const std::string& path) {
  const std::string closed = closed_directory(path);
  if (closed.empty()) return {};
  return "the directory " + closed + ", which uid " + std::to_string(::geteuid()) +
         " may not search";
}

// Returns why an interpreter or a loader cannot be executed; the reason is in errno.
Reason helper_reason(const std::string& what, const std::string& path, const char* fix) {
  const int error = errno;
  const std::string closed = error == EACCES ? closed_text(path) : "";
  if (!closed.empty()) return {what + path + " lies behind " + closed, kOpenIt};
  return {what + path + " gives " + sys::errno_text(error), fix};
}

// Returns why the interpreter or loader of the file cannot run: Windows line ends, missing, or not
// executable. Returns nullopt if the cause is another one.
std::optional<Reason> blame_helper(const std::string& path) {
  const sys::Fd fd = open_program(path);
  if (!fd.valid()) return std::nullopt;
  const std::string head = read_at(fd.get(), 0, kHeadBytes);
  std::string interpreter = interpreter_of(head);
  if (!interpreter.empty() && interpreter.ends_with('\r')) {
    interpreter.pop_back();
    return Reason{"Windows line ends: its interpreter is \"" + interpreter + "\\r\"",
                  "convert it to Unix line ends (sed -i 's/\\r$//')"};
  }
  if (!interpreter.empty() && ::access(interpreter.c_str(), X_OK) != 0) {
    return helper_reason("a script whose interpreter ", interpreter,
                         "install the interpreter, or correct the #! line");
  }
  const std::string loader = loader_of(fd.get(), head);
  if (!loader.empty() && ::access(loader.c_str(), X_OK) != 0) {
    return helper_reason("a program whose dynamic loader ", loader,
                         "use an image with that C library, or a static program");
  }
  return std::nullopt;
}

constexpr std::string_view kPythonEnding = ".py";

// Returns the advice for a script; `otherwise` if its language is not known.
std::string by_interpreter(const std::string& path, const std::string& otherwise) {
  if (!path.ends_with(kPythonEnding)) return otherwise;
  return "start it by its interpreter: python3 " + path;
}

Reason blame_access(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    const std::string found = sys::errno_text(errno);
    const std::string closed = closed_text(path);
    return {closed.empty() ? found : closed, kOpenIt};
  }
  if (S_ISDIR(status.st_mode)) return {"a directory", "name the program itself"};
  if (!S_ISREG(status.st_mode)) return {"no regular file", "name the program itself"};
  struct statvfs system{};
  if (::statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0) {
    return {"a file system mounted noexec", "mount it exec, or start it by its interpreter"};
  }
  if (::access(path.c_str(), X_OK) != 0) {
    std::array<char, 16> mode{};
    std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & 07777U);
    return {std::string("mode ") + mode.data() + ", not executable for uid " +
                std::to_string(::geteuid()),
            by_interpreter(path, "chmod +x it, or start it by its interpreter")};
  }
  if (auto reason = blame_helper(path)) return *reason;
  return {sys::errno_text(EACCES), "look at the security policy of this container"};
}

Reason blame_format(const std::string& path) {
  const sys::Fd fd = open_program(path);
  const std::string head = fd.valid() ? read_at(fd.get(), 0, kHeadBytes) : "";
  Elf64_Ehdr header{};
  if (is_elf(head) && head.size() >= sizeof header) {
    std::memcpy(&header, head.data(), sizeof header);
    if (header.e_machine != kOwnMachine) {
      return {"a program for " + machine_name(header.e_machine) + " on a machine of " +
                  machine_name(kOwnMachine),
              "use the image of this architecture"};
    }
  }
  if (is_binary(head)) return {"a binary file that is no program for this kernel", "rebuild it"};
  const bool python = path.ends_with(kPythonEnding);
  return {"a script without a #! line" +
              (python ? std::string() : ", and no " + std::string(kShell) + " to run it"),
          by_interpreter(path, "give it a #! line, or start it by its interpreter")};
}

// Returns the program in the search path that the user probably meant; "" if none is similar. Reads
// the directories of the path.
std::string nearest_program(std::string_view search_path, std::string_view name) {
  constexpr int kMaxEntries = 20'000;
  constexpr std::size_t kMinBytes = 5;  // shorter names are similar to too many others
  constexpr std::size_t kEditEvery = 4;
  std::string meant;
  if (name.size() < kMinBytes) return meant;
  std::size_t edits = std::clamp<std::size_t>(name.size() / kEditEvery, 1, 2) + 1;
  int entries = 0;
  for (const std::string_view path : base::split(search_path, ':')) {
    const sys::Dir directory(path.empty() ? nullptr : ::opendir(std::string(path).c_str()));
    while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
      if (++entries > kMaxEntries) return meant;
      const std::size_t now = base::edit_distance(name, entry->d_name, edits);
      if (now == 0 || now >= edits) continue;
      // Not faccessat(3): the C library calls faccessat2, which old profiles refuse with EPERM.
      const std::string file = base::concat({path, "/", entry->d_name});
      if (::access(file.c_str(), X_OK) != 0) continue;
      edits = now;
      meant = entry->d_name;
    }
  }
  return meant;
}

// Returns the advice for a name that no directory of PATH contains. The working directory may
// contain such a file. `first` is put before an advice that is not a question.
std::string advice_for_name(const std::string& name, const std::string& search_path = "",
                            const std::string& first = "") {
  if (name.find(' ') != std::string::npos) {
    if (envgen::conda_activation(name)) return first + "use " + envgen::advice_for_line(name);
    const std::string shell = base::shown_command({"sh", "-c", name});
    if (name.find_first_of("&|;<>$`") != std::string::npos) {
      return first + "give the line to a shell: " + shell;
    }
    return first + "give each word by itself (" + name + ", without quotes), or a shell: " + shell;
  }
  if (name.find('=') != std::string::npos) {
    return first + "set a variable by env: env " + name + " COMMAND";
  }
  const std::string here = "./" + name;
  const bool lies_here = ::access(here.c_str(), F_OK) == 0;
  if (lies_here || name.ends_with(kPythonEnding)) {
    return first + by_interpreter(name, "give its path, " + here);
  }
  const std::string install = first + "install " + name + " in the image, or give its path";
  const std::string meant = nearest_program(search_path, name);
  return meant.empty() ? install : "did you mean " + meant + "? If not, " + install;
}

std::string advice_for_path(const std::string& path) {
  if (path.find(' ') != std::string::npos) return advice_for_name(path);
  return path.starts_with('/') ? "correct the path"
                               : "correct the path, which counts from the working directory";
}

// Returns "a:b:c" or "a:b:... (12 directories)".
std::string short_search_path(const std::string& path) {
  constexpr std::size_t kShown = 80;
  if (path.size() <= kShown) return path;
  const std::size_t end = path.rfind(':', kShown);
  const auto count = std::ranges::count(path, ':') + 1;
  return path.substr(0, end == std::string::npos ? kShown : end) + ":... (" +
         std::to_string(count) + " directories)";
}

Reason blame_size(const std::vector<char*>& arguments, const std::vector<char*>& environment) {
  std::size_t total_bytes = 0;
  std::string_view longest;
  for (const std::vector<char*>* list : {&arguments, &environment}) {
    for (const char* each : *list) {
      if (each == nullptr) continue;
      const std::string_view text(each);
      total_bytes += text.size() + 1;
      if (text.size() > longest.size()) longest = text;
    }
  }
  constexpr std::size_t kShown = 40;
  return {"arguments and environment of " + std::to_string(total_bytes) +
              " bytes, the longest of " + std::to_string(longest.size()) + " (" +
              base::masked_entry(longest).substr(0, kShown) + "...)",
          "Linux takes 131071 bytes for one and a quarter of the stack limit for all: pass it in "
          "a file"};
}

Reason blame(const std::string& path, int error) {
  switch (error) {
    case EACCES:
      return blame_access(path);
    case ENOENT:
    case ENOTDIR:
    case ELIBBAD:
      if (auto reason = blame_helper(path)) return *reason;
      return {sys::errno_text(error), ""};
    case ENOEXEC:
      return blame_format(path);
    case EAGAIN:
      return {sys::errno_text(error) + ": uid " + std::to_string(::geteuid()) +
                  " has as many processes as its RLIMIT_NPROC allows",
              "raise it (--rlimit nproc=...)"};
    case ETXTBSY:
      return {"a file that is still open for writing", "close it before it is started"};
    case ELOOP:
      return {sys::errno_text(error), "look for links, or #! lines, that lead back to themselves"};
    default:
      return {sys::errno_text(error), ""};
  }
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

// Returns whether the path exists. A link exists even if it leads nowhere.
bool lies_there(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

// Returns whether execvp looks at the next directory after this error.
bool is_absence(int error) {
  return error == ENOENT || error == ENOTDIR || error == ESTALE || error == ENODEV ||
         error == ETIMEDOUT || error == ENAMETOOLONG;
}

// execve takes char* for historical reasons and changes nothing.
char* pointer(const std::string& text) { return const_cast<char*>(text.c_str()); }

}  // namespace

void give_hint(StartFailure& failure, const std::string& hint) {
  if (failure.name_missing && !hint.empty()) failure.error.fix = hint;
}

Program::Program(const std::vector<std::string>& argv, const base::Environ& env) {
  for (const std::string& argument : argv) arguments_.push_back(pointer(argument));
  shell_ = {const_cast<char*>(kShell), nullptr};
  if (!argv.empty()) shell_.insert(shell_.end(), arguments_.begin() + 1, arguments_.end());
  arguments_.push_back(nullptr);
  shell_.push_back(nullptr);
  // Room for two more entries: LISTEN_PID and the null.
  environment_.reserve(env.entries().size() + 2);
  for (const std::string& entry : env.entries()) environment_.push_back(pointer(entry));
  environment_.push_back(nullptr);
  if (argv.empty() || argv[0].empty()) return;
  if (!argv[0].contains('/')) search_path_ = base::search_path_of(env);
  files_ = base::places_of_program(search_path_.value_or(""), argv[0]);
}

void Program::set_listen_pid(pid_t pid) {
  std::snprintf(listen_pid_.data(), listen_pid_.size(), "LISTEN_PID=%d", pid);
  std::erase_if(environment_, [](const char* entry) {
    return entry != nullptr && std::string_view(entry).starts_with(kListenPid);
  });
  environment_.insert(environment_.end() - 1, listen_pid_.data());
}

int Program::try_file(const std::string& path) {
  ::execve(path.c_str(), arguments_.data(), environment_.data());
  if (errno != ENOEXEC) return errno;
  const sys::Fd fd = open_program(path);
  if (!fd.valid() || is_binary(read_at(fd.get(), 0, kHeadBytes))) return ENOEXEC;
  // Runs a script with a shell, as execvp does, but not a Python file: a shell would run its
  // `import` as a program of that name.
  if (path.ends_with(kPythonEnding)) return ENOEXEC;
  shell_[1] = pointer(path);
  ::execve(kShell, shell_.data(), environment_.data());
  return errno == E2BIG ? E2BIG : ENOEXEC;
}

StartFailure Program::exec() { return try_all(&Program::try_file); }

// Returns 0 if execve() could read the file as a program, otherwise an errno.
int Program::inspect_file(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

std::optional<StartFailure> Program::find_fault() {
  StartFailure failure = try_all(&Program::inspect_file);
  if (failure.exit_code == 0) return std::nullopt;
  return failure;
}

StartFailure Program::try_all(int (Program::*attempt)(const std::string&)) {
  const std::string name = arguments_[0] == nullptr ? "" : arguments_[0];
  const std::string what = "starting " + (name.empty() ? "a program" : name);
  const std::string* denied = nullptr;  // the first file that exists but failed; `error` is its
                                        // errno
  int denied_error = 0;
  std::string closed;  // about a directory of PATH
  for (const std::string& path : files_) {
    const int error = (this->*attempt)(path);
    if (error == 0) return {};
    if (is_absence(error) && !exists(path)) continue;
    // Whether the program is in this directory is not known, because it cannot be searched. execvp
    // ends with EACCES then.
    if (search_path_ && error == EACCES && !lies_there(path)) {
      if (closed.empty()) closed = closed_text(path);
      continue;
    }
    if (error == E2BIG) {
      Reason reason = blame_size(arguments_, environment_);
      return {exit_code::kCannotRun, {what, path, std::move(reason.found), std::move(reason.fix)}};
    }
    if (denied == nullptr) {
      denied = &path;
      denied_error = error;
    }
    if (error != EACCES && !is_absence(error)) break;
  }
  if (denied != nullptr) {
    Reason reason = blame(*denied, denied_error);
    return {exit_code::kCannotRun, {what, *denied, std::move(reason.found), std::move(reason.fix)}};
  }
  if (name.empty()) {
    return {exit_code::kNotFound, {what, "", "an empty command name", "name the program to run"}};
  }
  if (!search_path_) {
    return {exit_code::kNotFound, {what, name, "no such file", advice_for_path(name)}};
  }
  std::string missing = "no such program in PATH=" + short_search_path(*search_path_);
  if (!closed.empty()) missing += ", and behind " + closed;
  const std::string first = closed.empty() ? "" : "open it (chmod o+x), or ";
  return {closed.empty() ? exit_code::kNotFound : exit_code::kCannotRun,
          {what, "", std::move(missing), advice_for_name(name, *search_path_, first)},
          true};
}

}  // namespace proc
