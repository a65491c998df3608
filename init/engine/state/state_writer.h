#pragma once
// The writer of an instance's run directory: state.json, the metrics and the control socket. A job
// runs without them too, so an error is only logged.

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
  // Opens the run directory that `env` selects (TRAINIT_RUN_DIR). Without this call nothing is
  // written.
  void open(const base::Environ& env);
  // Opens the control socket if the run directory belongs to this instance.
  void serve();

  // Returns the path of this instance's run directory; "" = none.
  [[nodiscard]] const std::string& run_dir() const { return run_dir_.path; }
  [[nodiscard]] ControlServer& control() { return control_; }

  // Marks the written files as out of date.
  void note_change() { changed_ = metrics_changed_ = true; }
  // Returns true if there is a change to write and a run directory for it. write() resets it.
  [[nodiscard]] bool due() const { return changed_ && run_dir_.lock.valid(); }
  // Writes state.json if due(). A series of errors is logged once. If the file cannot be replaced
  // (the disk is full), the `last` state is written over it. Parts that do not fit are left out,
  // the failed task's output first.
  void write(const JobReport& report, bool last);
  // Returns when write_metrics() is due, by sys::monotonic_ms(). After a change, that is one second
  // after the last write. Without a change it is 15 s after the last write if the job is `watched`,
  // otherwise never (nullopt).
  [[nodiscard]] std::optional<std::int64_t> metrics_due_ms(bool watched) const;
  void write_metrics(const JobReport& report);
  // Removes the control socket, then waits at most 1 s for the control clients.
  void close();

 private:
  // Replaces a file of the run directory atomically.
  base::Status replace(const char* name, std::string_view content);

  sys::RunDir run_dir_;
  // The run directory, kept open so that a write need not resolve its path again.
  sys::SafePath place_;
  ControlServer control_;
  bool changed_ = true;
  bool lost_ = false;  // the last write of state.json failed
  bool metrics_changed_ = true;
  std::int64_t metrics_ms_ = 0;  // time of the last write_metrics(), at first of open()
};

}  // namespace engine
