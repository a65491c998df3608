#pragma once
// A connection of the link that never blocks: frames in, frames out. It keeps incomplete frames,
// and data that the other end has not taken yet. A quiet connection needs no memory for either.

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
  // Takes over a socket that does not block. The caller decides what `timeout_ms` of silence mean;
  // the kernel ends the connection some time later.
  LinkConnection(sys::Fd socket, std::int64_t timeout_ms);

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool open() const { return socket_.valid(); }

  // Begins the session of a peer that has proved who it is: its frames may be larger, and are
  // checked.
  void begin_session(const LinkSession& session);

  // Receives some of the data that has arrived. Returns false if the connection has ended.
  bool receive();
  enum class Next : unsigned char { kNone, kFrame, kStranger };
  // Takes the next received frame. Its payload is valid until the next call. kStranger: the data is
  // no valid frame of the other end.
  Next next(LinkFrame& frame);

  // Sends a frame, and keeps for flush() what the other end does not take yet. Returns false if the
  // connection takes no more data.
  bool send(LinkFrame::Kind kind, std::string_view payload = {});
  bool send_tagged(LinkFrame::Kind kind, std::string_view payload, const LinkFrame::Tag& tag);
  bool flush();
  [[nodiscard]] bool clogged() const { return !unsent_.empty(); }
  [[nodiscard]] std::size_t unsent_bytes() const { return unsent_.size(); }
  void end_sending();  // closes the sending side; call it after all data is flushed

  void close() { socket_.reset(); }
  // Closes the connection, and discards the data that the kernel still holds.
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
