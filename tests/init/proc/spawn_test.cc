#include "init/proc/spawn.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "envgen/formats/cpu_list.h"
#include "init/proc/reap.h"
#include "init/sys/facts.h"
#include "init/sys/log.h"
#include "tests/init/child.h"
#include "tests/init/end_by.h"

namespace {

using proc::StartState;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

proc::SpawnSpec command(std::vector<std::string> argv,
                        std::vector<std::string> env = {"PATH=/usr/bin:/bin"}) {
  proc::SpawnSpec spec;
  spec.argv = std::move(argv);
  spec.env = base::Environ(std::move(env));
  return spec;
}

StartState await_start(const sys::Fd& pipe, proc::StartFailure* failure) {
  pollfd ready{pipe.get(), POLLIN, 0};
  ::poll(&ready, 1, -1);
  return proc::read_start(pipe, failure);
}

struct Ran {
  int code = 0;         // of the task
  std::string out;      // of the task
  std::string err;      // of the task and of the log
  std::string trouble;  // "125 what: where: ...", "" when it started
};

// An init that starts one task and waits for it. `before` is what its caller did.
Ran run_task(const proc::SpawnSpec& spec, const std::function<void()>& before = [] {}) {
  constexpr const char* kMark = "\n== ";
  const auto outcome = child::run([&] {
    before();
    const proc::SavedSignals saved = proc::take_over_signals();
    sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
    auto spawned = proc::spawn(spec, saved);
    std::string trouble;
    int code = 0;
    if (spawned) {
      proc::StartFailure failure;
      const StartState state = await_start(spawned->start_pipe, &failure);
      code = child::wait_for(spawned->pid);
      if (state != StartState::kRunning) {
        trouble = std::to_string(failure.exit_code) + " " + to_line(failure.error);
      }
    } else {
      code = 125;
      trouble = "fork " + to_line(spawned.error());
    }
    child::say(STDOUT_FILENO, kMark + trouble);
    return code;
  });
  const std::size_t mark = outcome.out.rfind(kMark);
  if (mark == std::string::npos)
    return {
        .code = outcome.code, .out = outcome.out, .err = outcome.err, .trouble = "the init failed"};
  return {.code = outcome.code,
          .out = outcome.out.substr(0, mark),
          .err = outcome.err,
          .trouble = outcome.out.substr(mark + std::strlen(kMark))};
}

class Spawn : public child::Scratch {};

TEST_F(Spawn, RunsAProgramWithItsEnvironmentAndNothingElse) {
  const Ran ran = run_task(command({"/usr/bin/env"}, {"A=1", "odd entry", "A=2"}),
                           [] { ::setenv("LEAK", "1", 1); });
  EXPECT_EQ(ran.trouble, "");
  EXPECT_EQ(ran.out, "A=1\nodd entry\nA=2\n");
  EXPECT_EQ(ran.code, 0);
}

TEST_F(Spawn, ExitCodesAndSignalsAreTheTasksOwn) {
  for (const int code : {0, 1, 42, 255}) {
    EXPECT_EQ(run_task(command({"sh", "-c", "exit " + std::to_string(code)})).code, code);
  }
  for (const int signal : {SIGTERM, SIGKILL, 35}) {
    EXPECT_EQ(run_task(command({"sh", "-c", "kill -" + std::to_string(signal) + " $$"})).code,
              128 + signal);
  }
}

TEST_F(Spawn, PassesArgumentsAsTheyAre) {
  const Ran ran =
      run_task(command({"sh", "-c", "printf '[%s]' \"$@\"", "sh", "", "a b", "--", "-x"}));
  EXPECT_EQ(ran.out, "[][a b][--][-x]");
}

TEST_F(Spawn, TheTaskHasTheCallersSignalsThoughTheInitBlocksAll) {
  const auto before = [] {
    const std::uint64_t blocked = 1ULL << (SIGUSR1 - 1) | 1ULL << 31 | 1ULL << 32 | 1ULL << 39;
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, nullptr, sizeof blocked);
    for (const int signal : {SIGHUP, SIGPIPE, SIGCHLD, 41}) ::signal(signal, SIG_IGN);
  };
  const Ran ran =
      run_task(command({"grep", "-E", "^Sig(Blk|Ign|Pnd)", "/proc/self/status"}), before);
  EXPECT_EQ(ran.out,
            "SigPnd:\t0000000000000000\n"
            "SigBlk:\t0000008180000200\n"
            "SigIgn:\t0000010000011001\n");
}

TEST_F(Spawn, TheTaskHasTheCallersLimitsAndUmask) {
  const Ran ran =
      run_task(command({"sh", "-c", "umask; ulimit -n; cat /proc/self/oom_score_adj"}), [] {
        ::umask(0027);
        const rlimit files{77, 88};
        ::setrlimit(RLIMIT_NOFILE, &files);
        std::ofstream("/proc/self/oom_score_adj") << 123;
      });
  EXPECT_EQ(ran.out, "0027\n77\n123\n");
}

TEST_F(Spawn, TheTaskHasTheCpusThatItIsGiven) {
  const auto usable = envgen::parse_cpu_list(sys::gather_facts().cpu_list);
  ASSERT_TRUE(usable && !usable->empty());
  proc::SpawnSpec spec = command({"grep", "Cpus_allowed_list", "/proc/self/status"});
  spec.cpus = std::to_string(usable->back());
  Ran ran = run_task(spec);
  EXPECT_EQ(ran.out, "Cpus_allowed_list:\t" + spec.cpus + "\n");
  EXPECT_EQ(ran.err, "");
  // Those of a larger machine than any mask of libc's, and those that are there.
  spec.cpus += ",60000";
  ran = run_task(spec);
  EXPECT_EQ(ran.out, "Cpus_allowed_list:\t" + std::to_string(usable->back()) + "\n");
}

TEST_F(Spawn, CpusThatTheKernelRefusesAreAWarning) {
  const std::string all = "Cpus_allowed_list:\t" + sys::gather_facts().cpu_list + "\n";
  proc::SpawnSpec spec = command({"grep", "Cpus_allowed_list", "/proc/self/status"});
  for (const char* cpus : {"60000", "no list"}) {
    spec.cpus = cpus;
    const Ran ran = run_task(spec);
    EXPECT_EQ(ran.trouble, "");
    EXPECT_EQ(ran.out, all);
    EXPECT_THAT(ran.err, HasSubstr("binding grep to the CPUs " + spec.cpus +
                                   ": Invalid argument (EINVAL); it runs unbound"));
  }
}

TEST_F(Spawn, TheTaskSeesNoDescriptorButTheStandardThree) {
  // 3 is that of ls itself.
  const Ran ran = run_task(command({"ls", "/proc/self/fd"}), [] {
    ::dup2(0, 3);  // the caller's, without CLOEXEC
    ::dup2(0, 57);
    ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  });
  EXPECT_EQ(ran.out, "0\n1\n2\n3\n");
}

TEST_F(Spawn, TheMainTaskMayHaveAllThatTheCallerPassedInAndNothingOfOurs) {
  proc::SpawnSpec spec = command({"ls", "/proc/self/fd"});
  spec.callers_fds = true;
  const Ran ran = run_task(spec, [] {
    ::dup2(0, 3);
    ::dup2(0, 57);
    ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  });
  EXPECT_EQ(ran.out, "0\n1\n2\n3\n4\n57\n") << "4 is that of ls";
}

TEST_F(Spawn, ListenFdsArePassedWithThePidOfTheTask) {
  proc::SpawnSpec spec = command({"sh", "-c", "echo $LISTEN_FDS $LISTEN_PID $$; ls /proc/self/fd"},
                                 {"PATH=/usr/bin:/bin", "LISTEN_FDS=2", "LISTEN_PID=1"});
  spec.inherited_fds = 2;
  const Ran ran = run_task(spec, [] {
    for (const int fd : {3, 4, 5}) ::dup2(0, fd);
  });
  EXPECT_THAT(ran.out, MatchesRegex("2 [0-9]+ [0-9]+\n0\n1\n2\n3\n4\n5\n"));
  const std::size_t second = ran.out.rfind(' ');
  const std::string pid = ran.out.substr(second + 1, ran.out.find('\n') - second - 1);
  EXPECT_EQ(ran.out.substr(2, second - 2), pid);
}

TEST_F(Spawn, OursInAGapOfTheListenFdsAreNotPassed) {
  // 4 is free, so that the log or the start pipe becomes it.
  proc::SpawnSpec spec = command({"ls", "/proc/self/fd"});
  spec.inherited_fds = 3;
  const Ran ran = run_task(spec, [] {
    ::dup2(0, 3);
    ::dup2(0, 5);
  });
  EXPECT_EQ(ran.out, "0\n1\n2\n3\n4\n5\n") << "4 is that of ls";
  EXPECT_EQ(ran.trouble, "");
}

TEST_F(Spawn, AFailureIsReportedWithListenFdsToo) {
  proc::SpawnSpec spec = command({"/no/such"});
  spec.inherited_fds = 20;
  EXPECT_THAT(run_task(spec).trouble, HasSubstr("127 starting /no/such"));
}

TEST_F(Spawn, WithoutListenFdsLISTEN_PIDStays) {
  const Ran ran = run_task(command({"/usr/bin/env"}, {"LISTEN_PID=1", "LISTEN_FDS=1"}));
  EXPECT_EQ(ran.out, "LISTEN_PID=1\nLISTEN_FDS=1\n");
}

TEST_F(Spawn, ALoggedTaskAppendsToItsFileAndReadsNothing) {
  write("rank.log", "before\n");
  proc::SpawnSpec spec = command({"sh", "-c", "echo out; echo err >&2; cat; echo end"});
  spec.log_path = path("rank.log");
  const Ran ran = run_task(spec, [] {
    // A terminal's stand-in: reading it would find something.
    child::Pipe pipe = child::make_pipe();
    child::say(pipe.in.get(), "typed\n");
    ::dup2(pipe.out.get(), STDIN_FILENO);
  });
  EXPECT_EQ(ran.trouble, "");
  EXPECT_EQ(ran.out + ran.err, "");
  EXPECT_EQ(read(path("rank.log")), "before\nout\nerr\nend\n");
}

TEST_F(Spawn, ATaskWithoutInputReadsNothingAndInheritsItsOutput) {
  proc::SpawnSpec spec = command({"sh", "-c", "echo out; echo err >&2; cat; echo end"});
  spec.no_input = true;
  const Ran ran = run_task(spec, [] {
    child::Pipe pipe = child::make_pipe();
    child::say(pipe.in.get(), "typed\n");
    ::dup2(pipe.out.get(), STDIN_FILENO);
  });
  EXPECT_EQ(ran.out, "out\nend\n");
  EXPECT_EQ(ran.err, "err\n");
}

TEST_F(Spawn, OutputCanGoToADescriptorOfOurs) {
  proc::SpawnSpec spec = command({"sh", "-c", "echo out; echo err >&2"});
  const std::string file = write("output", "");
  const Ran ran = run_task(spec, [&] {
    // Closed by exec, as all of ours are: what the task has are its copies.
    spec.output_fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  });
  EXPECT_EQ(ran.out + ran.err, "");
  EXPECT_EQ(read(file), "out\nerr\n");
}

TEST_F(Spawn, ANewLogIsReadableForOthers) {
  proc::SpawnSpec spec = command({"true"});
  spec.log_path = path("rank.log");
  run_task(spec, [] { ::umask(0022); });
  struct stat status{};
  ASSERT_EQ(::stat(path("rank.log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644U);
}

TEST_F(Spawn, ALogThatCannotBeOpenedIsAStartFailure) {
  proc::SpawnSpec spec = command({"true"});
  spec.log_path = path("no/rank.log");
  const Ran ran = run_task(spec);
  EXPECT_EQ(ran.code, 125);
  EXPECT_EQ(ran.trouble, "125 opening the log file: " + path("no/rank.log") +
                             ": found No such file or directory (ENOENT); create its directory, "
                             "make it writable, or choose another log directory");
}

TEST_F(Spawn, StartsInItsDirectory) {
  ::mkdir(path("device0").c_str(), 0755);
  proc::SpawnSpec spec = command({"pwd"});
  spec.cwd = path("device0");
  EXPECT_EQ(run_task(spec).out, path("device0") + "\n");
  spec.cwd = path("device1");
  const Ran ran = run_task(spec);
  EXPECT_EQ(ran.code, 125);
  EXPECT_THAT(ran.trouble, HasSubstr("entering the working directory: " + path("device1") +
                                     ": found No such file or directory (ENOENT)"));
}

TEST_F(Spawn, ADeletedDirectoryIsNoObstacle) {
  const std::string gone = path("gone");
  const Ran ran = run_task(command({"sh", "-c", "exit 7"}), [&gone] {
    if (::mkdir(gone.c_str(), 0755) == 0 && ::chdir(gone.c_str()) == 0) ::rmdir(gone.c_str());
  });
  EXPECT_EQ(ran.code, 7);
}

// pid, parent, group, session, terminal, its foreground group
std::vector<std::string> fields_of_stat(const std::string& stat) {
  std::istringstream stream(stat.substr(stat.rfind(')') + 4));
  std::vector<std::string> fields = {stat.substr(0, stat.find(' '))};
  for (std::string field; stream >> field;) fields.push_back(field);
  fields.resize(6);
  return fields;
}

TEST_F(Spawn, HasAGroupOrASessionOfItsOwn) {
  proc::SpawnSpec spec = command({"cat", "/proc/self/stat"});
  auto fields = fields_of_stat(run_task(spec).out);
  EXPECT_EQ(fields[2], fields[0]);
  EXPECT_NE(fields[3], fields[0]);
  spec.new_session = true;
  fields = fields_of_stat(run_task(spec).out);
  EXPECT_EQ(fields[2], fields[0]);
  EXPECT_EQ(fields[3], fields[0]);
}

// Makes a new terminal the controlling one, and stdin. The master stays open in this process.
void take_a_terminal() {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (::grantpt(master) != 0 || ::unlockpt(master) != 0) ::_exit(99);
  ::setsid();
  const int slave = ::open(::ptsname(master), O_RDWR | O_CLOEXEC);
  if (slave < 0 || ::ioctl(slave, TIOCSCTTY, 0) != 0) ::_exit(98);
  ::dup2(slave, STDIN_FILENO);
}

TEST_F(Spawn, GetsTheTerminalWhenItIsInTheForeground) {
  proc::SpawnSpec spec = command({"cat", "/proc/self/stat"});
  auto fields = fields_of_stat(run_task(spec, take_a_terminal).out);
  EXPECT_EQ(fields[5], fields[3]) << "still the session leader's, which is the init";
  spec.foreground = true;
  fields = fields_of_stat(run_task(spec, take_a_terminal).out);
  EXPECT_EQ(fields[5], fields[0]);
}

TEST_F(Spawn, DoesNotTakeATerminalThatIsNotOurs) {
  // As after `trainit job &` in a shell: the init's group is in the background.
  proc::SpawnSpec spec = command({"cat", "/proc/self/stat"});
  spec.foreground = true;
  const Ran ran = run_task(spec, [] {
    take_a_terminal();
    const pid_t pid = ::fork();
    if (pid != 0) ::_exit(child::wait_for(pid));
    ::setpgid(0, 0);
  });
  const auto fields = fields_of_stat(ran.out);
  EXPECT_EQ(ran.trouble, "");
  EXPECT_EQ(fields[5], fields[3]);
}

TEST_F(Spawn, WithoutATerminalForegroundIsNothing) {
  proc::SpawnSpec spec = command({"true"});
  spec.foreground = true;
  EXPECT_EQ(run_task(spec, [] { ::setsid(); }).trouble, "");
}

TEST_F(Spawn, DiesWithAnInitThatIsKilled) {
  child::Pipe held = child::make_pipe();
  child::Pipe never = child::make_pipe();
  const pid_t init = ::fork();
  if (init == 0) {
    ::dup2(never.out.get(), STDIN_FILENO);
    ::dup2(held.in.get(), STDOUT_FILENO);
    const proc::SavedSignals saved = proc::take_over_signals();
    proc::SpawnSpec spec = command({"sh", "-c", "echo started; exec cat"});
    spec.die_with_parent = true;
    const auto spawned = proc::spawn(spec, saved);
    ::close(STDOUT_FILENO);
    held.in.reset();
    if (spawned) child::wait_for(spawned->pid);
    ::_exit(0);
  }
  held.in.reset();
  std::array<char, 8> text{};
  ASSERT_EQ(::read(held.out.get(), text.data(), text.size()), 8);
  ::kill(init, SIGKILL);
  child::wait_for(init);
  EXPECT_EQ(child::read_to_end(held.out.get()), "") << "ends when the task has ended";
}

TEST_F(Spawn, AChildThatHangsBeforeItsProgramDoesNotHoldUsUp) {
  // Opening a FIFO that nobody reads stands for a log or a program on a dead mount.
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0644), 0);
  const auto outcome = child::run([this] {
    const proc::SavedSignals saved = proc::take_over_signals();
    proc::SpawnSpec spec = command({"true"});
    spec.log_path = path("fifo");
    const auto spawned = proc::spawn(spec, saved);
    if (!spawned) return 1;
    proc::StartFailure failure;
    if (proc::read_start(spawned->start_pipe, &failure) != StartState::kPending) return 2;
    ::kill(spawned->pid, SIGKILL);
    if (child::wait_for(spawned->pid) != 128 + SIGKILL) return 3;
    return proc::read_start(spawned->start_pipe, &failure) == StartState::kRunning ? 0 : 4;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(Spawn, ASignalBeforeTheProgramRunsIsNotLost) {
  // The child blocks all until its last step; what comes meanwhile is pending and then works.
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0644), 0);
  const auto outcome = child::run([this] {
    const proc::SavedSignals saved = proc::take_over_signals();
    proc::SpawnSpec spec = command({"true"});
    spec.log_path = path("fifo");
    const auto spawned = proc::spawn(spec, saved);
    if (!spawned) return 1;
    ::kill(spawned->pid, SIGTERM);
    const sys::Fd reader(::open(path("fifo").c_str(), O_RDONLY | O_CLOEXEC));
    return child::wait_for(spawned->pid);
  });
  EXPECT_EQ(outcome.code, 128 + SIGTERM);
}

TEST_F(Spawn, AProcessLimitIsNamed) {
  const Ran ran = run_task(command({"true"}), [] {
    constexpr unsigned kUid = 64'322;
    if (child::is_root() && (::setgid(kUid) != 0 || ::setuid(kUid) != 0)) ::_exit(99);
    const rlimit none{1, 1};
    ::setrlimit(RLIMIT_NPROC, &none);
  });
  EXPECT_EQ(ran.code, 125);
  EXPECT_THAT(ran.trouble,
              MatchesRegex("fork starting true: fork: found Resource temporarily unavailable "
                           "\\(EAGAIN\\), a limit on processes: RLIMIT_NPROC is 1.*; raise the "
                           "pids limit of the container or the user's RLIMIT_NPROC .*"));
}

TEST_F(Spawn, ADescriptorLimitIsNamed) {
  const auto outcome = child::run([] {
    const proc::SavedSignals saved = proc::take_over_signals();
    const proc::SpawnSpec spec = command({"true"});
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const rlimit few{4, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const auto spawned = proc::spawn(spec, saved);
    ::setrlimit(RLIMIT_NOFILE, &before);
    if (!spawned) std::fputs(to_line(spawned.error()).c_str(), stdout);
    return 0;
  });
  EXPECT_EQ(outcome.out,
            "starting true: pipe: found Too many open files (EMFILE); raise RLIMIT_NOFILE "
            "(ulimit -n)");
}

TEST_F(Spawn, SharingMemoryChangesNothingForTheTask) {
  proc::SpawnSpec spec =
      command({"sh", "-c", "echo $A; ls /proc/self/fd; exit 5"}, {"PATH=/usr/bin:/bin", "A=1"});
  spec.share_memory = true;
  const Ran ran = run_task(spec, [] { ::dup2(0, 57); });
  EXPECT_EQ(ran.trouble, "");
  EXPECT_EQ(ran.out, "1\n0\n1\n2\n3\n");
  EXPECT_EQ(ran.code, 5);
}

TEST_F(Spawn, SharingMemoryReportsFailuresAtOnce) {
  const auto outcome = child::run([] {
    const proc::SavedSignals saved = proc::take_over_signals();
    proc::SpawnSpec spec = command({"/no/such"});
    spec.share_memory = true;
    const auto spawned = proc::spawn(spec, saved);
    proc::StartFailure failure;
    if (!spawned || proc::read_start(spawned->start_pipe, &failure) != StartState::kFailed)
      return 1;
    return failure.exit_code == 127 && child::wait_for(spawned->pid) == 127 ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

class Exec : public child::Scratch {
 protected:
  // A program of this machine, changed.
  [[nodiscard]] std::string copy_of_true(const std::string& name,
                                         const std::function<void(std::string*)>& change) const {
    std::string program = read("/bin/true");
    change(&program);
    return write(name, program, 0755);
  }
};

TEST_F(Exec, AMissingProgramIs127WithWhereItWasLookedFor) {
  Ran ran = run_task(command({"no-such-program"}, {"PATH=/usr/bin:/bin"}));
  EXPECT_EQ(ran.code, 127);
  EXPECT_EQ(ran.trouble,
            "127 starting no-such-program: found no such program in PATH=/usr/bin:/bin; "
            "install no-such-program in the image, or give its path");
  ran = run_task(command({path("missing")}));
  EXPECT_EQ(ran.code, 127);
  EXPECT_EQ(ran.trouble, "127 starting " + path("missing") + ": " + path("missing") +
                             ": found no such file; correct the path");
  ran = run_task(command({"./missing"}));
  EXPECT_THAT(ran.trouble, HasSubstr("which counts from the working directory"));
  EXPECT_EQ(run_task(command({write("file", "") + "/x"})).code, 127);
  EXPECT_EQ(run_task(command({""})).code, 127);
  EXPECT_EQ(run_task(command({})).code, 127);
}

TEST_F(Exec, ALongPathIsToldInShort) {
  std::string search_path = "/usr/bin";
  for (int i = 0; i < 20; ++i) search_path += ":/opt/tools-" + std::to_string(i) + "/bin";
  const std::string trouble =
      run_task(command({"no-such-program"}, {"PATH=" + search_path})).trouble;
  EXPECT_THAT(trouble, AllOf(HasSubstr("PATH=/usr/bin:/opt/tools-0/bin:"),
                             HasSubstr(":... (21 directories)"), Not(HasSubstr("tools-9"))));
}

TEST_F(Exec, ACommandLineInOneWordIsToldSo) {
  for (const char* line : {"python train.py", "/usr/bin/env python train.py"}) {
    const Ran ran = run_task(command({line}, {"PATH=/bin"}));
    EXPECT_EQ(ran.code, 127);
    EXPECT_THAT(ran.trouble, HasSubstr(std::string("give each word by itself (") + line));
  }
}

TEST_F(Exec, AProgramThatLiesHereButNotInPathIsNamedByItsPath) {
  write("tool", "#!/bin/sh\n", 0755);
  write("train.py", "print(1)\n");
  for (const auto& [name, advice] :
       {std::pair("tool", "give its path, ./tool"),
        std::pair("train.py", "start it by its interpreter: python3 train.py"),
        std::pair("gone.py", "start it by its interpreter: python3 gone.py")}) {
    proc::SpawnSpec spec = command({name}, {"PATH=/bin"});
    spec.cwd = path("");
    const Ran ran = run_task(spec);
    EXPECT_EQ(ran.code, 127);
    EXPECT_THAT(ran.trouble, HasSubstr(advice));
  }
}

TEST_F(Exec, APythonScriptIsNeverReadByTheShell) {
  const std::string script = write("train.py", "import os\n", 0755);
  const Ran ran = run_task(command({script}));
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble, AllOf(HasSubstr("a script without a #! line"),
                                 HasSubstr("start it by its interpreter: python3 " + script)));
  const std::string closed = write("closed.py", "#!/usr/bin/python3\n", 0644);
  EXPECT_THAT(run_task(command({closed})).trouble,
              HasSubstr("start it by its interpreter: python3 " + closed));
}

TEST_F(Exec, PathIsThatOfTheTask) {
  ::mkdir(path("bin").c_str(), 0755);
  write("bin/tool", "#!/bin/sh\necho found\n", 0755);
  EXPECT_EQ(run_task(command({"tool"}, {"PATH=/bin:" + path("bin")})).out, "found\n");
  EXPECT_EQ(run_task(command({"sh", "-c", "exit 3"}, {})).code, 3) << "without PATH";
}

TEST_F(Exec, AnEmptyElementOfPathIsTheWorkingDirectory) {
  write("tool", "#!/bin/sh\necho found\n", 0755);
  proc::SpawnSpec spec = command({"tool"}, {"PATH=/nowhere:"});
  spec.cwd = path("");
  EXPECT_EQ(run_task(spec).out, "found\n");
}

TEST_F(Exec, GoesOnAfterAFileThatIsNotExecutable) {
  ::mkdir(path("a").c_str(), 0755);
  ::mkdir(path("b").c_str(), 0755);
  write("a/tool", "#!/bin/sh\necho a\n", 0644);
  const std::vector<std::string> env = {"PATH=" + path("a") + ":" + path("b")};
  const Ran denied = run_task(command({"tool"}, env));
  EXPECT_EQ(denied.code, 126);
  EXPECT_THAT(denied.trouble, MatchesRegex("126 starting tool: .*/a/tool: found mode 0644, not "
                                           "executable for uid [0-9]+; chmod \\+x it, or .*"));
  write("b/tool", "#!/bin/sh\necho b\n", 0755);
  EXPECT_EQ(run_task(command({"tool"}, env)).out, "b\n");
}

TEST_F(Exec, ADirectoryIs126) {
  const Ran ran = run_task(command({path("")}));
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble, HasSubstr("found a directory; name the program itself"));
}

TEST_F(Exec, AScriptWithoutAFirstLineIsRunByTheShell) {
  const std::string script = write("script", "echo \"$0 $1\"\n", 0755);
  EXPECT_EQ(run_task(command({script, "x y"})).out, script + " x y\n");
}

TEST_F(Exec, AMissingInterpreterIsNamed) {
  const Ran ran = run_task(command({write("script", "#!/no/such -x\n", 0755)}));
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble, HasSubstr("found a script whose interpreter /no/such gives No such file "
                                     "or directory (ENOENT); install the interpreter"));
}

TEST_F(Exec, WindowsLineEndsAreNamed) {
  const Ran ran = run_task(command({write("script", "#!/bin/sh\r\necho x\r\n", 0755)}));
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble, HasSubstr("found Windows line ends: its interpreter is \"/bin/sh\\r\""));
}

TEST_F(Exec, AMissingLoaderIsNamed) {
  const std::string program = copy_of_true("program", [](std::string* bytes) {
    const std::size_t loader = bytes->find("/ld-linux");
    ASSERT_NE(loader, std::string::npos);
    (*bytes)[loader + 1] = 'X';
  });
  const Ran ran = run_task(command({program}));
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble,
              MatchesRegex(".*found a program whose dynamic loader .*/Xd-linux.* gives "
                           "No such file or directory \\(ENOENT\\); use an image .*"));
}

TEST_F(Exec, AnotherMachinesProgramIsNamed) {
  const std::string program = copy_of_true("program", [](std::string* bytes) {
    const Elf64_Half machine = EM_S390;
    std::memcpy(bytes->data() + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof machine);
  });
  const Ran ran = run_task(command({program}));
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble, HasSubstr("found a program for s390x on a machine of "));
}

TEST_F(Exec, ABinaryFileIsNotGivenToTheShell) {
  const Ran ran = run_task(command({write("data", std::string("echo\0x", 6), 0755)}));
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble, HasSubstr("found a binary file that is no program for this kernel"));
}

TEST_F(Exec, AnArgumentThatIsTooLongIsMeasured) {
  const Ran ran = run_task(command({"true", std::string(200'000, 'x')}));
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble, HasSubstr("the longest of 200000 (xxxx"));
}

TEST_F(Exec, AFileThatIsBeingWrittenIsNamed) {
  const std::string program = copy_of_true("program", [](std::string*) {});
  const sys::Fd writer(::open(program.c_str(), O_WRONLY | O_CLOEXEC));
  const Ran ran = run_task(command({program}));
  // Linux 6.11 to 6.13 allowed it.
  if (ran.code == 0) GTEST_SKIP() << "this kernel does not mind";
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble, HasSubstr("found a file that is still open for writing"));
}

TEST_F(Exec, ANoexecMountIsNamed) {
  ::mkdir(path("disk").c_str(), 0755);
  const child::OwnMounts mounts;
  if (!mounts.add_tmpfs(path("disk"), MS_NOEXEC)) {
    GTEST_SKIP() << "mount: " << std::strerror(errno);
  }
  const Ran ran = run_task(command({write("disk/script", "#!/bin/sh\n", 0755)}));
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble, HasSubstr("found a file system mounted noexec; mount it exec"));
}

TEST_F(Exec, ADirectoryOnTheWayThatMayNotBeSearchedIsNamed) {
  ::chmod(path("").c_str(), 0755);
  ::mkdir(path("closed").c_str(), 0755);
  const std::string script = write("closed/script", "#!/bin/sh\n", 0755);
  ::chmod(path("closed").c_str(), 0600);
  const Ran ran = run_task(command({script}), [] {
    if (child::is_root() && !child::become_nobody()) ::_exit(99);
  });
  const Ran searched = run_task(command({"script"}, {"PATH=" + path("closed")}), [] {
    if (child::is_root() && !child::become_nobody()) ::_exit(99);
  });
  ::chmod(path("closed").c_str(), 0700);
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble, HasSubstr("found the directory " + path("closed") + ", which uid "));
  EXPECT_EQ(searched.code, 126) << "as with execvp";
  EXPECT_THAT(searched.trouble, AllOf(HasSubstr("behind the directory " + path("closed")),
                                      HasSubstr("open it (chmod o+x), or install script")));
}

// The misspelt name can also be in the closed directory, so the exit code is that of execvp.
TEST_F(Exec, BehindAClosedDirectoryTheNearestProgramIsNamed) {
  ::chmod(path("").c_str(), 0755);
  for (const char* name : {"closed", "open"}) ::mkdir(path(name).c_str(), 0755);
  write("open/python3", "#!/bin/sh\n", 0755);
  ::chmod(path("closed").c_str(), 0600);
  const Ran ran =
      run_task(command({"pyhton3"}, {"PATH=" + path("closed") + ":" + path("open")}), [] {
        if (child::is_root() && !child::become_nobody()) ::_exit(99);
      });
  ::chmod(path("closed").c_str(), 0700);
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.trouble,
              AllOf(HasSubstr("behind the directory " + path("closed")),
                    HasSubstr("did you mean python3? If not, open it (chmod o+x), or install")));
}

TEST(GiveHint, AHintReplacesTheAdviceOnlyOfANameThatIsMissing) {
  proc::StartFailure missing{126, {"", "", "", "install it"}, true};
  proc::give_hint(missing, "");
  EXPECT_EQ(missing.error.fix, "install it");
  proc::give_hint(missing, "did you mean x?");
  EXPECT_EQ(missing.error.fix, "did you mean x?");
  proc::StartFailure denied{126, {"", "", "", "chmod it"}};
  proc::give_hint(denied, "did you mean x?");
  EXPECT_EQ(denied.error.fix, "chmod it");
}

TEST_F(Exec, AnEmptyPathIsTheWorkingDirectory) {
  write("tool", "#!/bin/sh\necho found\n", 0755);
  proc::SpawnSpec spec = command({"tool"}, {"PATH="});
  spec.cwd = path("");
  EXPECT_EQ(run_task(spec).out, "found\n");
  const Ran ran = run_task(command({"no-such-program"}, {"PATH="}));
  EXPECT_EQ(ran.code, 127);
  EXPECT_THAT(ran.trouble, HasSubstr("no such program in PATH=; install"));
}

// As uv leaves them below /root: the environment's python, and the interpreter of its scripts.
TEST_F(Exec, ADirectoryBehindALinkThatMayNotBeSearchedIsNamed) {
  ::chmod(path("").c_str(), 0755);
  for (const char* name : {"closed", "closed/bin", "venv"}) ::mkdir(path(name).c_str(), 0755);
  const std::string python = write("closed/bin/python3", "#!/bin/sh\n", 0755);
  write("venv/tool", "#!" + path("venv/python") + "\n", 0755);
  ::symlink("../closed/bin", path("venv/bin").c_str());
  ::symlink("bin/python3", path("venv/python").c_str());
  ::chmod(path("closed").c_str(), 0700);
  const auto as_nobody = [] {
    if (child::is_root() && !child::become_nobody()) ::_exit(99);
  };
  if (!child::is_root()) ::chmod(path("closed").c_str(), 0600);
  const std::string closed = "the directory " + path("venv/../closed") + ", which uid ";
  const std::string search_path = "PATH=/nowhere:" + path("venv");
  for (const std::string& program :
       {path("venv/python"), std::string("python"), path("venv/tool"), std::string("tool")}) {
    const Ran ran = run_task(command({program}, {search_path}), as_nobody);
    EXPECT_EQ(ran.code, 126) << program;
    EXPECT_THAT(ran.trouble, HasSubstr(closed)) << program;
    EXPECT_THAT(ran.trouble, Not(HasSubstr("install python"))) << program;
  }
  // A later one is taken, as execvp does.
  write("python", "#!/bin/sh\nexit 7\n", 0755);
  EXPECT_EQ(run_task(command({"python"}, {search_path + ":" + path("")}), as_nobody).code, 7);
  ::chmod(path("closed").c_str(), 0700);
}

TEST_F(Exec, ALongMessageStillFitsTheRecord) {
  const std::string name(9000, 'n');
  const Ran ran = run_task(command({"/" + name}));
  EXPECT_EQ(ran.code, 127);
  EXPECT_THAT(ran.trouble, HasSubstr("starting /nnn"));
}

TEST(ReadStart, ADamagedRecordIsAFailureOfOurOwn) {
  for (const std::string& record :
       {std::string("x"), std::string(20, '\xff'), std::string(20, '\0'), std::string(4096, 'a')}) {
    child::Pipe pipe = child::make_pipe();
    child::say(pipe.in.get(), record);
    proc::StartFailure failure;
    EXPECT_EQ(proc::read_start(pipe.out, &failure), StartState::kFailed);
    EXPECT_EQ(failure.exit_code, 125);
    EXPECT_EQ(failure.error.found, "a damaged record");
  }
}

int run_worker(const std::function<int()>& body, const std::function<void()>& before = [] {}) {
  before();
  const proc::SavedSignals saved = proc::take_over_signals();
  sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
  const auto worker = proc::fork_worker(saved, -1, body);
  return worker ? child::wait_for(*worker) : 99;
}

TEST(ForkWorker, ExitsWithTheResult) {
  EXPECT_EQ(child::run([] { return run_worker([] { return 42; }); }).code, 42);
}

TEST(ForkWorker, AnExceptionIsLoggedAndBecomes125) {
  const auto outcome = child::run(
      [] { return run_worker([]() -> int { child::end_by(std::runtime_error("no luck")); }); });
  EXPECT_EQ(outcome.code, 125);
  EXPECT_EQ(outcome.err, "trainit: error: a worker process failed: no luck\n");
  EXPECT_EQ(child::run([] { return run_worker([]() -> int { child::end_by(1); }); }).code, 125);
}

TEST(ForkWorker, KeepsOnlyTheDescriptorItIsGiven) {
  const auto outcome = child::run([] {
    const proc::SavedSignals saved = proc::take_over_signals();
    child::Pipe pipe = child::make_pipe();
    const sys::Fd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(0, 57);
    const auto worker = proc::fork_worker(saved, pipe.in.get(), [&] {
      for (const int fd : {pipe.out.get(), other.get(), 57}) {
        if (::fcntl(fd, F_GETFD) >= 0) return 1;
      }
      child::say(pipe.in.get(), "kept");
      return 0;
    });
    pipe.in.reset();
    if (!worker || child::read_to_end(pipe.out.get()) != "kept") return 2;
    return child::wait_for(*worker);
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(ForkWorker, HasTheCallersSignalsAndAGroupOfItsOwn) {
  const auto outcome = child::run([] {
    return run_worker(
        [] {
          sigset_t blocked;
          ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
          if (::sigismember(&blocked, SIGUSR1) != 1) return 1;
          if (::sigismember(&blocked, SIGTERM) != 0) return 2;
          if (!proc::outlives(SIGUSR1) || !proc::outlives(SIGTERM)) return 4;
          return ::getpgrp() == ::getpid() ? 0 : 3;
        },
        [] {
          sigset_t one;
          ::sigemptyset(&one);
          ::sigaddset(&one, SIGUSR1);
          ::sigprocmask(SIG_SETMASK, &one, nullptr);
        });
  });
  EXPECT_EQ(outcome.code, 0);
}

// As Slurm signals each process of a step.
TEST(ForkWorker, OutlivesTheSignalsThatAreMeantForTheJob) {
  const auto outcome = child::run([] {
    const proc::SavedSignals saved = proc::take_over_signals();
    child::Pipe up = child::make_pipe();
    child::Pipe down = child::make_pipe();
    const std::array kept{up.in.get(), down.out.get()};
    const auto worker = proc::fork_worker(saved, kept, [&] {
      child::say(up.in.get(), "up");
      return child::read_to_end(down.out.get()) == "go on" ? 7 : 8;
    });
    std::array<char, 2> text{};
    if (!worker || ::read(up.out.get(), text.data(), text.size()) != 2) return 1;
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
      ::kill(*worker, signal);
    }
    child::say(down.in.get(), "go on");
    down.in.reset();
    return child::wait_for(*worker);
  });
  EXPECT_EQ(outcome.code, 7);
}

TEST(ForkWorker, WhatItExecutesDiesOfThemAsUsual) {
  const int code = child::run([] {
                     return run_worker([] {
                       ::execl("/bin/sh", "sh", "-c", "kill -USR1 $$; exit 3", nullptr);
                       return 1;
                     });
                   }).code;
  EXPECT_EQ(code, 128 + SIGUSR1);
}

TEST(ForkWorker, DiesWithItsParent) {
  child::Pipe held = child::make_pipe();
  const pid_t init = ::fork();
  if (init == 0) {
    const proc::SavedSignals saved = proc::take_over_signals();
    const auto worker = proc::fork_worker(saved, held.in.get(), [&held] {
      child::say(held.in.get(), "started");
      ::pause();
      return 0;
    });
    held.in.reset();
    if (worker) child::wait_for(*worker);
    ::_exit(0);
  }
  held.in.reset();
  std::array<char, 7> text{};
  ASSERT_EQ(::read(held.out.get(), text.data(), text.size()), 7);
  ::kill(init, SIGKILL);
  child::wait_for(init);
  EXPECT_EQ(child::read_to_end(held.out.get()), "") << "ends when the worker has ended";
}

}  // namespace
