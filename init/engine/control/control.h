#pragma once
// The control socket RUN_DIR/control: a SOCK_SEQPACKET socket with records of one size. `trainit
// release`, `hold`, `checkpoint`, `extend` and `stacks` send their requests to it. Only root and
// the user of the instance may send (SO_PEERCRED).
//
// While the job runs, PID 1 never waits for a client. Each client gets one answer at most. If more
// than 16 clients are connected and have no answer yet, the server drops the oldest. PID 1's exit
// kills every process of its PID namespace. So before it exits, PID 1 waits until the clients have
// disconnected (see_off()). Otherwise `trainit release` would look like a failure to its caller.
// control_answers.h decides what a request means for the job.

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
  // Never negative; kHold, kExpireIn: from now; kExtend: added to the limit.
  std::int64_t argument_ms = 0;
  bool keep_running = false;  // kCheckpoint: the job continues after the checkpoint
};

enum class ControlAnswer : std::uint32_t {
  kDone = 0,
  kNotNow = 1,        // the job is not in a phase that allows this request
  kRefused = 2,       // the client runs as another user
  kUnknown = 3,       // the record has an unknown size, version or operation
  kBusy = 4,          // a checkpoint is under way already
  kRestarts = 5,      // the job restarts on failure, so a checkpoint must not end it
  kNoLimit = 6,       // the job has no time limit
  kNoCheckpoint = 7,  // the job has neither a checkpoint signal nor checkpoint hooks
  kNothingSaved = 8,  // kCheckpoint: no process handled the signal, and no hook saves one
};

struct ControlReply {
  ControlAnswer answer = ControlAnswer::kDone;
  // Valid with kDone: time from now to the end of the debug window, of the checkpoint or of the
  // time limit. For kStacks, the number in the names of the files that will be written.
  std::int64_t value_ms = 0;

  bool operator==(const ControlReply&) const = default;
};

// The time-out of a client, because PID 1 may be stopped (SIGSTOP) or slow from lack of memory.
inline constexpr int kControlTimeoutMs = 5000;

class ControlServer {
 public:
  // Opens the control socket. If `run_dir` is empty, returns a server without a socket.
  static base::Result<ControlServer> open(const std::string& run_dir);

  [[nodiscard]] const sys::Fd& listener() const { return listener_; }
  [[nodiscard]] const std::vector<sys::Fd>& clients() const { return clients_; }
  // Accepts a client and returns its descriptor, or -1. If no descriptor is free, disconnects the
  // client. On a permanent error of accept(), closes the listening socket: otherwise the socket
  // would wake the loop for ever.
  int accept_client();
  // Returns the request of the client, which the caller must answer. Returns nullopt if there is
  // none. A client of another user, or with an unknown record, gets its answer here; a client that
  // has disconnected is dropped.
  std::optional<ControlRequest> read_request(int client);
  void answer(int client, ControlAnswer answer, std::int64_t value_ms = 0);
  // Ends the server: answers the remaining requests with kNotNow. Then blocks until each client has
  // exited or closed its end, for `most_ms` at most. Call it last.
  void see_off(std::int64_t most_ms);

 private:
  void turn_away();
  void drop(int client);
  void forget_gone();
  sys::Fd listener_;
  sys::Fd spare_;  // reserve: closed for a moment to accept and disconnect a client
  std::vector<sys::Fd> clients_;
  std::vector<sys::Fd> answered_;  // clients that got their answer and have not disconnected yet
};

// Sends `request` to the instance (PID 1) and returns its answer. Waits at most `timeout_ms` for
// the connection, and again for the answer. Returns kRefused if this user may not even connect, and
// kUnknown for an answer of another version. If `connection` is given, it receives the open socket:
// PID 1 waits until it is closed (at most 1 s) before its exit kills the caller.
base::Result<ControlReply> send_control(const std::string& run_dir, const ControlRequest& request,
                                        int timeout_ms = kControlTimeoutMs,
                                        sys::Fd* connection = nullptr);

}  // namespace engine
