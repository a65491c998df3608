// Copies whose source or destination gives no answer for a while.

#include <sys/stat.h>
#include <unistd.h>

#include "tests/copy/mounts.h"
#include "tests/rules/instance.h"

namespace {

using rules::Instance;

class StalledCopy : public child::Scratch {
 protected:
  StalledCopy() {
    for (const char* name : {"back", "mount", "cache", "plain"}) {
      EXPECT_EQ(::mkdir(path(name).c_str(), 0755), 0);
    }
    write("hold", "");
  }

  void on_lying(const std::string& lie, const std::function<void()>& body) const {
    if (!mounts::may_lie()) GTEST_SKIP() << "no tests/lying_fs, or no right to mount";
    const std::string lies = lie + "=" + path("hold");
    mounts::with([&] { return mounts::lie(lies, path("back"), path("mount")); }, body);
  }
  void end_stall() const { EXPECT_EQ(::unlink(path("hold").c_str()), 0); }
};

TEST_F(StalledCopy, SourceIsNamedWhenItGivesNothingAndWhenItAnswersAgain) {
  write("back/file", std::string(300'000, 'x'));
  on_lying("stall-reads", [this] {
    const std::string source = path("mount");
    Instance copy({.args = {"copy", source, path("plain/place")}, .env = {}, .pid1 = false});
    Instance job({.args = {"--data", source, "--data-root", path("cache"), "--", "true"},
                  .env = {},
                  .pid1 = false});
    const std::string stall = "nothing from " + source + " for ";
    EXPECT_TRUE(copy.await_err("trainit: " + stall)) << copy.err();
    EXPECT_TRUE(job.await_err("data mount: " + stall)) << job.err();
    // The lines that follow tell the stall too, and no time left from before it.
    EXPECT_TRUE(copy.await_err("0 B of 292.9 KiB, " + stall)) << copy.err();
    end_stall();
    EXPECT_EQ(copy.wait(), 0) << copy.err();
    EXPECT_EQ(job.wait(), 0) << job.err();
    for (const Instance* one : {&copy, &job}) {
      EXPECT_EQ(one->lines_with(": the copy waits"), 1) << one->err();
      EXPECT_EQ(one->lines_with(source + " answers again after "), 1) << one->err();
      const std::string err = one->err();
      EXPECT_EQ(err.substr(0, err.find(" answers again ")).find(" left"), std::string::npos) << err;
    }
    EXPECT_EQ(read(path("plain/place/file")), std::string(300'000, 'x'));
  });
}

TEST_F(StalledCopy, SourceThatDoesNotAnswerAtAllIsNamed) {
  write("back/file", "text");
  on_lying("stall-stats", [this] {
    const std::string source = path("mount");
    Instance copy({.args = {"copy", source, path("plain/place")}, .env = {}, .pid1 = false});
    EXPECT_TRUE(copy.await_err("nothing from " + source + " for ")) << copy.err();
    end_stall();
    EXPECT_EQ(copy.wait(), 0) << copy.err();
    EXPECT_EQ(copy.lines_with(source + " answers again after "), 1) << copy.err();
  });
}

TEST_F(StalledCopy, DestinationIsNamedWhenItTakesNothing) {
  write("plain/file", std::string(1'000'000, 'x'));
  on_lying("stall-writes", [this] {
    const std::string place = path("mount") + "/place";
    Instance copy({.args = {"copy", path("plain"), place}, .env = {}, .pid1 = false});
    EXPECT_TRUE(copy.await_err("nothing written to " + place + " for ")) << copy.err();
    end_stall();
    EXPECT_EQ(copy.wait(), 0) << copy.err();
    EXPECT_EQ(copy.lines_with(place + " answers again after "), 1) << copy.err();
  });
}

}  // namespace
