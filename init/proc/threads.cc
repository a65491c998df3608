#include "init/proc/threads.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/stable_sort.h"
#include "base/text.h"
#include "init/proc/tree.h"
#include "init/sys/fd.h"

namespace proc {
namespace {

std::string process_path(pid_t pid) { return "/proc/" + std::to_string(pid); }

std::string thread_path(pid_t pid, pid_t tid) {
  return process_path(pid) + "/task/" + std::to_string(tid);
}

// Parses "tid (name) state ... utime stime": fields 14 and 15, counted from 1.
void read_stat(const std::string& text, Thread* thread) {
  constexpr int kUser = 14;
  const std::size_t begin = text.find('(');
  const std::size_t end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return;
  thread->name = text.substr(begin + 1, end - begin - 1);
  std::ranges::replace_if(thread->name, [](char c) { return c < ' ' || c > '~'; }, '?');
  std::string_view rest = std::string_view(text).substr(end + 1);
  for (int field = 3; field <= kUser + 1; ++field) {
    const std::string_view word = base::take_word(rest);
    if (field == 3 && !word.empty()) thread->state = word[0];
    if (field >= kUser) {
      thread->used_ticks += base::parse_count<std::int64_t>(word).value_or(0);
    }
  }
}

std::uint64_t mask_in(std::string_view status, std::string_view name) {
  while (!status.empty()) {
    std::string_view line = base::take_line(status);
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    return base::parse_number<std::uint64_t>(base::trimmed(line), 16).value_or(0);
  }
  return 0;
}

bool is_accelerator(std::string_view path) {
  constexpr auto kDevices =
      std::to_array({"/dev/nvidia", "/dev/davinci", "/dev/hisi_hdc", "/dev/kfd", "/dev/dri/"});
  return std::ranges::any_of(kDevices, [path](const char* one) { return path.starts_with(one); });
}

}  // namespace

std::vector<Thread> threads_of(pid_t pid, std::size_t most) {
  std::vector<pid_t> tids;
  const sys::Dir directory(::opendir((process_path(pid) + "/task").c_str()));
  while (directory && tids.size() < most) {
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    if (const auto tid = base::parse_count<pid_t>(entry->d_name)) tids.push_back(*tid);
  }
  std::vector<Thread> threads;
  for (const pid_t tid : tids) {
    Thread thread{.tid = tid};
    const std::string path = thread_path(pid, tid);
    read_stat(read_small(path + "/stat"), &thread);
    if (thread.state == '?') continue;
    thread.wait = read_small(path + "/wchan");
    if (thread.wait == "0") thread.wait.clear();
    threads.push_back(std::move(thread));
  }
  base::stable_sort(threads, [pid](const Thread& a, const Thread& b) {
    return (a.tid == pid) != (b.tid == pid) ? a.tid == pid : a.tid < b.tid;
  });
  return threads;
}

SignalMasks signal_masks(pid_t pid, pid_t tid) {
  const std::string status = read_small(thread_path(pid, tid) + "/status");
  return {.pending = mask_in(status, "ShdPnd:") | mask_in(status, "SigPnd:"),
          .caught = mask_in(status, "SigCgt:"),
          .blocked = mask_in(status, "SigBlk:")};
}

bool holds_open(pid_t pid, int fd, std::uint64_t device, std::uint64_t inode) {
  struct stat status{};
  const std::string path = process_path(pid) + "/fd/" + std::to_string(fd);
  return ::stat(path.c_str(), &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

bool holds_accelerator(pid_t pid) {
  const std::string path = process_path(pid) + "/fd";
  const sys::Dir directory(::opendir(path.c_str()));
  if (!directory) return true;
  while (const dirent* entry = ::readdir(directory.get())) {
    std::array<char, 64> target;
    const ssize_t size =
        ::readlink((path + "/" + entry->d_name).c_str(), target.data(), target.size());
    if (size > 0 && is_accelerator({target.data(), static_cast<std::size_t>(size)})) return true;
  }
  return false;
}

}  // namespace proc
