#pragma once
// A reader of the data that other processes append to a file, like `tail -F`. It begins at the end
// of the file. If the file is truncated or replaced, it reads from the beginning. If more was
// appended than one read() handles, it skips the middle.

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
    std::function<void()> gap;  // called if the next bytes do not continue the previous ones
  };

  // If the file does not exist yet, it is read from its beginning later. `job_user`: the job's
  // user, with whose rights it is opened (sys::open_to_read); nullptr if that is trainit's own
  // user. It must outlive this object.
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

// Returns a number that changes when the file is written to or replaced; 0 if it does not exist.
std::uint64_t size_of_file(const std::string& path);

}  // namespace engine
