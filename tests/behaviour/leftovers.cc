// Rows of how it ends: workers that outlive main, a child that does not end, zombies.

#include <signal.h>

#include <cstdlib>

#include "tests/behaviour/rows.h"

namespace behaviour {
namespace {

enum class End : unsigned char { kMainEnds, kTermToInit };

std::string worker(const Init& init, const char* where, End end) {
  Contained contained(command_line(init, payload({"leave", where, "7"})), {});
  if (!contained.await("ready\n")) return "(did not start)";
  if (end == End::kTermToInit) {
    contained.signal(SIGTERM);
  } else {
    // Of init's children main alone is there now: the worker is main's.
    ::kill(contained.child(), SIGUSR1);
  }
  const std::optional<int> code = contained.wait();
  const bool told = contained.await("term\n");
  const bool saved = contained.await("saved\n");
  return "rc=" + (code ? std::to_string(*code) : "timeout") + " term=" + (told ? "y" : "n") +
         " saved=" + (saved ? "y" : "n");
}

}  // namespace

std::string worker_of_the_group_after_main(const Init& init) {
  return worker(init, "group", End::kMainEnds);
}
std::string worker_of_a_session_after_main(const Init& init) {
  return worker(init, "session", End::kMainEnds);
}
std::string worker_of_the_group_at_term(const Init& init) {
  return worker(init, "group", End::kTermToInit);
}
std::string worker_of_a_session_at_term(const Init& init) {
  return worker(init, "session", End::kTermToInit);
}

std::string ignored_term(const Init& init) {
  constexpr std::int64_t kLimitMs = 2000;
  const bool own = init.kind == Kind::kTrainit;
  const Words grace = own ? Words{"--grace", "300ms"} : Words{};
  Contained contained(command_line(init, payload({"print-signals"}), grace), {});
  if (!contained.await("ready\n")) return "(did not start)";
  contained.signal(SIGTERM);
  const std::optional<int> code = contained.wait(kLimitMs);
  return code ? "killed, rc=" + std::to_string(*code) : "never";
}

std::string zombies_at_the_end(const Init& init) {
  Contained contained(command_line(init, payload({"zombies", "1000"})), {});
  if (!contained.await("ready\n")) return "(did not start)";
  contained.signal(SIGTERM);
  const bool told = contained.await("ended ");
  const std::int64_t main_ended_us =
      told ? std::strtoll(contained.rest_of_line().c_str(), nullptr, 10) : 0;
  const std::optional<int> code = contained.wait();
  if (!code || !told) return "timeout";
  const std::int64_t delay_us = contained.ended_us() - main_ended_us;
  return "rc=" + std::to_string(*code) + " " + std::to_string(delay_us / 1000) + " ms";
}

}  // namespace behaviour
