#pragma once
// A reader of what others add to a file, from its end on; a file that is cut or replaced is read
// from its beginning. Of more than can be read in one go the middle is passed over.

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
    std::function<void()> gap;  // what comes next does not continue what came
  };

  // A file that is not there yet is read from its beginning when it comes.
  // `job_user`: its user, where it is another than ours (sys::open_to_read); outlives this.
  explicit FileFollower(std::string path, const envgen::Identity* job_user = nullptr);

  // What has come since the last time.
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

// A number that changes when something is written to the file; the same for one that is not there.
std::uint64_t size_of_file(const std::string& path);

}  // namespace engine
