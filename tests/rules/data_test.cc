// Datasets (--data): copied before the hooks and the command, which are told where they are; and
// copies that fail, hang, or are stopped.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::shell;
using rules::Words;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Data : public rules::LifecycleTest {
 protected:
  Data() {
    for (const char* name : {"mnt", "mnt/imagenet", "mnt/coco", "cache", "scratch"}) {
      ::mkdir(path(name).c_str(), 0755);
    }
    write("mnt/imagenet/train.bin", "of imagenet");
    write("mnt/coco/val.bin", "of coco");
  }

  // With imagenet, through the cache.
  [[nodiscard]] rules::Spec copying(const Words& options, const Words& command) const {
    return job(joined({"--data", path("mnt/imagenet"), "--data-root", path("cache"),
                       "--data-headroom", "0"},
                      options),
               command);
  }

  // Takes the part of another job that copies it: until this is closed, ours wait for it. With
  // `kOfVersion`, by which it is the same copy.
  [[nodiscard]] sys::Fd another_job() const {
    EXPECT_EQ(rules::run(copying(kOfVersion, {"true"})).code, 0);
    std::filesystem::remove(path("run/state.json"));  // it is not to be taken for the next one's
    const std::string root = path("cache/trainit-datasets");
    sys::Fd lock;
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
      const std::string file = entry.path().string();
      if (file.ends_with(".lock")) lock.reset(::open(file.c_str(), O_RDWR | O_CLOEXEC));
      if (entry.is_directory()) std::filesystem::remove_all(entry.path());
    }
    EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    return lock;
  }
  inline static const Words kOfVersion = {"--data-version", "1"};

  // What the commands wrote into this file of ours.
  [[nodiscard]] std::string said(const std::string& name) const { return read(path(name)); }
};
RULES_EITHER_WAY(Data);

constexpr const char* kWaiting = "\"state\": \"waiting\"";
constexpr const char* kReadIt = "echo $TRAINIT_DATASET_IMAGENET; cat $TRAINIT_DATASET_IMAGENET/*";

TEST_P(Data, IsThereForHooksAndForTheJob) {
  hook("pre-start", "cat $TRAINIT_DATASET_IMAGENET/train.bin > $HERE/hook");
  hook("post-stop", "cat $TRAINIT_DATASET_IMAGENET/train.bin > $HERE/after");
  const Result result = rules::run(copying({}, shell(kReadIt)));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr(path("cache")), HasSubstr("of imagenet")));
  EXPECT_EQ(said("hook"), "of imagenet");
  EXPECT_EQ(said("after"), "of imagenet");
  EXPECT_THAT(result.err, AllOf(HasSubstr("data imagenet: preparing " + path("mnt/imagenet")),
                                ContainsRegex("data imagenet: copied .*, at " + path("cache"))));
}

TEST_P(Data, SeveralAreCopiedEachToItsPlace) {
  const Result result = rules::run(
      copying({"--data", path("mnt/coco") + "=" + path("scratch/coco")},
              shell("cat $TRAINIT_DATASET_IMAGENET/train.bin $TRAINIT_DATASET_COCO/val.bin; "
                    "echo $TRAINIT_DATASET_COCO")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "of imagenetof coco" + path("scratch/coco") + "\n");
}

TEST_P(Data, StaysTheSameForAJobThatIsRestarted) {
  const Result result = rules::run(copying({"--max-restarts", "1", "--restart-delay", "0"},
                                           shell("echo $TRAINIT_DATASET_IMAGENET; exit $((3 - 3 * "
                                                 "TRAINIT_RESTART_COUNT))")));
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string first = result.out.substr(0, result.out.find('\n') + 1);
  EXPECT_EQ(result.out, first + first);
  EXPECT_THAT(first, HasSubstr(path("cache")));
  std::size_t begins = 0;
  for (std::size_t at = 0; (at = result.err.find("preparing", at)) != std::string::npos; ++at) {
    ++begins;
  }
  EXPECT_EQ(begins, 1U) << result.err;
}

TEST_P(Data, IsShownByStatusAndStateAndTimeline) {
  make_fifo("go");
  Instance instance(copying({}, shell("echo up; read x < $HERE/go")));
  instance.await_out("up");
  await_state(rules::kRunning);
  EXPECT_THAT(tool({"status"}).out,
              ContainsRegex("\ndata imagenet: copied, .*, at " + path("cache") + "/.*imagenet"));
  EXPECT_THAT(tool({"status", "--json"}).out,
              AllOf(HasSubstr("\"variable\": \"TRAINIT_DATASET_IMAGENET\""),
                    HasSubstr("\"source\": \"" + path("mnt/imagenet") + "\""),
                    HasSubstr("\"state\": \"ready\""), HasSubstr("\"kind\": \"data\"")));
  write("go", "\n");
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_THAT(said("run/events.jsonl"), HasSubstr("\"task\":\"data imagenet\""));
  EXPECT_THAT(said("run/events.jsonl"), ContainsRegex("\"stage\".*\"(scanning|copying)\""));
}

TEST_P(Data, IsNotEvictedWhileTheJobLivesAndTheJobHasNoPartInThat) {
  make_fifo("go");
  Instance instance(copying({}, shell("echo $TRAINIT_DATASET_IMAGENET up; ls -l /proc/self/fd/; "
                                      "read x < $HERE/go")));
  instance.await_out(" up");
  const std::string place = instance.out().substr(0, instance.out().find("/data up"));
  const sys::Fd lock(::open((place + ".lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(lock.valid()) << place;
  EXPECT_NE(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(errno, EWOULDBLOCK);
  write("go", "\n");
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_THAT(instance.out(), Not(HasSubstr(".lock")));
  EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
}

// --- What the source is ---

TEST_P(Data, OfASourceThatCanBeWrittenDrawsAWarning) {
  const char* warning = "is writable: mount it read-only";
  EXPECT_THAT(rules::run(copying({}, {"true"})).err, HasSubstr(warning));
  if (!GetParam()) return;  // it has no mounts of its own
  rules::Spec spec = copying({}, {"true"});
  const std::string source = path("mnt/imagenet");
  spec.before = [source] {
    ::mount(source.c_str(), source.c_str(), nullptr, MS_BIND, nullptr);
    ::mount(nullptr, source.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr);
  };
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("data imagenet: "), Not(HasSubstr(warning))));
}

TEST_P(Data, TakesThePlaceOfALinkToTheSource) {
  ASSERT_EQ(::symlink(path("mnt/imagenet").c_str(), path("data").c_str()), 0);
  const Words command = shell("readlink $HERE/data; echo $TRAINIT_DATASET_DATA");
  const Words options = {
      "--data", path("data"), "--data-root", path("cache"), "--data-link", "--data-headroom", "0"};
  for (int run = 0; run < 2; ++run) {  // the second finds its own link
    const Result result = rules::run(job(options, command));
    EXPECT_EQ(result.code, 0) << result.err;
    const std::string copy = result.out.substr(0, result.out.find('\n') + 1);
    EXPECT_THAT(copy, HasSubstr(path("cache")));
    EXPECT_EQ(result.out, copy + copy) << result.err;
  }
}

TEST_P(Data, LeavesAPlaceThatIsNoLinkAsItIs) {
  const Result result = rules::run(copying({"--data-link"}, {"true"}));
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr(path("mnt/imagenet") + " is no symbolic link"),
                                HasSubstr("TRAINIT_DATASET_IMAGENET")));
}

TEST_P(Data, BelongsToTheJobsUser) {
  if (::getuid() != 0) GTEST_SKIP() << "only root may give files away";
  const Result result = rules::run(job(
      {"--data", path("mnt/coco") + "=" + path("scratch/coco"), "--user", "1234:5678"}, {"true"}));
  struct stat status{};
  ASSERT_EQ(::stat(path("scratch/coco/val.bin").c_str(), &status), 0) << result.err;
  EXPECT_EQ(status.st_uid, 1234U);
  EXPECT_EQ(status.st_gid, 5678U);
}

// --- Failures ---

TEST_P(Data, ThatCannotBeCopiedIsReadAtItsSource) {
  ASSERT_EQ(::mkfifo(path("mnt/imagenet/pipe").c_str(), 0600), 0);
  const Result result = rules::run(copying({}, shell("echo $TRAINIT_DATASET_IMAGENET; exit 4")));
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.out, path("mnt/imagenet\n"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("warning: data imagenet: "),
                                HasSubstr("; the job reads " + path("mnt/imagenet") + " instead")));
}

TEST_P(Data, ThatCannotBeCopiedEndsTheJobWhereThatIsAskedFor) {
  ASSERT_EQ(::mkfifo(path("mnt/imagenet/pipe").c_str(), 0600), 0);
  const Result result = rules::run(copying({"--data-on-failure", "fail"}, {"echo", "started"}));
  EXPECT_EQ(result.code, 125);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(HasSubstr("first failure: data imagenet: "),
                                HasSubstr("the job does not start without it (--data-on-")));
  EXPECT_THAT(tool({"status"}).out, HasSubstr("state error"));
}

// There is nothing that it could read instead.
TEST_P(Data, ThatIsNotThereEndsTheJobWhateverIsAskedFor) {
  for (const std::string& place : {std::string(), "=" + path("scratch/there")}) {
    const Result result = rules::run(job({"--data", path("mnt/absent") + place, "--data-root",
                                          path("cache"), "--data-on-failure", "source"},
                                         {"echo", "started"}));
    EXPECT_EQ(result.code, 125);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("first failure: data absent: "),
                      HasSubstr("No such file or directory"), Not(HasSubstr("--data-on-failure"))));
  }
}

TEST_P(Data, ThatTakesTooLongIsReadAtItsSource) {
  const sys::Fd other = another_job();
  const Result result = rules::run(copying(joined(kOfVersion, {"--data-timeout", "500ms"}),
                                           shell("echo $TRAINIT_DATASET_IMAGENET; exit 4")));
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_EQ(result.out, path("mnt/imagenet") + "\n");
}

TEST_P(Data, ThatTakesTooLongEndsTheJobWhereThatIsAskedFor) {
  const sys::Fd other = another_job();
  const Result result = rules::run(
      copying(joined(kOfVersion, {"--data-timeout", "500ms", "--data-on-failure", "fail"}),
              {"echo", "started"}));
  EXPECT_EQ(result.code, 69) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(tool({"status"}).out, HasSubstr("state error"));
}

TEST_P(Data, ThatTakesLongIsStoppedAtOnce) {
  const sys::Fd other = another_job();
  Instance instance(copying(joined(kOfVersion, {"--grace", "10m"}), {"echo", "started"}));
  await_state(kWaiting);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << "within a minute";
  EXPECT_EQ(instance.out(), "");
  EXPECT_THAT(instance.err(), Not(HasSubstr("first failure")));
}

TEST_P(Data, WhoseCopierIsKilledIsReadAtItsSource) {
  const sys::Fd other = another_job();
  Instance instance(copying(kOfVersion, shell("echo $TRAINIT_DATASET_IMAGENET")));
  await_state(kWaiting);
  const pid_t copier = instance.only_child();
  ASSERT_GT(copier, 1);
  ::kill(copier, SIGKILL);
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_EQ(instance.out(), path("mnt/imagenet") + "\n");
  EXPECT_THAT(instance.err(), HasSubstr("the copying process was killed by SIGKILL"));
}

// --- Other jobs ---

TEST_P(Data, WaitsForAnotherJobsCopyAndTakesItOver) {
  sys::Fd other = another_job();
  Instance instance(copying(kOfVersion, shell(kReadIt)));
  await_state(kWaiting);
  EXPECT_THAT(tool({"status"}).out, HasSubstr("\ndata imagenet: waiting for another job"));
  other.reset();
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  EXPECT_THAT(instance.out(), AllOf(HasSubstr(path("cache")), HasSubstr("of imagenet")));
  EXPECT_THAT(instance.err(), HasSubstr("another job copies it, waiting"));
}

TEST_P(Data, OfAnEarlierJobIsFound) {
  const Words read = shell(kReadIt);
  const Result first = rules::run(copying({}, read));
  const Result second = rules::run(copying({}, read));
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
  EXPECT_THAT(second.err, ContainsRegex("data imagenet: found .*, at " + path("cache")));
}

}  // namespace
