// Jobs of one node that share a cache of datasets on a volume: each container has pid and mount
// namespaces of its own, and the locks are the kernel's.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>

#include <filesystem>
#include <memory>

#include "init/sys/fd.h"
#include "tests/docker/container.h"

namespace docker {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class Data : public EngineTest {
 protected:
  Data() {
    for (const char* name : {"imagenet", "cache"}) fs::create_directory(scratch_.path(name));
    scratch_.write("imagenet/train.bin", "of imagenet");
  }

  [[nodiscard]] std::unique_ptr<Container> start() const {
    return std::make_unique<Container>(
        Words{"-v", scratch_.path("imagenet") + ":/mnt/imagenet:ro", "-v",
              scratch_.path("cache") + ":/cache"},
        Words{"--data", "/mnt/imagenet", "--data-root", "/cache", "--data-version", "1",
              "--data-headroom", "0", "--", "payload", "print-env"});
  }
  // With the copy and its lock, of which nothing but the lock is left then.
  [[nodiscard]] sys::Fd lock_of_copy() const {
    EXPECT_EQ(start()->wait(), 0);
    sys::Fd lock;
    for (const auto& entry : fs::directory_iterator(scratch_.path("cache/trainit-datasets"))) {
      const std::string file = entry.path().string();
      if (file.ends_with(".lock")) lock.reset(::open(file.c_str(), O_RDWR | O_CLOEXEC));
      if (entry.is_directory()) fs::remove_all(entry.path());
    }
    EXPECT_TRUE(lock.valid());
    EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    return lock;
  }

  Scratch scratch_;
};

constexpr const char* kSays = "TRAINIT_DATASET_IMAGENET=/cache/trainit-datasets/imagenet-";

TEST_F(Data, OfTwoJobsOneCopiesAndOneWaitsAndALaterOneFindsIt) {
  // Both are there before either may begin.
  sys::Fd lock = lock_of_copy();
  const auto one = start();
  const auto other = start();
  for (const auto* job : {one.get(), other.get()}) {
    EXPECT_TRUE(job->await_log("data imagenet: another job copies it, waiting")) << job->logs();
  }
  lock.reset();
  for (const auto* job : {one.get(), other.get()}) {
    EXPECT_EQ(job->wait(), 0) << job->logs();
    EXPECT_THAT(job->logs(), AllOf(HasSubstr(kSays), Not(HasSubstr("warning"))));
  }
  const bool first = one->logs().find("data imagenet: copied in") != std::string::npos;
  const std::string copied = (first ? one : other)->logs();
  const std::string waited = (first ? other : one)->logs();
  EXPECT_THAT(copied, HasSubstr("data imagenet: copied in"));
  // A copy that is over before it was looked at was there when it was.
  EXPECT_THAT(waited, AnyOf(HasSubstr("data imagenet: waited for another job's copy in"),
                            HasSubstr("data imagenet: found in")));

  const auto third = start();
  EXPECT_EQ(third->wait(), 0);
  EXPECT_THAT(third->logs(), AllOf(HasSubstr("data imagenet: found in"), HasSubstr(kSays)));
}

}  // namespace
}  // namespace docker
