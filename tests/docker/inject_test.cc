// Injection into pods: an init container of an image that holds nothing but trainit installs it
// into a volume, and images that know nothing of it start with it.

#include <cstdlib>
#include <filesystem>

#include "tests/docker/container.h"

namespace docker {
namespace {

namespace fs = std::filesystem;

// One file, and nothing else: no shell, no directory, no user.
class OneFileImage {
 public:
  OneFileImage(const char* variable, const std::string& name, const std::string& change) {
    const Scratch scratch;
    const fs::path root = scratch.path("root");
    fs::create_directories(root);
    fs::copy_file(std::getenv(variable), root / name);
    const std::string tar = scratch.path("image.tar");
    const Output packed = run_program({"tar", "-C", root, "-cf", tar, name});
    EXPECT_EQ(packed.code, 0) << packed.text;
    const Output imported = run_program({"docker", "import", "--change", change, tar, name_});
    EXPECT_EQ(imported.code, 0) << imported.text;
  }
  ~OneFileImage() { run_program({"docker", "rmi", "-f", name_}); }
  OneFileImage(const OneFileImage&) = delete;
  OneFileImage& operator=(const OneFileImage&) = delete;

  [[nodiscard]] Place place() const { return {.image = name_}; }

 private:
  std::string name_ = unique_name();
};

class Volume {
 public:
  Volume() { EXPECT_EQ(run_program({"docker", "volume", "create", name_}).code, 0); }
  ~Volume() { run_program({"docker", "volume", "rm", "-f", name_}); }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  [[nodiscard]] std::string at(const std::string& path) const { return name_ + ":" + path; }

 private:
  std::string name_ = unique_name();
};

class Inject : public EngineTest {};

TEST_F(Inject, StartsAnImageThatHasNoneOfOurFiles) {
  const OneFileImage installer("TRAINIT_BINARY", "trainit", R"(ENTRYPOINT ["/trainit"])");
  const OneFileImage foreign("TRAINIT_PAYLOAD", "payload", R"(CMD ["/payload"])");
  const Volume volume;
  const Container init({"-v", volume.at("/opt/trainit")}, {"install", "/opt/trainit"},
                       installer.place());
  ASSERT_EQ(init.wait(), 0) << init.logs();

  const Words flags = {"--read-only", "--user=1000:100", "-v", volume.at("/opt/trainit:ro"),
                       "--entrypoint=/opt/trainit/trainit"};
  const Container ended(flags, {"--", "/payload", "exit", "7"}, foreign.place());
  EXPECT_EQ(ended.wait(), 7) << ended.logs();

  const Container stopped(flags, {"--", "/payload", "print-signals", "TERM"}, foreign.place());
  ASSERT_TRUE(stopped.await_log("ready"));
  stopped.stop();
  EXPECT_EQ(stopped.wait(), 143);
}

}  // namespace
}  // namespace docker
