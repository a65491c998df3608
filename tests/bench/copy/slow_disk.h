#pragma once
// A file system that stands for one on the network: each write takes a fixed time, and so many can
// be under way as are asked for (FUSE, in memory; of a large file the bytes are thrown away).

#include <string>

namespace bench {

inline constexpr int kSlowStreams = 16;

// Mounts it and serves it until it is unmounted.
int serve_slow_disk(const std::string& mount_point, int write_us);

// Until this is unmounted by its end. False where /dev/fuse may not be used.
class SlowDisk {
 public:
  SlowDisk(const std::string& self, std::string mount_point, int write_us);
  ~SlowDisk();
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;
  [[nodiscard]] bool is_there() const { return there_; }
  [[nodiscard]] const std::string& mount_point() const { return mount_point_; }

 private:
  std::string mount_point_;
  int server_ = -1;
  bool there_ = false;
};

}  // namespace bench
