#pragma once
// Several containers as the nodes of one job: node-0, node-1, ... on a bridge network of their own,
// which know each other by these names. Each runs trainit from the release tree on an image with
// the real engines (images.sh), with this folder at /tests.
//
// The images are the tars in the directory TRAINIT_CLUSTER_IMAGES; without them the tests skip.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/docker/container.h"

namespace cluster {

using docker::Words;

inline constexpr int kNodes = 2;

enum class Image : unsigned char {
  kMpi,       // Open MPI, MPICH and sshd; trainit is mounted
  kTorch,     // PyTorch; trainit is mounted
  kSettings,  // kTorch with WORKDIR, CMD, USER and HOME
  kAscend,    // Dockerfile.ascend on kMpi, with sshd
  kGpu,       // Dockerfile.gpu with ModelArts' layout on kTorch
  kKept,      // Dockerfile.gpu on kSettings
  // images/*/Dockerfile with train.py of this folder, on stand-ins for the frameworks that are not
  // here.
  kPytorch,     // pytorch-gpu on kGpu
  kHorovod,     // horovod-mpi on kAscend
  kMindspore,   // mindspore-ascend on kAscend
  kDeepspeed,   // deepspeed on kAscend
  kTensorflow,  // tensorflow-ps on kAscend
  kInstaller,   // Dockerfile.installer, on nothing
};

// The users of the images.
struct User {
  const char* name;
  int uid;
};
inline constexpr User kRoot{"root", 0};
inline constexpr User kTrainer{"trainer", 1000};

// What one node gets; node(i) of a job is a function of its index.
struct Node {
  Words flags;  // docker run's
  Words args;   // trainit's
};

class ClusterTest : public testing::Test {
 protected:
  ClusterTest();
  ~ClusterTest() override;
  void SetUp() override;

  // Starts one node.
  void start(Image image, int index, const Node& node);
  [[nodiscard]] const docker::Container& node(int index) const { return *nodes_.at(index); }
  [[nodiscard]] const std::string& network() const { return network_; }

  // The exit codes of all nodes, when all have ended.
  [[nodiscard]] std::vector<int> wait_for_all() const;
  // docker stop of all at the same time, as a platform stops a job. Each ends by its own grace.
  void stop_all() const;
  // What all nodes said so far.
  [[nodiscard]] std::string logs() const;

  // Flags that give a node the key which all nodes share, at kKeyFile.
  [[nodiscard]] Words key_flags() const;

  docker::Scratch scratch_;

 private:
  std::string network_;
  std::map<int, std::unique_ptr<docker::Container>> nodes_;
};

// The tag of an image, which is made when it is first asked for; base_of, of what it is made from.
std::string tag_of(Image image);
Image base_of(Image image);
// Builds one of those that are built, as `name`, by this docker program.
docker::Output build_image(Image image, const std::string& name, const Words& docker);

inline constexpr const char* kKeyFile = "/etc/job-key/id_ed25519";

}  // namespace cluster
