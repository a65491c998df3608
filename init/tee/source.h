#pragma once
// The two ends of a stream between a process and the tee: a pipe, or a pseudo-terminal where the
// stream that it stands for is one, so that the process goes on colouring and drawing its bars. The
// bytes come out as they went in: the terminal that they are copied to adds its own '\r'.

#include "base/result.h"
#include "init/sys/fd.h"

namespace logtee {

struct Source {
  sys::Fd read_end;   // non-blocking, which the writers do not notice
  sys::Fd write_end;  // to be closed when the process has it: only then has the stream an end
  bool terminal = false;
};

envgen::Result<Source> open_pipe();
// With the settings and the size of `like`; a pipe where no pseudo-terminal can be had.
envgen::Result<Source> open_terminal(int like);

// Gives a pseudo-terminal the size of `like`, another terminal; false: it had it.
bool resize(int master, int like);

// Whether both lead to the same place.
bool same_file(int one, int other);

}  // namespace logtee
