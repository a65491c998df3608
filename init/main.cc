#include "init/cli/commands.h"
#include "init/early/early.h"

int main(int argc, char** argv) { return cli::main(argc, argv, early::handover()); }
