#pragma once
// The log file of a process, as the tee writes it: appended to, and rotated at a size. An error (a
// full disk, a deleted directory) never stops the tee. Output that cannot be written is lost and
// counted. A second later the tee tries again with new output; the file then says how many bytes
// are missing.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/sys/fd.h"
#include "init/tee/output_totals.h"

namespace logtee {

struct LogRule {
  std::int64_t max_bytes = 0;  // 0 = no limit
  int keep = 0;                // number of old files to keep: PATH.1 is the newest
  // The job's user, if it is a different user; must outlive the file.
  const envgen::Identity* job_user = nullptr;
  LostCount* lost_count = nullptr;  // also counts what is lost here; may be nullptr
};

class LogFile {
 public:
  LogFile(std::string path, LogRule rule);

  // Opens or creates the file. Returns the reason if that fails, "" otherwise. Not needed before
  // write().
  std::string open();
  // Blocks as a write to a regular file does. Any other file never blocks it: bytes that the file
  // does not take are lost.
  void write(std::string_view bytes, std::int64_t now_ms);
  // Logs the losses that the file itself has no room to report. Call it at the end.
  void say_lost() const;
  // Returns the number of bytes that could not be written so far.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  [[nodiscard]] base::Status move_away() const;
  void rotate(std::int64_t now_ms);
  void append(std::string_view bytes, std::int64_t now_ms);
  // Returns the number of bytes written; if that is less than all, errno is set.
  std::size_t write_all(std::string_view bytes);
  bool try_again(std::int64_t now_ms);
  void give_up(std::string_view bytes, const std::string& why, std::int64_t now_ms);
  void count_lost(std::string_view bytes);

  std::string path_;
  LogRule rule_;
  sys::Fd fd_;
  std::int64_t size_ = 0;
  bool at_line_start_ = true;
  bool rotates_ = true;  // false: not a regular file, or a rotation failed
  std::uint64_t lost_ = 0;
  std::uint64_t unsaid_ = 0;   // part of lost_ that the file does not report yet
  std::int64_t retry_ms_ = 0;  // 0: no error
};

}  // namespace logtee
