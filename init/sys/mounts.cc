#include "init/sys/mounts.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "init/sys/files.h"

namespace sys {
namespace {

struct Mount {
  std::uint64_t id = 0;
  std::string_view device;  // "8:1"
  std::string_view root;    // of what is mounted, in its file system
  bool read_only = false;
};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::optional<Mount> parse(std::string_view line) {
  // id, parent, device, root, mount point, options of this mount
  constexpr std::size_t kLeast = 6;
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() < kLeast) return std::nullopt;
  Mount mount{.device = words[2], .root = words[3]};
  std::from_chars(words[0].data(), words[0].data() + words[0].size(), mount.id);
  mount.read_only = words[5] == "ro" || words[5].starts_with("ro,");
  return mount;
}

bool lies_in(std::string_view path, std::string_view directory) {
  if (!path.starts_with(directory)) return false;
  return directory == "/" || path.size() == directory.size() || path[directory.size()] == '/';
}

}  // namespace

std::uint64_t mount_id_of(int fd) {
  const std::string path = "/proc/self/fdinfo/" + std::to_string(fd);
  const std::string info = look(path, true).content;
  constexpr std::string_view kKey = "mnt_id:";
  const std::size_t at = info.find(kKey);
  return at == std::string::npos ? 0 : std::strtoull(info.c_str() + at + kKey.size(), nullptr, 10);
}

bool is_written_nowhere(std::string_view mountinfo, std::uint64_t mount_id) {
  std::vector<Mount> mounts;
  const Mount* ours = nullptr;
  while (!mountinfo.empty()) {
    const std::size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    if (const auto mount = parse(mountinfo.substr(0, end))) mounts.push_back(*mount);
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
  }
  for (const Mount& mount : mounts) {
    if (mount.id == mount_id) ours = &mount;
  }
  if (ours == nullptr || !ours->read_only) return false;
  for (const Mount& mount : mounts) {
    if (mount.read_only || mount.device != ours->device) continue;
    if (lies_in(mount.root, ours->root) || lies_in(ours->root, mount.root)) return false;
  }
  return true;
}

bool is_written_nowhere(int fd) {
  struct statvfs status{};
  if (::fstatvfs(fd, &status) != 0 || (status.f_flag & ST_RDONLY) == 0) return false;
  return is_written_nowhere(look("/proc/self/mountinfo", true).content, mount_id_of(fd));
}

}  // namespace sys
