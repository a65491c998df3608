#pragma once
// How many processes of a pool should work, by what those that do have waited for since they were
// last looked at: for storage, then more of them are faster; or for a CPU, then they are in each
// other's way.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace copy {

// What a process has had of the CPUs.
struct CpuTimes {
  std::int64_t run_ns = 0;
  std::int64_t queue_ns = 0;  // it waited for one

  [[nodiscard]] std::int64_t wanted_ns() const { return run_ns + queue_ns; }
};
// As /proc/<process>/schedstat has it, "self" is this one. Zero where there is no such file: as if
// it had slept.
CpuTimes cpu_times(const std::string& process);

// Whether this process waits for storage more than it computes.
class OwnWaits {
 public:
  // Of what comes nothing is known.
  void forget();
  // To be asked again and again; the answer is that of the last time that was long enough to tell.
  bool look(std::int64_t now_ms);

 private:
  std::int64_t begun_ms_ = 0;
  std::int64_t wanted_ns_ = 0;  // of CPU time, then
  bool waits_ = false;
};

// How many of `working` processes should work on `cpus` CPUs, where `wanting` of them on the
// average ran or waited for a CPU: so many that each CPU has one. Never more than twice as many at
// once.
int wanted_workers(int working, double wanting, int cpus);

class PoolLoad {
 public:
  explicit PoolLoad(int cpus);

  // When the next look is due: soon at first and after a change, then less and less often.
  [[nodiscard]] std::int64_t next_look_ms() const { return looked_ms_ + pause_ms_; }
  // How many should work instead of these. `useful`: there is something to do for more of them.
  int look(const std::vector<pid_t>& working, std::int64_t now_ms, bool useful);

 private:
  // Of `elapsed_ns`, for how long it ran or waited for a CPU.
  double wanting_ns(pid_t pid, double elapsed_ns);

  int cpus_;
  bool sees_;  // there is a /proc
  std::int64_t looked_ms_;
  std::int64_t pause_ms_;
  std::unordered_map<pid_t, std::int64_t> wanted_ns_;  // of CPU time, by the last look
};

}  // namespace copy
