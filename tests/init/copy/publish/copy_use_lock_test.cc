#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "init/copy/publish/use_lock.h"
#include "init/sys/files.h"
#include "tests/init/child.h"

namespace {

using testing::HasSubstr;

class CopyLease : public child::Scratch {
 protected:
  CopyLease() {
    sys::make_directories(path("place/.trainit-copy.below"), 0755).value();
    sys::make_directories(path(".trainit-copy.place"), 0755).value();
    write("place/.trainit-copy.below/lease", "");
  }
  [[nodiscard]] copy::Destination destination() const {
    return copy::find_destination(path("place")).value();
  }
  [[nodiscard]] sys::Fd hold(const std::string& lease) const {
    sys::Fd fd(::open(path(lease).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::flock(fd.get(), LOCK_EX | LOCK_NB), 0);
    return fd;
  }
};

TEST_F(CopyLease, UnusedIsHeldWithWhatLiesBelow) {
  const auto held = copy::lock_unused(destination());
  ASSERT_TRUE(held) << to_line(held.error());
  EXPECT_EQ(held->size(), 2U);
}

TEST_F(CopyLease, CopyBelowThatIsInUseIsRefused) {
  const sys::Fd used = hold("place/.trainit-copy.below/lease");
  const auto held = copy::lock_unused(destination());
  ASSERT_FALSE(held);
  EXPECT_THAT(held.error().found, HasSubstr("in use by another job"));
}

// What cannot be looked at is not free: with any number of descriptors all is held, or nothing.
TEST_F(CopyLease, WithoutDescriptorsNothingCountsAsFree) {
  const auto outcome = child::run([this] {
    const copy::Destination at = destination();
    constexpr rlim_t kMax = 64;
    int refused = 0;
    for (rlim_t most = 0; most <= kMax; ++most) {
      const rlimit limit{.rlim_cur = most, .rlim_max = kMax};
      if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
      const auto held = copy::lock_unused(at);
      if (held && held->size() != 2) return 2;
      refused += held ? 0 : 1;
    }
    return refused > 0 && copy::lock_unused(at) ? 0 : 3;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(CopyLease, OneThatIsNotGotIsToldOf) {
  copy::Options options;
  std::string warned;
  options.warn = [&warned](const std::string& line) { warned = line; };
  {
    const sys::Fd replacing = hold(".trainit-copy.place/lease");
    const auto lease = copy::lock_for_use(destination(), options);
    EXPECT_TRUE(lease && !lease->valid());
    EXPECT_THAT(warned, HasSubstr("no lease on it"));
  }
  warned.clear();
  const auto lease = copy::lock_for_use(destination(), options);
  EXPECT_TRUE(lease && lease->valid());
  EXPECT_EQ(warned, "");
}

TEST_F(CopyLease, KeepEndsTheLookBelow) {
  EXPECT_FALSE(copy::lock_unused(destination(), [] { return base::fail("", "", "lost", ""); }));
}

}  // namespace
