// The cache of a node that users share who do not trust each other.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>

#include <filesystem>

#include "init/sys/fd.h"
#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using escape::kOther;
using rules::joined;
using rules::Spec;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kRecord = "/.trainit-copy.data/record.json";  // of an entry

class Cache : public Border {
 protected:
  void SetUp() override {
    Border::SetUp();
    make("mnt", 0, 0755);
    make("mnt/ds", 0, 0755);
    write("mnt/ds/file", "true");
    give("mnt/ds/file", 0, 0644);
    make("cache", 0, 01777);
    make("etc", 0, 0755);
    write("etc/precious", "ours");
  }

  // A job of that user.
  [[nodiscard]] rules::Result run(uid_t user, const Words& options = {},
                                  const std::string& source = "mnt/ds") const {
    Spec spec = contained(joined(
        joined({"--data", path(source), "--data-root", path("cache"), "--data-headroom", "0",
                "--data-timeout", "2m", "--run-dir", path("tmp/run-" + std::to_string(user))},
               options),
        {"--", "/bin/sh", "-c", "echo $TRAINIT_DATASET_DS; cat $TRAINIT_DATASET_DS/file"}));
    spec.before = [here = path(""), user, groups = groups] {
      contain(here);
      if (user == 0) return;
      if (::setgroups(groups.size(), groups.data()) != 0 || ::setresgid(user, user, user) != 0 ||
          ::setresuid(user, user, user) != 0) {
        ::_exit(rules::kCannotStart);
      }
    };
    return rules::run(spec);
  }
  std::vector<gid_t> groups;  // of the jobs
  [[nodiscard]] static std::string place_of(const rules::Result& result) {
    return result.out.substr(0, result.out.find('\n'));
  }
  void expect_a_true_copy(const rules::Result& result) const {
    EXPECT_THAT(result.out, AllOf(HasSubstr(path("cache/")), HasSubstr("\ntrue"))) << result.err;
  }
  [[nodiscard]] static std::string slot_of(const rules::Result& result) {
    const std::string place = place_of(result);
    return place.substr(0, place.rfind('/'));
  }
};

TEST_F(Cache, RootsCopyIsForAll) {
  const rules::Result first = run(0);
  const rules::Result second = run(kJob);
  expect_a_true_copy(second);
  EXPECT_EQ(place_of(first), place_of(second));
  EXPECT_THAT(second.err, HasSubstr("found in"));
}

TEST_F(Cache, CopyOfTheSourcesOwnerIsForAll) {
  give("mnt/ds", kJob, 0755);
  const rules::Result first = run(kJob);
  expect_a_true_copy(first);
  EXPECT_EQ(place_of(run(kOther)), place_of(first));
  EXPECT_EQ(place_of(run(0)), place_of(first));
}

// As it could have been made: with its manifest and its record, and other bytes.
TEST_F(Cache, CopyOfAnotherUserIsNotUsed) {
  const rules::Result others = run(kOther);
  expect_a_true_copy(others);
  as(kOther, path("cache"),
     "cd " + place_of(others) +
         "; touch -r file ../t; echo evil >file; touch -r ../t file; touch "
         "../.trainit-copy.data/record.json");
  for (const uid_t user : {kJob, uid_t{0}}) {
    const rules::Result result = run(user);
    expect_a_true_copy(result);
    EXPECT_NE(place_of(result), place_of(others));
    EXPECT_EQ(place_of(run(user)), place_of(result)) << "it is found the next time";
  }
}

TEST_F(Cache, PlantedStoresCostNobodyAnything) {
  as(kOther, path("cache"),
     "ln -s " + path("etc") + " trainit-datasets; mkdir -m 0777 trainit-datasets-1000; ln -s " +
         path("etc") + " trainit-datasets-0; ln -s " + path("etc") + " trainit-datasets-0-1");
  for (const uid_t user : {uid_t{0}, kJob}) {
    const rules::Result result = run(user);
    expect_a_true_copy(result);
    EXPECT_EQ(place_of(run(user)), place_of(result)) << "it is found the next time";
  }
  EXPECT_EQ(read(path("etc/precious")), "ours");
  EXPECT_EQ(status_of("etc").st_nlink, 2U) << "nothing was made in it";
  EXPECT_EQ(status_of("cache/trainit-datasets").st_mode & S_IFMT, mode_t{S_IFLNK});
}

// What root removes in another user's store is removed as that user.
TEST_F(Cache, LinksInAnotherUsersStoreAreNotFollowedByRoot) {
  make("etc/data-0123456789abcdef", 0, 0755);
  write("etc/data-0123456789abcdef/precious", "ours");
  as(kOther, path("cache"),
     "mkdir trainit-datasets; cd trainit-datasets; ln -s " + path("etc/data-0123456789abcdef") +
         " data-0123456789abcdef; ln -s " + path("etc/precious") + " x-0123456789abcdef.partial");
  Spec spec = contained({"cache", "gc", "--data-root", path("cache"), "--cache-ttl", "0"});
  std::ignore = rules::run(spec);
  EXPECT_EQ(read(path("etc/data-0123456789abcdef/precious")), "ours");
  EXPECT_EQ(read(path("etc/precious")), "ours");
}

// There is nothing that the job could read instead.
TEST_F(Cache, SourceThatMayNotBeReadEndsTheJob) {
  make("closed", 0, 0700);
  make("closed/ds", 0, 0755);
  for (const char* source : {"root", "closed/ds", "nothing"}) {
    for (const Words& policy : {Words{}, Words{"--data-on-failure", "source"}}) {
      const rules::Result result = run(kJob, policy, source);
      EXPECT_EQ(result.code, 125) << source << result.err;
      EXPECT_EQ(result.out, "") << source;
    }
  }
}

// A directory that is a group's alone.
TEST_F(Cache, EachMemberOfAGroupCopiesInItsRoot) {
  constexpr gid_t kGroup = 3000;
  groups = {kGroup};
  for (const mode_t mode : {mode_t{01770}, mode_t{02770}, mode_t{03770}, mode_t{0770}}) {
    ASSERT_TRUE(sys::remove_tree(path("cache")));
    make("cache", 0, 0700);
    ASSERT_EQ(::chown(path("cache").c_str(), 0, kGroup), 0);
    ASSERT_EQ(::chmod(path("cache").c_str(), mode), 0);
    for (const uid_t user : {kJob, kOther, uid_t{0}, kOther}) {
      SCOPED_TRACE(testing::Message() << std::oct << mode << std::dec << " " << user);
      expect_a_true_copy(run(user));
    }
  }
}

// Also what root copies for a member, and the source's owner for all.
TEST_F(Cache, CopyInTheRootOfAGroupIsForTheGroup) {
  constexpr gid_t kGroup = 3000;
  groups = {kGroup};
  for (const mode_t mode : {mode_t{01770}, mode_t{02770}, mode_t{0770}}) {
    SCOPED_TRACE(testing::Message() << std::oct << mode);
    for (const uid_t first : {kJob, uid_t{0}}) {
      ASSERT_TRUE(sys::remove_tree(path("cache")));
      make("cache", 0, 0700);
      ASSERT_EQ(::chown(path("cache").c_str(), 0, kGroup), 0);
      ASSERT_EQ(::chmod(path("cache").c_str(), mode), 0);
      give("mnt/ds", kJob, 0755);
      const rules::Result made = first == 0 ? run(0, {"--user", "1000:3000"}) : run(first);
      expect_a_true_copy(made);
      if (first != 0) {
        EXPECT_EQ(place_of(run(kOther)), place_of(made));
      }
      struct stat store{};
      ASSERT_EQ(::stat(path("cache/trainit-datasets").c_str(), &store), 0);
      EXPECT_EQ(store.st_mode & 0777, mode_t{0750});
    }
  }
}

TEST_F(Cache, StoreThatAnotherUserClosedCostsNobodyAnything) {
  expect_a_true_copy(run(kOther));
  ASSERT_EQ(::chmod(path("cache/trainit-datasets").c_str(), 0700), 0);
  for (const uid_t user : {kJob, uid_t{0}, kJob}) {
    expect_a_true_copy(run(user));
    Spec spec = contained({"cache", "ls", "--data-root", path("cache")});
    spec.before = [before = spec.before, user] {
      before();
      if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 ||
          ::setresuid(user, user, user) != 0) {
        ::_exit(rules::kCannotStart);
      }
    };
    const rules::Result list = rules::run(spec);
    EXPECT_EQ(list.code, 0) << list.err;
    EXPECT_THAT(list.out, HasSubstr("ds-"));
  }
}

// What a user says of his own copies costs nobody else a copy of theirs.
TEST_F(Cache, SizesAndTimesThatAnotherUserForgedTakeNobodysCopy) {
  make("other", 0, 0755);
  make("other/ds", 0, 0755);
  write("other/ds/file", "true");
  give("other/ds/file", 0, 0644);
  const std::string roots = slot_of(run(0));
  as(kOther, path("cache"),
     "mkdir trainit-datasets-2000; cd trainit-datasets-2000;"
     " for i in 1 2 3; do s=x-000000000000000$i; mkdir -p $s/.trainit-copy.data;"
     " sed -e 's/\"allocated\": [0-9]*/\"allocated\": 9223372036854775807/' " +
         roots + kRecord + " >$s" + kRecord + "; touch -d 2100-01-01 $s.lock; done;" +
         " s=x-0000000000000004/.trainit-copy.data; mkdir -p $s;" +
         " head -c 4096 /dev/zero | tr '\\0' '\\377' >$s/progress");
  // One of another user, of long ago.
  const std::string jobs = path("cache/trainit-datasets-1000") + roots.substr(roots.rfind('/'));
  as(kJob, path("cache"),
     "mkdir -p " + jobs + "/.trainit-copy.data; cp -r " + roots + "/data " + jobs + "; cp " +
         roots + kRecord + " " + jobs + kRecord);
  as(kJob, path("cache"), "touch -d '2 days ago' " + jobs + ".lock");
  const Words limit = {"--cache-max-size", "1g"};
  expect_a_true_copy(run(0, limit, "other/ds"));
  EXPECT_TRUE(std::filesystem::exists(roots + "/data/file"));
  EXPECT_TRUE(std::filesystem::exists(jobs + "/data/file")) << "its room is its own";
  const rules::Result gc = rules::run(contained(
      joined({"cache", "gc", "--data-root", path("cache"), "--data-headroom", "0"}, limit)));
  EXPECT_EQ(gc.code, 0) << gc.err;
  EXPECT_TRUE(std::filesystem::exists(roots + "/data/file")) << gc.out;
  EXPECT_TRUE(std::filesystem::exists(jobs + "/data/file")) << gc.out;
  const rules::Result list =
      rules::run(contained({"cache", "ls", "--data-root", path("cache"), "--json"}));
  EXPECT_THAT(list.out, testing::Not(HasSubstr(": -1"))) << list.out;
}

TEST_F(Cache, LockThatAnotherUserHoldsKeepsNobodyWaiting) {
  const rules::Result first = run(0);
  const std::string lock = slot_of(first) + ".lock";
  const pid_t attacker = ::fork();
  if (attacker == 0) {
    if (::setresgid(kOther, kOther, kOther) != 0 || ::setresuid(kOther, kOther, kOther) != 0) {
      ::_exit(1);
    }
    const int fd = ::open(lock.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ::flock(fd, LOCK_EX) != 0) ::_exit(2);
    ::kill(::getpid(), SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(attacker, &status, WUNTRACED);
  ASSERT_TRUE(WIFSTOPPED(status)) << status;
  for (const uid_t user : {uid_t{0}, kJob}) {
    const rules::Result result = run(user);
    EXPECT_EQ(place_of(result), place_of(first)) << result.err;
  }
  // And where it has to be mended, or proven.
  write(place_of(first).substr(path("").size()) + "/more", "x");
  const rules::Result mended = run(0);
  expect_a_true_copy(mended);
  EXPECT_NE(place_of(mended), place_of(first));
  ::kill(attacker, SIGKILL);
  ::waitpid(attacker, nullptr, 0);
}

// After the machine was started anew.
TEST_F(Cache, UnsyncedCopyOfAnotherUserIsCopiedAnew) {
  const rules::Result first = run(0);
  const std::string record = slot_of(first).substr(path("").size()) + kRecord;
  std::string text = read(path(record));
  const std::size_t at = text.find("\"boot_id\": \"") + 12;
  text.replace(at, text.find('"', at) - at, "another");
  write(record, text);
  const rules::Result second = run(kJob);
  expect_a_true_copy(second);
  EXPECT_NE(place_of(second), place_of(first));
  EXPECT_THAT(second.err, HasSubstr("copied in"));
}

}  // namespace
