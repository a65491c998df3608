#pragma once
// The two ends of a stream from a process to the tee. The stream is a pipe. If trainit's output is
// a terminal, it is a pseudo-terminal, so that the process still uses colours and draws its bars.
// The bytes are not changed; the real terminal adds its own '\r'.

#include "base/result.h"
#include "init/sys/fd.h"

namespace logtee {

struct Source {
  sys::Fd read_end;  // non-blocking, which does not affect the writers
  // To be closed in trainit once the process has it. Otherwise the stream would never end.
  sys::Fd write_end;
  bool terminal = false;
};

base::Result<Source> open_pipe();
// Opens a pseudo-terminal with the settings and the size of the terminal `like`. If that is not
// possible, opens a pipe.
base::Result<Source> open_terminal(int like);

// Sets the size of a pseudo-terminal to that of the terminal `like`. Returns false if it already
// had that size, or on an error.
bool resize(int master, int like);

// Returns true if both descriptors are of the same file.
bool same_file(int one, int other);

}  // namespace logtee
