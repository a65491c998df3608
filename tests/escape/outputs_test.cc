// What `-o FILE` and `--junit FILE` write: another user of the node waits with a link or a FIFO.

#include <gmock/gmock.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kOther;
using rules::Result;
using rules::Words;
using testing::HasSubstr;

class Outputs : public Border {
 protected:
  void SetUp() override {
    Border::SetUp();
    if (IsSkipped()) return;
    write("root/precious", "precious");
    write("hosts", "a slots=2\nb slots=2\n");
    make("theirs", kOther, 0755);
  }

  // Each of the outputs there is.
  [[nodiscard]] std::vector<Words> commands(const std::string& output) const {
    return {{"hostfile", "convert", path("hosts"), "--to", "mpich", "-o", output},
            {"doctor", "--only", "clock", "--junit", output}};
  }
};

TEST_F(Outputs, FollowNoLinkOfAnotherUser) {
  for (const char* name : {"out/report", "tmp/report", "theirs/report"}) {
    as(kOther, path(name).substr(0, path(name).rfind('/')),
       "ln -s " + path("root/precious") + " report");
    for (const Words& command : commands(path(name))) {
      const Result result = rules::run(contained(command));
      EXPECT_EQ(result.code, 125) << name << result.out;
      EXPECT_THAT(result.err, HasSubstr("which others may change"));
    }
  }
  // A directory that is a link.
  as(kOther, path("out"), "ln -s " + path("root") + " way");
  for (const Words& command : commands(path("out/way/precious"))) {
    EXPECT_EQ(rules::run(contained(command)).code, 125);
  }
  EXPECT_EQ(read(path("root/precious")), "precious");
}

TEST_F(Outputs, WaitForNoFifoOfAnotherUser) {
  as(kOther, path("out"), "mkfifo report");
  for (const Words& command : commands(path("out/report"))) {
    const Result result = rules::run(contained(command));
    EXPECT_EQ(result.code, 125);
    EXPECT_THAT(result.err, HasSubstr("no regular file"));
  }
}

// What root itself has put there, and what the kernel has.
TEST_F(Outputs, GoThroughLinksOfRoot) {
  ASSERT_EQ(::symlink(path("root/precious").c_str(), path("out/mine").c_str()), 0);
  for (const Words& command : commands(path("out/mine"))) {
    write("root/precious", "");
    const Result result = rules::run(contained(command));
    EXPECT_NE(result.code, 125) << result.err;
    EXPECT_NE(read(path("root/precious")), "");
  }
  for (const Words& command : commands("/dev/stdout")) {
    const Result result = rules::run(contained(command));
    EXPECT_NE(result.code, 125) << result.err;
    EXPECT_NE(result.out, "");
  }
}

}  // namespace
