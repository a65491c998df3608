#include "tests/copy/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>

#include "init/sys/fd.h"

namespace trees {
namespace {

constexpr std::int64_t kEpoch = 1'500'000'000;

[[noreturn]] void give_up(const std::string& what) {
  ::perror(what.c_str());
  ::exit(1);
}

void set_time(const std::string& path, std::uint64_t number) {
  const timespec time{static_cast<time_t>(kEpoch + static_cast<std::int64_t>(number)),
                      static_cast<long>(number * 1'234'567 % 1'000'000'000)};
  const std::array<timespec, 2> times = {time, time};
  if (::utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0) give_up(path);
}

std::string bytes_of(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

void write_at(const std::string& path, const std::string& bytes, off_t at, mode_t mode) {
  const sys::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid() || ::pwrite(fd.get(), bytes.data(), bytes.size(), at) != std::ssize(bytes) ||
      ::fchmod(fd.get(), mode) != 0) {
    give_up(path);
  }
}

void make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) give_up(path);
}

void make_files(const std::string& root, std::uint64_t seed, int files) {
  constexpr std::array<mode_t, 4> kModes = {0644, 0600, 0755, 0444};
  constexpr int kInDirectory = 25;
  std::string directory;
  for (int i = 0; i < files; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    if (i % kInDirectory == 0) {
      directory = root + "/part-" + std::to_string(i / kInDirectory);
      make_directory(directory);
    }
    const std::string path = directory + "/file-" + std::to_string(i);
    const std::size_t size = i % 5 == 0 ? 0 : number * 997 % 20'000;
    write_at(path, bytes_of(seed * 1000 + number, size), 0, kModes.at(number % kModes.size()));
    set_time(path, number);
  }
}

void make_odd_ones(const std::string& root, std::uint64_t seed) {
  constexpr int kDepth = 40;
  constexpr off_t kHole = off_t{3} << 20U;
  constexpr std::size_t kLarge = 2'000'000;
  const std::string odd = root + "/odd \n\xff\xfe 'names'";
  make_directory(odd);
  make_directory(root + "/empty");
  write_at(odd + "/\x01 line\nend", "x", 0, 0644);
  write_at(odd + "/one", bytes_of(seed + 7, 5000), 0, 0640);
  if (::link((odd + "/one").c_str(), (root + "/two").c_str()) != 0 ||
      ::link((odd + "/one").c_str(), (root + "/part-0/three").c_str()) != 0 ||
      ::symlink("../two", (odd + "/link").c_str()) != 0 ||
      ::symlink("nothing/\n", (root + "/dangling").c_str()) != 0) {
    give_up(odd);
  }
  write_at(root + "/sparse", bytes_of(seed + 8, 100), kHole, 0644);
  write_at(root + "/large", bytes_of(seed + 9, kLarge), 0, 0644);
  std::string deep = root + "/deep";
  for (int i = 0; i < kDepth; ++i) {
    make_directory(deep);
    deep += "/d";
  }
  write_at(deep, "bottom", 0, 0644);
  std::uint64_t number = 1000;
  for (const std::string& path :
       {odd + "/\x01 line\nend", odd + "/one", odd + "/link", root + "/dangling", root + "/sparse",
        root + "/large", odd, root + "/empty", deep, root + "/deep"}) {
    set_time(path, ++number);
  }
  ::chmod((root + "/empty").c_str(), 0711);
  ::chmod(odd.c_str(), 0555);
}

std::string contents_of(int directory, const char* name) {
  const sys::Fd fd(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::string text;
  std::array<char, 65536> part;
  ssize_t count = 0;
  while (fd.valid() && (count = ::read(fd.get(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::string target_of(int directory, const char* name) {
  std::array<char, 4096> target{};
  const ssize_t count = ::readlinkat(directory, name, target.data(), target.size());
  return {target.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

struct Walk {
  Entries entries;
  std::map<ino_t, std::string> first_of;  // of files with several names
  bool owners = true;
};

void add(Walk& walk, int directory, const char* name, const std::string& path);

void add_all(Walk& walk, int directory, const char* name, const std::string& path) {
  const int fd = ::openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const sys::Dir stream(fd < 0 ? nullptr : ::fdopendir(fd));
  if (!stream) return;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) names.emplace_back(entry->d_name);
  std::ranges::sort(names);
  for (const std::string& below : names) {
    if (below == "." || below == "..") continue;
    add(walk, fd, below.c_str(), path.empty() ? below : path + "/" + below);
  }
}

void add(Walk& walk, int directory, const char* name, const std::string& path) {
  struct stat status{};
  if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) give_up(path);
  std::string text = std::to_string(status.st_mode) + " " + std::to_string(status.st_mtim.tv_sec) +
                     "." + std::to_string(status.st_mtim.tv_nsec);
  if (walk.owners)
    text += " " + std::to_string(status.st_uid) + ":" + std::to_string(status.st_gid);
  if (S_ISREG(status.st_mode)) {
    text += " " + std::to_string(status.st_size) + " " +
            std::to_string(std::hash<std::string>()(contents_of(directory, name)));
    if (status.st_nlink > 1)
      text += " is " + walk.first_of.try_emplace(status.st_ino, path).first->second;
  } else if (S_ISLNK(status.st_mode)) {
    text += " -> " + target_of(directory, name);
  }
  walk.entries[path] = text;
  if (S_ISDIR(status.st_mode)) add_all(walk, directory, name, path);
}

// False: something went away.
bool glance_at(int directory, std::uint64_t& sum) {
  const int again = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const sys::Dir stream(again < 0 ? nullptr : ::fdopendir(again));
  if (!stream) return false;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    struct stat status{};
    if (name == "." || name == "..") continue;
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    const bool below = S_ISDIR(status.st_mode);
    sum += std::hash<std::string>()(name + "/" + std::to_string(status.st_mode & S_IFMT) + "/" +
                                    std::to_string(below ? 0 : status.st_size) + "/" +
                                    std::to_string(status.st_mtim.tv_sec));
    if (!below) continue;
    const sys::Fd fd(
        ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid() || !glance_at(fd.get(), sum)) return false;
  }
  return true;
}

}  // namespace

void make(const std::string& root, std::uint64_t seed, int files) {
  make_directory(root);
  make_files(root, seed, files);
  make_odd_ones(root, seed);
  write_at(root + "/version", std::to_string(seed), 0, 0644);
  set_time(root + "/version", 1);
  for (int i = 0; i * 25 < files; ++i) {
    set_time(root + "/part-" + std::to_string(i), 2000 + static_cast<std::uint64_t>(i));
  }
  // Those on the way to the bottom.
  std::string deep = root + "/deep";
  struct stat status{};
  for (std::uint64_t i = 0; ::stat(deep.c_str(), &status) == 0; ++i) {
    set_time(deep, 3000 + i);
    deep += "/d";
  }
  set_time(root, 4000);
}

Entries entries_of(const std::string& root, bool owners) {
  Walk walk;
  walk.owners = owners;
  add(walk, AT_FDCWD, root.c_str(), "");
  return walk.entries;
}

std::vector<std::string> differences(const Entries& left, const Entries& right) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> found;
  for (const auto& [path, text] : left) {
    const auto other = right.find(path);
    const std::string there = other == right.end() ? "nothing" : other->second;
    if (there != text) found.push_back("\"" + path + "\": " + text + " and " + there);
  }
  for (const auto& [path, text] : right) {
    if (!left.contains(path)) found.push_back("\"" + path + "\": nothing and " + text);
  }
  if (found.size() > kShown) found.resize(kShown);
  return found;
}

std::string glance(int directory) {
  std::uint64_t sum = 0;
  if (!glance_at(directory, sum)) return "";
  return contents_of(directory, "version") + " " + std::to_string(sum);
}

}  // namespace trees
