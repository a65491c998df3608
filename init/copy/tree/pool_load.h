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
  std::int64_t queue_ns = 0;  // runnable, waiting for a CPU

  [[nodiscard]] std::int64_t wanted_ns() const { return run_ns + queue_ns; }
};
// Reads /proc/<process>/schedstat; "self" is this process. Zero if there is no such file, as for a
// process that sleeps.
CpuTimes cpu_times(const std::string& process);

// Measures whether this process waits for storage longer than it computes.
class OwnWaits {
 public:
  // Starts a new measurement.
  void forget();
  // Returns the result of the last measurement that was long enough. Call it often.
  bool look(std::int64_t now_ms);

 private:
  std::int64_t begun_ms_ = 0;
  std::int64_t wanted_ns_ = 0;  // CPU time at that moment
  bool waits_ = false;
};

// Returns how many processes should work instead of `working`, so that each of `cpus` CPUs has one
// to run. `wanting`: how many ran or waited for a CPU, on average. At most doubles the number.
int wanted_workers(int working, double wanting, int cpus);

class PoolLoad {
 public:
  explicit PoolLoad(int cpus);

  // Returns the time of the next look(): soon at first and after a change, then less and less
  // often.
  [[nodiscard]] std::int64_t next_look_ms() const { return looked_ms_ + pause_ms_; }
  // Returns how many processes should work instead of `working`. `useful`: more of them would find
  // work.
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
