#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "init/cli/commands.h"
#include "init/early/early.h"
#include "init/sys/borrowed.h"
#include "init/sys/files.h"

// In the place of libstdc++'s, which says the exception's name by a demangler of 80 KB.
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming)
void __gnu_cxx::__verbose_terminate_handler() {
  sys::write_all(STDERR_FILENO, "trainit: an exception that nobody caught\n");
  std::abort();
}

int main(int argc, char** argv) {
  if (const std::string found = sys::borrowed(sys::exec_rights()); !found.empty()) {
    return cli::complain(
        {"starting", argc > 0 ? argv[0] : "trainit", found,
         "take it away (chmod ug-s, setcap -r): trainit starts whatever its caller "
         "names"});
  }
  return cli::main(argc, argv, early::handover());
}
