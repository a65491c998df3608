#include "init/cli/commands.h"
#include "init/early/early.h"
#include "init/sys/borrowed.h"

int main(int argc, char** argv) {
  if (const std::string found = sys::borrowed(sys::exec_rights()); !found.empty()) {
    return cli::complain(
        {"starting", argc > 0 ? argv[0] : "trainit", found,
         "take it away (chmod ug-s, setcap -r): trainit starts whatever its caller "
         "names"});
  }
  return cli::main(argc, argv, early::handover());
}
