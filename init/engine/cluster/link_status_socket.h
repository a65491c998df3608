#pragma once
// The worker's end of RUN_DIR/link (link_status.h). Its rows come from elsewhere, some at a time:
// as many are kept as a frame holds, and of a few who ask at once one is served after the other.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "init/engine/cluster/link_wire.h"
#include "init/sys/fd.h"

namespace engine {

class LinkStatusSocket {
 public:
  // Why it is not there, if it should be: `error`. "" as path: it should not.
  LinkStatusSocket(const std::string& path, std::string& error);
  LinkStatusSocket(const LinkStatusSocket&) = delete;
  LinkStatusSocket& operator=(const LinkStatusSocket&) = delete;
  ~LinkStatusSocket();

  [[nodiscard]] int fd() const { return poller_.get(); }  // to be read; -1: there is none
  void ready();
  // From which node on rows are wanted; nothing more until there are some, or none.
  std::optional<std::uint32_t> next_request();
  void rows(const LinkRows& rows);
  void no_rows(const std::string& why);

 private:
  struct Client {
    sys::Fd socket;
    std::string question;
    std::string unsent;
    std::uint32_t from = 0;
    bool asks = false;   // it has asked, and not got all
    bool ended = false;  // what is unsent is the last
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
  std::uint64_t served_ = 0;  // for whom rows are under way; 0: for nobody
};

}  // namespace engine
