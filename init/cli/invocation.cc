#include "init/cli/invocation.h"

#include <unistd.h>

#include <cerrno>

#include "base/secrets.h"
#include "envgen/plan/inputs.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"

namespace cli {

void set_run_dir(envgen::Environ& env, const std::string& option) {
  constexpr const char* kVariable = "TRAINIT_RUN_DIR";
  const std::string given(option.empty() ? env.get_or(kVariable, "") : option);
  if (given.empty()) return;
  const bool relative = !given.starts_with('/');
  if (relative || !option.empty()) {
    env.set(kVariable, relative ? envgen::join_path(sys::gather_facts().cwd, given) : given);
  }
}

int write_to(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int print(std::string_view text) {
  int error = write_to(STDOUT_FILENO, text);
  if (error == 0) return 0;
  return complain({"writing the result", "stdout", sys::errno_text(error), ""});
}

int complain(const envgen::Error& error) {
  const std::string line = to_line(error);
  const std::string shown = envgen::mask_secrets(line);
  // Where the text to type is a part of it.
  const char* note = shown != line ? " (*** stands for what looks like a credential)" : "";
  write_to(STDERR_FILENO, "trainit: error: " + shown + note + "\n");
  return kFailed;
}

}  // namespace cli
