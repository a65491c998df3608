#pragma once
// Files of the source tree that a test reads.

#include <string>

// Returns the absolute path of `name`, a file or folder of the source tree; "" is the tree itself.
// TRAINIT_NEEDS, which ctest sets, lists what NEEDS of the suite names (tests/CMakeLists.txt). If
// it does not contain the file, the test fails: a change of that file would not run the suite
// again. Without TRAINIT_NEEDS, as in a run by hand, every file is allowed.
std::string source_path(const std::string& name);
