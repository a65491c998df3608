// --untrusted-image: whatever an image leads trainit to is done with the rights of the job's user.

#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <sstream>
#include <string>

#include "tests/escape/border.h"
#include "tests/rules/shell.h"

namespace {

using escape::Border;
using escape::kOther;
using escape::Result;
using escape::Spec;
using escape::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kUser = "1000:1000";
// trainit's own rights and those of the job, as the job sees them.
constexpr const char* kRights =
    "for who in $PPID self; do grep -E '^(Uid|Gid|Groups|NoNewPrivs|Cap)' /proc/$who/status; done";
constexpr const char* kNone = "0000000000000000";

class UntrustedImage : public Border {
 protected:
  // The image's variables come beside the command line.
  [[nodiscard]] Spec image(const Words& options, const Words& variables = {},
                           const std::string& script = "true") const {
    Spec spec =
        contained(joined(joined({"--untrusted-image"}, options), {"--", "/bin/sh", "-c", script}));
    spec.env.insert(spec.env.end(), variables.begin(), variables.end());
    return spec;
  }
  static Words joined(Words one, const Words& other) { return escape::joined(one, other); }

  // Traces that an attack with trainit's rights would leave, in a directory of root alone.
  void expect_nothing_of_root() const {
    EXPECT_FALSE(exists("root/made"));
    EXPECT_EQ(read(path("root/secret")), "of root\n");
    EXPECT_THAT("\n" + read(path("out/who")), Not(HasSubstr("\n0\n")));
  }
  void put_secret() const {
    write("root/secret", "of root\n");
    give("root/secret", 0, 0600);
  }
};

void expect_rights_of_job(const std::string& out) {
  std::size_t lines = 0;
  std::istringstream text(out);
  for (std::string line; std::getline(text, line); ++lines) {
    if (line.starts_with("Uid:") || line.starts_with("Gid:")) {
      EXPECT_THAT(line, testing::EndsWith(":\t1000\t1000\t1000\t1000"));
    }
    if (line.starts_with("Groups:")) EXPECT_EQ(line, "Groups:\t1000 ");
    if (line.starts_with("NoNewPrivs:")) EXPECT_EQ(line, "NoNewPrivs:\t1");
    if (line.starts_with("Cap")) EXPECT_THAT(line, HasSubstr(kNone));
  }
  EXPECT_EQ(lines, 18U) << out;
}

TEST_F(UntrustedImage, LeavesTrainitTheRightsOfTheJob) {
  const Result result = rules::run(image({"--user", kUser}, {}, kRights));
  EXPECT_EQ(result.code, 0) << result.err;
  expect_rights_of_job(result.out);
}

TEST_F(UntrustedImage, GetsNoRightByAVariable) {
  const Result result =
      rules::run(image({"--user", kUser},
                       {"TRAINIT_AMBIENT=net_raw", "TRAINIT_CAPS=all", "TRAINIT_USER=0:0",
                        "TRAINIT_NO_NEW_PRIVS=0", "TRAINIT_UNTRUSTED_IMAGE=0"},
                       kRights));
  EXPECT_EQ(result.code, 0) << result.err;
  expect_rights_of_job(result.out);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("ignoring TRAINIT_AMBIENT: "), HasSubstr("ignoring TRAINIT_CAPS: ")));
}

TEST_F(UntrustedImage, HasCapabilitiesOfTheCommandLine) {
  const Result result =
      rules::run(image({"--user", kUser, "--caps", "net_raw", "--ambient", "net_raw"}, {},
                       "grep -E '^Cap(Eff|Amb|Bnd)' /proc/self/status"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out,
            "CapEff:\t0000000000002000\nCapBnd:\t0000000000002000\nCapAmb:\t"
            "0000000000002000\n");
}

// Another user's files lie on file systems that the nodes share.
TEST_F(UntrustedImage, DoesNotChooseItsUser) {
  for (const Words& options : {Words{}, Words{"--user", "nobody"}, Words{"--user", "1000"},
                               Words{"--user", "0:1000"}, Words{"--user", "1000:video"}}) {
    const Result result =
        rules::run(image(options, {"TRAINIT_USER=2000:2000"}, "id -u >>" + path("out/who")));
    EXPECT_EQ(result.code, 125) << testing::PrintToString(options);
    EXPECT_THAT(result.err, AllOf(HasSubstr("--user"), HasSubstr("UID:GID"))) << result.err;
  }
  EXPECT_FALSE(exists("out/who"));
}

TEST_F(UntrustedImage, KeepsNoGroupThatNobodyNamed) {
  Spec spec = image({"--user", kUser}, {}, kRights);
  spec.before = [before = spec.before] {
    before();
    const gid_t groups[] = {0, 6, kOther};
    if (::setgroups(std::size(groups), groups) != 0) ::_exit(rules::kCannotStart);
  };
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 0) << result.err;
  expect_rights_of_job(result.out);
  EXPECT_THAT(result.err, HasSubstr("leaving the supplementary groups 6, 2000"));
}

TEST_F(UntrustedImage, HasItsHooksRunAsTheJob) {
  for (const char* name : {"hooks", "hooks/pre-start.d"}) make(name, 0, 0755);
  write("hooks/pre-start.d/a", "#!/bin/sh\nid -u >>" + path("out/who") + "\n");
  give("hooks/pre-start.d/a", 0, 0755);
  const Result result =
      rules::run(image({"--user", kUser}, {"TRAINIT_HOOKS_DIR=" + path("hooks")}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("out/who")), "1000\n");
}

// The caller is another user, as with --user. The job sees none of trainit's own either.
TEST_F(UntrustedImage, GetsNoDescriptorOfTheCaller) {
  put_secret();
  Spec spec = image({"--user", kUser}, {"LISTEN_FDS=7", "LISTEN_PID=1"},
                    "cat <&9; cat <&4; ls /proc/$PPID/fd; echo $LISTEN_FDS");
  spec.before = [before = spec.before, secret = path("root/secret")] {
    before();
    const int fd = ::open(secret.c_str(), O_RDONLY);
    for (const int copy : {4, 9}) {
      if (::dup2(fd, copy) < 0) ::_exit(rules::kCannotStart);
    }
  };
  const Result result = rules::run(spec);
  EXPECT_THAT(result.out + result.err, Not(HasSubstr("of root")));
  EXPECT_EQ(result.out, "\n") << result.err;
}

// Neither the job nor trainit could type at it (TIOCSTI). What the job prints is shown.
TEST_F(UntrustedImage, GetsNoTerminalOfTheCaller) {
  rules::Screen screen(
      {"/bin/sh", "-c",
       rules::trainit() + " --untrusted-image --user " + kUser +
           " -- /bin/sh -c 'read -r stat </proc/$PPID/stat; set -- $stat; echo \"tty $7\"; "
           "(: </dev/tty) 2>/dev/null || echo none; readlink /proc/self/fd/0'; echo end"},
      {"PATH=/usr/bin:/bin", "TERM=dumb", "TRAINIT_RUN_DIR=" + path("out/run")});
  EXPECT_TRUE(screen.await("end"));
  EXPECT_EQ(screen.wait(), 0);
  EXPECT_THAT(screen.shown(),
              AllOf(HasSubstr("tty 0\r"), HasSubstr("none"), HasSubstr("/dev/null")));
}

// Errors on the command line and in variables come before the rights are given up.
TEST_F(UntrustedImage, LeadsNoTerminationLogElsewhere) {
  for (const Words& mode : {Words{"--untrusted-image"}, Words{"--untrusted-image", "--bogus"},
                            Words{"--bogus", "--untrusted-image"}, Words{}}) {
    put_secret();
    Spec spec = contained(joined(mode, {"--", "/bin/true"}));
    spec.env.emplace_back("TRAINIT_GRACE=none");
    spec.before = [before = spec.before, secret = path("root/secret")] {
      before();
      // A /dev of the image's own.
      if (::mount("none", "/dev", "tmpfs", 0, nullptr) != 0 ||
          ::mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)) != 0 ||
          ::symlink(secret.c_str(), "/dev/termination-log") != 0) {
        ::_exit(rules::kCannotStart);
      }
    };
    const Result result = rules::run(spec);
    EXPECT_EQ(result.code, 125) << result.err;
    EXPECT_EQ(read(path("root/secret")) == "of root\n", !mode.empty()) << "trusted: as it is named";
  }
}

TEST_F(UntrustedImage, MayOpenItsStandardStreams) {
  const Result result = rules::run(
      image({"--user", kUser}, {}, "echo by name >/dev/stdout && echo so too >/dev/stderr"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "by name\n");
}

// Links of the image's root at each place that trainit writes or reads: root's path is no proof.
TEST_F(UntrustedImage, LeadsTrainitNowhereByALink) {
  put_secret();
  make("image", 0, 0755);
  for (const char* name : {"run", "logs", "timeline", "data"}) {
    ASSERT_EQ(::symlink(path("root/made").c_str(), path(std::string("image/") + name).c_str()), 0);
  }
  ASSERT_EQ(::symlink(path("root/secret").c_str(), path("image/table").c_str()), 0);
  make("source", 0, 0755);
  write("source/a", "a");
  for (const Words& variables : {Words{"TRAINIT_RUN_DIR=" + path("image/run")},
                                 Words{"TRAINIT_LOG_DIR=" + path("image/logs")},
                                 Words{"MA_LOG_DIR=" + path("image/logs"),
                                       "MA_MOUNT_PATH=" + path("image"), "TRAINIT_OUTPUT=files"},
                                 Words{"TRAINIT_TIMELINE=" + path("image/timeline")},
                                 Words{"TRAINIT_DATA=" + path("source") + "=" + path("image/data")},
                                 Words{"TRAINIT_RANK_TABLE=" + path("image/table")},
                                 Words{"RANK_TABLE_FILE=" + path("image/table")}}) {
    const Result result =
        rules::run(image({"--user", kUser}, variables, "id -u >>" + path("out/who")));
    EXPECT_THAT(result.out + result.err, Not(HasSubstr("of root")));
    expect_nothing_of_root();
  }
}

TEST_F(UntrustedImage, HasItsToolsRunAsTheJob) {
  make("bin", 0, 0755);
  write("bin/nvidia-smi", "#!/bin/sh\nid -u >>" + path("out/who") + "\n");
  give("bin/nvidia-smi", 0, 0755);
  put_secret();
  Spec spec = contained({"doctor", "--untrusted-image", "--user", kUser, "--only", "gpu"});
  std::erase_if(spec.env, [](const auto& one) { return one.starts_with("PATH="); });
  spec.env.push_back("PATH=" + path("bin") + ":/usr/bin:/bin");
  rules::run(spec);
  EXPECT_THAT(read(path("out/who")), testing::StartsWith("1000\n"));
  expect_nothing_of_root();
}

// A platform may start the container as the job's user already.
TEST_F(UntrustedImage, TakesCapabilitiesFromAUserToo) {
  Spec spec = image({}, {"TRAINIT_USER=1000:1000"}, kRights);
  spec.before = [before = spec.before] {
    before();
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct have[2]{};
    have[0].effective = have[0].permitted = have[0].inheritable = 1U << CAP_KILL;
    if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || ::setgroups(0, nullptr) != 0 ||
        ::setresgid(1000, 1000, 1000) != 0 || ::setresuid(1000, 1000, 1000) != 0 ||
        ::syscall(SYS_capset, &header, have) != 0 ||
        ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0) != 0) {
      ::_exit(rules::kCannotStart);
    }
  };
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("NoNewPrivs:\t1"), Not(HasSubstr("NoNewPrivs:\t0"))));
  EXPECT_THAT(result.out, testing::ContainsRegex("CapEff:\t0+\n"));
  EXPECT_THAT(result.out, Not(testing::ContainsRegex("Cap(Inh|Prm|Eff|Amb):\t0*[1-9a-f]")));
}

// Docker gives a user by number no supplementary group at all.
TEST_F(UntrustedImage, MayBeStartedAsItsUserWithoutGroups) {
  for (const Words& mode : {Words{"--untrusted-image"}, Words{}}) {
    Spec spec = contained(joined(mode, {"--user", kUser, "--", "/bin/sh", "-c", "id -G"}));
    spec.before = [before = spec.before] {
      before();
      if (::setgroups(0, nullptr) != 0 || ::setresgid(1000, 1000, 1000) != 0 ||
          ::setresuid(1000, 1000, 1000) != 0) {
        ::_exit(rules::kCannotStart);
      }
    };
    const Result result = rules::run(spec);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "1000\n");
  }
}

TEST_F(UntrustedImage, RestartsItsJob) {
  Spec spec = image({"--user", kUser, "--max-restarts", "1"}, {},
                    "id -u >>" + path("out/who") + "; exit 3");
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_EQ(read(path("out/who")), "1000\n1000\n");
}

}  // namespace
