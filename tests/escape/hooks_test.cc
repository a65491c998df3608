// Hooks and the lifecycle script run with trainit's rights: those that others may change do not.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/xattr.h>

#include <tuple>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using escape::Result;
using escape::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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

// As a mounted ConfigMap has them: links, in a directory with mode 0777 on a read-only mount. Where
// the same can be written by another mount it is no better than any other.
class Volume : public Hooks {
 protected:
  [[nodiscard]] Result start_from(bool also_writable) const {
    escape::Spec spec =
        contained({"--user", "1000:1000", "--hooks-dir", path("hooks"), "--", "/bin/true"});
    spec.before = [before = spec.before, here = path(""), also_writable] {
      before();
      const auto must = [](bool done) {
        if (!done) ::_exit(rules::kCannotStart);
      };
      const std::string hooks = here + "/hooks";
      must(::mount("none", (here + "/home").c_str(), "tmpfs", 0, nullptr) == 0);
      must(::chdir((here + "/home").c_str()) == 0 && ::chmod(".", 0777) == 0);
      must(::mkdir("..data", 0755) == 0 && ::mkdir("pre-start.d", 0755) == 0);
      sys::Fd file(::open("..data/a", O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
      const std::string text = "#!/bin/sh\nid -u >>" + here + "/out/ran\n";
      must(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
      file.reset();
      must(::symlink("../..data/a", "pre-start.d/a") == 0 && ::chdir("/") == 0);
      must(::mount((here + "/home").c_str(), hooks.c_str(), nullptr, MS_BIND, nullptr) == 0);
      must(::mount(nullptr, hooks.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) ==
           0);
      must(also_writable || ::umount((here + "/home").c_str()) == 0);
    };
    return rules::run(spec);
  }
};

TEST_F(Volume, ThatNobodyCanWriteHasHooksThatRun) {
  const Result result = start_from(false);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("out/ran")), "0\n");
}

TEST_F(Volume, ThatCanBeWrittenElsewhereHasNone) {
  const Result result = start_from(true);
  EXPECT_EQ(result.code, 125) << result.err;
  EXPECT_FALSE(exists("out/ran"));
}

// With a list the group's bits of the mode are what any entry may give.
TEST_F(Hooks, WithAListOfRightsEndTheStart) {
  hook("hooks/pre-start.d/a", 0, 0755);
  // user::rwx, user:1000:rwx, group::r-x, mask::rwx, other::r-x (linux/posix_acl_xattr.h)
  const std::string list(
      "\2\0\0\0\1\0\7\0\377\377\377\377\2\0\7\0\350\3\0\0\4\0\5\0\377\377\377\377"
      "\20\0\7\0\377\377\377\377\40\0\5\0\377\377\377\377",
      44);
  if (::setxattr(path("hooks/pre-start.d/a").c_str(), "system.posix_acl_access", list.data(),
                 list.size(), 0) != 0) {
    GTEST_SKIP() << "no lists of rights on this file system";
  }
  EXPECT_EQ(start().code, 125);
  EXPECT_FALSE(exists("out/ran"));
}

TEST_F(Hooks, WithAnInterpreterOfTheJobsEndTheStart) {
  write("home/sh", "#!/bin/sh\nid -u >>" + path("out/ran") + "\n");
  give("home/sh", kJob, 0755);
  write("hooks/pre-start.d/a", "#! " + path("home/sh") + " -e\n");
  give("hooks/pre-start.d/a", 0, 0755);
  const Result result = start();
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("home/sh"));
  EXPECT_FALSE(exists("out/ran"));
}

// What the job's scripts export, and its programs and libraries, are not for what runs as root.
TEST_F(Hooks, HaveNothingOfTheJobsEnvironment) {
  for (const char* name :
       {"home/conda", "home/conda/conda-meta", "home/conda/bin", "home/conda/etc",
        "home/conda/etc/conda", "home/conda/etc/conda/activate.d"}) {
    make(name, kJob, 0755);
  }
  write("home/conda/conda-meta/history", "");
  write("home/conda/etc/conda/activate.d/a.sh", "export BASH_ENV=/evil LD_PRELOAD_=/evil\n");
  write("home/conda/bin/id", "#!/bin/sh\necho evil\n");
  give("home/conda/bin/id", kJob, 0755);
  for (const char* name : {"hooks/pre-start.d/a", "hooks/post-stop.d/a"}) {
    write(name, "#!/bin/sh\nid -u >>" + path("out/ran") + "\nenv >>" + path("out/env") + "\n");
    give(name, 0, 0755);
  }
  const Result result =
      rules::run(contained({"--user", "1000:1000", "--conda-env", path("home/conda"), "--hooks-dir",
                            path("hooks"), "--", "/bin/sh", "-c", "echo $BASH_ENV; id"}));
  EXPECT_EQ(result.out, "/evil\nevil\n") << result.err;
  EXPECT_EQ(read(path("out/ran")), "0\n0\n");
  EXPECT_THAT(read(path("out/env")), AllOf(Not(HasSubstr("evil")), Not(HasSubstr("home/conda"))));
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
    std::ignore = start({"--hooks-dir", path("home/hooks")});
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
