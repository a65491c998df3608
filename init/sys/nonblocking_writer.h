#pragma once
// A writer to stdout or stderr that never waits for the reader. O_NONBLOCK must not be set on a
// description that the job shares. So the writer opens the file again through /proc/self/fd with
// O_NONBLOCK. If that is not possible (no /proc, a socket, another owner), it uses splice, send or
// poll. A regular file is written as it is: it does not block, and a second description would have
// a separate offset.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "init/sys/fd.h"

namespace sys {

class NonblockingWriter {
 public:
  // Writes to descriptor 1 or 2, which itself stays unchanged.
  explicit NonblockingWriter(int standard_fd);

  // Returns the number of bytes taken, or -1 with errno. EAGAIN means that the reader must read
  // first. Never raises SIGPIPE.
  ssize_t write(std::string_view bytes);
  // Copies from pipe to pipe by tee(2), without copying bytes in memory. Returns how many of the
  // bytes in `pipe` were taken; `pipe` still holds all of them. Returns -1 if none was taken.
  // EAGAIN means that the reader must read first, or that `pipe` is empty.
  ssize_t tee(int pipe, std::size_t most);
  // Returns the number of unread bytes, from all writers; nullopt if unknown.
  [[nodiscard]] std::optional<std::size_t> unread() const;
  // Returns the descriptor to poll for POLLOUT, or -1 if the writer never takes anything.
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::vector<int> descriptors() const {
    return {fd_.get(), splice_in_.get(), splice_out_.get()};
  }

 private:
  enum class Way : unsigned char { kNone, kWrite, kSend, kSplice, kPoll };

  void open_stream(int standard_fd, mode_t type, dev_t device);
  template <class Call>
  static ssize_t without_sigpipe(const Call& call);
  ssize_t write_once(std::string_view bytes);
  ssize_t splice_some(std::string_view bytes);

  Fd fd_;
  Way way_ = Way::kNone;
  bool takes_pages_ = false;  // a pipe that this object has opened again
  Fd splice_in_;
  Fd splice_out_;
};

}  // namespace sys
