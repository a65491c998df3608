#pragma once
// A Docker engine for the topics that need one: that of DOCKER_HOST, or of the file TRAINIT_ENGINE,
// else one that is started for this and ends with it.

#include <string>

#include "tests/bench/harness.h"

namespace bench {

std::string variable(const char* name);                 // "" when it is not set
std::string first_line(const std::string& path);        // of a file
bool runs(const Words& argv, const std::string& said);  // whether it ends with 0

class Engine {
 public:
  explicit Engine(const std::string& folder);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const std::string& missing() const { return missing_; }  // why there is none
  // A name for an image that goes with this object.
  std::string image(const std::string& kind);

 private:
  std::string folder_;
  std::string said_;
  bool started_ = false;
  std::string missing_;
  Words images_;
};

// Returns the image of the container tests' PyTorch, which `make test-all PART=clusters` makes in
// the tree build/dev. "": the image does not exist. `self` is the path of this program.
std::string torch_tar(const std::string& self);

}  // namespace bench
