#pragma once
// The two pipes between the link's worker and PID 1. PID 1 may be stopped: what it does not read is
// never waited for, and of verdicts and states it gets the latest.

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

  // The latest report that has come, if one has.
  std::optional<lifecycle::NodeReport> read();
  // PID 1 has closed its ends, or is gone.
  [[nodiscard]] bool closed() const { return closed_; }

  // Another one than before; who is missing, and the texts of a state, not too often.
  void verdict(const lifecycle::NodeVerdict& verdict);
  void state(LinkState state);
  void warn(const std::string& text);
  // Something waits until PID 1 reads.
  [[nodiscard]] bool waits() const { return !unsent_.empty(); }
  void flush();
  // When something that was held back is due; nothing: nothing is.
  [[nodiscard]] std::optional<std::int64_t> next_ms() const;
  void tick();

 private:
  [[nodiscard]] std::optional<std::int64_t> state_ms() const;
  [[nodiscard]] std::optional<std::int64_t> verdict_ms() const;
  void fill();

  MessagePipe down_;
  sys::Fd up_;
  bool closed_ = false;
  std::optional<lifecycle::NodeVerdict> verdict_;  // as it is, where it is another one than told_
  std::optional<lifecycle::NodeVerdict> told_;     // without its age
  std::int64_t told_ms_ = 0;
  bool verdict_due_ = false;
  LinkState state_;       // as it is
  LinkState told_state_;  // as PID 1 knows it, or will when it reads
  std::int64_t told_state_ms_ = 0;
  bool state_due_ = false;
  std::deque<std::string> warnings_;
  std::string unsent_;  // of the pipe, whole messages but for the first
};

}  // namespace engine
