#include "tests/cluster/cluster.h"

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <map>

namespace cluster {

namespace fs = std::filesystem;

namespace {

using docker::Output;
using docker::run_program;

// Two nodes import PyTorch from a cold disk on a machine of two cores.
constexpr std::chrono::seconds kDeadline{150};

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

// Dockerfile.ascend is built on the one image, Dockerfile.gpu on the other.
bool has_mpi(Image image) { return image == Image::kMpi || image == Image::kAscend; }
bool is_built(Image image) { return image == Image::kAscend || image == Image::kGpu; }
const char* name_of(Image image) { return has_mpi(image) ? "mpi" : "torch"; }

std::string tar_of(Image image) {
  return variable("TRAINIT_CLUSTER_IMAGES") + "/" + name_of(image) + ".tar";
}

// The engine's images, each imported when the first test needs it.
class Images : public testing::Environment {
 public:
  void SetUp() override { docker::set_deadline(kDeadline); }
  void TearDown() override {
    for (const auto& [image, tag] : tags_) run_program({"docker", "rmi", "-f", tag});
  }

  std::string tag(Image image) {
    std::string& tag = tags_[image];
    if (tag.empty()) tag = is_built(image) ? build(image) : import(image);
    return tag;
  }

 private:
  // With the release tree's trainit: `make` in a build stage needs packages and minutes.
  std::string build(Image image) {
    const docker::Scratch context;
    const fs::path source = TRAINIT_SOURCE_DIR;
    const char* file = image == Image::kAscend ? "Dockerfile.ascend" : "Dockerfile.gpu";
    for (const char* entry : {file, "images", "hooks", ".dockerignore"}) {
      fs::copy(source / entry, context.path(entry), fs::copy_options::recursive);
    }
    fs::create_directories(context.path("build"));
    fs::copy_file(variable("TRAINIT_BINARY"), context.path("build/trainit"));
    const std::string name = docker::unique_name();
    const std::string base = tag(image == Image::kAscend ? Image::kMpi : Image::kTorch);
    const Output built = run_program(
        {"env", "DOCKER_BUILDKIT=0", "docker", "build", "--network=none", "--tag", name, "--file",
         context.path(file), "--build-arg=BASE_IMAGE=" + base, "--build-arg=BUILD_IMAGE=" + base,
         "--build-arg=PREBUILT=1",
         image == Image::kAscend ? "--build-arg=WITH_SSHD=1" : "--build-arg=WITH_SSHD=0",
         context.path("")});
    EXPECT_EQ(built.code, 0) << built.text;
    return name;
  }

  static std::string import(Image image) {
    const std::string name = docker::unique_name();
    Words argv = {"docker", "import", "--change", R"(ENTRYPOINT ["trainit"])"};
    // Debian's PyTorch 1.13 cannot start workers under Python 3.11 without redirecting their output
    // (torch/distributed/elastic/multiprocessing/api.py: Std loses a default there).
    if (image == Image::kTorch) {
      // The agent copies its workers' lines from a file to its own stdout, which is a pipe here:
      // what is buffered there comes out at the end only.
      argv.insert(argv.end(), {"--change", "ENV PET_REDIRECTS=1 PET_TEE=1 PYTHONUNBUFFERED=1"});
    }
    argv.insert(argv.end(), {tar_of(image), name});
    const Output imported = run_program(argv);
    EXPECT_EQ(imported.code, 0) << imported.text;
    return name;
  }

  std::map<Image, std::string> tags_;
};

// GoogleTest owns it.
Images* const kImages = static_cast<Images*>(testing::AddGlobalTestEnvironment(new Images));

}  // namespace

std::string tag_of(Image image) { return kImages->tag(image); }

ClusterTest::ClusterTest() : network_(docker::unique_name()) {}

void ClusterTest::SetUp() {
  if (docker::image().empty()) GTEST_SKIP() << "no Docker engine";
  for (const Image image : {Image::kMpi, Image::kTorch}) {
    if (!fs::exists(tar_of(image))) GTEST_SKIP() << "no images of the engines: " << tar_of(image);
  }
  // Nothing outside is needed, and nothing inside is to reach out.
  const Output made = run_program({"docker", "network", "create", "--internal", network_});
  ASSERT_EQ(made.code, 0) << made.text;
}

ClusterTest::~ClusterTest() {
  nodes_.clear();
  run_program({"docker", "network", "rm", network_});
}

void ClusterTest::start(Image image, int index, const Node& node) {
  const std::string host = "node-" + std::to_string(index);
  Words flags = {"--hostname", host, "--network-alias",
                 host,         "-v", std::string(TRAINIT_SOURCE_DIR) + "/tests/cluster:/tests:ro"};
  if (!is_built(image)) {
    flags.insert(flags.end(), {"-v", variable("TRAINIT_BINARY") + ":/usr/local/bin/trainit:ro"});
  }
  flags.insert(flags.end(), node.flags.begin(), node.flags.end());
  nodes_[index] = std::make_unique<docker::Container>(
      flags, node.args, docker::Place{.network = network_, .image = tag_of(image)});
}

std::vector<int> ClusterTest::wait_for_all() const {
  std::vector<int> codes;
  codes.reserve(nodes_.size());
  for (const auto& [_, node] : nodes_) codes.push_back(node->wait());
  return codes;
}

void ClusterTest::stop_all(int seconds) const {
  Words argv = {"docker", "stop", "-t", std::to_string(seconds)};
  for (const auto& [_, node] : nodes_) argv.push_back(node->name());
  const Output stopped = run_program(argv);
  EXPECT_EQ(stopped.code, 0) << stopped.text;
}

std::string ClusterTest::logs() const {
  std::string text;
  for (const auto& [_, node] : nodes_) text += node->logs();
  return text;
}

Words ClusterTest::key_flags() const {
  if (!scratch_.has("id_ed25519")) {
    const Output made = run_program(
        {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", scratch_.path("id_ed25519")});
    EXPECT_EQ(made.code, 0) << made.text;
    // As a secret comes into a pod: not the user's own, and readable.
    fs::permissions(scratch_.path("id_ed25519"), fs::perms{0644});
  }
  return {"-v", scratch_.path("") + ":/etc/job-key:ro"};
}

}  // namespace cluster
