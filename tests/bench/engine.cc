#include "tests/bench/engine.h"

#include <stdlib.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr const char* kScript = TRAINIT_SOURCE_DIR "/tests/docker/engine.sh";

}  // namespace

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

std::string first_line(const std::string& path) {
  const std::string content = read_text(path);
  return content.substr(0, content.find('\n'));
}

bool runs(const Words& argv, const std::string& said) {
  return finish(start_saying(argv, said)) == 0;
}

Engine::Engine(const std::string& folder) : folder_(folder + "/engine"), said_(folder + "/said") {
  const std::string named = variable("TRAINIT_ENGINE");
  if (variable("DOCKER_HOST").empty() && !named.empty()) {
    setenv("DOCKER_HOST", first_line(named).c_str(), 1);
  }
  if (runs({"docker", "version"}, said_)) return;
  started_ = true;
  runs({"env", "TRAINIT_ENGINE_NETWORK=host", kScript, "start", folder_}, said_);
  const std::string host = first_line(folder_ + "/host");
  if (host.empty()) {
    missing_ = "no Docker engine: " + first_line(said_);
  } else {
    setenv("DOCKER_HOST", host.c_str(), 1);
  }
}

Engine::~Engine() {
  for (const std::string& image : images_) runs({"docker", "rmi", "-f", image}, said_);
  runs({"docker", "image", "prune", "-f", "--filter", "label=trainit.stage=build"}, said_);
  if (started_) runs({kScript, "stop", folder_}, said_);
}

std::string Engine::image(const std::string& kind) {
  images_.push_back(text("trainit-bench-%d-%s", getpid(), kind.c_str()));
  return images_.back();
}

std::string torch_tar(const std::string& self) {
  std::string tar = self.substr(0, self.rfind('/')) + "/../dev/tests/cluster/torch.tar";
  if (access(tar.c_str(), R_OK) != 0) tar.clear();
  return tar;
}

}  // namespace bench
