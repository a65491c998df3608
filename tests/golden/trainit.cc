#include "tests/golden/trainit.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace golden {

std::string trainit(const std::string& arguments) {
  const char* binary = std::getenv("TRAINIT_BINARY");
  EXPECT_NE(binary, nullptr) << "set TRAINIT_BINARY";
  std::string command = std::string(binary == nullptr ? "false" : binary) + " " + arguments;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string output;
  char chunk[4096];
  while (std::size_t size = std::fread(chunk, 1, sizeof chunk, pipe)) output.append(chunk, size);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

}  // namespace golden
