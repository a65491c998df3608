#include <exception>

#include "init/cli/commands.h"
#include "init/early/early.h"
#include "init/sys/borrowed.h"
#include "init/sys/terminate.h"

// The default handler of std::terminate. libstdc++'s handler would print the name of the exception
// through a demangler of 80 kB.
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming)
void __gnu_cxx::__verbose_terminate_handler() { sys::terminate(); }

int main(int argc, char** argv) {
  if (const std::string found = sys::borrowed(sys::exec_rights()); !found.empty()) {
    return cli::complain(
        {"starting", argc > 0 ? argv[0] : "trainit", found,
         "take it away (chmod ug-s, setcap -r): trainit starts whatever its caller "
         "names"});
  }
  return cli::main(argc, argv, early::handover());
}
