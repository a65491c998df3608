#include "init/cli/commands.h"

int main(int argc, char** argv) { return cli::main(argc, argv); }
