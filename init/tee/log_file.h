#pragma once
// The log file of a process, as the tee writes it: appended to, and rotated at a maximum size. An
// error (a full disk, a deleted directory) never stops the tee. Output that cannot be written is
// lost and counted. A second later the tee tries again when there is new output. The file then says
// how many bytes are missing.

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
  int keep = 0;                // number of old files to keep; PATH.1 is the newest
  // The job's user, if that is not trainit's, otherwise nullptr. Must outlive the file.
  const envgen::Identity* job_user = nullptr;
  LostCount* lost_count = nullptr;  // counter of all log files that also counts the losses of this
                                    // one; may be nullptr
};

class LogFile {
 public:
  LogFile(std::string path, LogRule rule);

  // Opens or creates the file. Returns "", or why that failed. write() calls it if needed.
  std::string open();
  // Writes to the file. Blocks as a write to a regular file does. A file of another kind does not
  // block it: bytes that it does not take at once are lost.
  void write(std::string_view bytes, std::int64_t now_ms);
  // Logs how many bytes were lost, if the file has no room to say it. Call it at the end.
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
  bool rotates_ = true;  // false: not a regular file, or a rotation has failed
  std::uint64_t lost_ = 0;
  std::uint64_t unsaid_ = 0;   // the part of lost_ that is not yet written into the file
  std::int64_t retry_ms_ = 0;  // time of the next try after an error; 0: no error
};

}  // namespace logtee
