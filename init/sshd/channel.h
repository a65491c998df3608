#pragma once
// The channel between serve and the sessions that its sshd starts: a SOCK_SEQPACKET socket in the
// peer's directory. A connection carries one fixed-size request and one answer, only from the same
// uid or root (SO_PEERCRED). Ending a node needs no file content, so a full disk does not matter.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "init/sys/fd.h"

namespace sshd {

enum class Op : std::uint32_t {
  kPing = 1,      // asks whether serve runs
  kSession = 2,   // counts the asking process as a session until it ends
  kEnd = 3,       // argument: the exit code of the job
  kLauncher = 4,  // argument: its node is lost (1) or back (0)
};

struct Request {
  Op op = Op::kPing;
  int argument = 0;
  pid_t pid = 0;  // the asking process, or 0
};

// The server side of the channel. open() opens the socket and replaces an old one: the caller must
// hold the directory's lock.
class Channel {
 public:
  static base::Result<Channel> open(const std::string& path);

  // Returns the descriptors to poll for reading; -1 for the listener while it can take no
  // connection.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Returns whether no descriptor was free for the last connection. Call read_requests() again
  // after a while.
  [[nodiscard]] bool starved() const { return starved_; }
  // Accepts connections and reads their requests; never blocks. The caller must answer each
  // request.
  struct Asked {
    Request request;
    int connection = -1;
  };
  std::vector<Asked> read_requests();
  void answer(int connection, bool accepted);

 private:
  std::optional<Asked> read_one(int connection);
  void drop(int connection);

  sys::Fd listener_;
  bool starved_ = false;
  std::vector<sys::Fd> connections_;
};

// Sends a request and waits for the answer, at most `timeout_ms`. Returns false if serve refused.
base::Result<bool> ask(const std::string& path, Op op, int argument, int timeout_ms);

}  // namespace sshd
