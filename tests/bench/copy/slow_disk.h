#pragma once
// A file system that stands for one on the network (FUSE, in memory). Of a large file it keeps the
// first megabyte, and shows zeros behind.

#include <string>

namespace bench {

// The time that each call takes, however many are under way, and what the server can do.
struct SlowCalls {
  int write_us = 0;
  int other_us = 0;  // look-ups, attributes, opens, reads, lists; from SlowDisk::begin() on
  int streams = 16;  // calls that are served at a time
  bool lists_attributes = true;  // READDIRPLUS
};

// Mounts the file system and serves it until it is unmounted.
int serve_slow_disk(const std::string& mount_point, const SlowCalls& calls);

// A mounted file system; the destructor unmounts it.
class SlowDisk {
 public:
  SlowDisk(const std::string& self, std::string mount_point, const SlowCalls& calls);
  ~SlowDisk();
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;
  // Makes calls slow, after the files have been made.
  void begin() const;
  // False: /dev/fuse cannot be used.
  [[nodiscard]] bool is_there() const { return there_; }
  [[nodiscard]] const std::string& mount_point() const { return mount_point_; }

 private:
  std::string mount_point_;
  int server_ = -1;
  bool there_ = false;
};

}  // namespace bench
