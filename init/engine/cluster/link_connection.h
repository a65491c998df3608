#pragma once
// A connection of the link, which receives and sends frames and never blocks. It keeps incomplete
// frames, and data that the other end has not taken yet. An idle connection needs no memory for
// either.

#include <cstdint>
#include <string>
#include <string_view>

#include "init/engine/cluster/link_session.h"
#include "init/engine/cluster/link_wire.h"
#include "init/sys/fd.h"

namespace engine {

class LinkConnection {
 public:
  LinkConnection() = default;
  // Takes over a non-blocking socket. The caller measures the silence of the other end. After more
  // than `timeout_ms` without an answer, the kernel closes the connection as well.
  LinkConnection(sys::Fd socket, std::int64_t timeout_ms);

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool open() const { return socket_.valid(); }

  // Begins the session with a peer that has proved its identity. From then on its frames may be
  // larger, and the tag of each is checked.
  void begin_session(const LinkSession& session);

  // Receives data that has arrived, a limited amount per call. Returns false if the connection has
  // ended.
  bool receive();
  enum class Next : unsigned char { kNone, kFrame, kStranger };
  // Takes the next received frame. Its payload is valid until the next call. Returns kNone if no
  // whole frame has arrived, and kStranger if the data is no valid frame of the other end.
  Next next(LinkFrame& frame);

  // Sends a frame. Keeps for flush() the part that the other end does not take yet. Returns false
  // if the connection has failed.
  bool send(LinkFrame::Kind kind, std::string_view payload = {});
  bool send_tagged(LinkFrame::Kind kind, std::string_view payload, const LinkFrame::Tag& tag);
  bool flush();
  [[nodiscard]] bool clogged() const { return !unsent_.empty(); }
  [[nodiscard]] std::size_t unsent_bytes() const { return unsent_.size(); }
  void end_sending();  // closes the sending side; call it after all data is flushed

  void close() { socket_.reset(); }
  // Closes the connection at once, and discards data that the kernel has not sent yet.
  void abort();

 private:
  sys::Fd socket_;
  LinkSession session_;
  bool in_session_ = false;
  std::string received_;
  std::size_t taken_ = 0;
  std::string unsent_;
};

}  // namespace engine
