#pragma once
// The channel by which a session of sshd talks to `trainit peer serve`: a SOCK_SEQPACKET socket in
// the peer's directory. Each connection has one request of a fixed size and one answer. Only the
// same uid or root may connect (SO_PEERCRED). The end of a node is not sent through a file, so a
// full disk does not matter.

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
  kSession = 2,   // counts the asking process as a session until that process ends
  kEnd = 3,       // the job has ended; argument: its exit code
  kLauncher = 4,  // argument: 1 if the launcher's node is lost, 0 if it is back
};

struct Request {
  Op op = Op::kPing;
  int argument = 0;
  pid_t pid = 0;  // pid of the asking process, or 0
};

// The server's side of the channel. open() creates the socket and replaces an old one, so the
// caller must hold the lock of the directory.
class Channel {
 public:
  static base::Result<Channel> open(const std::string& path);

  // Returns the descriptors to poll for reading. The listener's is -1 while no connection can be
  // accepted.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Returns true if the last connection found no free descriptor. Call read_requests() again after
  // a while.
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
