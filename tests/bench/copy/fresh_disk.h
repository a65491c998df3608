#pragma once
// An ext4 that is made anew for each measurement, on a loop device over a file in memory.
//
// On a file system in use a copy's time is that of what was removed before: ext4 passes by inodes
// that were freed within the last minutes, one by one, so that the tenth copy of a run takes ten
// times as long as the first. And a shared disk is noisy.

#include <cstdint>
#include <string>

namespace bench {

class FreshDisk {
 public:
  // `directory`, in memory, gets its file and the directory that it is mounted at.
  FreshDisk(std::string directory, std::int64_t bytes, std::int64_t files);
  FreshDisk(const FreshDisk&) = delete;
  FreshDisk& operator=(const FreshDisk&) = delete;
  ~FreshDisk();

  // False where there are no loop devices for us.
  [[nodiscard]] bool remake() const;
  [[nodiscard]] const std::string& mount_point() const { return mount_point_; }

 private:
  void remove() const;

  std::string image_;
  std::string mount_point_;
  std::int64_t bytes_;
  std::int64_t files_;
};

}  // namespace bench
