#include "init/cli/invocation.h"

#include <unistd.h>

#include <cerrno>

#include "base/secrets/secrets.h"
#include "envgen/plan/inputs.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"

namespace cli {

void set_run_dir(base::Environ& env, const std::string& option) {
  constexpr const char* kVariable = "TRAINIT_RUN_DIR";
  const std::string given(option.empty() ? env.get_or(kVariable, "") : option);
  if (given.empty()) return;
  const bool relative = !given.starts_with('/');
  if (relative || !option.empty()) {
    env.set(kVariable, relative ? envgen::join_path(sys::gather_facts().cwd, given) : given);
  }
}

int print(const base::ShownLines& lines) { return print_as_is(lines.text()); }

int print_as_is(std::string_view text) {
  if (sys::write_all(STDOUT_FILENO, text) == text.size()) return 0;
  return complain({"writing the result", "stdout", sys::errno_text(errno), ""});
}

namespace {

void say(const char* kind, const std::string& line) {
  const std::string shown = base::mask_secrets(line);
  // The masked text can be one that the user should type.
  const bool masked = shown.find("***") != std::string::npos;
  const char* note = masked ? " (*** stands for what looks like a credential)" : "";
  base::ShownLines lines;
  lines.add({"trainit: ", kind, shown, note});
  sys::write_all(STDERR_FILENO, lines.text());
}

}  // namespace

int complain(const base::Error& error) {
  say("error: ", to_line(error));
  return kFailed;
}

void warn(const std::string& warning) { say("warning: ", warning); }

void remark(const std::string& line) { say("", line); }

}  // namespace cli
