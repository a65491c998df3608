#include "init/engine/cluster/link_status_socket.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "init/sys/unix_socket.h"

namespace engine {
namespace {

constexpr std::size_t kMaxClients = 8;
constexpr std::uint64_t kStatusListener = 0;
constexpr std::string_view kQuestion = "nodes\n";

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

bool may_ask(const sys::Fd& client) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  return ::getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 &&
         (credentials.uid == 0 || credentials.uid == ::geteuid());
}

}  // namespace

LinkStatusSocket::LinkStatusSocket(const std::string& path, std::string& error) {
  if (path.empty()) return;
  sys::Fd socket = sys::listen_at(path, SOCK_STREAM, kMaxClients);
  if (!socket.valid()) {
    error = to_line(sys::socket_error("opening the socket of status --cluster", path, errno,
                                      "until it is there only node 0's log tells of other nodes"));
    return;
  }
  path_ = path;
  poller_.reset(::epoll_create1(EPOLL_CLOEXEC));
  // Edge-triggered: if no descriptor is free for a client, a level-triggered event would wake the
  // loop again and again. Now only the next client wakes it.
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.u64 = kStatusListener}};
  ::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, socket.get(), &event);
  listener_ = std::move(socket);
}

LinkStatusSocket::~LinkStatusSocket() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

void LinkStatusSocket::ready() {
  std::array<epoll_event, kMaxClients + 1> events;
  const int count = ::epoll_wait(poller_.get(), events.data(), events.size(), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t id = events.at(static_cast<std::size_t>(i)).data.u64;
    if (id == kStatusListener) {
      accept_clients();
      continue;
    }
    const auto client = clients_.find(id);
    if (client == clients_.end()) continue;
    if (serve(client->second)) {
      watch_output(id, client->second);
    } else {
      clients_.erase(client);
    }
  }
}

// Accepts clients. If there would be more than kMaxClients, drops the oldest.
void LinkStatusSocket::accept_clients() {
  while (true) {
    sys::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return;
    if (!may_ask(socket)) continue;
    if (clients_.size() >= kMaxClients) clients_.erase(clients_.begin());
    epoll_event event{.events = EPOLLIN, .data = {.u64 = next_id_}};
    ::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, socket.get(), &event);
    clients_[next_id_++].socket = std::move(socket);
  }
}

// Serves a client. Returns false if it must be dropped: it has its whole answer, has disconnected,
// or sent a wrong question.
bool LinkStatusSocket::serve(Client& client) { return flush(client) && hear(client); }

bool LinkStatusSocket::hear(Client& client) {
  std::array<char, 64> part;
  const ssize_t count = ::recv(client.socket.get(), part.data(), part.size(), MSG_DONTWAIT);
  if (count < 0) return would_block(errno) || errno == EINTR;
  client.question.append(part.data(), static_cast<std::size_t>(count));
  if (count == 0 || !kQuestion.starts_with(client.question)) return false;
  if (client.question == kQuestion && !client.ended) client.asks = true;
  return true;
}

bool LinkStatusSocket::flush(Client& client) {
  while (!client.unsent.empty()) {
    const ssize_t count = ::send(client.socket.get(), client.unsent.data(), client.unsent.size(),
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return would_block(errno);
    client.unsent.erase(0, static_cast<std::size_t>(count));
  }
  return !client.ended;
}

void LinkStatusSocket::watch_output(std::uint64_t id, const Client& client) const {
  epoll_event event{.events = client.unsent.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT,
                    .data = {.u64 = id}};
  ::epoll_ctl(poller_.get(), EPOLL_CTL_MOD, client.socket.get(), &event);
}

std::optional<std::uint32_t> LinkStatusSocket::next_request() {
  // The rows of the previous request are still to come, even if its client has disconnected.
  if (served_ != 0) return std::nullopt;
  for (const auto& [id, client] : clients_) {
    if (!client.asks || !client.unsent.empty()) continue;
    served_ = id;
    return client.from;
  }
  return std::nullopt;
}

void LinkStatusSocket::rows(const LinkRows& rows) {
  answer(std::exchange(served_, 0), rows.next == 0 ? rows.text + "\n" : rows.text, rows.next);
}

void LinkStatusSocket::no_rows(const std::string& why) {
  if (served_ == 0) return;
  base::json::Writer out(false);
  out.begin_object().key("error").string(why).end_object();
  answer(std::exchange(served_, 0), std::move(out).take() + "\n", 0);
}

void LinkStatusSocket::answer(std::uint64_t id, const std::string& text, std::uint32_t next) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  client.unsent += text;
  client.from = next;
  client.asks = next != 0;
  client.ended = next == 0;
  if (flush(client)) {
    watch_output(id, client);
  } else {
    clients_.erase(found);
  }
}

}  // namespace engine
