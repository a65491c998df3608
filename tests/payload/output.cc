// What a training process prints, and where to.

#include <stdio.h>
#include <unistd.h>

#include "tests/payload/payload.h"

namespace payload {

// terminals [COMMAND...]: which of 0, 1 and 2 are one.
int terminals(Args args) {
  printf("terminals: %d%d%d\n", isatty(0), isatty(1), isatty(2));
  fflush(stdout);
  return args.empty() ? 0 : run(args);
}

}  // namespace payload
