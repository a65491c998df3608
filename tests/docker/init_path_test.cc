// `docker run --init` with trainit in docker-init's place, by the daemon's --init-path. An engine
// that somebody else has started has its own docker-init.

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/docker/container.h"

namespace docker {
namespace {

using ::testing::HasSubstr;

bool engine_is_our_own() {
  const char* file = std::getenv("TRAINIT_ENGINE");
  std::ifstream stream(file != nullptr ? file : "");
  const std::string host{std::istreambuf_iterator<char>(stream), {}};
  return host.find("/trainit-engine.") != std::string::npos;
}

class InitPath : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (!IsSkipped() && !engine_is_our_own()) {
      GTEST_SKIP() << "the Docker engine is somebody else's, with an init of its own";
    }
  }

  static Container start(const Words& payload) {
    return Container({"--init", "--entrypoint=payload"}, payload);
  }
};

TEST_F(InitPath, IsShownByTheEngine) {
  EXPECT_THAT(run_program({"docker", "info"}).text, HasSubstr("init version: trainit"));
  const std::string component =
      R"({{range .Server.Components}}{{if eq .Name "docker-init"}}{{.Version}}{{end}}{{end}})";
  EXPECT_THAT(run_program({"docker", "version", "--format", component}).text, HasSubstr("0.19.0"));
}

TEST_F(InitPath, PassesTheExitCodeOn) {
  EXPECT_EQ(start({"exit", "0"}).wait(), 0);
  EXPECT_EQ(start({"exit", "42"}).wait(), 42);
  EXPECT_EQ(start({"kill-self", "KILL"}).wait(), 137);
}

TEST_F(InitPath, SaysThatThereIsNoProgram) {
  const Container container({"--init", "--entrypoint=no-such-program"}, {});
  EXPECT_EQ(container.wait(), 127);
  EXPECT_THAT(container.logs(),
              HasSubstr("exec no-such-program failed: No such file or directory"));
}

TEST_F(InitPath, PassesTheStopOn) {
  const Container container = start({"print-signals", "TERM"});
  ASSERT_TRUE(container.await_log("ready"));
  container.stop();
  EXPECT_EQ(container.wait(), 143);
}

TEST_F(InitPath, ReapsOrphans) {
  const Container container = start({"orphans", "300"});
  EXPECT_TRUE(container.await_log("clean"));
  EXPECT_EQ(container.wait(), 0);
}

}  // namespace
}  // namespace docker
