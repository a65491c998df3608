#pragma once
// A writer to a standard descriptor that works without ever waiting for whoever reads it, and
// without setting O_NONBLOCK on a description that the job shares: it is re-opened through
// /proc/self/fd with O_NONBLOCK, and where that is not possible (no /proc, a socket, other owner)
// it is spliced to, sent to or polled instead. A regular file is written as it is: it does not
// block, and a second description would have an offset of its own.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "init/sys/fd.h"

namespace sys {

class NonblockingWriter {
 public:
  // Of 1 or 2, which stay as they are.
  explicit NonblockingWriter(int standard_fd);

  // How much was taken; -1 with errno: EAGAIN when the reader must read first. SIGPIPE never comes.
  ssize_t write(std::string_view bytes);
  // Of a pipe to a pipe, without a copy: how much of what `pipe` holds was taken, while it still
  // holds all of it. -1 where nothing was; EAGAIN: the reader must read first, or there is nothing.
  ssize_t tee(int pipe, std::size_t most);
  // What was written into it, by anybody, and not read yet; nothing where that cannot be known.
  [[nodiscard]] std::optional<std::size_t> unread() const;
  // What to poll for POLLOUT; -1: it takes nothing, ever.
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
  bool takes_pages_ = false;  // a pipe, whose description is ours
  Fd splice_in_;
  Fd splice_out_;
};

}  // namespace sys
