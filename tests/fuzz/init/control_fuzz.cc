// Any bytes from a client of the control socket, which PID 1 reads: a request that can be carried
// out, or an answer that refuses them; never a client that is left waiting. Whatever is asked, and
// whatever the job is about, the times that come of it stay in range.

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <variant>

#include "init/engine/control/control.h"
#include "init/engine/control/control_answers.h"
#include "init/sys/fd.h"
#include "tests/fuzz/fuzzer.h"

namespace {

// One server for all inputs; its directory goes with it.
class Server {
 public:
  Server() {
    require(::mkdtemp(directory_.data()) != nullptr);
    auto opened = engine::ControlServer::open(directory_);
    require(opened.has_value());
    server_ = std::move(*opened);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    ::unlink((directory_ + "/control").c_str());
    ::rmdir(directory_.c_str());
  }

  [[nodiscard]] sys::Fd connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory_ + "/control";
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    sys::Fd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    require(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    return client;
  }
  engine::ControlServer& get() { return server_; }

 private:
  std::string directory_ = "/tmp/trainit-fuzz-XXXXXX";
  engine::ControlServer server_;
};

constexpr std::size_t kRecord = 16;

void check_answer(const sys::Fd& client, engine::ControlAnswer expected) {
  char bytes[kRecord + 1];
  pollfd ready{client.get(), POLLIN, 0};
  require(::poll(&ready, 1, 0) == 1);
  require(::recv(client.get(), bytes, sizeof bytes, 0) == static_cast<ssize_t>(kRecord));
  std::uint32_t answer = 0;
  std::memcpy(&answer, bytes + sizeof answer, sizeof answer);
  require(answer == static_cast<std::uint32_t>(expected));
}

void check_decisions(const engine::ControlRequest& request) {
  for (int phase = 0; phase <= static_cast<int>(lifecycle::Phase::kExited); ++phase) {
    for (unsigned flags = 0; flags < 16; ++flags) {
      const engine::ControlView view{.phase = static_cast<lifecycle::Phase>(phase),
                                     .restarts = (flags & 1) != 0,
                                     .checkpointing = (flags & 2) != 0,
                                     .can_checkpoint = (flags & 4) != 0,
                                     .checkpoint_ms = request.argument_ms,
                                     .has_limit = (flags & 8) != 0,
                                     .limit_left_ms = request.argument_ms};
      const engine::ControlDecision decision = engine::decide(request, view);
      const bool done = decision.reply.answer == engine::ControlAnswer::kDone;
      require(done == decision.event.has_value() && decision.reply.value_ms >= 0);
      if (!done) continue;
      if (const auto* more = std::get_if<lifecycle::event::ExpireIn>(&*decision.event)) {
        require(more->duration_ms >= 0 && decision.reply.value_ms <= engine::kLongestLimitMs);
      } else if (const auto* held = std::get_if<lifecycle::event::HoldFor>(&*decision.event)) {
        require(held->duration_ms >= 0 && held->duration_ms <= engine::kLongestWindowMs);
      }
    }
  }
}

}  // namespace

TRAINIT_FUZZER(control) {
  constexpr std::size_t kMaxBytes = 64;
  size = std::min(size, kMaxBytes);
  if (size == 0) return 0;  // an empty record is what a closed connection looks like
  static Server server;
  const sys::Fd client = server.connect();
  require(::send(client.get(), data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size));
  const int accepted = server.get().accept_client();
  require(accepted >= 0);
  const auto request = server.get().read_request(accepted);
  if (!request) {
    check_answer(client, engine::ControlAnswer::kUnknown);
    return 0;
  }
  require(size == kRecord && request->argument_ms >= 0);
  check_decisions(*request);
  server.get().answer(accepted, engine::ControlAnswer::kNotNow);
  check_answer(client, engine::ControlAnswer::kNotNow);
  return 0;
}
