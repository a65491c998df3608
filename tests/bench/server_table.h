#pragma once
// A rank table of one machine, of version 2.0: the only one with more than 16 devices on a machine.

#include <string>

namespace bench {

void write_server_table(const std::string& path, int ranks);

}  // namespace bench
