// Root's console in the container of an instance that runs as another user, as `docker exec -u 0`
// opens one: it finds that instance, and no other user can show it another.

#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::Result;
using rules::Words;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t kNobody = 65534;
constexpr uid_t kStranger = 65533;

class Console : public rules::JobTest {
 protected:
  void SetUp() override {
    if (!child::is_root() || !rules::may_unshare()) GTEST_SKIP() << "needs root and namespaces";
    ::chmod(path("").c_str(), 0755);
    ::mkdir(path("own").c_str(), 0700);
    ASSERT_EQ(::chown(path("own").c_str(), kNobody, kNobody), 0);
  }
  [[nodiscard]] Words run_dir(const std::string& name) const {
    return {"PATH=/usr/bin:/bin", "TRAINIT_RUN_DIR=" + path(name)};
  }
  // PID 1, as nobody, whose job has failed and is held.
  [[nodiscard]] rules::Spec held() const {
    return {.args = {"--hold", "1h", "--fan-out", "--slots", "1", "--", "/bin/sh", "-c", "exit 3"},
            .env = run_dir("own"),
            .before = [] {
              if (!child::become_nobody()) ::_exit(97);
            }};
  }
  // As root, in its namespaces.
  [[nodiscard]] static Result inside(const Instance& instance, Words words, Words env) {
    words.insert(words.begin(),
                 {"nsenter", "-t", std::to_string(instance.pid()), "-m", "-p", rules::trainit()});
    return rules::run({.args = std::move(words),
                       .env = std::move(env),
                       .pid1 = false,
                       .program = "/usr/bin/nsenter"});
  }
};

TEST_F(Console, OfRootFindsTheInstanceOfPid1AndReleasesIt) {
  Instance instance(held());
  instance.await_err("kept for debugging");
  Result status = inside(instance, {"status"}, run_dir("own"));
  // The state is written behind the message.
  while (status.code == 0 && instance.alive()) {
    status = inside(instance, {"status"}, run_dir("own"));
  }
  EXPECT_EQ(status.code, 1) << status.err;
  EXPECT_THAT(status.out, HasSubstr("trainit release"));
  EXPECT_EQ(inside(instance, {"hold", "--for", "2h"}, run_dir("own")).code, 0);
  const Result report = inside(instance, {"report", "-o", path("report")}, run_dir("own"));
  EXPECT_EQ(report.code, 0) << report.err;
  struct stat status_of{};
  EXPECT_EQ(::stat(path("report").c_str(), &status_of), 0);
  EXPECT_EQ(status_of.st_uid, 0U) << "it is written with root's rights";
  EXPECT_EQ(inside(instance, {"release"}, run_dir("own")).code, 0);
  EXPECT_EQ(instance.wait(), 3);
}

// One that says that all is well, by a user who is neither root nor PID 1's.
TEST_F(Console, OfRootIsNotShownWhatAStrangerHasMade) {
  Instance instance(held());
  instance.await_err("kept for debugging");
  ::mkdir(path("planted").c_str(), 0755);
  write("planted/state.json", read(path("own/state.json")));
  write("planted/lock", "");
  for (const char* name : {"planted", "planted/state.json", "planted/lock"}) {
    ASSERT_EQ(::chown(path(name).c_str(), kStranger, kStranger), 0);
  }
  const sys::Fd lock(::open(path("planted/lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  for (const char* command : {"status", "release"}) {
    const Result result = inside(instance, {command}, run_dir("planted"));
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr("no instance of trainit of this user"));
  }
}

// The instance's own user may put links into its directory: they lead root nowhere.
TEST_F(Console, OfRootReadsNothingThatOnlyRootMayRead) {
  Instance instance(held());
  instance.await_err("kept for debugging");
  Result result;
  struct stat state{};
  TestTimeout timeout;
  do {  // it may write its state once more, in the place of the link
    ASSERT_TRUE(instance.alive());
    ASSERT_TRUE(timeout.is_left());
    std::string text;
    while (text.empty()) text = read(path("own/state.json"));
    std::ofstream(path("secret")) << text;
    ASSERT_EQ(::chmod(path("secret").c_str(), 0600), 0);
    ASSERT_EQ(::symlink(path("secret").c_str(), path("own/link").c_str()), 0);
    ASSERT_EQ(::rename(path("own/link").c_str(), path("own/state.json").c_str()), 0);
    result = inside(instance, {"status"}, run_dir("own"));
    ASSERT_EQ(::lstat(path("own/state.json").c_str(), &state), 0);
  } while (!S_ISLNK(state.st_mode));
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_THAT(result.out + result.err, Not(HasSubstr("phase")));
}

}  // namespace
