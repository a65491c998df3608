#include "init/engine/control/control.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/unix_socket.h"

namespace engine {
namespace {

constexpr std::uint32_t kMagic = 0x314c5443;  // "CTL1"
constexpr std::size_t kMaxClients = 16;

struct Record {
  std::uint32_t magic = kMagic;
  std::uint32_t op = 0;  // a request: ControlOp; an answer: ControlAnswer
  // Milliseconds; kCheckpoint: 1 = the job continues after it, 0 = it ends.
  std::int64_t argument = 0;
};
static_assert(sizeof(Record) == 16);

std::string socket_path(const std::string& run_dir) { return run_dir + "/control"; }

sys::Fd accept_on(const sys::Fd& listener) {
  return sys::Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

sys::Fd spare_of(const sys::Fd& listener) {
  return sys::Fd(::fcntl(listener.get(), F_DUPFD_CLOEXEC, 0));
}

std::optional<ControlRequest> request_of(const Record& record) {
  if (record.magic != kMagic || record.argument < 0) return std::nullopt;
  ControlRequest request{.op = static_cast<ControlOp>(record.op)};
  switch (request.op) {
    case ControlOp::kRelease:
    case ControlOp::kHold:
    case ControlOp::kExtend:
    case ControlOp::kExpireIn:
    case ControlOp::kStacks:
      request.argument_ms = record.argument;
      return request;
    case ControlOp::kCheckpoint:
      request.keep_running = record.argument == 1;
      if (record.argument > 1) return std::nullopt;
      return request;
  }
  return std::nullopt;
}

Record record_of(const ControlRequest& request) {
  const bool checkpoint = request.op == ControlOp::kCheckpoint;
  return {.op = static_cast<std::uint32_t>(request.op),
          .argument =
              checkpoint ? static_cast<std::int64_t>(request.keep_running) : request.argument_ms};
}

// Returns kUnknown for an answer that only a later version of trainit defines.
ControlReply reply_of(const Record& record) {
  const bool known = record.magic == kMagic &&
                     record.op <= static_cast<std::uint32_t>(ControlAnswer::kNothingSaved);
  if (!known) return {.answer = ControlAnswer::kUnknown};
  return {.answer = static_cast<ControlAnswer>(record.op), .value_ms = record.argument};
}

base::Error socket_error(const std::string& what, const std::string& path, int error) {
  return sys::socket_error(what, path, error, "is the container's trainit running as this user?");
}

}  // namespace

base::Result<ControlServer> ControlServer::open(const std::string& run_dir) {
  ControlServer server;
  if (run_dir.empty()) return server;
  const std::string path = socket_path(run_dir);
  server.listener_ = sys::listen_at(path, SOCK_SEQPACKET, kMaxClients);
  if (!server.listener_.valid()) {
    return std::unexpected(sys::socket_error(
        "opening the control socket", path, errno,
        "let this user write to the directory, or choose another TRAINIT_RUN_DIR"));
  }
  server.spare_ = spare_of(server.listener_);
  return server;
}

int ControlServer::accept_client() {
  sys::Fd client = accept_on(listener_);
  if (!client.valid()) {
    const int error = errno;
    if (error == EMFILE || error == ENFILE) {
      turn_away();
    } else if (error != EAGAIN && error != EINTR && error != ECONNABORTED) {
      listener_.reset();
      spare_.reset();
    }
    return -1;
  }
  if (clients_.size() >= kMaxClients) clients_.erase(clients_.begin());
  clients_.push_back(std::move(client));
  return clients_.back().get();
}

void ControlServer::turn_away() {
  spare_.reset();
  if (accept_on(listener_).valid()) {
    spare_ = spare_of(listener_);
  } else {
    listener_.reset();
  }
}

std::optional<ControlRequest> ControlServer::read_request(int client) {
  Record record;
  char bytes[sizeof record + 1];
  ssize_t size = ::recv(client, bytes, sizeof bytes, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (size <= 0) {
    drop(client);
    return std::nullopt;
  }
  ucred peer = {};
  socklen_t peer_size = sizeof peer;
  bool known_peer = ::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0;
  if (!known_peer || (peer.uid != 0 && peer.uid != ::geteuid())) {
    answer(client, ControlAnswer::kRefused);
    return std::nullopt;
  }
  std::optional<ControlRequest> request;
  if (size == static_cast<ssize_t>(sizeof record)) {
    std::memcpy(&record, bytes, sizeof record);
    request = request_of(record);
  }
  if (!request) answer(client, ControlAnswer::kUnknown);
  return request;
}

void ControlServer::answer(int client, ControlAnswer answer, std::int64_t value_ms) {
  const Record record{.op = static_cast<std::uint32_t>(answer), .argument = value_ms};
  (void)!::send(client, &record, sizeof record, MSG_DONTWAIT | MSG_NOSIGNAL);
  const auto asked = std::ranges::find(clients_, client, &sys::Fd::get);
  if (asked == clients_.end()) return;
  ::shutdown(client, SHUT_WR);  // a client gets no further record after its answer
  forget_gone();
  if (answered_.size() >= kMaxClients) answered_.erase(answered_.begin());
  answered_.push_back(std::move(*asked));
  clients_.erase(asked);
}

void ControlServer::forget_gone() {
  std::erase_if(answered_, [](const sys::Fd& client) {
    char byte = 0;
    return ::recv(client.get(), &byte, 1, MSG_DONTWAIT) == 0;
  });
}

void ControlServer::see_off(std::int64_t most_ms) {
  for (std::size_t i = 0; i < kMaxClients && listener_.valid(); ++i) {
    if (accept_client() < 0) break;
  }
  listener_.reset();
  spare_.reset();
  const std::int64_t deadline_ms = sys::monotonic_ms() + most_ms;
  while (true) {
    std::vector<int> waiting;
    waiting.reserve(clients_.size());
    for (const sys::Fd& client : clients_) waiting.push_back(client.get());
    for (const int client : waiting) {
      if (read_request(client)) answer(client, ControlAnswer::kNotNow);
    }
    forget_gone();
    std::vector<pollfd> sources;
    sources.reserve(clients_.size() + answered_.size());
    for (const sys::Fd& client : clients_) sources.push_back({client.get(), POLLIN, 0});
    for (const sys::Fd& client : answered_) sources.push_back({client.get(), POLLIN, 0});
    const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
    if (sources.empty() || left_ms <= 0) return;
    if (::poll(sources.data(), sources.size(), static_cast<int>(left_ms)) < 0 && errno != EINTR) {
      return;
    }
  }
}

void ControlServer::drop(int client) {
  std::erase_if(clients_, [client](const sys::Fd& fd) { return fd.get() == client; });
}

base::Result<ControlReply> send_control(const std::string& run_dir, const ControlRequest& request,
                                        int timeout_ms, sys::Fd* connection) {
  const std::string path = socket_path(run_dir);
  sys::Fd fd = sys::connect_to(path, SOCK_SEQPACKET, timeout_ms);
  if (!fd.valid()) {
    if (errno == EACCES) return ControlReply{.answer = ControlAnswer::kRefused};
    const int error = errno == EAGAIN ? ETIMEDOUT : errno;
    return std::unexpected(socket_error("reaching the instance", path, error));
  }
  Record record = record_of(request);
  if (::send(fd.get(), &record, sizeof record, MSG_NOSIGNAL) < 0) {
    return std::unexpected(socket_error("asking the instance", path, errno));
  }
  if (!sys::await_ready(fd.get(), POLLIN, sys::monotonic_ms() + timeout_ms)) {
    return std::unexpected(socket_error("waiting for the instance's answer", path, ETIMEDOUT));
  }
  char bytes[sizeof record + 1];
  const ssize_t size = ::recv(fd.get(), bytes, sizeof bytes, 0);
  if (size <= 0) {
    return std::unexpected(socket_error("reading the instance's answer", path, ECONNRESET));
  }
  if (size != static_cast<ssize_t>(sizeof record)) {
    return ControlReply{.answer = ControlAnswer::kUnknown};
  }
  std::memcpy(&record, bytes, sizeof record);
  if (connection != nullptr) *connection = std::move(fd);
  return reply_of(record);
}

}  // namespace engine
