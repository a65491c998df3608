// Datasets (--data) whose source hangs in the kernel, whose disk fails, and whose end comes at an
// odd moment. What is usual is in tests/rules/data_test.cc.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>

#include "init/sys/clock.h"
#include "tests/rules/isolation.h"
#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::shell;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;
using testing::Not;

class DataJob : public rules::JobTest {
 protected:
  DataJob() {
    for (const char* name : {"mnt", "mnt/imagenet", "mnt/imagenet/part", "cache", "hooks"}) {
      ::mkdir(path(name).c_str(), 0755);
    }
    write("mnt/imagenet/train.bin", "of imagenet");
  }

  [[nodiscard]] Spec copying(const Words& options, const Words& command) const {
    const Words all = {"--data",      path("mnt/imagenet"), "--data-root",
                       path("cache"), "--data-headroom",    "0",
                       "--hooks-dir", path("hooks")};
    return spec(joined(joined(all, options), joined({"--"}, command)));
  }
  void hook(const std::string& event, const std::string& script) const {
    ASSERT_TRUE(sys::make_directories(path("hooks/" + event + ".d"), 0755));
    write("hooks/" + event + ".d/10-hook", "#!/bin/sh\n" + script + "\n", 0755);
  }
  // Open for both, so that nobody waits for its other end.
  [[nodiscard]] sys::Fd make_fifo(const std::string& name) const {
    EXPECT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
    return sys::Fd(::open(path(name).c_str(), O_RDWR | O_CLOEXEC));
  }
  // Until the state says so.
  void await_state(const std::string& text) const {
    await_file("run", "state.json");
    Instance watch({.args = {"status", "--json", "--watch"}, .env = env(), .pid1 = false});
    ASSERT_TRUE(watch.await_out(text));
  }
};

// --- A file system whose server never answers ---

// The parameter: what of the source hangs.
class DataHang : public DataJob, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (!child::is_root() || !rules::may_unshare()) GTEST_SKIP() << "mounting takes root";
    if (::access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "no /dev/fuse";
    const auto tried = child::run([this] {
      if (::unshare(CLONE_NEWNS) != 0) return 1;
      ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
      return hang() ? 0 : 1;
    });
    if (tried.code != 0) GTEST_SKIP() << "no FUSE here";
  }
  // In the mount namespace of the caller, for as long as it lives, also as another program.
  [[nodiscard]] bool hang() const {
    const int server = ::open("/dev/fuse", O_RDWR);
    const std::string options =
        "fd=" + std::to_string(server) + ",rootmode=40000,user_id=0,group_id=0";
    return ::mount("none", path(GetParam()).c_str(), "fuse", 0, options.c_str()) == 0;
  }
  [[nodiscard]] Spec hanging(const Words& options, const Words& command) const {
    Spec spec = copying(options, command);
    spec.before = [this] {
      if (!hang()) ::_exit(rules::kCannotStart);
    };
    return spec;
  }
};
INSTANTIATE_TEST_SUITE_P(Where, DataHang, testing::Values("mnt/imagenet", "mnt/imagenet/part"),
                         [](const auto& value) {
                           return std::string(value.param).ends_with("part") ? "Below" : "Itself";
                         });

TEST_P(DataHang, IsReadAtItsSourceWhenTheTimeIsOver) {
  const Result result = rules::run(
      hanging({"--data-timeout", "300ms"}, shell("echo $TRAINIT_DATASET_IMAGENET; exit 4")));
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_EQ(result.out, path("mnt/imagenet") + "\n");
  EXPECT_THAT(result.err, HasSubstr("; the job reads " + path("mnt/imagenet") + " instead"));
}

TEST_P(DataHang, EndsTheJobWhenTheTimeIsOverWhereThatIsAskedFor) {
  const Result result = rules::run(
      hanging({"--data-timeout", "300ms", "--data-on-failure", "fail"}, {"echo", "started"}));
  EXPECT_EQ(result.code, 69) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST_P(DataHang, IsStoppedAtOnce) {
  Instance instance(hanging({"--grace", "10m"}, {"echo", "started"}));
  await_state("\"state\": \"scanning\"");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << "within a minute";
  EXPECT_EQ(instance.out(), "");
}

// --- A disk that does not take it ---

TEST_F(DataJob, IsSyncedBeforeItIsUsedWhereThatIsAskedFor) {
  const auto on_bad_disk = [this](const Words& options) {
    Spec spec = copying(joined(options, {"--data-on-failure", "fail"}), {"echo", "started"});
    spec.before = [] { rules::refuse_calls({SYS_syncfs}, EIO); };
    return rules::run(spec);
  };
  const Result refused = on_bad_disk({"--durable"});
  EXPECT_EQ(refused.code, 125);
  EXPECT_THAT(refused.err, HasSubstr("Input/output error (EIO)"));
  const Result plain = on_bad_disk({});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_THAT(plain.err, HasSubstr("data imagenet: copied"));
}

// --- Odd moments ---

// Of a process, in clock ticks.
long processor_time(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  constexpr int kBefore = 11;  // of the name and of the two that are wanted
  std::string skipped;
  for (int i = 0; i < kBefore; ++i) fields >> skipped;
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return user + system;
}

// The time of the copy passes after it was stopped, while the rest of the job takes its time.
TEST_F(DataJob, StoppedBeforeItsTimeIsOverLeavesNothingToDo) {
  EXPECT_EQ(rules::run(copying({"--data-version", "1"}, {"true"})).code, 0);
  const sys::Fd go = make_fifo("go");
  hook("post-stop", "echo stopping; read x < $HERE/go");
  const std::string root = path("cache/trainit-datasets");
  const std::string key = child::run([&root] {
                            ::execlp("ls", "ls", root.c_str(), nullptr);
                            return 127;
                          }).out;
  const std::string entry = root + "/" + key.substr(0, key.find('\n'));
  const sys::Fd other(::open((entry + ".lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(sys::remove_tree(entry));
  ASSERT_EQ(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
  // A machine on which the time was over before the stop gets more of it.
  for (const std::int64_t timeout_ms : {1500, 20'000}) {
    const std::int64_t begin_ms = sys::monotonic_ms();
    Instance instance(copying({"--data-version", "1", "--data-timeout",
                               std::to_string(timeout_ms) + "ms", "--grace", "10m"},
                              {"sleep", "600"}));
    ASSERT_TRUE(instance.await_err("another job copies it, waiting"));
    instance.signal(SIGTERM);
    const bool in_time = sys::monotonic_ms() < begin_ms + timeout_ms;
    ASSERT_TRUE(instance.await_err("stopping"));
    if (!in_time) {
      child::say(go.get(), "\n");
      instance.wait();
      continue;
    }
    constexpr int kKillMs = 4000;  // what its kill may take
    ::poll(nullptr, 0, static_cast<int>(timeout_ms) + kKillMs);
    constexpr long kTicks = 40;  // it would turn without a pause
    EXPECT_LT(processor_time(instance.pid()), kTicks);
    child::say(go.get(), "\n");
    EXPECT_EQ(instance.wait(), 143) << instance.err();
    EXPECT_THAT(instance.err(), Not(HasSubstr("first failure")));
    return;
  }
  FAIL() << "none was stopped before its time was over";
}

// The plan, which has the hooks, is still being made.
TEST_F(DataJob, ThatFailsEarlyRunsTheHooksOfAFailure) {
  const sys::Fd go = make_fifo("go");
  hook("on-failure", "echo ran > $HERE/hook");
  for (const char* part : {"conda/conda-meta", "conda/bin", "conda/etc/conda/activate.d"}) {
    ASSERT_TRUE(sys::make_directories(path(part), 0755));
  }
  write("conda/etc/conda/activate.d/slow.sh", "read x < $HERE/go\n");
  Spec spec = copying({"--data", path("mnt/absent"), "--data-on-failure", "fail", "--conda-dir",
                       path("conda"), "--conda-env", path("conda")},
                      {"echo", "started"});
  Instance instance(spec);
  await_state("\"state\": \"failed\"");
  child::say(go.get(), "\n");
  EXPECT_EQ(instance.wait(), 125) << instance.err();
  EXPECT_EQ(instance.out(), "");
  EXPECT_THAT(instance.err(), HasSubstr("first failure: data absent: "));
  EXPECT_EQ(read(path("hook")), "ran\n");
}

}  // namespace
