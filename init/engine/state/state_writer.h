#pragma once
// The writer of what an instance shows of itself: its run directory with state.json and the control
// socket. A job runs without it just as well, so what cannot be opened or written is logged and
// nothing more.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/environ.h"
#include "init/engine/control/control.h"
#include "init/engine/state/state.h"
#include "init/sys/facts.h"
#include "init/sys/safe_path.h"

namespace engine {

class StateWriter {
 public:
  // The run directory that `env` asks for. Before this there is none, and nothing is published.
  void open(const envgen::Environ& env);
  // Where it is this instance's: the control server.
  void serve();

  // The directory of this instance; "": none.
  [[nodiscard]] const std::string& run_dir() const { return run_dir_.path; }
  [[nodiscard]] ControlServer& control() { return control_; }

  // What was written is out of date.
  void note_change() { changed_ = metrics_changed_ = true; }
  // There is something to write, and somewhere to write it. True until write().
  [[nodiscard]] bool due() const { return changed_ && run_dir_.lock.valid(); }
  // A failure is said once until a write succeeds again. The `last` state is written in place where
  // there is no room to replace the file; what it then has no room for, the output tail first, is
  // left out of it.
  void write(const JobReport& report, bool last);
  // When RUN_DIR/metrics.prom is out of date, by sys::monotonic_ms(): something has changed, and a
  // second is over since it was written; or, where the job is `watched`, a quarter of a minute is.
  // nullopt: not by time alone.
  [[nodiscard]] std::optional<std::int64_t> metrics_due_ms(bool watched) const;
  void write_metrics(const JobReport& report);
  // Takes the control socket away; waits a moment for the control clients.
  void close();

 private:
  // Replaces a file of the run directory.
  envgen::Status replace(const char* name, std::string_view content);

  sys::RunDir run_dir_;
  sys::SafePath place_;  // the run directory, so that not each write walks there
  ControlServer control_;
  bool changed_ = true;
  bool lost_ = false;  // the last write failed
  bool metrics_changed_ = true;
  std::int64_t metrics_ms_ = 0;  // when they were written, at first when they could be
};

}  // namespace engine
