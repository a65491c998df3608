#pragma once
// The channel between serve and the sessions that its sshd starts: a SOCK_SEQPACKET socket in the
// directory. One fixed-size request and one answer a connection, same uid or root only
// (SO_PEERCRED). No file content is needed to end a node, so a full disk does not matter.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "init/sys/fd.h"

namespace sshd {

enum class Op : std::uint32_t {
  kPing = 1,      // is serve there?
  kSession = 2,   // the asking process becomes a session: count it until it ends
  kEnd = 3,       // argument: the exit code of the job
  kLauncher = 4,  // argument: 1, its node is gone; 0, it is back
};

struct Request {
  Op op = Op::kPing;
  int argument = 0;
  pid_t pid = 0;  // who asks; 0 where that is not known
};

// Opens D/end and replaces one that was left behind: the caller holds the directory's lock.
class Channel {
 public:
  static envgen::Result<Channel> open(const std::string& path);

  // What to poll for reading; -1 for the listener while no connection can be taken.
  [[nodiscard]] std::vector<int> descriptors() const;
  // No descriptor was free for the last connection: ask again after a while.
  [[nodiscard]] bool starved() const { return starved_; }
  // Takes connections and reads what has come; never blocks. Each request must be answered.
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

// Waits for the answer, at most `timeout_ms`. False: serve refused.
envgen::Result<bool> ask(const std::string& path, Op op, int argument, int timeout_ms);

}  // namespace sshd
