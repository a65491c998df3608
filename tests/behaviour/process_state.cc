#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "init/sys/clock.h"
#include "tests/behaviour/contained.h"

namespace behaviour {
namespace {

std::string status_field(pid_t pid, std::string_view field) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string line;
  while (std::getline(status, line)) {
    if (!line.starts_with(field) || !line.substr(field.size()).starts_with(":\t")) continue;
    return line.substr(field.size() + 2);
  }
  return "";
}

}  // namespace

char state_of(pid_t pid) {
  const std::string state = status_field(pid, "State");
  return state.empty() ? '-' : state[0];
}

std::uint64_t signal_set_of(pid_t pid, std::string_view field) {
  return std::strtoull(status_field(pid, field).c_str(), nullptr, 16);
}

bool await_condition(const std::function<bool()>& holds, std::int64_t limit_ms) {
  const std::int64_t deadline = sys::monotonic_ms() + limit_ms;
  while (!holds()) {
    if (sys::monotonic_ms() >= deadline) return false;
    ::sched_yield();
  }
  return true;
}

void await_quiet(pid_t pid) {
  await_condition([pid] {
    const std::uint64_t pending = signal_set_of(pid, "ShdPnd") | signal_set_of(pid, "SigPnd");
    const char state = state_of(pid);
    return (state == 'S' && pending == 0) || state == 'T' || state == 'Z' || state == '-';
  });
}

}  // namespace behaviour
