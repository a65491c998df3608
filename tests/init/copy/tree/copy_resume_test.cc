// A copy that was killed, and is continued; a source that changes meanwhile.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <functional>

#include "init/copy/file_times.h"
#include "init/sys/boot.h"
#include "init/sys/fd.h"
#include "tests/init/copy/tree/copy_job.h"
#include "tests/test_timeout.h"

namespace {

using copy_job::shell;
using testing::HasSubstr;

class CopyResume : public copy_job::Fill {
 protected:
  // Runs a copy in a process of its own, which is killed when `done` has come so far. Afterwards
  // none of its processes is left.
  void kill_at(const std::atomic<std::uint64_t>& done, std::uint64_t so_far) {
    counters_->get().entries = 0;
    counters_->get().bytes = 0;
    child::Pipe alive = child::make_pipe();
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(fill() ? 0 : 1);
    alive.in.reset();
    pollfd end{alive.out.get(), POLLIN, 0};
    while (done < so_far && ::poll(&end, 1, 0) == 0) ::sched_yield();
    ::kill(pid, SIGKILL);
    child::wait_for(pid);
    EXPECT_EQ(child::read_to_end(alive.out.get()), "");
  }
};

// A run that was killed had more processes than could be started this time: what its last ones have
// noted is of that run.
TEST_F(CopyResume, AManifestOfAnEarlierRunIsNoPartOfThisOne) {
  make("echo x >file");
  age();
  ASSERT_EQ(::mkdir(state().c_str(), 0700), 0);
  write("state/manifest.7", "f 1 1 644 1 - of-an-earlier-run\n");
  options_.workers = 8;
  const auto outcome = child::run([this] {
    // The limit is one of all processes of a user: this one has no others.
    const uid_t nobody_else = 100'000 + static_cast<uid_t>(::getpid());
    constexpr rlimit kFew{3, 3};
    for (const std::string& ours : {path(""), state(), state() + "/manifest.7"}) {
      if (::chown(ours.c_str(), nobody_else, nobody_else) != 0) return 77;
    }
    if (::setrlimit(RLIMIT_NPROC, &kFew) != 0 || ::setuid(nobody_else) != 0) return 77;
    return fill() ? 0 : 1;
  });
  if (outcome.code == 77) GTEST_SKIP() << "may not be another user";
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(shell("grep -c of-an-earlier-run '" + state() + "/manifest' || true"), "0\n");
  EXPECT_EQ(shell("cat '" + tree() + "/file'"), "x\n");
}

TEST_F(CopyResume, KeepsWhatIsProven) {
  make("mkdir a b; for i in {1..300}; do echo $i >a/$i; done; echo 1 >b/x; ln -s x b/l");
  age();
  copy_well();
  copy_well();
  EXPECT_EQ(counters().kept_entries, 302U);
  expect_copy();
}

TEST_F(CopyResume, GoesOnAtAnyPoint) {
  make(
      "for d in {1..8}; do mkdir $d; for i in {1..40}; do echo $d$i >$d/$i; done; done; "
      "ln 1/1 8/one; ln 2/2 7/two; ln -s x 3/link");
  age();
  for (const std::uint64_t entries : {0U, 9U, 100U, 325U}) {
    kill_at(counters().entries, entries);
    copy_well();
    expect_copy();
    shell("rm -rf '" + tree() + "' '" + state() + "'");
  }
}

TEST_F(CopyResume, GoesOnInALargeFile) {
  make("yes | head -c 270000000 >file || true");
  age();
  kill_at(counters().bytes, 200'000'000);
  copy_well();
  EXPECT_GT(counters().kept_bytes, 0U);
  expect_copy();
}

TEST_F(CopyResume, GoesOnInTheOneFileThatIsCopied) {
  make("yes | head -c 270000000 >file || true");
  age();
  only_ = "file";
  kill_at(counters().bytes, 200'000'000);
  EXPECT_NE(::access(tree().c_str(), F_OK), 0);
  copy_well();
  EXPECT_GT(counters().kept_bytes, 0U);
  shell("cmp '" + source() + "/file' '" + tree() + "'");
}

TEST_F(CopyResume, CopiesAgainWhatIsOnlyHalfThere) {
  make("echo whole >a; echo 12345 >b; echo mode >c; echo 1 >d");
  age();
  copy_well();
  // As a process leaves it that is killed while it writes, and whatever else may lie there.
  shell("cd '" + tree() +
        "'; truncate -s 3 a; echo 54321 >b; chmod 600 c; rm d; mkdir -p d/e/f; "
        "touch d/e/f/g; mkdir -p more/of; ln -s x other");
  copy_well();
  expect_copy();
}

TEST_F(CopyResume, RemovesWhatHasGoneFromTheSource) {
  make("mkdir -p a/b c; echo 1 >a/b/1; echo 2 >c/2; ln -s x l");
  age();
  copy_well();
  make("rm -r a l; echo 3 >l; mkdir a; ln -s c a/b");
  copy_well();
  expect_copy();
}

TEST_F(CopyResume, DoesNotTrustWhatACrashOfTheMachineMayHaveTaken) {
  make("echo 12345 >a; echo 67890 >b");
  age();
  copy_well();
  // The data that was not synced, with the attributes that were.
  shell("cd '" + tree() +
        "'; touch -r a time; printf '\\0\\0' | "
        "dd of=a conv=notrunc status=none; touch -r time a; rm time; sed -i 's/^[^ ]*/other/' '" +
        state() + "/boot'");
  copy_well();
  expect_copy();
}

TEST_F(CopyResume, SeesAFileWhoseTimeWasSetBack) {
  make("echo 12345 >a; echo 67890 >b");
  age();
  copy_well();
  make("touch -r a ../time; echo 54321 >a; touch -r ../time a");
  copy_well();
  expect_copy();
}

TEST_F(CopyResume, SaysThatAKilledProcessEndedIt) {
  make("mkdir a; echo 1 >a/1");
  make_parts("zeros", 16);
  options_.workers = 2;
  options_.verify = true;  // which takes its time
  const std::string own = std::to_string(::getpid());
  const std::string children = "/proc/" + own + "/task/" + own + "/children";
  if (::access(children.c_str(), R_OK) != 0) GTEST_SKIP() << "the kernel does not tell";
  options_.report = [&children](const copy::Counters&) {
    // A child that read them would be one of them. One that has ended may stand there still.
    const pid_t first = std::atoi(read(children).c_str());
    if (first != 0) ::kill(first, SIGKILL);
  };
  auto filled = fill();
  // On a busy machine, the copy may be done before this process kills one.
  TestTimeout timeout;
  while (filled && timeout.is_left()) {
    shell("rm -rf '" + tree() + "' '" + state() + "'");
    filled = fill();
  }
  ASSERT_FALSE(filled);
  EXPECT_EQ(to_line(filled.error()),
            "copying: found a copying process that was killed by SIGKILL; look for want of memory; "
            "run it again: it goes on where it was");
  options_.report = {};
  options_.verify = false;
  make("rm zeros");
  copy_well();
  expect_copy();
}

TEST_F(CopyResume, EndsAtItsDeadline) {
  make_parts("zeros", 320);
  options_.verify = true;
  options_.deadline_ms = 1;
  EXPECT_THAT(error_of_fill(), HasSubstr("takes longer than it may; allow more time"));
}

// A writer that never stops.
class CopyChanging : public CopyResume {
 protected:
  void start(const std::string& script) {
    const std::string all =
        "cd '" + source() + "'; while :; do " + script + "; : >../written; done";
    writer_ = ::fork();
    if (writer_ == 0) {
      ::setpgid(0, 0);
      ::setpriority(PRIO_PROCESS, 0, -10);  // as far as we may: others want the CPU, too
      ::execlp("bash", "bash", "-c", all.c_str(), nullptr);
      ::_exit(127);
    }
    ::setpgid(writer_, writer_);
    // The file is read long before the source is looked at again.
    make_parts("zeros", 3);
    while (::access(path("written").c_str(), F_OK) != 0) ::sched_yield();
    options_.verify = true;
  }
  // A writer that stands still changes nothing meanwhile: a copy of that proves nothing.
  std::string error_while_it_is_written(const std::function<void()>& prepare = [] {}) {
    constexpr int kTries = 5;
    std::string error;
    for (int i = 0; i < kTries && error.empty(); ++i) {
      shell("rm -rf '" + tree() + "' '" + state() + "'");
      prepare();
      error = error_of_fill();
    }
    return error;
  }
  ~CopyChanging() override {
    if (writer_ > 0) {
      ::kill(-writer_, SIGKILL);
      ::waitpid(writer_, nullptr, 0);
    }
  }

 private:
  pid_t writer_ = -1;
};

TEST_F(CopyChanging, IsRefusedWithTheNamesOfFiles) {
  make("mkdir a; echo 1 >a/log; for i in {1..50}; do echo 1 >$i; done");
  start("echo more >>a/log");
  EXPECT_THAT(error_while_it_is_written(),
              testing::AllOf(HasSubstr("changes while it is copied: "), HasSubstr("a/log"),
                             HasSubstr("copy when nothing writes to it")));
}

// A file server stamps with a clock of its own: no ctime is later than the begin of the copy.
TEST_F(CopyChanging, IsNamedWhateverTheClockOfTheSource) {
  make("mkdir a; echo 1 >a/log; for i in {1..50}; do echo 1 >$i; done");
  start("echo more >>a/log");
  const auto prepare = [this] {
    ASSERT_EQ(::mkdir(state().c_str(), 0755), 0);
    write("state/boot", sys::boot_id() + " 9000000000000000000\n");
  };
  EXPECT_THAT(
      error_while_it_is_written(prepare),
      testing::AllOf(HasSubstr("changes while it is copied: a/log"), HasSubstr("--exclude")));
}

TEST_F(CopyChanging, IsSeenThoughSizeAndTimeStay) {
  make("echo 11111 >file; touch -d 2020-01-01 file ../time");
  start("echo 22222 1<>file; touch -r ../time file");
  EXPECT_THAT(error_while_it_is_written(), HasSubstr("changes while it is copied"));
}

// Made-up times prove nothing for any file of the device.
TEST_F(CopyChanging, AFileThatIsGoneMakesNoTimesUp) {
  make("echo 1 >file");
  struct stat status{};
  ASSERT_EQ(::stat((source() + "/file").c_str(), &status), 0);
  const sys::Fd directory(::open(source().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  make("rm file");
  copy::TimesOfDevice known;
  EXPECT_FALSE(copy::settle_times(known, directory.get(), "file", status));
  EXPECT_FALSE(known.made_up);
}

}  // namespace
