#pragma once
// Directories of any depth, and their entries a buffer at a time.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "init/sys/fd.h"

namespace copy {

// Opens a path of any length below `root`, which no link leads out of at its last component. Not
// valid: errno says why.
sys::Fd open_below(int root, std::string_view path, int flags);

// An entry; its name is ended by a NUL.
struct Name {
  ino_t inode = 0;
  unsigned char type = 0;  // DT_...
  std::string_view text;

  [[nodiscard]] const char* c_str() const { return text.data(); }
};

enum class NameOrder : unsigned char {
  kByInode,  // their data then lies in this order, as far as the file system can do it
  kAny,
};

class DirectoryReader {
 public:
  DirectoryReader();
  // The next entries of the directory `fd`. "." and ".." are left out. None: the end. Sets errno,
  // and is false, on a failure. The names live until the next call.
  bool read(int fd, std::vector<Name>& names, NameOrder order = NameOrder::kByInode);

 private:
  std::unique_ptr<char[]> buffer_;
};

}  // namespace copy
