#pragma once
// Opens directories at any depth, and reads their entries a buffer at a time.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "init/sys/fd.h"

namespace copy {

// Opens a path of any length below `root`. If the last component is a symlink, it is not followed.
// Returns an invalid descriptor on failure, with errno.
sys::Fd open_below(int root, std::string_view path, int flags);

// Removes from a new directory what it inherited from its parent: access control lists, and the
// group of a set-group-ID parent. Returns false, with errno, if a list could not be removed. The
// caller must set the mode afterwards.
bool drop_inherited(int directory);

// A directory's entry; `text` is followed by a NUL.
struct Name {
  ino_t inode = 0;
  unsigned char type = 0;  // DT_...
  std::string_view text;

  [[nodiscard]] const char* c_str() const { return text.data(); }
};

enum class NameOrder : unsigned char {
  kByInode,  // by inode: the data of the copies then probably has this order on the disk
  kAny,
};

class DirectoryReader {
 public:
  DirectoryReader();
  // Reads the next entries of the directory `fd`, without "." and "..". `names` is empty at the
  // end. Returns false on failure, with errno. The names are valid until the next call.
  bool read(int fd, std::vector<Name>& names, NameOrder order = NameOrder::kByInode);

 private:
  std::unique_ptr<char[]> buffer_;
};

}  // namespace copy
