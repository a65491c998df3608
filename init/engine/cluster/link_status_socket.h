#pragma once
// The worker's end of RUN_DIR/link (link_status.h). The caller fetches the rows and passes them on,
// one frame at a time, and no more than that is kept for each client. Clients that ask at the same
// time are served one after the other. Never blocks.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "init/engine/cluster/link_wire.h"
#include "init/sys/fd.h"

namespace engine {

class LinkStatusSocket {
 public:
  // Opens the socket `path`, unless that is "". If this fails, `error` becomes the reason.
  LinkStatusSocket(const std::string& path, std::string& error);
  LinkStatusSocket(const LinkStatusSocket&) = delete;
  LinkStatusSocket& operator=(const LinkStatusSocket&) = delete;
  ~LinkStatusSocket();

  [[nodiscard]] int fd() const { return poller_.get(); }  // poll for reading; -1: no socket
  void ready();
  // Returns the first node whose rows are wanted. After that, returns nullopt until rows() or
  // no_rows() has been called.
  std::optional<std::uint32_t> next_request();
  void rows(const LinkRows& rows);
  void no_rows(const std::string& why);

 private:
  struct Client {
    sys::Fd socket;
    std::string question;
    std::string unsent;
    std::uint32_t from = 0;
    bool asks = false;   // the client has asked, and not received all rows
    bool ended = false;  // `unsent` is the end of the answer
  };
  void accept_clients();
  bool serve(Client& client);
  bool hear(Client& client);
  bool flush(Client& client);
  void answer(std::uint64_t id, const std::string& text, std::uint32_t next);
  void watch_output(std::uint64_t id, const Client& client) const;

  std::string path_;
  sys::Fd poller_;
  sys::Fd listener_;
  std::map<std::uint64_t, Client> clients_;
  std::uint64_t next_id_ = 1;
  std::uint64_t served_ = 0;  // the client whose rows are requested; 0: none
};

}  // namespace engine
