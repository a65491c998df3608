// README.md, README.zh.md, docs/ and images/MIGRATION.md, walked through from an empty folder each:
// tests/docs/walk.py runs their commands as they stand and compares what they print. The images
// that they name are stand-ins of Debian with the real engines, `make` has been done.

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/cluster/cluster.h"
#include "tests/source_path.h"

namespace cluster {
namespace {

namespace fs = std::filesystem;
using docker::Output;
using docker::run_program;

// One that is there already is as good, and stays.
class StandIn {
 public:
  StandIn(std::string name, Image image) : name_(std::move(name)) {
    made_ = run_program({"docker", "image", "inspect", name_}).code != 0;
    if (!made_) return;
    const Output tagged = run_program({"docker", "tag", tag_of(image), name_});
    EXPECT_EQ(tagged.code, 0) << tagged.text;
  }
  ~StandIn() {
    if (made_) run_program({"docker", "rmi", name_});
  }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

 private:
  std::string name_;
  bool made_ = false;
};

class Docs : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (IsSkipped()) return;
    fs::create_directories(programs_.path("bin"));
    fs::create_symlink("/bin/true", programs_.path("bin/make"));
    fs::copy_file(getenv("TRAINIT_BINARY"), programs_.path("bin/trainit"));
  }

  void TearDown() override {
    if (IsSkipped()) return;
    run_program({"docker", "rm", "-f", "trainit-walk"});
    run_program({"docker", "volume", "rm", "-f", "trainit-walk", "trainit-walk-cache"});
    run_program({"docker", "rmi", "-f", "trainit-walk", "trainit-walk-ascend", "trainit-walk-own",
                 "trainit-walk-installer", "trainit-walk-base", "trainit-walk-kept",
                 "trainit-walk-copy", "trainit-walk-job", "trainit-walk-torch"});
  }

  // Python writes its caches beside the scripts that it runs, also of other tests meanwhile: a file
  // of them may be gone when it is to be copied.
  static void copy(const fs::path& from, const fs::path& to) {
    if (from.filename() == "__pycache__") return;
    if (!fs::is_directory(fs::symlink_status(from))) {
      fs::copy(from, to, fs::copy_options::copy_symlinks);
      return;
    }
    fs::create_directory(to, from);  // with its mode
    for (const auto& entry : fs::directory_iterator(from)) {
      copy(entry.path(), to / entry.path().filename());
    }
  }

  // From an empty folder with a clone in it, which has been made.
  void walk(const std::string& page) const {
    const docker::Scratch folder;
    // No container has to write there: a hook that root runs lies where only root may write.
    fs::permissions(folder.path(""), fs::perms(0755));
    const fs::path source = source_path("");
    const fs::path clone = folder.path("trainit");
    fs::create_directories(clone / "build");
    for (const auto& entry : fs::directory_iterator(source)) {
      const std::string name = entry.path().filename();
      if (name == ".git" || name == "build") continue;
      copy(entry.path(), clone / name);
    }
    fs::copy_file(getenv("TRAINIT_BINARY"), clone / "build/trainit");
    // The stage of a Dockerfile that builds has no network, and gets the binary with the clone.
    std::ofstream(clone / ".ci/deps") << "#!/bin/sh\nln -sf /bin/true /usr/local/bin/make\n";
    fs::remove_all(programs_.path("run"));
    const Output walked =
        run_program({"env", "-C", "/", "PATH=" + programs_.path("bin") + ":" + getenv("PATH"),
                     "TRAINIT_RUN_DIR=" + programs_.path("run"),  // the machine's is everybody's
                     "python3", source / "tests/docs/walk.py", source / page, folder.path("")});
    EXPECT_EQ(walked.code, 0) << walked.text;
  }

 private:
  docker::Scratch programs_;
};

// Of docs/, those with commands; an image is built before it is used.
std::vector<std::string> pages() {
  std::vector<std::string> found = {"README.md", "README.zh.md", "docs/building.md"};
  const fs::path source = source_path("");
  std::set<std::string> others;
  for (const auto& entry : fs::directory_iterator(source / "docs")) {
    std::ifstream page(entry.path());
    for (std::string line; std::getline(page, line);) {
      if (line == "```sh") others.insert("docs/" + entry.path().filename().string());
    }
  }
  others.erase("docs/building.md");
  found.insert(found.end(), others.begin(), others.end());
  return found;
}

TEST_F(Docs, EachPageIsWalkedThroughFromAnEmptyFolder) {
  const StandIn pytorch("pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", Image::kTorch);
  const StandIn ascend("my-registry/mindspore-ascend:2.3", Image::kMpi);
  const StandIn builder("debian:bookworm-slim", Image::kMpi);
  const StandIn foreign("python:3.12-slim", Image::kMpi);
  EXPECT_THAT(pages(), testing::IsSupersetOf(
                           {"docs/training.md", "docs/operating.md", "docs/platforms.md"}));
  for (const std::string& page : pages()) walk(page);
}

TEST_F(Docs, EachStepOfTheMigrationPrintsTheSameBeforeAndAfter) {
  const StandIn pytorch("pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", Image::kTorch);
  walk("images/MIGRATION.md");
}

}  // namespace
}  // namespace cluster
