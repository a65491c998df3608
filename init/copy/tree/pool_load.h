#pragma once
// Decides how many processes of a pool should work. If the working ones wait for storage, more of
// them are faster. If they wait for a CPU, fewer suffice.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace copy {

// The CPU times of a process.
struct CpuTimes {
  std::int64_t run_ns = 0;
  std::int64_t queue_ns = 0;  // time in which the process was runnable but waited for a CPU

  [[nodiscard]] std::int64_t wanted_ns() const { return run_ns + queue_ns; }
};
// Returns the times in /proc/<process>/schedstat; "self" is this process. Returns zeros if the file
// cannot be read, or the process has only slept.
CpuTimes cpu_times(const std::string& process);

// Measures whether this process spends more time waiting for storage than computing.
class OwnWaits {
 public:
  // Starts a new measurement.
  void forget();
  // Returns the result of the last measurement that lasted long enough. Call it often.
  bool look(std::int64_t now_ms);

 private:
  std::int64_t begun_ms_ = 0;
  std::int64_t wanted_ns_ = 0;  // CPU time at the start of the measurement
  bool waits_ = false;
};

// Returns how many processes should work, so that each of `cpus` CPUs has one to run; at most twice
// `working`. `working` processes work now, of which on average `wanting` ran or waited for a CPU.
int wanted_workers(int working, double wanting, int cpus);

class PoolLoad {
 public:
  explicit PoolLoad(int cpus);

  // Returns the time of the next look(). The pauses are short at first and after a change, then
  // longer.
  [[nodiscard]] std::int64_t next_look_ms() const { return looked_ms_ + pause_ms_; }
  // Returns how many processes should work. `working` are the processes that work now. `useful`:
  // more processes would find work.
  int look(const std::vector<pid_t>& working, std::int64_t now_ms, bool useful);

 private:
  // Returns for how long of `elapsed_ns` the process ran or waited for a CPU.
  double wanting_ns(pid_t pid, double elapsed_ns);

  int cpus_;
  bool sees_;  // /proc is readable
  std::int64_t looked_ms_;
  std::int64_t pause_ms_;
  std::unordered_map<pid_t, std::int64_t> wanted_ns_;  // CPU time at the last look
};

}  // namespace copy
