#pragma once
// One attempt to connect to node 0. It tries node 0's addresses one after the other until one
// answers with a welcome. Never blocks.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "init/engine/cluster/link_connection.h"
#include "init/engine/cluster/link_session.h"
#include "init/engine/cluster/link_settings.h"

namespace engine {

class LinkAttempt {
 public:
  LinkAttempt(const LinkSettings& settings, const LinkKey& key, std::vector<std::string> addresses,
              std::int64_t now_ms);

  enum class State : unsigned char { kConnecting, kGreeting, kWelcoming, kWelcomed, kFailed };
  // Continues the attempt. Call it when fd() is ready or deadline_ms() has passed.
  State step(std::int64_t now_ms);

  [[nodiscard]] State state() const { return state_; }
  // True after the hello was sent (kWelcoming). Node 0 may then close the node's previous
  // connection in favour of this one.
  [[nodiscard]] bool shown() const { return state_ == State::kWelcoming; }
  [[nodiscard]] const std::string& why() const { return why_; }  // why the attempt failed
  // True if the process at the last address (node 0 or another one) has refused this node.
  [[nodiscard]] bool refused() const { return refused_; }
  // True if node 0 has refused this node for a difference that cannot change. ends_job(): the job
  // fails because of it.
  [[nodiscard]] bool differs() const { return differs_; }
  [[nodiscard]] bool ends_job() const { return ends_job_; }
  [[nodiscard]] int fd() const { return connection_.fd(); }
  [[nodiscard]] short events() const;
  [[nodiscard]] std::int64_t deadline_ms() const { return deadline_ms_; }

  // Return the connection and the interval of heartbeats that node 0 asks for. Require kWelcomed.
  LinkConnection take() { return std::move(connection_); }
  [[nodiscard]] std::int64_t heartbeat_ms() const { return heartbeat_ms_; }

 private:
  void try_next(std::int64_t now_ms);
  void fail(std::string why, std::int64_t now_ms);
  void connected(std::int64_t now_ms);
  void hear(std::int64_t now_ms);
  bool hear_frame(const LinkFrame& frame, std::int64_t now_ms);
  bool say_hello(std::string_view nonce);

  const LinkSettings& settings_;
  const LinkKey& key_;
  std::vector<std::string> addresses_;
  std::size_t next_ = 0;
  State state_ = State::kConnecting;
  LinkConnection connection_;
  std::int64_t deadline_ms_ = 0;
  std::int64_t heartbeat_ms_ = 0;
  std::string why_;
  bool refused_ = false;
  bool differs_ = false;
  bool ends_job_ = false;
};

}  // namespace engine
