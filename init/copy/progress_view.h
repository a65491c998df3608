#pragma once
// The view of how far a copy is, for a person: a bar that is drawn over on a terminal, else a line
// every few seconds. It never waits for whoever reads it: what does not fit is left out.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "init/copy/copy_progress.h"
#include "init/copy/progress.h"
#include "init/sys/nonblocking_writer.h"

namespace copy {

// The numbers as they are now. `waiting`: they are those of somebody else's copy.
envgen::CopyProgress progress_of(const Counters& counters, bool waiting = false);

class ProgressView {
 public:
  static constexpr std::int64_t kLineEveryMs = 5'000;
  static constexpr std::int64_t kBarEveryMs = 200;

  // On stderr: a bar where that is a terminal. `name`: of what is copied; "" = not said.
  explicit ProgressView(std::string name);
  // Lines only, each without an end of line, to `say`.
  ProgressView(std::string name, std::function<void(std::string_view)> say);

  // To be called often. A bar shows at once what begins. The first line comes after kLineEveryMs:
  // what is quick needs none.
  void show(const Counters& counters, bool waiting = false);
  // Takes the bar away, so that other lines may follow. Nothing to do for lines.
  void clear();

 private:
  void say_line(std::string_view text);

  std::string name_;
  std::function<void(std::string_view)> say_;
  sys::NonblockingWriter writer_;
  bool bar_ = false;
  bool drawn_ = false;
  std::int64_t next_ms_;
  std::string_view phase_;  // one of phase_name()
  envgen::RateWindow window_;
};

}  // namespace copy
