#pragma once
// A reader of the data that other processes append to a file, beginning at its end. A file that is
// truncated or replaced is read from its beginning. If more has been appended than one read()
// handles, the middle is skipped.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "envgen/plan/sandbox.h"
#include "init/sys/fd.h"

namespace engine {

class FileFollower {
 public:
  struct Sink {
    std::function<void(std::string_view bytes)> add;
    std::function<void()> gap;  // the next bytes do not continue the previous ones
  };

  // A file that does not exist yet is read from its beginning once it appears. `job_user`: the
  // job's user; nullptr if it is trainit's own (sys::open_to_read). Must outlive this object.
  explicit FileFollower(std::string path, const envgen::Identity* job_user = nullptr);

  // Passes the bytes appended since the last call to `sink`.
  void read(const Sink& sink);

 private:
  void open_at(bool end);
  void read_open(const Sink& sink);

  std::string path_;
  const envgen::Identity* job_;
  sys::Fd file_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::int64_t offset_ = 0;
};

// Returns a number that changes when the file is written to, or replaced. 0 if it does not exist.
std::uint64_t size_of_file(const std::string& path);

}  // namespace engine
