#include "tests/bench/copy/copy_trees.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/bench/harness.h"

namespace bench {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

// Half of them up to 4 KiB, and each doubling half as often, as collections of samples are.
std::int64_t mixed_size(std::mt19937_64& random) {
  constexpr int kMostDoublings = 11;
  std::int64_t limit = 4096;
  for (int i = 0; i < kMostDoublings && random() % 10 < 6; ++i) limit *= 2;
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
}

void write_file(const std::string& path, std::int64_t size, const std::string& bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) fail(path);
  while (size > 0) {
    const auto part = std::min<std::int64_t>(size, static_cast<std::int64_t>(bytes.size()));
    if (write(fd, bytes.data(), static_cast<std::size_t>(part)) != part) fail(path);
    size -= part;
  }
  close(fd);
}

}  // namespace

std::int64_t bytes_of(const TreeShape& shape) {
  constexpr std::int64_t kMixedMean = 16'000;
  return shape.files * (shape.bytes > 0 ? shape.bytes : kMixedMean);
}

void make_tree(const std::string& root, const TreeShape& shape) {
  std::mt19937_64 random(1);  // NOLINT: the same trees in each run
  std::string bytes(kMiB, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  if (mkdir(root.c_str(), 0755) != 0) fail(root);
  std::string directory;
  for (int i = 0; i < shape.files; ++i) {
    if (i % shape.in_directory == 0) {
      directory = root + text("/part-%05d", i / shape.in_directory);
      if (mkdir(directory.c_str(), 0755) != 0) fail(directory);
    }
    const std::int64_t size = shape.bytes > 0 ? shape.bytes : mixed_size(random);
    write_file(directory + text("/sample-%07d", i), shape.bytes < 0 ? 0 : size, bytes);
  }
}

void remove_tree(const std::string& root) { measure({"rm", "-rf", root}, "/dev/null"); }

std::int64_t free_bytes(const std::string& path) {
  struct statvfs disk{};
  if (statvfs(path.c_str(), &disk) != 0) fail(path);
  return static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
}

std::string file_system_of(const std::string& path) {
  struct statfs disk{};
  if (statfs(path.c_str(), &disk) != 0) fail(path);
  switch (disk.f_type) {
    case 0xEF53:
      return "ext4";
    case 0x01021994:
      return "tmpfs";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x794c7630:
      return "overlay";
    default:
      return text("0x%lx", static_cast<unsigned long>(disk.f_type));
  }
}

void settle_disk(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) syncfs(fd);
  close(fd);
}

bool drop_caches() {
  const int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
  const bool dropped = fd >= 0 && write(fd, "3", 1) == 1;
  if (fd >= 0) close(fd);
  return dropped;
}

int copy_raw(const std::string& from, const std::string& to) {
  if (mkdir(to.c_str(), 0755) != 0) return 1;
  constexpr std::size_t kBuffer = 256 << 10;
  std::vector<char> buffer(kBuffer);
  DIR* directory = opendir(from.c_str());
  if (directory == nullptr) return 1;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entry->d_type == DT_DIR) {
      if (copy_raw(from + "/" + name, to + "/" + name) != 0) return 1;
      continue;
    }
    const int in = open((from + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    const int out = open((to + "/" + name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    ssize_t count = 0;
    while ((count = read(in, buffer.data(), buffer.size())) > 0) {
      if (write(out, buffer.data(), static_cast<std::size_t>(count)) != count) return 1;
    }
    close(in);
    close(out);
  }
  closedir(directory);
  return 0;
}

}  // namespace bench
