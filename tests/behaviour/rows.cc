#include "tests/behaviour/rows.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>

#include "init/sys/files.h"
#include "tests/rules/isolation.h"

namespace behaviour {
namespace {

constexpr std::array kRows{
    Row{1, "exec ENOENT / EACCES (directory) / ENOEXEC (text): code", failed_exec_codes},
    Row{2, "exit codes 0, 1, 42, 255 passed on", exit_codes},
    Row{3, "child killed by 15, 9, 11, 6, RT 35: code", signal_codes},
    Row{4, "child has the caller's mask and ignored signals", signals_of_the_caller},
    Row{5, "signals 1..64 forwarded (all but KILL, STOP, CHLD, 32, 33)", forwarded_signals},
    Row{6, "sigqueue's value, sender kept", queued_value},
    Row{7, "200 queued RT signals; 10 standard ones in a burst: received", burst},
    Row{8, "SIGTERM during start-up (0..3 ms after exec): lost of 60", term_during_start, true},
    Row{9, "a caller's pipe at descriptor 7", inherited_descriptor},
    Row{10, "init's working directory", own_directory},
    Row{11, "child's working directory", directory_of_the_child},
    Row{12, "main exits 7, worker of its group: TERM? saved?", worker_of_the_group_after_main},
    Row{13, "main exits 7, worker of another session: TERM? saved?",
        worker_of_a_session_after_main},
    Row{14, "SIGTERM to init, worker of main's group: TERM? saved?", worker_of_the_group_at_term},
    Row{15, "SIGTERM to init, worker of another session: TERM? saved?",
        worker_of_a_session_at_term},
    Row{16, "child ignores SIGTERM: within 2 s (trainit: --grace 300ms)", ignored_term},
    Row{17, "SIGTSTP to init: child/init; after SIGCONT", stopped_as_pid1},
    Row{18, "the same when it is not PID 1", stopped_not_pid1},
    Row{19, "child stopped: init goes on", stopped_child},
    Row{20, "init killed (not PID 1): the child dies too", killed_init},
    Row{21, "no \"--\": init sh -c \"exit 3\" -x", options_after_the_command},
    Row{22, "0, 1, 2 closed: exit code 9 kept", closed_stdio},
    Row{23, "no /proc, / read-only, uid 65534: exit code 6 kept", bare_container},
    Row{24, "prctl refused (EPERM), not PID 1 (tini: -s): exit code 6 kept", refused_subreaper},
    Row{25, "adopts orphans when it is not PID 1", adopted_orphan},
    Row{26, "three of it, nested: exit code 11 kept", nested},
    Row{27, "fork refused (RLIMIT_NPROC 1): code", refused_fork},
    Row{28, "50 SIGCHLD from outside are harmless", stray_sigchld},
    Row{29, "LISTEN_PID=1 becomes the child's pid", listen_pid},
    Row{30, "terminal: child's group is foreground; ^C", interrupt_by_terminal},
    Row{31, "interactive bash: ^Z gives the prompt back; fg, ^C", suspend_in_shell},
    Row{32, "interactive bash: `init command &` leaves the shell usable", background_in_shell},
    Row{33, "no command: code", without_command},
    Row{34, "1,000 zombies when main ends: exit delay", zombies_at_the_end, true},
};

// A cell's process, which says its text on a pipe.
struct Cell {
  pid_t pid = -1;
  sys::Fd text;
};

void fill(const Row& row, const Init& init, int out) {
  // What a crash here would leave in the namespaces ends with us.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const ScratchDirectory scratch;
  if (::chdir(scratch.path().c_str()) != 0) ::_exit(1);
  std::string text;
  try {
    text = row.check(init);
  } catch (const std::exception& error) {
    // Above us are a test framework's frames, of which this process is a copy.
    text = std::string("(the check threw: ") + error.what() + ")";
  }
  if (::chdir("/") != 0 || ::write(out, text.data(), text.size()) < 0) ::_exit(1);
}

Cell start(const Row& row, const Init& init) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe(ends.data()) != 0) std::abort();
  sys::Fd in(ends[1]);
  std::fflush(nullptr);
  Cell cell{::fork(), sys::Fd(ends[0])};
  if (cell.pid == 0) {
    cell.text.reset();
    fill(row, init, in.get());
    ::_exit(0);
  }
  return cell;
}

std::string finish(const Cell& cell) {
  std::string text;
  std::array<char, 4096> part;
  ssize_t count = 0;
  while ((count = ::read(cell.text.get(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  ::waitpid(cell.pid, nullptr, 0);
  return text.empty() ? "(the check crashed)" : text;
}

}  // namespace

std::span<const Row> rows() { return kRows; }

std::vector<std::string> measure(const Row& row, std::span<const Init> inits) {
  std::vector<std::string> texts;
  std::vector<Cell> cells;
  for (const Init& init : inits) {
    cells.push_back(start(row, init));
    if (row.timed) texts.push_back(finish(cells.back()));
  }
  if (row.timed) return texts;
  for (const Cell& cell : cells) texts.push_back(finish(cell));
  return texts;
}

ScratchDirectory::ScratchDirectory() {
  const char* folder = ::getenv("TMPDIR");
  path_ = std::string(folder != nullptr ? folder : "/tmp") + "/trainit-behaviour-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) std::abort();
  ::chmod(path_.c_str(), 0755);
}

ScratchDirectory::~ScratchDirectory() {
  if (!sys::remove_tree(path_)) std::fprintf(stderr, "behaviour: %s stays\n", path_.c_str());
}

Words payload(const Words& words) {
  Words command = {rules::payload()};
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

}  // namespace behaviour
