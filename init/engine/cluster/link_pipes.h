#pragma once
// The worker's ends of the two pipes between the link's worker and PID 1. PID 1 may be stopped, so
// the worker never waits for it to read. PID 1 gets only the latest verdict and state, not those in
// between.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "init/engine/cluster/link_settings.h"
#include "init/engine/workers/messages.h"
#include "init/sys/fd.h"
#include "lifecycle/coordinator.h"

namespace engine {

class LinkPipes {
 public:
  LinkPipes(int down, int up);

  [[nodiscard]] int down() const { return down_.pipe().get(); }
  [[nodiscard]] int up() const { return up_.get(); }

  // Returns the newest report that has arrived since the last call, and drops older ones. Returns
  // nullopt if no new report has arrived. Does not block. Sets closed() at the end of the pipe.
  std::optional<lifecycle::NodeReport> read();
  // True if PID 1 has closed its ends or exited.
  [[nodiscard]] bool closed() const { return closed_; }

  // Send a verdict or state if it has changed. A change only of the missing nodes, or only of a
  // state's texts, is sent at most every two seconds.
  void verdict(const lifecycle::NodeVerdict& verdict);
  void state(LinkState state);
  void warn(const std::string& text);
  // True if PID 1 must read before more can be sent: then poll up() for writing, and call flush().
  [[nodiscard]] bool waits() const { return !unsent_.empty(); }
  void flush();
  // Returns when tick() is due to send a message that was held back; nullopt: none was.
  [[nodiscard]] std::optional<std::int64_t> next_ms() const;
  void tick();

 private:
  [[nodiscard]] std::optional<std::int64_t> state_ms() const;
  [[nodiscard]] std::optional<std::int64_t> verdict_ms() const;
  void fill();

  MessagePipe down_;
  sys::Fd up_;
  bool closed_ = false;
  // The verdict to send; empty if told_ is the same.
  std::optional<lifecycle::NodeVerdict> verdict_;
  std::optional<lifecycle::NodeVerdict> told_;  // the last verdict that was sent, without its age
  std::int64_t told_ms_ = 0;
  bool verdict_due_ = false;
  LinkState state_;       // the present state
  LinkState told_state_;  // last state that was sent or is about to be
  std::int64_t told_state_ms_ = 0;
  bool state_due_ = false;
  std::deque<std::string> warnings_;
  std::string unsent_;  // the unsent rest of one message
};

}  // namespace engine
