#pragma once
// RUN_DIR/control: a SOCK_SEQPACKET socket with records of one size, for `trainit release` and
// `trainit hold`. Only root and the user of the instance may send (SO_PEERCRED). No client is
// waited for: of more than 16 that say nothing the oldest are dropped, and each has one answer at
// most.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "envgen/result.h"
#include "init/sys/fd.h"

namespace engine {

enum class ControlOp : std::uint32_t { kRelease = 1, kHold = 2 };

struct ControlRequest {
  ControlOp op = ControlOp::kRelease;
  std::int64_t argument_ms = 0;  // kHold: from now
};

enum class ControlAnswer : std::uint32_t {
  kDone = 0,
  kNotNow = 1,   // there is no debug window to end or extend
  kRefused = 2,  // another user
  kUnknown = 3,  // a record of another size, version or operation
};

class ControlServer {
 public:
  // No server when `run_dir` is empty.
  static envgen::Result<ControlServer> open(const std::string& run_dir);

  [[nodiscard]] const sys::Fd& listener() const { return listener_; }
  // Accepts a client; its descriptor, or -1. Without a descriptor to spare it is turned away; where
  // the kernel refuses for another reason the server closes, as it would be woken for ever.
  int accept_client();
  // A request from a client that may send one; other clients are answered and dropped here.
  std::optional<ControlRequest> read_request(int client);
  void answer(int client, ControlAnswer answer);

 private:
  void turn_away();
  void drop(int client);
  sys::Fd listener_;
  sys::Fd spare_;  // given up for a moment to turn a client away
  std::vector<sys::Fd> clients_;
};

// The client's side. Waits a few seconds for the answer.
envgen::Result<ControlAnswer> send_control(const std::string& run_dir,
                                           const ControlRequest& request);

}  // namespace engine
