#pragma once
// The two ends of a stream between a process and the tee. The stream is a pipe, or a
// pseudo-terminal if it replaces a terminal, so that the process continues to use colours and to
// draw its bars. The bytes are not changed: the terminal that they are copied to adds its own '\r'.

#include "base/result.h"
#include "init/sys/fd.h"

namespace logtee {

struct Source {
  sys::Fd read_end;  // non-blocking, which the writers do not notice
  // Close it when the process has it: only then does the stream have an end.
  sys::Fd write_end;
  bool terminal = false;
};

base::Result<Source> open_pipe();
// Opens a pseudo-terminal with the settings and the size of `like`; a pipe if there is no
// pseudo-terminal.
base::Result<Source> open_terminal(int like);

// Gives a pseudo-terminal the size of `like`, another terminal. Returns false if it already had
// that size or on an error.
bool resize(int master, int like);

// Returns true if both lead to the same file.
bool same_file(int one, int other);

}  // namespace logtee
