#pragma once
// RUN_DIR/control: a SOCK_SEQPACKET socket with records of one size, for `trainit release`, `hold`,
// `checkpoint`, `extend` and `stacks`. Only root and the user of the instance may send
// (SO_PEERCRED). While the job runs no client is waited for: of more than 16 that say nothing the
// oldest are dropped, and each has one answer at most. Before the end they are: PID 1 takes its
// namespace with it, and a client that is killed there has failed for whoever called it. What a
// request means for the job is control_answers.h's.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "init/sys/fd.h"

namespace engine {

enum class ControlOp : std::uint32_t {
  kRelease = 1,
  kHold = 2,
  kCheckpoint = 3,
  kExtend = 4,
  kStacks = 5,
  kExpireIn = 6,
};

struct ControlRequest {
  ControlOp op = ControlOp::kRelease;
  std::int64_t argument_ms =
      0;  // kHold, kExpireIn: from now; kExtend: on top of the limit; never negative
  bool keep_running = false;  // kCheckpoint: the job goes on
};

enum class ControlAnswer : std::uint32_t {
  kDone = 0,
  kNotNow = 1,        // the job is in another phase
  kRefused = 2,       // another user
  kUnknown = 3,       // a record of another size, version or operation
  kBusy = 4,          // a checkpoint is under way
  kRestarts = 5,      // the job restarts on failure: it is not ended for a checkpoint
  kNoLimit = 6,       // the job has no time limit
  kNoCheckpoint = 7,  // neither a signal nor a hook asks this job for one
};

struct ControlReply {
  ControlAnswer answer = ControlAnswer::kDone;
  // kDone: what is left from now on, of the debug window, of the checkpoint's time or of the limit;
  // of kStacks the number in the names of the files that will be there.
  std::int64_t value_ms = 0;

  bool operator==(const ControlReply&) const = default;
};

// How long a client waits for the instance, which is PID 1 and may be stopped or out of memory.
inline constexpr int kControlTimeoutMs = 5000;

class ControlServer {
 public:
  // No server when `run_dir` is empty.
  static envgen::Result<ControlServer> open(const std::string& run_dir);

  [[nodiscard]] const sys::Fd& listener() const { return listener_; }
  [[nodiscard]] const std::vector<sys::Fd>& clients() const { return clients_; }
  // Accepts a client; its descriptor, or -1. Without a descriptor to spare it is turned away; where
  // the kernel refuses for another reason the server closes, as it would be woken for ever.
  int accept_client();
  // A request from a client that may send one; other clients are answered and dropped here.
  std::optional<ControlRequest> read_request(int client);
  void answer(int client, ControlAnswer answer, std::int64_t value_ms = 0);
  // The last thing that it does: answers those who have asked too late, and waits until each
  // client's process has ended or closed its end, at most so long.
  void see_off(std::int64_t most_ms);

 private:
  void turn_away();
  void drop(int client);
  void forget_gone();
  sys::Fd listener_;
  sys::Fd spare_;  // given up for a moment to turn a client away
  std::vector<sys::Fd> clients_;
  std::vector<sys::Fd> answered_;  // who may still be there
};

// The client's side. An instance that this user may not even reach is kRefused, an answer of
// another version kUnknown. `connection`, where it is given, gets the open socket: the instance
// waits for its end before it takes the namespace with it.
envgen::Result<ControlReply> send_control(const std::string& run_dir, const ControlRequest& request,
                                          int timeout_ms = kControlTimeoutMs,
                                          sys::Fd* connection = nullptr);

}  // namespace engine
