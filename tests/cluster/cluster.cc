#include "tests/cluster/cluster.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <ranges>

#include "tests/source_path.h"

namespace cluster {

namespace fs = std::filesystem;

namespace {

using docker::Output;
using docker::run_program;

// Two nodes import PyTorch from a cold disk on a machine of two cores, a page of the documents is
// walked through, an image is built: each is one wait.
constexpr std::chrono::seconds kDeadline{900};

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

// What is built, from what; the others are imported.
struct Recipe {
  Image image;
  Image base;
  const char* dockerfile;
  const char* script = nullptr;  // the context is a folder with this as train.py, else the tree's
};
constexpr Recipe kRecipes[] = {
    {Image::kAscend, Image::kMpi, "Dockerfile.ascend"},
    {Image::kGpu, Image::kTorch, "Dockerfile.gpu"},
    {Image::kKept, Image::kSettings, "Dockerfile.gpu"},
    {Image::kPytorch, Image::kGpu, "images/pytorch-gpu/Dockerfile", "torch_allreduce.py"},
    {Image::kHorovod, Image::kAscend, "images/horovod-mpi/Dockerfile", "mpi_allreduce.py"},
    {Image::kMindspore, Image::kAscend, "images/mindspore-ascend/Dockerfile", "mpi_allreduce.py"},
    {Image::kDeepspeed, Image::kAscend, "images/deepspeed/Dockerfile", "mpi_allreduce.py"},
    {Image::kTensorflow, Image::kAscend, "images/tensorflow-ps/Dockerfile", "mpi_allreduce.py"},
    {Image::kInstaller, Image::kInstaller, "images/Dockerfile.installer"},
};

const Recipe* recipe_of(Image image) {
  const auto* found = std::ranges::find(kRecipes, image, &Recipe::image);
  return found != std::end(kRecipes) ? found : nullptr;
}

const char* name_of(Image image) { return image == Image::kMpi ? "mpi" : "torch"; }

std::string tar_of(Image image) {
  return variable("TRAINIT_CLUSTER_IMAGES") + "/" + name_of(image) + ".tar";
}

// What `docker build` gets of the tree: `make` in a build stage would need packages and minutes.
void make_context(const Recipe& recipe, const docker::Scratch& context) {
  const fs::path source = source_path("");
  if (recipe.script != nullptr) {
    fs::copy_file(source / "tests/cluster" / recipe.script, context.path("train.py"));
    return;
  }
  for (const char* entry : {"images", "hooks", ".dockerignore"}) {
    fs::copy(source / entry, context.path(entry), fs::copy_options::recursive);
  }
  fs::create_directories(context.path("build"));
  fs::copy_file(variable("TRAINIT_BINARY"), context.path("build/trainit"));
}

// The engine's images, each imported when the first test needs it.
class Images : public testing::Environment {
 public:
  void SetUp() override { docker::set_deadline(kDeadline); }
  void TearDown() override {
    // The last first: what others are made from stays until they are gone.
    for (const auto& tag : order_ | std::views::reverse) run_program({"docker", "rmi", "-f", tag});
  }

  std::string tag(Image image) {
    std::string& tag = tags_[image];
    if (!tag.empty()) return tag;
    std::string made = recipe_of(image) != nullptr ? build(image) : import(image);
    order_.push_back(made);
    return tags_[image] = std::move(made);
  }

 private:
  static std::string build(Image image) {
    const std::string name = docker::unique_name();
    const Output built = build_image(image, name, {"env", "DOCKER_BUILDKIT=0", "docker"});
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
    if (image == Image::kSettings) {
      argv.insert(argv.end(), {"--change", "WORKDIR /app", "--change", "USER 1234:100", "--change",
                               "ENV HOME=/data MINE=1", "--change", R"(CMD ["pwd"])"});
    }
    argv.insert(argv.end(), {tar_of(image), name});
    const Output imported = run_program(argv);
    EXPECT_EQ(imported.code, 0) << imported.text;
    return name;
  }

  std::map<Image, std::string> tags_;
  Words order_;
};

// GoogleTest owns it.
Images* const kImages = static_cast<Images*>(testing::AddGlobalTestEnvironment(new Images));

}  // namespace

std::string tag_of(Image image) { return kImages->tag(image); }

Output build_image(Image image, const std::string& name, const Words& docker) {
  const Recipe& recipe = *recipe_of(image);
  const docker::Scratch context;
  make_context(recipe, context);
  Words argv = docker;
  argv.insert(argv.end(),
              {"build", "--network=none", "--tag", name, "--file", source_path(recipe.dockerfile)});
  if (recipe.base != image) argv.push_back("--build-arg=BASE_IMAGE=" + tag_of(recipe.base));
  if (recipe_of(recipe.base) == nullptr) {
    const Image builder = recipe.base == Image::kMpi ? Image::kMpi : Image::kTorch;
    argv.insert(argv.end(),
                {"--build-arg=BUILD_IMAGE=" + tag_of(builder), "--build-arg=PREBUILT=1"});
  }
  if (image == Image::kAscend) argv.push_back("--build-arg=WITH_SSHD=1");
  if (image == Image::kGpu) argv.push_back("--build-arg=MODELARTS=1");
  argv.push_back(context.path(""));
  return run_program(argv);
}

Image base_of(Image image) {
  const Recipe* recipe = recipe_of(image);
  return recipe != nullptr ? recipe->base : image;
}

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
                 host,         "-v", source_path("tests/cluster") + ":/tests:ro"};
  if (recipe_of(image) == nullptr) {
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

void ClusterTest::stop_all() const {
  Words argv = {"docker", "stop", "-t", std::to_string(docker::kUntilKillS)};
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
