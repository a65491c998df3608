#pragma once
// The two pipes between the link's worker and PID 1. PID 1 may be stopped, so the worker never
// waits for it to read. PID 1 gets the latest verdict and state only.

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

  // Returns the latest report that has arrived, if any.
  std::optional<lifecycle::NodeReport> read();
  // True if PID 1 has closed its ends or has exited.
  [[nodiscard]] bool closed() const { return closed_; }

  // Sends a verdict or state if it has changed. Changes of missing nodes, and of a state's texts
  // alone, are sent at most every two seconds.
  void verdict(const lifecycle::NodeVerdict& verdict);
  void state(LinkState state);
  void warn(const std::string& text);
  // True if data waits until PID 1 reads.
  [[nodiscard]] bool waits() const { return !unsent_.empty(); }
  void flush();
  // Returns when a message that was held back is due; nullopt: none is.
  [[nodiscard]] std::optional<std::int64_t> next_ms() const;
  void tick();

 private:
  [[nodiscard]] std::optional<std::int64_t> state_ms() const;
  [[nodiscard]] std::optional<std::int64_t> verdict_ms() const;
  void fill();

  MessagePipe down_;
  sys::Fd up_;
  bool closed_ = false;
  std::optional<lifecycle::NodeVerdict> verdict_;  // present verdict, if it differs from told_
  std::optional<lifecycle::NodeVerdict> told_;     // last verdict sent, without its age
  std::int64_t told_ms_ = 0;
  bool verdict_due_ = false;
  LinkState state_;       // present state
  LinkState told_state_;  // last state sent, or due to be sent
  std::int64_t told_state_ms_ = 0;
  bool state_due_ = false;
  std::deque<std::string> warnings_;
  std::string unsent_;  // the rest of one message
};

}  // namespace engine
