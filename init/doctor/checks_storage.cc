// Checks of directories that the job writes, and of datasets that it only reads.

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/constants/words.h"
#include "base/text.h"
#include "init/doctor/checks.h"
#include "init/doctor/machine.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace doctor {
namespace {

struct Directory {
  std::string path;
  std::string use;            // for messages: "of the logs"
  std::uint64_t least_bytes;  // with less free space, the result is a warning
  bool needed = false;        // the job fails if it is not writable
};

constexpr std::uint64_t kGiB = 1ULL << 30;

// Returns the directory itself, or the nearest existing parent directory.
std::string existing_part(std::string path) {
  while (path.size() > 1 && ::access(path.c_str(), F_OK) != 0 &&
         (errno == ENOENT || errno == ENOTDIR)) {
    path.resize(std::max<std::size_t>(path.rfind('/'), 1));
  }
  return path;
}

CheckResult examine(const Directory& directory) {
  const std::string place = directory.path;
  const std::string path = existing_part(directory.path);
  struct statvfs space{};
  if (::statvfs(path.c_str(), &space) != 0) {
    return failed("the directory " + directory.use + ": " + sys::errno_text(errno),
                  "see whether its mount is alive", place);
  }
  if (::access(path.c_str(), W_OK | X_OK) != 0) {
    return failed(
        "the directory " + directory.use + " cannot be written: " + sys::errno_text(errno),
        "mount it writable for this user, or name another one", place);
  }
  constexpr std::uint64_t kMinBytes = 16ULL << 20;
  constexpr std::uint64_t kMinInodes = 1024;
  const std::uint64_t free = static_cast<std::uint64_t>(space.f_frsize) * space.f_bavail;
  const std::string found = size_text(free) + " free " + directory.use;
  const char* fix = "remove what is not needed, or name another directory";
  if (free < std::min(kMinBytes, directory.least_bytes)) return failed(found, fix, place);
  if (space.f_files > 0 && space.f_favail < kMinInodes) {
    return warning(found + ", and " + count_text(space.f_favail, "inode"), fix, place);
  }
  if (free < directory.least_bytes) return warning(found, fix, place);
  return ok(found, place);
}

struct Mount {
  std::string point;
  bool read_only = false;
};

// Replaces escapes of mountinfo, which writes a blank as "\040".
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size();
    if (!escape) {
      result += text[i];
      continue;
    }
    result += static_cast<char>(((text[i + 1] - '0') << 6) | ((text[i + 2] - '0') << 3) |
                                (text[i + 3] - '0'));
    i += 3;
  }
  return result;
}

// Parses lines such as "36 35 98:0 /mnt1 /data rw,noatime master:1 - ext3 /dev/root
// rw,errors=continue".
std::vector<Mount> mounts_of(const Context& context) {
  const std::string text = text_of(context, "/proc/self/mountinfo");
  std::string_view left = text;
  std::vector<Mount> mounts;
  while (!left.empty()) {
    std::string_view line = base::take_line(left);
    for (int skip = 0; skip < 4; ++skip) base::take_part(line, ' ');
    Mount mount{.point = unescaped(base::take_part(line, ' '))};
    const std::string_view options = base::take_part(line, ' ');
    const std::size_t dash = line.find("- ");
    const std::string_view super = dash == std::string_view::npos ? "" : line.substr(dash);
    // The mount itself can be read-only, or its whole file system.
    mount.read_only = options == "ro" || options.starts_with("ro,") ||
                      super.find(" ro,") != std::string_view::npos || super.ends_with(" ro");
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

bool lies_in(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// Returns the mount that contains `path`. If several are at one place, returns the last one, which
// covers the others.
const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    if (!lies_in(path, mount.point)) continue;
    if (best == nullptr || mount.point.size() >= best->point.size()) best = &mount;
  }
  return best;
}

// Returns mounts at the usual places of datasets, for the case that no dataset is named.
std::vector<std::string> usual_datasets(const std::vector<Mount>& mounts) {
  static constexpr auto kPlaces =
      base::words("/dataset", "/datasets", "/data", "/mnt/dataset", "/mnt/datasets", "/mnt/data");
  std::vector<std::string> found;
  for (const Mount& mount : mounts) {
    const bool usual = std::ranges::any_of(
        kPlaces, [&mount](std::string_view place) { return lies_in(mount.point, place); });
    if (usual && std::ranges::find(found, mount.point) == found.end()) {
      found.push_back(mount.point);
    }
  }
  return found;
}

CheckResult examine_dataset(const Context& context, const std::vector<Mount>& mounts,
                            const std::string& path) {
  const sys::Fd fd(::open((context.root + path).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) {
    return failed("it cannot be read: " + sys::errno_text(errno),
                  "mount the data set there, readable for this user", path);
  }
  const Mount* mount = mount_of(mounts, path);
  if (mount != nullptr && mount->read_only) return ok("read-only", path);
  if (mount != nullptr && mount->point == "/") {
    return warning("no mount of its own: it is part of the image", "mount the data set there",
                   path);
  }
  return warning("mounted writable, so that a job can change what others read",
                 "mount it read-only: -v SRC:DST:ro, readOnly: true, or the platform's switch for "
                 "it, which data preparation needs too",
                 path);
}

}  // namespace

Results check_disk(const Context& context) {
  constexpr std::uint64_t kRunDirBytes = 8ULL << 20;
  const std::array<Directory, 4> all = {{
      {context.run_dir, "of trainit's state", kRunDirBytes, true},
      {context.work_dir, "of the job's work", kGiB},
      {context.log_dir, "of the logs", kGiB, true},
      {"/tmp", "of temporary files", kGiB},
  }};
  std::vector<Part> parts;
  for (const Directory& directory : all) {
    const bool known = std::ranges::any_of(
        parts, [&directory](const Part& part) { return part.place == directory.path; });
    if (directory.path.empty() || known) continue;
    parts.push_back({.check = {}, .place = directory.path, .run = [&directory] {
                       return Results{examine(directory)};
                     }});
  }
  Results results = run_all(parts, context.limit_ms * 8 / 10);
  if (context.run_dir.empty() && context.occasion != Occasion::kMonitor) {
    results.push_back(warning("no directory for trainit's state can be written",
                              "mount a tmpfs at /tmp or /run, or name a directory with --run-dir"));
  }
  return results;
}

Results check_datasets(const Context& context) {
  const std::vector<Mount> mounts = mounts_of(context);
  const std::vector<std::string> paths =
      context.datasets.empty() ? usual_datasets(mounts) : context.datasets;
  if (paths.empty())
    return {skipped("no data set is mounted at a usual place, or named by --dataset")};
  std::vector<Part> parts;
  parts.reserve(paths.size());
  for (const std::string& path : paths) {
    parts.push_back({.check = {}, .place = path, .run = [&context, &mounts, &path] {
                       return Results{examine_dataset(context, mounts, path)};
                     }});
  }
  return run_all(parts, context.limit_ms * 8 / 10);
}

}  // namespace doctor
