#pragma once
// Writes to stdout or stderr without ever waiting for the reader. O_NONBLOCK must not be set on the
// open file, which the job shares. So the writer opens the file again through /proc/self/fd with
// O_NONBLOCK. If that is not possible (no /proc, a socket, another owner), it uses splice, send or
// poll. A regular file is written directly: it does not block, and a second open file would have
// its own offset.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "init/sys/fd.h"

namespace sys {

class NonblockingWriter {
 public:
  // Creates a writer for descriptor 1 or 2. The descriptor itself is not changed.
  explicit NonblockingWriter(int standard_fd);

  // Returns the number of bytes that were taken, or -1 with errno. EAGAIN: the reader must read
  // first. Never raises SIGPIPE.
  ssize_t write(std::string_view bytes);
  // Copies from a pipe to this pipe with tee(2), without copying bytes in memory. Returns how many
  // of the bytes in `pipe` were copied; they also remain in `pipe`. Returns -1 if none was copied.
  // EAGAIN: the reader must read first, or `pipe` is empty.
  ssize_t tee(int pipe, std::size_t most);
  // Returns how many bytes in the pipe, from all writers, were not read yet; nullopt if unknown.
  [[nodiscard]] std::optional<std::size_t> unread() const;
  // Returns the descriptor to poll for POLLOUT; -1 if the writer can never write.
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
  bool takes_pages_ = false;  // the output is a pipe that this object has opened again, so tee(2)
                              // works
  Fd splice_in_;
  Fd splice_out_;
};

}  // namespace sys
