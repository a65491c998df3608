// A copy of trainit that has more rights than who starts it: set-user-ID, set-group-ID, file
// capabilities.

#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/xattr.h>

#include <filesystem>
#include <functional>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using rules::Result;
using rules::Words;
using testing::HasSubstr;
using testing::Not;

class SetId : public Border {
 protected:
  void SetUp() override {
    Border::SetUp();
    make("suid", 0, 0755);
  }

  // Runs the copy as the job's user, on a file system of its own, where the bits count.
  [[nodiscard]] Result run_copy(const std::string& name, const Words& args,
                                const std::function<void(const std::string&)>& prepare) const {
    const std::string copy = path("suid/" + name);
    rules::Spec spec = contained({});
    spec.program = copy;
    spec.args = rules::joined({name}, args);
    spec.before = [here = path(""), copy, prepare] {
      contain(here);
      const std::string directory = here + "/suid";
      if (::mount("none", directory.c_str(), "tmpfs", 0, "mode=0755") != 0) {
        ::_exit(98);
      }
      std::filesystem::copy_file(rules::trainit(), copy);
      prepare(copy);
      if (::setgroups(0, nullptr) != 0 || ::setresgid(kJob, kJob, kJob) != 0 ||
          ::setresuid(kJob, kJob, kJob) != 0) {
        ::_exit(97);
      }
    };
    return rules::run(spec);
  }

  static void expect_refused(const Result& result, const std::string& found) {
    EXPECT_EQ(result.code, 125);
    EXPECT_THAT(result.err, HasSubstr(found));
    EXPECT_THAT(result.err, HasSubstr("chmod ug-s"));
    EXPECT_THAT(result.out, Not(HasSubstr("uid=")));
  }
};

// By each of its names, on the ways that start the command before libc and behind it.
TEST_F(SetId, CopiesStartNothing) {
  const auto set_id = [](mode_t mode) {
    return [mode](const std::string& copy) {
      if (::chmod(copy.c_str(), mode) != 0) ::_exit(96);
    };
  };
  for (const char* name : {"trainit", "tini", "docker-init", "dumb-init", "catatonit"}) {
    expect_refused(run_copy(name, {"--", "/usr/bin/id"}, set_id(04755)), "the set-user-ID bit");
    expect_refused(run_copy(name, {"--", "/usr/bin/id"}, set_id(02755)), "the set-group-ID bit");
  }
  for (const Words& args :
       {Words{"/usr/bin/id"}, Words{"run", "--umask", "077", "--", "/usr/bin/id"},
        Words{"--version"}, Words{"install", path("out")}}) {
    expect_refused(run_copy("trainit", args, set_id(04755)), "the set-user-ID bit");
  }
  EXPECT_FALSE(exists("out/trainit"));
  const Result plain = run_copy("trainit", {"--", "/usr/bin/id", "-u"}, set_id(0755));
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.out, "1000\n");
}

TEST_F(SetId, FileCapabilitiesStartNothing) {
  const auto capable = [](const std::string& copy) {
    vfs_cap_data data{};
    data.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
    data.data[0].permitted = 1U << CAP_DAC_OVERRIDE;
    if (::setxattr(copy.c_str(), "security.capability", &data, XATTR_CAPS_SZ_2, 0) != 0)
      ::_exit(96);
  };
  for (const char* name : {"trainit", "tini"}) {
    expect_refused(run_copy(name, {"--", "/usr/bin/id"}, capable), "file capabilities");
  }
}

}  // namespace
