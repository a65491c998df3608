// Rows of terminals: one of its own, and one that it shares with an interactive shell.

#include "tests/behaviour/rows.h"

namespace behaviour {
namespace {

// Bash itself is what is contained; the line editor would only repaint.
const Words kShell = {"/bin/bash", "--norc", "--noprofile", "--noediting", "-i"};

std::string typed(const Init& init, const Words& command) {
  std::string text;
  for (const std::string& word : command_line(init, command)) text += word + " ";
  return text;
}

// Whether the shell runs what is typed; its echo has not the sum.
bool shell_answers(const Terminal& terminal, Contained& shell) {
  terminal.type("echo back-$((40 + 2))\n");
  return shell.await("back-42", kDoubtMs);
}

}  // namespace

std::string interrupt_by_terminal(const Init& init) {
  const Terminal terminal;
  Setup setup;
  setup.terminal = &terminal;
  Contained contained(command_line(init, payload({"foreground"})), setup);
  if (!contained.await("fg=")) return "(did not start)";
  const std::string foreground = contained.rest_of_line().substr(0, 1);
  terminal.type("\x03");
  const std::optional<int> code = contained.wait(kDoubtMs);
  return "fg=" + foreground + " rc=" + (code ? std::to_string(*code) : "timeout");
}

std::string suspend_in_shell(const Init& init) {
  const Terminal terminal;
  Setup setup{.pid1 = false};
  setup.terminal = &terminal;
  Contained shell(kShell, setup);
  terminal.type(typed(init, payload({"foreground"})) + "\n");
  if (!shell.await("fg=")) return "(did not start)";
  terminal.type("\x1a");
  if (!shell_answers(terminal, shell)) return "NO (shell stuck)";
  terminal.type("fg\n");
  if (!shell.await("\nfg=", kDoubtMs)) return "yes; fg: NO";
  terminal.type("\x03");
  terminal.type("echo 'co''de'-$?\n");
  if (!shell.await("code-", kDoubtMs)) return "yes; fg, ^C: NO";
  return "yes; fg, ^C: " + shell.rest_of_line().substr(0, 3);
}

std::string background_in_shell(const Init& init) {
  const Terminal terminal;
  Setup setup{.pid1 = false};
  setup.terminal = &terminal;
  Contained shell(kShell, setup);
  terminal.type(typed(init, payload({"foreground"})) + "&\n");
  if (!shell.await("fg=")) return "(did not start)";
  // The first line may reach a read that began before the terminal was taken away.
  int answers = 0;
  while (answers < 2 && shell_answers(terminal, shell)) ++answers;
  return answers == 2 ? "yes" : "NO (tty stolen)";
}

}  // namespace behaviour
