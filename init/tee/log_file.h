#pragma once
// A process's log file as the tee writes it: appended to, begun anew at a size, and never a reason
// to stop. What cannot be written (a full disk, a directory that is gone) is given up and counted,
// and tried again with what comes a second later; the file then says how much is missing.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/sys/fd.h"
#include "init/tee/lost.h"

namespace logtee {

struct LogRule {
  std::int64_t max_bytes = 0;                  // 0 = it grows
  int keep = 0;                                // so many old ones stay: PATH.1 is the youngest
  const envgen::Identity* job_user = nullptr;  // where it is another user; outlives the file
  LostCount* lost_count = nullptr;             // what is lost is counted there too
};

class LogFile {
 public:
  LogFile(std::string path, LogRule rule);

  // Opens it, or makes it; why not, where that cannot be done. Not needed before write().
  std::string open();
  // Blocks as a write to a regular file does; where it is none, what is not taken is lost.
  void write(std::string_view bytes, std::int64_t now_ms);
  // At the end: what the file has no room to say itself.
  void say_lost() const;
  // That could not be written so far.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  [[nodiscard]] envgen::Status move_away() const;
  void rotate(std::int64_t now_ms);
  void append(std::string_view bytes, std::int64_t now_ms);
  // How much was written; less than all with errno.
  std::size_t write_all(std::string_view bytes);
  bool try_again(std::int64_t now_ms);
  void give_up(std::string_view bytes, const std::string& why, std::int64_t now_ms);
  void count_lost(std::string_view bytes);

  std::string path_;
  LogRule rule_;
  sys::Fd fd_;
  std::int64_t size_ = 0;
  bool at_line_start_ = true;
  bool rotates_ = true;  // false: it was tried in vain
  std::uint64_t lost_ = 0;
  std::uint64_t unsaid_ = 0;   // of lost_, in the file
  std::int64_t retry_ms_ = 0;  // 0: all is well
};

}  // namespace logtee
