#pragma once
// What the commands of `payload` share. payload stands for a training process in end-to-end and
// container tests: each command does one thing that training processes do to their init.
//
// Commands may be chained: `report on-rank 2 exit 3 else sleep-forever` is one command line.
// A command tells a test how far it is by files in the directory PAYLOAD_OUT, each of which appears
// complete (written beside, then renamed): `ready-<rank>` once its signals are set up, and what its
// own comment names. Without PAYLOAD_OUT nothing is written.

#include <signal.h>
#include <sys/types.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace payload {

using Args = std::span<char* const>;

// Runs args[0] with the arguments after it; the exit code. Unknown commands exit with 2.
int run(Args args);

// Commands of the other files; each gets the arguments after its name.
int grandchild(Args args);
int family(Args args);
int runners(Args args);
int loader(Args args);
int confinement(Args args);
int try_call(Args args);
int print_signals(Args args);
int queue_to_parent(Args args);
int leave(Args args);
int orphan(Args args);
int zombies(Args args);
int foreground(Args args);
int orphans(Args args);
int leaderless(Args args);
int reuse_pid(Args args);
int breed(Args args);
int until_restart(Args args);
int journal(Args args);
int tell_words(Args args);
int export_line(Args args);
int lines(Args args);
int train(Args args);
int fail_when(Args args);
int terminals(Args args);

// RANK_ID, else RANK, or "0" where there is none.
std::string rank();

// Writes PAYLOAD_OUT/<name>-<rank>.
void tell(std::string_view name, std::string_view content);
// tell("ready", this pid): from now on a test may send signals.
void announce();

// Blocks these signals, so that take_signal() is the only place where they are seen.
void hold_signals(std::initializer_list<int> signals);
// The next of these signals, with its sender. At most `timeout_ms` (< 0: for ever); signal 0 =
// none.
struct Taken {
  int signal = 0;
  pid_t sender = 0;
};
Taken take_signal(std::initializer_list<int> signals, int timeout_ms);

// "TERM", "SIGTERM" or "15"; 0 for none of them.
int signal_number(std::string_view text);

[[noreturn]] void fail(std::string_view what);

}  // namespace payload
