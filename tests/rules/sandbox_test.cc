// The sandbox: what each option changes for the job, seen from inside, and that nothing else
// changes, least of all PID 1. With all privileges, without CAP_SYS_ADMIN, and as an ordinary user;
// as PID 1 and not; for a single command and for ranks. The matrix goes to stdout as a table.

#include <gmock/gmock.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <map>
#include <sstream>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t kBob = 1000;
constexpr gid_t kBobsGroup = 1001;

using Fields = std::map<std::string, std::string>;

enum class Rights : unsigned char { kFull, kNoAdmin, kUser };

// In the new process. Everything stays in its own mount namespace.
void mount_over(const std::string& file, const char* target) {
  if (::mount(file.c_str(), target, nullptr, MS_BIND, nullptr) != 0) ::_exit(rules::kCannotStart);
}

void lose(Rights rights) {
  if (rights == Rights::kNoAdmin) ::prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0);
  if (rights != Rights::kUser) return;
  const gid_t group = kBob;  // as Docker sets them
  if (::setgroups(1, &group) != 0 || ::setresgid(kBob, kBob, kBob) != 0 ||
      ::setresuid(kBob, kBob, kBob) != 0) {
    ::_exit(rules::kCannotStart);
  }
}

class SandboxJob : public rules::JobTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0 || !rules::may_unshare()) GTEST_SKIP() << "needs root and namespaces";
    ::chmod(path("").c_str(), 0755);
    for (const char* name : {"out", "home", "run"}) ::chmod(path(name).c_str(), 0777);
    write("passwd",
          "root:x:0:0::/root:/bin/sh\nbob:x:1000:1001::/home/bob:/bin/sh\n"
          "daemon:x:1:1::/:/bin/sh\n");
    write("group", "root:x:0:\nbobs:x:1001:\nvideo:x:44:root,bob\n");
  }

  // In a container whose passwd knows bob.
  [[nodiscard]] Spec image(Words args, Rights rights = Rights::kFull, bool pid1 = true) const {
    Spec spec{.args = std::move(args), .env = env(), .pid1 = pid1};
    spec.env.insert(spec.env.end(), {"HOME=/root", "USER=root"});
    spec.before = [passwd = path("passwd"), group = path("group"), rights, pid1] {
      if (!pid1 && ::unshare(CLONE_NEWNS) != 0) ::_exit(rules::kCannotStart);
      if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        ::_exit(rules::kCannotStart);
      }
      mount_over(passwd, "/etc/passwd");
      mount_over(group, "/etc/group");
      lose(rights);
    };
    return spec;
  }

  // A profile that allows all but these.
  [[nodiscard]] std::string profile(const std::string& rules) const {
    return write("profile.json",
                 R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[)" + rules + "]}");
  }
};

// Docker's --group-add, Kubernetes' fsGroup: those of the platform, not root's own in the image.
TEST_F(SandboxJob, OfAnotherUserKeepsThePlatformsGroups) {
  for (const std::string user : {"bob", "bob:1001", "4321"}) {
    Spec spec = image({"--user", user, "--", "/bin/sh", "-c", "grep Groups: /proc/self/status"});
    spec.before = [before = spec.before] {
      const std::array<gid_t, 4> groups = {0, 44, 2000, 3000};
      before();
      if (::setgroups(groups.size(), groups.data()) != 0) ::_exit(rules::kCannotStart);
    };
    const Result result = rules::run(spec);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, user == "bob"    ? "Groups:\t44 1001 2000 3000 \n"
                          : user == "4321" ? "Groups:\t0 2000 3000 \n"
                                           : "Groups:\t1001 2000 3000 \n");
    spec.args.insert(spec.args.begin(), {"plan", "--verbose"});
    EXPECT_THAT(rules::run(spec).out, HasSubstr("2000, 3000"));
  }
}

// --- The matrix ---

std::string number(std::uint64_t set) {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(set));
  return text.data();
}

std::uint64_t set_of(const Fields& fields, const std::string& name) {
  return std::stoull(fields.at(name), nullptr, 16);
}

constexpr std::uint64_t bit(int capability) { return 1ULL << capability; }

struct Row {
  Words options;
  // What is not as without the option, given how it is without.
  std::function<Fields(const Fields& plain)> changes;
};

Fields of_bob(const Fields&) {
  const std::string none = number(0);
  return {{"Uid", "1000 1000 1000 1000"},
          {"Gid", "1001 1001 1001 1001"},
          {"Groups", "44 1001"},
          {"CapPrm", none},
          {"CapEff", none},
          {"HOME", "/home/bob"},
          {"USER", "bob"},
          {"LOGNAME", "bob"},
          {"call.chroot", "EPERM"}};
}

Fields with(Fields first, const Fields& second) {
  for (const auto& [name, value] : second) first[name] = value;
  return first;
}

// For a job of root: permitted and effective follow from the bounding set.
Fields left_with(std::uint64_t set) {
  const std::string value = number(set);
  Fields fields{{"CapPrm", value}, {"CapEff", value}, {"CapBnd", value}};
  if ((set & bit(CAP_SYS_CHROOT)) == 0) fields["call.chroot"] = "EPERM";
  return fields;
}

Fields ambient(std::uint64_t set) {
  const std::string value = number(set);
  return {{"CapInh", value}, {"CapPrm", value}, {"CapEff", value}, {"CapAmb", value}};
}

struct Way {
  const char* name;
  bool pid1;
  bool ranks;
};
constexpr std::array<Way, 4> kWays = {{{"PID 1, one command", true, false},
                                       {"PID 1, ranks", true, true},
                                       {"not PID 1, one command", false, false},
                                       {"not PID 1, ranks", false, true}}};

class SandboxMatrix : public SandboxJob, public testing::WithParamInterface<Rights> {
 protected:
  static Fields fields_of(const std::string& text) {
    Fields fields;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t equals = line.find('=');
      if (equals != std::string::npos) fields[line.substr(0, equals)] = line.substr(equals + 1);
    }
    return fields;
  }

  // What the job sees; of ranks, each the same.
  Fields inside(const Way& way, const Words& options) {
    const Words job = {rules::payload(), "confinement"};
    Words args = way.ranks ? ranks(2, job, options) : joined(options, joined({"--"}, job));
    const Result result = rules::run(image(std::move(args), GetParam(), way.pid1));
    EXPECT_EQ(result.code, 0) << testing::PrintToString(options) << result.err;
    Fields fields = fields_of(result.out);
    if (way.ranks) {
      EXPECT_EQ(fields_of(log_of(1)), fields) << testing::PrintToString(options);
      ::unlink(path("run/logs/rank-1.log").c_str());
    }
    return fields;
  }

  std::vector<Row> rows() {
    std::vector<Row> rows = rows_for_all();
    if (GetParam() == Rights::kUser) return rows;
    for (Row& row : rows_for_root()) rows.push_back(std::move(row));
    return rows;
  }

 private:
  std::vector<Row> rows_for_all() {
    const std::string refused = profile(R"({"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO",
"errnoRet":13},{"names":["clone3"],"action":"SCMP_ACT_ERRNO","errnoRet":1})");
    const bool implied = GetParam() != Rights::kFull;
    return {
        {{"--no-new-privs"}, [](const Fields&) { return Fields{{"NoNewPrivs", "1"}}; }},
        {{"--seccomp", refused},
         [implied](const Fields&) {
           Fields fields{{"Seccomp", "2"}, {"call.mkdir", "EACCES"}, {"call.clone3", "ENOSYS"}};
           if (implied) fields["NoNewPrivs"] = "1";
           return fields;
         }},
        {{"--rlimit", "nofile=512:1024", "--rlimit", "core=0"},
         [](const Fields&) { return Fields{{"nofile", "512:1024"}, {"core", "0:0"}}; }},
        {{"--umask", "027"}, [](const Fields&) { return Fields{{"umask", "027"}}; }},
        {{"--nice", "7"}, [](const Fields&) { return Fields{{"nice", "7"}}; }},
        {{"--oom-score-adj", "500"},
         [](const Fields&) { return Fields{{"oom_score_adj", "500"}}; }},
    };
  }

  std::vector<Row> rows_for_root() {
    constexpr std::uint64_t kTwo = bit(CAP_NET_RAW) | bit(CAP_KILL);
    const std::string refused = path("profile.json");
    const bool implied = GetParam() != Rights::kFull;
    return {
        {{"--user", "bob"}, of_bob},
        {{"--user", "bob:44"},
         [](const Fields& plain) {
           return with(of_bob(plain), {{"Gid", "44 44 44 44"}, {"Groups", "44"}});
         }},
        {{"--user", "4242"},
         [](const Fields& plain) {
           Fields fields = with(of_bob(plain), {{"Uid", "4242 4242 4242 4242"},
                                                {"Gid", "0 0 0 0"},
                                                {"Groups", "0"},
                                                {"HOME", "/"}});
           fields.erase("USER");  // no name: both stay
           fields.erase("LOGNAME");
           return fields;
         }},
        {{"--caps", "none"}, [](const Fields&) { return left_with(0); }},
        {{"--caps", "net_raw,kill"}, [](const Fields&) { return left_with(kTwo); }},
        {{"--caps", "-net_raw,-sys_chroot"},
         [](const Fields& plain) {
           return left_with(set_of(plain, "CapBnd") & ~bit(CAP_NET_RAW) & ~bit(CAP_SYS_CHROOT));
         }},
        {{"--user", "bob", "--caps", "net_raw,kill"},
         [](const Fields& plain) { return with(of_bob(plain), {{"CapBnd", number(kTwo)}}); }},
        {{"--user", "bob", "--ambient", "net_raw"},
         [](const Fields& plain) { return with(of_bob(plain), ambient(bit(CAP_NET_RAW))); }},
        {{"--user", "bob", "--caps", "net_raw,kill", "--ambient", "net_raw", "--no-new-privs",
          "--seccomp", refused},
         [](const Fields& plain) {
           return with(with(of_bob(plain), ambient(bit(CAP_NET_RAW))), {{"CapBnd", number(kTwo)},
                                                                        {"NoNewPrivs", "1"},
                                                                        {"Seccomp", "2"},
                                                                        {"call.mkdir", "EACCES"},
                                                                        {"call.clone3", "ENOSYS"}});
         }},
        {{"--user", "bob", "--seccomp", refused},
         [implied](const Fields& plain) {
           Fields fields =
               with(of_bob(plain),
                    {{"Seccomp", "2"}, {"call.mkdir", "EACCES"}, {"call.clone3", "ENOSYS"}});
           if (implied) fields["NoNewPrivs"] = "1";
           return fields;
         }},
        {{"--caps", "none", "--seccomp", refused},
         [implied](const Fields&) {
           Fields fields =
               with(left_with(0),
                    {{"Seccomp", "2"}, {"call.mkdir", "EACCES"}, {"call.clone3", "ENOSYS"}});
           if (implied) fields["NoNewPrivs"] = "1";
           return fields;
         }},
        {{"--nice", "-5"}, [](const Fields&) { return Fields{{"nice", "-5"}}; }},
        {{"--user", "bob", "--nice", "-5", "--umask", "077", "--rlimit", "nproc=100"},
         [](const Fields& plain) {
           return with(of_bob(plain), {{"nice", "-5"}, {"umask", "077"}, {"nproc", "100:100"}});
         }},
    };
  }
};

const char* rights_name(Rights rights) {
  switch (rights) {
    case Rights::kFull:
      return "Root";
    case Rights::kNoAdmin:
      return "RootWithoutSysAdmin";
    case Rights::kUser:
      return "OrdinaryUser";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(As, SandboxMatrix,
                         testing::Values(Rights::kFull, Rights::kNoAdmin, Rights::kUser),
                         [](const auto& value) { return rights_name(value.param); });

void print_row(const std::string& title, const std::vector<std::string>& cells) {
  std::printf("| %s |", title.c_str());
  for (const std::string& cell : cells) std::printf(" %s |", cell.c_str());
  std::printf("\n");
}

std::string option_text(const Words& options) {
  std::string text;
  for (const std::string& word : options) {
    const std::size_t slash = word.rfind('/');
    text +=
        (text.empty() ? "" : " ") + (slash == std::string::npos ? word : word.substr(slash + 1));
  }
  return text;
}

// Every check of every option; a dot is what the job has without it.
void print_matrix(Rights rights, const Fields& plain,
                  const std::vector<std::pair<std::string, Fields>>& seen) {
  std::vector<std::string> names;
  for (const auto& [name, value] : plain) {
    if (!name.starts_with("parent.")) names.push_back(name);
  }
  std::printf("\nThe sandbox as %s, seen by the job:\n\n", rights_name(rights));
  print_row("options", names);
  print_row("---", std::vector<std::string>(names.size(), "---"));
  std::vector<std::string> cells;
  cells.reserve(names.size());
  for (const std::string& name : names) cells.push_back(plain.at(name));
  print_row("none", cells);
  for (const auto& [title, fields] : seen) {
    cells.clear();
    for (const std::string& name : names) {
      cells.push_back(fields.at(name) == plain.at(name) ? "." : fields.at(name));
    }
    print_row(title, cells);
  }
}

TEST_P(SandboxMatrix, EachOptionChangesWhatItSaysAndNothingElse) {
  const std::vector<Row> options = rows();
  for (const Way& way : kWays) {
    const Fields plain = inside(way, {});
    ASSERT_TRUE(plain.contains("parent.Uid")) << way.name;
    std::vector<std::pair<std::string, Fields>> seen;
    for (const Row& row : options) {
      const std::string title = option_text(row.options);
      const Fields fields = inside(way, row.options);
      // Our own fields are among them, so PID 1 has changed in none.
      EXPECT_EQ(fields, with(plain, row.changes(plain))) << way.name << ": " << title;
      if (fields.size() == plain.size()) seen.emplace_back(title, fields);
    }
    if (way.pid1 && !way.ranks) print_matrix(GetParam(), plain, seen);
  }
}

// --- What goes with another user ---

class SandboxUser : public SandboxJob {};

TEST_F(SandboxUser, OwnsTheDirectoriesThatAreMadeForItAndNotTheLogs) {
  const Result result =
      rules::run(image(ranks(2, {rules::payload(), "exit", "0"}, {"--user", "bob"})));
  ASSERT_EQ(result.code, 0) << result.err;
  struct stat status{};
  ASSERT_EQ(::stat(path("home/device1").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, kBob);
  EXPECT_EQ(status.st_gid, kBobsGroup);
  ASSERT_EQ(::stat(path("run/logs/rank-1.log").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0U);
  ASSERT_EQ(::stat(path("run/logs/rank-1.env").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0U);
}

// The log is opened with our rights, in a directory that may be theirs.
TEST_F(SandboxUser, CannotLeadTheLogElsewhereByALink) {
  const std::string secret = write("secret", "");
  ::mkdir(path("run/logs").c_str(), 0755);
  ASSERT_EQ(::chown(path("run/logs").c_str(), kBob, kBob), 0);
  ASSERT_EQ(::symlink(secret.c_str(), path("run/logs/rank-1.log").c_str()), 0);
  const Result result =
      rules::run(spec(ranks(2, rules::shell("echo injected"), {"--user", "1000:1000"})));
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("warning"), HasSubstr("rank-1.log")));
  EXPECT_EQ(read(secret), "");
}

TEST_F(SandboxUser, ReadsTheRankTableInAPrivateRunDirectory) {
  ::chmod(path("run").c_str(), 0700);
  const Result result = rules::run(image(
      ranks(2, rules::shell("cat \"$RANK_TABLE_FILE\" > /dev/null || exit 3"), {"--user", "bob"})));
  EXPECT_EQ(result.code, 0) << result.err;
  struct stat status{};
  ASSERT_EQ(::stat(path("run").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0711U);
}

TEST_F(SandboxUser, MayOpenTheContainersOutput) {
  const Result result = rules::run(
      image(joined({"--user", "bob", "--"}, rules::shell("echo out > /dev/stdout; echo err > "
                                                         "/dev/stderr"))));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("out"));
  EXPECT_THAT(result.err, HasSubstr("err"));
}

TEST_F(SandboxUser, GetsStopSignals) {
  for (const bool pid1 : {true, false}) {
    Instance instance(
        image({"--user", "bob", "--", rules::payload(), "record-signals"}, Rights::kFull, pid1));
    await_told("ready-0");
    instance.signal(SIGTERM);
    EXPECT_EQ(instance.wait(), 0);
    EXPECT_EQ(told("signals-0"), "TERM parent\n");
    ::unlink(path("out/ready-0").c_str());
  }
}

TEST_F(SandboxUser, ThatCannotEnterItsDirectoryIsToldSo) {
  ::mkdir(path("home/device0").c_str(), 0700);
  const Result result =
      rules::run(image(ranks(1, {rules::payload(), "exit", "0"}, {"--user", "bob"})));
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("entering the working directory"), HasSubstr("device0"),
                                HasSubstr("uid 1000")));
}

TEST_F(SandboxUser, ThatMayNotRunTheProgramIsToldSo) {
  write("secret", "#!/bin/sh\n");
  ::chmod(path("secret").c_str(), 0700);
  const Result result = rules::run(image({"--user", "bob", "--", path("secret")}));
  EXPECT_EQ(result.code, 126);
  EXPECT_THAT(result.err, AllOf(HasSubstr("mode 0700"), HasSubstr("uid 1000")));
}

TEST_F(SandboxUser, IsNotForJobsOverSsh) {
  const Result result =
      rules::run(image({"--user", "bob", "--framework", "mpi", "--platform", "bare", "--hosts",
                        "a,b", "--node-rank", "0", "--", "true"}));
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--user"), HasSubstr("USER in the image")));
}

TEST_F(SandboxUser, MayBeNamedByTheImage) {
  Spec spec = image({"--", rules::payload(), "confinement"});
  spec.env.emplace_back("TRAINIT_USER=bob");
  const Result result = rules::run(spec);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("Uid=1000 1000 1000 1000\nGid=1001"), HasSubstr("HOME=/home/bob")));
}

TEST_F(SandboxUser, ThatItIsAlreadyNeedsNoRights) {
  write("group", "root:x:0:\n");
  write("passwd", "bob:x:1000:1000::/home/bob:/bin/sh\n");
  const Result result =
      rules::run(image({"--user", "bob", "--", rules::payload(), "confinement"}, Rights::kUser));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("HOME=/home/bob"));
}

// --- Filters ---

class SandboxFilter : public SandboxJob {};

TEST_F(SandboxFilter, ThatForbidsToWriteLeavesTheExitCode) {
  const std::string no_write =
      profile(R"({"names":["write","writev","stat","newfstatat","access","openat"],
"action":"SCMP_ACT_ERRNO","errnoRet":1})");
  // A program that is there, but not for this machine: only the kernel finds out.
  write("program",
        "\x7f"
        "ELF");
  ::chmod(path("program").c_str(), 0755);
  const Result result = rules::run(image({"--seccomp", no_write, "--", path("program")}));
  EXPECT_EQ(result.code, 126) << result.err;
}

TEST_F(SandboxFilter, DoesNotHideWhatIsWrongWithTheProgram) {
  const std::string no_look = profile(R"({"names":["stat","newfstatat","access","faccessat",
"faccessat2","openat","open","write"],"action":"SCMP_ACT_ERRNO","errnoRet":1})");
  const Result result = rules::run(image({"--seccomp", no_look, "--", "no-such-program"}));
  EXPECT_EQ(result.code, 127);
  EXPECT_THAT(result.err, HasSubstr("no such program in PATH"));
}

TEST_F(SandboxFilter, MayForbidWhatRestoresTheSignals) {
  const std::string no_signals = profile(
      R"({"names":["rt_sigaction","rt_sigprocmask"],"action":"SCMP_ACT_ERRNO","errnoRet":1})");
  const Result result =
      rules::run(image({"--seccomp", no_signals, "--", rules::payload(), "status", "SigBlk"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("0000000000000000"));
}

// --- Bad input ---

struct Refused {
  Words options;
  std::string text;
};

class SandboxInput : public SandboxJob {};

TEST_F(SandboxInput, ThatIsWrongIsOneLineAndNothingIsStarted) {
  const std::string text = write("text.json", "not JSON\n");
  const std::string no_exec = write("no-exec.json", R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":
[{"names":["execve"],"action":"SCMP_ACT_ERRNO"}]})");
  const std::string unknown = write("unknown.json", R"({"defaultAction":"SCMP_ACT_ALLOW",
"syscalls":[{"names":["no_such_call"],"action":"SCMP_ACT_ERRNO"}]})");
  const Refused cases[] = {
      {{"--user", "nobody-here"}, "nobody-here"},
      {{"--user", "bob:no-group"}, "no-group"},
      {{"--user", ""}, "--user"},
      {{"--caps", "net_rawer"}, "net_rawer"},
      {{"--caps", "net_raw,-kill"}, "either kind"},
      {{"--ambient", "no_such"}, "no_such"},
      {{"--user", "bob", "--caps", "none", "--ambient", "net_raw"}, "--caps takes away"},
      {{"--seccomp", path("absent.json")}, "no such file"},
      {{"--seccomp", text}, "text.json"},
      {{"--seccomp", no_exec}, "execve"},
      {{"--strict", "--seccomp", unknown}, "no_such_call"},
      {{"--rlimit", "nofile=10:5"}, "above the hard one"},
      {{"--rlimit", "nofile=1:99999999999"}, "nofile"},
      {{"--rlimit", "no_such=1"}, "unknown name"},
      {{"--rlimit", "nofile"}, "no value"},
      {{"--umask", "999"}, "--umask"},
      {{"--nice", "50"}, "--nice"},
      {{"--oom-score-adj", "5000"}, "--oom-score-adj"},
      {{"--escalate", "NOSUCH@1s"}, "--escalate"},
      {{"--parent-death-signal", "NOSUCH"}, "--parent-death-signal"},
  };
  for (const Refused& one : cases) {
    const Words job = rules::shell("touch " + path("out/started"));
    for (const Words& args :
         {joined(one.options, joined({"--"}, job)), ranks(2, job, one.options)}) {
      Instance instance(image(args));
      EXPECT_EQ(instance.wait(), 125) << option_text(one.options);
      EXPECT_EQ(instance.lines_with("error"), 1) << instance.err();
      EXPECT_EQ(instance.lines_with(one.text), 1) << instance.err();
      EXPECT_NE(::access(path("out/started").c_str(), F_OK), 0) << option_text(one.options);
    }
  }
}

TEST_F(SandboxInput, ThatAProfileDoesNotKnowIsAWarning) {
  const std::string unknown = profile(R"({"names":["no_such_call"],"action":"SCMP_ACT_ERRNO"})");
  Instance instance(image({"--seccomp", unknown, "--", rules::payload(), "exit", "3"}));
  EXPECT_EQ(instance.wait(), 3);
  EXPECT_EQ(instance.lines_with("no_such_call"), 1) << instance.err();
}

TEST_F(SandboxInput, ThatNeedsMoreThanTheContainerHasNamesIt) {
  const Refused cases[] = {
      {{"--user", "bob:44"}, "CAP_SET"},
      {{"--user", "daemon"}, "CAP_SETUID"},
      {{"--caps", "none"}, "CAP_SETPCAP"},
      {{"--nice", "-5"}, "CAP_SYS_NICE"},
      {{"--rlimit", "nofile=1000000000"}, "nofile"},
  };
  for (const Refused& one : cases) {
    Instance instance(
        image(joined(one.options, {"--", rules::payload(), "exit", "0"}), Rights::kUser));
    EXPECT_EQ(instance.wait(), 125) << option_text(one.options);
    EXPECT_EQ(instance.lines_with(one.text), 1) << instance.err();
  }
}

TEST_F(SandboxInput, ThatWouldLeaveAJobWhichCannotBeStoppedIsRefused) {
  Spec spec = image({"--user", "bob", "--", rules::payload(), "exit", "0"});
  spec.before = [before = spec.before] {
    before();
    ::prctl(PR_CAPBSET_DROP, CAP_KILL, 0, 0, 0);
  };
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("CAP_KILL"));
}

// --- The plan ---

class SandboxPlan : public SandboxJob {};

TEST_F(SandboxPlan, ShowsWhatTheJobIsConfinedTo) {
  const Result result = rules::run(image(
      {"plan", "--json", "--user", "bob", "--caps", "net_raw", "--umask", "027", "--", "train"}));
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* text : {R"("sandbox")", R"("uid": 1000)", R"("CAP_NET_RAW")",
                           R"("umask": "0027")", R"("HOME": "/home/bob")"}) {
    EXPECT_THAT(result.out, HasSubstr(text));
  }
}

TEST_F(SandboxPlan, WithoutOptionsHasNone) {
  const Result result = rules::run(image({"plan", "--json", "--", "train"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("sandbox")));
}

TEST_F(SandboxPlan, OfAnotherMachineTellsWhatCanBeTold) {
  const Result saved =
      rules::run(image({"snapshot", "--user", "nobody-here", "--nice", "3", "--", "train"}));
  ASSERT_EQ(saved.code, 0) << saved.err;
  const std::string file = write("snapshot.json", saved.out);
  const Result plan = rules::run(image({"plan", "--json", "--snapshot", file}));
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, AllOf(HasSubstr(R"("nice": 3)"), HasSubstr("--user nobody-here")));
}

}  // namespace
