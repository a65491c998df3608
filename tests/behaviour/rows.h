#pragma once
// The behaviour table: a check a row, a short text a cell. A check runs an init as often as it
// needs to and says what it saw; it never judges.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/behaviour/inits.h"

namespace behaviour {

struct Row {
  int number;
  std::string_view title;
  std::string (*check)(const Init& init);
  bool timed = false;  // runs alone: it measures time, or counts what a race decides
};
std::span<const Row> rows();

// The row for each of these inits, in their order. Cells that are not timed are filled at the same
// time, each by a process of its own in a scratch directory of its own.
std::vector<std::string> measure(const Row& row, std::span<const Init> inits);

// A directory, removed at the end.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// payload COMMAND ARG...
Words payload(const Words& words);

// start.cc: exec, exit codes, the command line
std::string failed_exec_codes(const Init& init);
std::string exit_codes(const Init& init);
std::string signal_codes(const Init& init);
std::string options_after_the_command(const Init& init);
std::string nested(const Init& init);
std::string refused_fork(const Init& init);
std::string without_command(const Init& init);

// inherited.cc: what comes from the caller
std::string signals_of_the_caller(const Init& init);
std::string inherited_descriptor(const Init& init);
std::string own_directory(const Init& init);
std::string directory_of_the_child(const Init& init);
std::string closed_stdio(const Init& init);
std::string bare_container(const Init& init);
std::string listen_pid(const Init& init);

// signals.cc
std::string forwarded_signals(const Init& init);
std::string queued_value(const Init& init);
std::string burst(const Init& init);
std::string term_during_start(const Init& init);
std::string stray_sigchld(const Init& init);

// leftovers.cc: how it ends
std::string worker_of_the_group_after_main(const Init& init);
std::string worker_of_a_session_after_main(const Init& init);
std::string worker_of_the_group_at_term(const Init& init);
std::string worker_of_a_session_at_term(const Init& init);
std::string ignored_term(const Init& init);
std::string zombies_at_the_end(const Init& init);

// stops.cc: processes that stand still, that lose their parent
std::string stopped_as_pid1(const Init& init);
std::string stopped_not_pid1(const Init& init);
std::string stopped_child(const Init& init);
std::string killed_init(const Init& init);
std::string refused_subreaper(const Init& init);
std::string adopted_orphan(const Init& init);

// terminal.cc
std::string interrupt_by_terminal(const Init& init);
std::string suspend_in_shell(const Init& init);
std::string background_in_shell(const Init& init);

}  // namespace behaviour
