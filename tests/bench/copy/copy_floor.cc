#include "tests/bench/copy/copy_floor.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <new>
#include <vector>

#include "tests/bench/harness.h"

namespace bench {
namespace {

constexpr std::size_t kBuffer = 256 << 10;

// All directories of a tree, those above first, by their paths below it; made at `to` as they are
// found.
std::vector<std::string> make_directories(const std::string& from, const std::string& to) {
  std::vector<std::string> found = {""};
  for (std::size_t at = 0; at < found.size(); ++at) {
    const std::string path = found[at];
    if (mkdir((to + path).c_str(), 0755) != 0) fail(to + path);
    DIR* directory = opendir((from + path).c_str());
    if (directory == nullptr) fail(from + path);
    while (const dirent* entry = readdir(directory)) {
      const std::string name = entry->d_name;
      if (entry->d_type == DT_DIR && name != "." && name != "..")
        found.push_back(path + "/" + name);
    }
    closedir(directory);
  }
  return found;
}

void copy_file(int from, int to, const char* name, char* buffer) {
  struct stat status{};
  const int in = openat(from, name, O_RDONLY | O_CLOEXEC);
  if (in < 0 || fstat(in, &status) != 0) fail(name);
  const int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode);
  if (out < 0) fail(name);
  for (off_t at = 0; at < status.st_size;) {
    const auto most = std::min<std::size_t>(kBuffer, static_cast<std::size_t>(status.st_size - at));
    const ssize_t count = read(in, buffer, most);
    if (count <= 0 || write(out, buffer, static_cast<std::size_t>(count)) != count) fail(name);
    at += count;
  }
  const timespec times[2] = {status.st_atim, status.st_mtim};
  if (futimens(out, times) != 0) fail(name);
  close(in);
  close(out);
}

void copy_directory(const std::string& from, const std::string& to, char* buffer) {
  DIR* directory = opendir(from.c_str());
  const int into = open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory == nullptr || into < 0) fail(from);
  struct Entry {
    ino_t inode;
    std::string name;
  };
  std::vector<Entry> files;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_type == DT_REG) files.push_back({entry->d_ino, entry->d_name});
  }
  std::ranges::sort(files, {}, &Entry::inode);
  for (const Entry& file : files) copy_file(dirfd(directory), into, file.name.c_str(), buffer);
  struct stat status{};
  if (fstat(dirfd(directory), &status) != 0) fail(from);
  const timespec times[2] = {status.st_atim, status.st_mtim};
  if (futimens(into, times) != 0) fail(to);
  close(into);
  closedir(directory);
}

// Of each entry below a directory no more than what the file system says of it.
void look_at(int above, const char* name) {
  DIR* directory = fdopendir(openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory == nullptr) fail(name);
  while (const dirent* entry = readdir(directory)) {
    struct stat status{};
    if (entry->d_type != DT_DIR) {
      if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) fail(name);
    } else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      look_at(dirfd(directory), entry->d_name);
    }
  }
  closedir(directory);
}

// Each of `count` things is done by one of so many processes.
int by_processes(int processes, std::size_t count, const std::function<void(std::size_t)>& work) {
  void* memory = mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto* next = new (memory) std::atomic<std::size_t>(0);
  for (int process = 0; process < processes; ++process) {
    if (fork() != 0) continue;
    for (std::size_t at = 0; (at = next->fetch_add(1)) < count;) work(at);
    _exit(0);
  }
  int worst = 0;
  for (int status = 0; wait(&status) > 0;) worst = std::max(worst, status);
  return worst == 0 ? 0 : 1;
}

}  // namespace

int copy_floor(const std::string& from, const std::string& to, int processes) {
  const std::vector<std::string> directories = make_directories(from, to);
  std::vector<char> buffer(kBuffer);
  return by_processes(processes, directories.size(), [&](std::size_t at) {
    copy_directory(from + directories[at], to + directories[at], buffer.data());
  });
}

int look_floor(const std::string& tree, int processes) {
  std::vector<std::string> directories;
  DIR* top = opendir(tree.c_str());
  if (top == nullptr) fail(tree);
  while (const dirent* entry = readdir(top)) {
    if (entry->d_name[0] != '.') directories.push_back(tree + "/" + entry->d_name);
  }
  closedir(top);
  return by_processes(processes, directories.size(),
                      [&](std::size_t at) { look_at(AT_FDCWD, directories[at].c_str()); });
}

}  // namespace bench
