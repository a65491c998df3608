#pragma once
// What `copy` measures with: trees of files, and the file systems they lie on.

#include <cstdint>
#include <string>

namespace bench {

struct TreeShape {
  std::string name;
  int files = 0;
  std::int64_t bytes = 0;  // of each; 0 = mixed: from nothing to 8 MiB, most of them small
  int in_directory = 500;
};

// Of all its files, roughly.
std::int64_t bytes_of(const TreeShape& shape);
void make_tree(const std::string& root, const TreeShape& shape);
void remove_tree(const std::string& root);

std::int64_t free_bytes(const std::string& path);
std::string file_system_of(const std::string& path);  // "ext4"
// What was written is on the disk, so that nobody pays for who came before.
void settle_disk(const std::string& path);
// False where that is not allowed.
bool drop_caches();

// read and write with 256 KiB, which stay in a CPU's cache, one file after the other, and nothing
// else.
int copy_raw(const std::string& from, const std::string& to);

}  // namespace bench
