#include "init/sys/mounts.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "init/sys/path_state.h"

namespace sys {
namespace {

struct Mount {
  std::uint64_t id = 0;
  std::string_view device;  // "8:1"
  std::string_view root;    // the directory of its file system that is mounted
  std::string_view point;   // mount point
  std::string_view type;    // file system type
  bool read_only = false;
};

std::optional<Mount> parse(std::string_view line) {
  // The fields before the optional ones: id, parent, device, root, mount point, options of this
  // mount
  constexpr std::size_t kMin = 6;
  const std::vector<std::string_view> words = base::split(line, ' ');
  if (words.size() < kMin) return std::nullopt;
  Mount mount{.device = words[2], .root = words[3], .point = words[4]};
  mount.id = base::parse_number<std::uint64_t>(words[0]).value_or(0);
  const auto end = std::ranges::find(words, "-");
  if (words.end() - end > 1) mount.type = *(end + 1);
  mount.read_only = words[5] == "ro" || words[5].starts_with("ro,");
  return mount;
}

bool lies_in(std::string_view path, std::string_view directory) {
  if (!path.starts_with(directory)) return false;
  return directory == "/" || path.size() == directory.size() || path[directory.size()] == '/';
}

std::vector<Mount> mounts_of(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  while (!mountinfo.empty()) {
    if (const auto mount = parse(base::take_line(mountinfo))) mounts.push_back(*mount);
  }
  return mounts;
}

// Returns the last mount with this id, because it covers the others.
const Mount* mount_with(const std::vector<Mount>& mounts, std::uint64_t id) {
  const auto found = std::ranges::find(mounts.rbegin(), mounts.rend(), id, &Mount::id);
  return found == mounts.rend() ? nullptr : &*found;
}

// Decodes octal escapes of mountinfo, where a blank is \040.
std::string unescaped(std::string_view text) {
  constexpr std::size_t kDigits = 3;
  constexpr int kOctal = 8;
  std::string plain;
  while (!text.empty()) {
    int byte = 0;
    const bool escaped =
        text[0] == '\\' && text.size() > kDigits &&
        std::from_chars(text.data() + 1, text.data() + 1 + kDigits, byte, kOctal).ec == std::errc();
    plain += escaped ? static_cast<char>(byte) : text[0];
    text.remove_prefix(escaped ? kDigits + 1 : 1);
  }
  return plain;
}

// Returns `path` in a form to which a path can be appended: "" for the root.
std::string without_slash(std::string path) {
  if (path == "/") path.clear();
  return path;
}

}  // namespace

std::uint64_t mount_id_of(int fd) {
  const std::string path = "/proc/self/fdinfo/" + std::to_string(fd);
  const std::string info = inspect(path, true).content;
  constexpr std::string_view kKey = "mnt_id:";
  const std::size_t at = info.find(kKey);
  return at == std::string::npos ? 0 : std::strtoull(info.c_str() + at + kKey.size(), nullptr, 10);
}

bool is_written_nowhere(std::string_view mountinfo, std::uint64_t mount_id) {
  const std::vector<Mount> mounts = mounts_of(mountinfo);
  const Mount* ours = mount_with(mounts, mount_id);
  if (ours == nullptr || !ours->read_only) return false;
  for (const Mount& mount : mounts) {
    if (mount.read_only || mount.device != ours->device) continue;
    if (lies_in(mount.root, ours->root) || lies_in(ours->root, mount.root)) return false;
  }
  return true;
}

std::vector<std::string> other_paths(std::string_view mountinfo, std::uint64_t mount_id,
                                     std::string_view path) {
  std::vector<std::string> paths;
  const std::vector<Mount> mounts = mounts_of(mountinfo);
  const Mount* ours = mount_with(mounts, mount_id);
  if (ours == nullptr || !lies_in(path, unescaped(ours->point))) return paths;
  const std::string point = unescaped(ours->point);
  const std::string inside =
      without_slash(unescaped(ours->root)) + std::string(path.substr(without_slash(point).size()));
  for (const Mount& mount : mounts) {
    const std::string root = unescaped(mount.root);
    if (&mount == ours || mount.device != ours->device || !lies_in(inside, root)) continue;
    paths.push_back(without_slash(unescaped(mount.point)) +
                    inside.substr(without_slash(root).size()));
  }
  return paths;
}

std::string file_system_of(int fd) {
  const std::string mountinfo = inspect("/proc/self/mountinfo", true).content;
  const std::vector<Mount> mounts = mounts_of(mountinfo);
  const Mount* ours = mount_with(mounts, mount_id_of(fd));
  return ours == nullptr ? "unknown" : std::string(ours->type);
}

bool is_written_nowhere(int fd) {
  struct statvfs status{};
  if (::fstatvfs(fd, &status) != 0 || (status.f_flag & ST_RDONLY) == 0) return false;
  return is_written_nowhere(inspect("/proc/self/mountinfo", true).content, mount_id_of(fd));
}

}  // namespace sys
