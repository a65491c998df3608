#include "tests/source_path.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

std::string source_path(const std::string& name) {
  const std::string path = std::string(TRAINIT_SOURCE_DIR) + (name.empty() ? "" : "/" + name);
  const char* needs = std::getenv("TRAINIT_NEEDS");
  if (needs == nullptr) return path;
  std::istringstream list(needs);
  for (std::string need; std::getline(list, need, ':');) {
    if (path == need || path.starts_with(need + "/")) return path;
  }
  ADD_FAILURE() << "the test reads " << path << ", which NEEDS of its suite does not name ("
                << needs << "): add it in tests/CMakeLists.txt";
  return path;
}
