// Hooks and the lifecycle script run with trainit's rights: those that others may change do not.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/xattr.h>

#include <filesystem>
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

// A directory of the job's user comes first in the image's PATH, as that of conda often does.
class HooksInAnImage : public Hooks {
 protected:
  void SetUp() override {
    Hooks::SetUp();
    make("home/bin", kJob, 0755);
    for (const char* name : {"cut", "timeout", "bash", "sh", "id"}) {
      const std::string file = std::string("home/bin/") + name;
      write(file, "#!/bin/sh\necho planted >>" + path("out/ran") + "\n");
      give(file, kJob, 0755);
    }
  }
  void script(const std::string& name, const std::string& text) const {
    write("hooks/" + name, text);
    give("hooks/" + name, 0, 0755);
  }
  [[nodiscard]] Result start(const Words& more = {}, const std::string& directory = "") const {
    escape::Spec spec = contained({"--user", "1000:1000", "--hooks-dir", path("hooks"), "--",
                                   "/bin/sh", "-c", "echo \"$PATH\" >>" + path("out/job")});
    for (std::string& entry : spec.env) {
      if (entry.starts_with("PATH=")) entry = "PATH=" + path("home/bin") + ":" + entry.substr(5);
    }
    for (const std::string& entry : more) spec.env.push_back(entry);
    spec.before = [before = spec.before, at = path(directory)] {
      before();
      if (::chdir(at.c_str()) != 0) ::_exit(rules::kCannotStart);
    };
    return rules::run(spec);
  }
};

TEST_F(HooksInAnImage, RunNoProgramOfTheJobs) {
  script("pre-start.d/a",
         "#!/bin/sh\necho a b | cut -d ' ' -f 2 >>out/said\ntimeout 9 id -u >>out/said\n");
  script("pre-start.d/b", "#!/usr/bin/env bash\necho $BASH >>out/said\n");
  script("pre-start.d/c", "#!/usr/bin/env -S bash -e\necho $BASH >>out/said\n");
  const Result result = start();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(exists("out/ran")) << read(path("out/ran"));
  EXPECT_THAT(read(path("out/said")), testing::MatchesRegex("b\n0\n/.*bin/bash\n/.*bin/bash\n"));
  EXPECT_THAT(read(path("out/job")), HasSubstr(path("home/bin") + ":"));
}

// env by another name, and a PATH of the first line's own, which env(1) searches.
TEST_F(HooksInAnImage, WithAFirstLineThatLeadsToTheJobsEndTheStart) {
  make("root/bin", 0, 0755);
  ASSERT_EQ(::symlink("/usr/bin/env", path("root/bin/link").c_str()), 0);
  std::filesystem::copy_file("/usr/bin/env", path("root/bin/copy"));
  const std::string bin = path("home/bin");
  make("root/x:y", kJob, 0755);
  const std::string odd = path("root/x:y/bash");  // its parts at the colon do not exist
  std::filesystem::copy_file(bin + "/bash", odd);
  for (const std::string& line :
       {"/usr/bin/env -S PATH=" + bin + " bash", "/usr/bin/env -SPATH=/bin:" + bin + " bash",
        "/usr/bin/env -S PATH=" + path("home/later") + ":/bin bash",
        "/usr/bin/env -S PATH='" + bin + "' bash",
        std::string("/usr/bin/env -S PATH=${WHERE} bash"),
        path("root/bin/link") + " " + bin + "/bash", path("root/bin/copy") + " " + bin + "/bash",
        "/usr/bin/env -S --chdir=" + bin + " ./bash", "/bin/sh " + bin.substr(1) + "/bash",
        "/usr/bin/env -S PATH=/bin:" + bin.substr(1) + " bash",
        std::string("/usr/bin/env -S PATH=/bin: bash"), std::string("/usr/bin/env -S PATH=. bash"),
        "/usr/bin/env -S BASH_ENV=" + bin.substr(1) + "/bash sh", "/bin/sh " + odd,
        "/bin/sh " + std::string(300, ' ') + "-e"}) {
    script("pre-start.d/a", "#!" + line + "\nid\n");
    const Result result = start({"WHERE=" + bin});
    EXPECT_EQ(result.code, 125) << line << result.err;
    EXPECT_THAT(result.err, HasSubstr("hook a")) << line;
    EXPECT_FALSE(exists("out/ran")) << line;
  }
  script("pre-start.d/a", "#!/usr/bin/env -S PATH=/usr/bin:/bin sh -e\nexit 0\n");
  EXPECT_EQ(start().code, 0);
}

// What a hook exports for the job does not lead the next one.
TEST_F(HooksInAnImage, RunNoProgramOfTheJobsForWhatAnotherOneExports) {
  script("pre-start.d/a", "#!/bin/sh\necho \"PATH=" + path("home/bin") +
                              ":/exported:/bin\" >>$TRAINIT_ENV\n"
                              "echo LD_LIBRARY_PATH=" +
                              path("home/bin") + " >>$TRAINIT_ENV\n");
  script("pre-start.d/b", "#!/bin/sh\nid -u >/dev/null; env >out/env\n");
  script("post-stop.d/b", "#!/bin/sh\nid -u >/dev/null; env >>out/env\n");
  const Result result = start();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(exists("out/ran")) << read(path("out/ran"));
  EXPECT_THAT(read(path("out/env")), Not(HasSubstr(path("home/bin"))));
  EXPECT_THAT(read(path("out/job")), HasSubstr(":/exported:"));
}

TEST_F(HooksInAnImage, HaveNoVariableThatLeadsToTheJobs) {
  make("root/lib", 0, 0755);
  script("pre-start.d/a",
         "#!/bin/sh\nexec >" + path("out/env") +
             "; env; pwd; : ${DATA_PLACE}\n"
             "# PYTHONPATH=/a:$PYTHONPATH LD_LIBRARY_PATH=/b:$LD_LIBRARY_PATH PERL5OPT XPLACEX\n");
  const Result result = start(
      {"HOME=" + path("home"), "PYTHONPATH=" + path("home/not/yet"),
       "LD_LIBRARY_PATH=" + path("home") + ":" + path("root/lib"), "PERL5OPT=-I" + path("home"),
       "LD_PRELOAD_=" + path("root/lib") + " " + path("home/x.so"),
       "http_proxy=http://proxy:3128/x", "PLACE=/not/there", "DATA_PLACE=" + path("home"),
       "PLACEX=" + path("home"), "TRAINIT_OUTPUTS_DIR=" + path("home")},
      "home");
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string env = "\n" + read(path("out/env"));
  for (const char* name : {"PYTHONPATH=", "PERL5OPT=", "LD_PRELOAD_=", "PLACEX="}) {
    EXPECT_THAT(env, Not(HasSubstr(std::string("\n") + name)));
  }
  for (const std::string& entry :
       {std::string("HOME=/root"), "LD_LIBRARY_PATH=" + path("root/lib"),
        std::string("PLACE=/not/there"), std::string("http_proxy=http://proxy:3128/x"),
        "DATA_PLACE=" + path("home"), "TRAINIT_OUTPUTS_DIR=" + path("home"), std::string("/")}) {
    EXPECT_THAT(env, HasSubstr("\n" + entry + "\n"));
  }
}

TEST_F(HooksInAnImage, AreToldOfInThePlan) {
  script("pre-start.d/a", "#!/bin/sh\n");
  const auto plan = [this](const Words& options) {
    return rules::run(contained(
        escape::joined(escape::joined({"plan", "--verbose", "--hooks-dir", path("hooks")}, options),
                       {"--", "/bin/true"})));
  };
  const char* path_line = "hooks have trainit's rights, and PATH=/usr/local/sbin:";
  const char* no_border = "root's job may change them";
  EXPECT_THAT(plan({"--user", "1000:1000", "--caps", "none"}).out,
              AllOf(HasSubstr(path_line), Not(HasSubstr(no_border))));
  EXPECT_THAT(plan({"--caps", "none"}).out, AllOf(HasSubstr(no_border), Not(HasSubstr(path_line))));
  EXPECT_THAT(plan({}).out, Not(HasSubstr("hooks have")));
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

// A mount whose server never answers holds each look at a path in it.
TEST_F(Hooks, AreKeptToTheirTimeWhileTheirVariablesAreLookedAt) {
  hook("hooks/pre-start.d/a", 0, 0755);
  const sys::Fd server(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!server.valid()) rules::skip("needs /dev/fuse");
  escape::Spec spec = contained({"--user", "1000:1000", "--hooks-dir", path("hooks"),
                                 "--hook-timeout", "pre-start=500ms", "--", "/bin/true"});
  spec.env.push_back("DEAD=" + path("home/lib"));
  spec.before = [before = spec.before, place = path("home"), fd = server.get()] {
    before();
    const std::string options = "fd=" + std::to_string(fd) + ",rootmode=40000,user_id=0,group_id=0";
    if (::mount("dead", place.c_str(), "fuse", 0, options.c_str()) != 0) {
      ::_exit(rules::kCannotStart);
    }
  };
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 69) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("pre-start.d/a"), HasSubstr("no answer within 0.5 s"),
                                HasSubstr("--hook-timeout")));
  EXPECT_FALSE(exists("out/ran"));
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
