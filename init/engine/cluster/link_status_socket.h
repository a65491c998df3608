#pragma once
// The worker's end of the socket RUN_DIR/link (link_status.h). The caller gets the rows for a
// client, one frame at a time: next_request() asks for them, and rows() or no_rows() answers.
// Several clients are served one after the other. Never blocks.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "init/engine/cluster/link_wire.h"
#include "init/sys/fd.h"

namespace engine {

class LinkStatusSocket {
 public:
  // Opens the socket at `path`, unless that is "". If this fails, sets `error` to the reason.
  LinkStatusSocket(const std::string& path, std::string& error);
  LinkStatusSocket(const LinkStatusSocket&) = delete;
  LinkStatusSocket& operator=(const LinkStatusSocket&) = delete;
  ~LinkStatusSocket();

  [[nodiscard]] int fd() const { return poller_.get(); }  // poll for reading; -1: no socket
  void ready();
  // Returns a rank if a client wants the rows from that node on. Returns nullopt if none does, or
  // until the previous request was answered by rows() or no_rows().
  std::optional<std::uint32_t> next_request();
  void rows(const LinkRows& rows);
  void no_rows(const std::string& why);

 private:
  struct Client {
    sys::Fd socket;
    std::string question;
    std::string unsent;
    std::uint32_t from = 0;
    bool asks = false;   // the client has asked, and has not received all rows
    bool ended = false;  // `unsent` has the end of the answer
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
  std::uint64_t served_ = 0;  // id of the client whose rows are requested; 0: none
};

}  // namespace engine
