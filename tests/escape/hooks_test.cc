// Hooks and the lifecycle script run with trainit's rights: those that others may change do not.

#include <gmock/gmock.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using escape::Result;
using escape::Words;
using testing::AllOf;
using testing::HasSubstr;

class Hooks : public Border {
 protected:
  void SetUp() override {
    Border::SetUp();
    for (const char* name : {"hooks", "hooks/pre-start.d", "hooks/post-stop.d"}) {
      make(name, 0, 0755);
    }
  }
  void hook(const std::string& name, uid_t owner, mode_t mode) const {
    write(name, "#!/bin/sh\nid -u >>" + path("out/ran") + "\n");
    give(name, owner, mode);
  }
  [[nodiscard]] Result start(const Words& options) const {
    return rules::run(contained(
        escape::joined(escape::joined({"--user", "1000:1000"}, options), {"--", "/bin/true"})));
  }
  [[nodiscard]] Result start() const { return start({"--hooks-dir", path("hooks")}); }
};

TEST_F(Hooks, OfRootRun) {
  hook("hooks/pre-start.d/a", 0, 0755);
  EXPECT_EQ(start().code, 0);
  EXPECT_EQ(read(path("out/ran")), "0\n");
}

TEST_F(Hooks, ThatOthersMayWriteEndTheStart) {
  struct Case {
    uid_t owner;
    mode_t mode;
    const char* says;
  };
  for (const Case& one : {Case{kJob, 0755, "owner 1000"}, Case{0, 0757, "mode 0757"}}) {
    hook("hooks/pre-start.d/a", one.owner, one.mode);
    const Result result = start();
    EXPECT_EQ(result.code, 125);
    EXPECT_THAT(result.err, AllOf(HasSubstr("hooks/pre-start.d/a"), HasSubstr(one.says)));
    EXPECT_FALSE(exists("out/ran"));
  }
}

TEST_F(Hooks, InADirectoryOfOthersEndTheStart) {
  hook("hooks/pre-start.d/a", 0, 0755);
  for (const char* name : {"hooks/pre-start.d", "hooks"}) {
    give(name, 0, 0777);
    const Result result = start();
    EXPECT_EQ(result.code, 125);
    EXPECT_THAT(result.err, AllOf(HasSubstr(path(name) + " (owner 0"), HasSubstr("mode 0777")));
    give(name, 0, 0755);
  }
  EXPECT_FALSE(exists("out/ran"));
}

// Named by root, in a place that the job made a link of.
TEST_F(Hooks, BehindALinkOfTheJobsEndTheStart) {
  hook("hooks/pre-start.d/a", 0, 0755);
  as(kJob, path("home"), "ln -s " + path("hooks") + " hooks");
  const Result result = start({"--hooks-dir", path("home/hooks")});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("the link"));
  EXPECT_FALSE(exists("out/ran"));
}

// As a mounted ConfigMap has them: links, in a directory with mode 0777 on a read-only file system.
TEST_F(Hooks, OfAReadOnlyVolumeRun) {
  make("hooks/..data", 0, 0777);
  hook("hooks/..data/a", 0, 0755);
  ASSERT_EQ(::symlink("../..data/a", path("hooks/pre-start.d/a").c_str()), 0);
  give("hooks", 0, 0777);
  escape::Spec spec =
      contained({"--user", "1000:1000", "--hooks-dir", path("hooks"), "--", "/bin/true"});
  spec.before = [before = spec.before, hooks = path("hooks")] {
    before();
    const bool mounted =
        ::mount(hooks.c_str(), hooks.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
        ::mount(nullptr, hooks.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
    if (!mounted) ::_exit(rules::kCannotStart);
  };
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("out/ran")), "0\n");
}

// Its directory is exchanged all the time with one of root's that is in order.
TEST_F(Hooks, InADirectoryThatIsSwappedAllTheTimeDoNotRun) {
  make("home/hooks", kJob, 0755);
  make("home/hooks/pre-start.d", kJob, 0755);
  hook("home/hooks/pre-start.d/a", kJob, 0755);
  hook("hooks/pre-start.d/a", 0, 0755);
  write("hooks/pre-start.d/a", "#!/bin/sh\nexit 0\n");
  as(kJob, path("home"), "ln -s " + path("hooks") + " other");
  for (int i = 0; i < 20; ++i) {
    const Exchange exchange(kJob, path("home/hooks"), path("home/other"));
    start({"--hooks-dir", path("home/hooks")});
    EXPECT_FALSE(exists("out/ran"));
  }
}

TEST_F(Hooks, AfterTheStartAreAWarning) {
  hook("hooks/post-stop.d/a", kJob, 0755);
  const Result result = start();
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("warning"), HasSubstr("hooks/post-stop.d/a (owner 1000")));
  EXPECT_FALSE(exists("out/ran"));
}

TEST_F(Hooks, AndTheLifecycleScriptAreAlike) {
  hook("home/script", kJob, 0755);
  const Result result = start({"--lifecycle-script", path("home/script")});
  EXPECT_THAT(result.err, HasSubstr("home/script"));
  EXPECT_FALSE(exists("out/ran"));
}

}  // namespace
