// Rows of processes that stand still, and of inits that are not PID 1.

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "tests/behaviour/rows.h"
#include "tests/rules/isolation.h"

namespace behaviour {
namespace {

constexpr int kMarker = SIGWINCH;
const std::string kMarkerLine = "signal " + std::to_string(kMarker) + " ";

std::string states(pid_t child, pid_t init) { return {state_of(child), '/', state_of(init)}; }

// The marker follows the stop by number, for the init and for the child: once it has come there is
// no stop to wait for.
std::string stopped(const Init& init, bool pid1) {
  const Words line = command_line(init, payload({"print-signals", "TSTP", "CONT"}));
  Contained contained(line, {.pid1 = pid1});
  if (!contained.await("ready\n")) return "(did not start)";
  const pid_t child = contained.child();
  contained.signal(SIGTSTP);
  contained.signal(kMarker);
  bool marked = false;
  await_condition([&] {
    marked = marked || contained.await(kMarkerLine, 0);
    return marked || state_of(child) == 'T';
  });
  await_quiet(contained.pid());
  const std::string before = states(child, contained.pid());
  contained.signal(SIGCONT);
  if (!marked) contained.await(kMarkerLine, kDoubtMs);
  await_quiet(contained.pid());
  await_quiet(child);
  return before + " -> " + states(child, contained.pid());
}

}  // namespace

std::string stopped_as_pid1(const Init& init) { return stopped(init, true); }
std::string stopped_not_pid1(const Init& init) { return stopped(init, false); }

std::string stopped_child(const Init& init) {
  Contained contained(command_line(init, payload({"print-signals", "CONT"})), {});
  if (!contained.await("ready\n")) return "(did not start)";
  const pid_t child = contained.child();
  ::kill(child, SIGSTOP);
  await_condition([child] { return state_of(child) == 'T'; });
  await_quiet(contained.pid());
  if (contained.wait(0)) return "NO (it ended)";
  ::kill(child, SIGCONT);
  contained.signal(kMarker);
  return contained.await(kMarkerLine) ? "ok" : "NO (it forwards no more)";
}

// The death signal of a child is sent before its parent's end can be seen. A handler that runs
// after that is a proof of life.
std::string killed_init(const Init& init) {
  Contained contained(command_line(init, payload({"print-signals"})), {.pid1 = false});
  if (!contained.await("ready\n")) return "(did not start)";
  const pid_t child = contained.child();
  const sys::Fd ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  contained.signal(SIGKILL);
  contained.wait();
  ::kill(child, kMarker);
  pollfd end{ended.get(), POLLIN, 0};
  bool dead = false;
  bool lives = false;
  await_condition([&] {
    dead = ::poll(&end, 1, 0) == 1;
    lives = !dead && contained.await(kMarkerLine, 0);
    return dead || lives;
  });
  return dead ? "yes" : lives ? "NO (orphan survives)" : "NO (nobody knows)";
}

std::string refused_subreaper(const Init& init) {
  Setup setup{.pid1 = false};
  setup.before = [] { rules::refuse_calls({SYS_prctl}, EPERM); };
  const Words subreaper = init.kind == Kind::kTini ? Words{"-s"} : Words{};
  return code_of(command_line(init, payload({"exit", "6"}), subreaper), setup);
}

std::string adopted_orphan(const Init& init) {
  Contained contained(command_line(init, payload({"orphan"})), {.pid1 = false});
  return contained.rest_of_line();
}

}  // namespace behaviour
