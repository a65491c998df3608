#pragma once
// A connection of the link that never waits: frames in, frames out. Its memory is what has come and
// is not whole yet, and what the other end has not taken: none while it is quiet.

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
  // Of a socket that does not block. `timeout_ms` of silence are a matter of who uses it; the
  // kernel gives the connection up some time later.
  LinkConnection(sys::Fd socket, std::int64_t timeout_ms);

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool open() const { return socket_.valid(); }

  // Who has shown who it is may send more.
  void begin_session(const LinkSession& session);

  // Takes what has come, some of it at least; false: it is at its end.
  bool receive();
  enum class Next : unsigned char { kNone, kFrame, kStranger };
  // The next of the frames that have been received; its payload is good until the next call.
  Next next(LinkFrame& frame);

  // False: nobody takes it any more. What the other end does not take yet is kept, to be flushed.
  bool send(LinkFrame::Kind kind, std::string_view payload = {});
  bool send_tagged(LinkFrame::Kind kind, std::string_view payload, const LinkFrame::Tag& tag);
  bool flush();
  [[nodiscard]] bool clogged() const { return !unsent_.empty(); }
  [[nodiscard]] std::size_t unsent_bytes() const { return unsent_.size(); }
  void end_sending();  // what is to be said has been said, once that is flushed

  void close() { socket_.reset(); }
  // Nothing of it stays in the kernel.
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
