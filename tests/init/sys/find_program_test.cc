#include "init/sys/find_program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

// Directories "a" and "b", which the search path names in this order.
class FindProgram : public testing::Test {
 protected:
  FindProgram() {
    std::string name = testing::TempDir() + "find_program.XXXXXX";
    root_ = ::mkdtemp(name.data());
    for (const char* directory : {"a", "b"}) std::filesystem::create_directory(path(directory));
  }
  ~FindProgram() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }
  [[nodiscard]] std::string search_path() const { return path("a") + ":" + path("b"); }
  std::string write(const std::string& name, mode_t mode) const {
    std::ofstream(path(name)) << "#!/bin/sh\n";
    ::chmod(path(name).c_str(), mode);
    return path(name);
  }

 private:
  std::string root_;
};

TEST_F(FindProgram, TheFirstProgramIsTaken) {
  EXPECT_EQ(sys::find_program(search_path(), "tool"), "");
  const std::string second = write("b/tool", 0755);
  EXPECT_EQ(sys::find_program(search_path(), "tool"), second);
  EXPECT_EQ(sys::find_program(search_path(), "tool"), second);
  const std::string first = write("a/tool", 0755);
  EXPECT_EQ(sys::find_program(search_path(), "tool"), first);
  EXPECT_EQ(sys::find_program("/nowhere", second), second) << "a path";
  EXPECT_EQ(sys::find_program(search_path(), ""), "");
}

TEST_F(FindProgram, ADirectoryAndAFileThatIsNotExecutableArePassedOver) {
  const std::string second = write("b/tool", 0755);
  write("a/tool", 0644);
  EXPECT_EQ(sys::find_program(search_path(), "tool"), second);
  std::filesystem::remove(path("a/tool"));
  std::filesystem::create_directory(path("a/tool"));
  EXPECT_EQ(sys::find_program(search_path(), "tool"), second);
}

}  // namespace
