#include "tests/bench/copy/fresh_disk.h"

#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "tests/bench/copy/copy_trees.h"
#include "tests/bench/harness.h"

namespace bench {

FreshDisk::FreshDisk(std::string directory, std::int64_t bytes, std::int64_t files)
    : image_(directory + "/fresh.img"),
      mount_point_(std::move(directory) + "/fresh"),
      bytes_(bytes),
      files_(files) {
  if (mkdir(mount_point_.c_str(), 0755) != 0) fail(mount_point_);
}

FreshDisk::~FreshDisk() {
  remove();
  rmdir(mount_point_.c_str());
}

void FreshDisk::remove() const {
  umount(mount_point_.c_str());
  unlink(image_.c_str());
}

bool FreshDisk::remake() const {
  remove();
  // A journal as that of a node's disk: small disks get one that fills up at once.
  const std::string script = text(
      "truncate -s %lld %s && /sbin/mkfs.ext4 -q -F -m 0 -N %lld "
      "-J size=256 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 %s && mount -o loop %s %s",
      static_cast<long long>(bytes_), image_.c_str(), static_cast<long long>(files_),
      image_.c_str(), image_.c_str(), mount_point_.c_str());
  if (system((script + " >/dev/null 2>&1").c_str()) != 0) return false;
  settle_disk(mount_point_);
  return true;
}

}  // namespace bench
