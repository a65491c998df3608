#pragma once
// The program itself, by TRAINIT_BINARY.

#include <string>

namespace golden {

// What `trainit ARGUMENTS` prints on stdout; anything but an exit code of 0 fails the test.
std::string trainit(const std::string& arguments);

}  // namespace golden
