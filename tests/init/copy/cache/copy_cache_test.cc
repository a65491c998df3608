#include <gmock/gmock.h>

#include <filesystem>

#include "init/copy/cache/cache.h"
#include "init/copy/publish/publication_journal.h"
#include "init/sys/boot.h"
#include "init/sys/clock.h"
#include "tests/init/copy/cache/cached.h"
#include "tests/init/copy/tree/copy_job.h"

namespace copy {
namespace {

using cached::exists;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class CopyCache : public cached::Cached {
 protected:
  void let_the_clock_of_files_tick() const {
    const auto now = [this] {
      write("clock", "");
      struct stat status{};
      EXPECT_EQ(::stat(path("clock").c_str(), &status), 0);
      return std::pair(status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
    };
    const auto before = now();
    while (now() <= before) {
    }
  }
};

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

TEST_F(CopyCache, MakesACopyOnceAndFindsItThen) {
  const Prepared first = prepare();
  EXPECT_EQ(first.how, "copied");
  EXPECT_TRUE(first.lease.valid());
  EXPECT_THAT(first.path, AllOf(testing::StartsWith(path("cache/trainit-datasets/set-")),
                                testing::EndsWith("/data")));
  EXPECT_EQ(read(first.path + "/a"), "one");
  EXPECT_EQ(read(first.path + "/d/b").size(), 100'000);
  EXPECT_EQ(first.size.entries, 4);
  EXPECT_EQ(first.size.bytes, 100'003);
  EXPECT_THAT(first.warnings, IsEmpty());
  const std::string entry = entry_of(first);
  EXPECT_THAT(names_in(entry), UnorderedElementsAre("data", ".trainit-copy.data"));
  EXPECT_THAT(names_in(entry + "/.trainit-copy.data"),
              UnorderedElementsAre("mark", "journal", "manifest", "record.json"));
  const Prepared second = prepare();
  EXPECT_EQ(second.how, "found");
  EXPECT_EQ(second.path, first.path);
  EXPECT_EQ(second.size.entries, 4);
  EXPECT_EQ(second.size.bytes, 100'003);
}

TEST_F(CopyCache, MayHoldOneFile) {
  order.dataset.source = path("source/a");
  EXPECT_EQ(read(prepare().path), "one");
  EXPECT_EQ(prepare().how, "found");
}

TEST_F(CopyCache, CopiesASourceThatHasChangedAgain) {
  const Prepared first = prepare();
  add("a", "changed");
  const Prepared second = prepare();
  EXPECT_EQ(second.how, "copied");
  EXPECT_NE(second.path, first.path);
  EXPECT_EQ(read(second.path + "/a"), "changed");
  EXPECT_EQ(read(first.path + "/a"), "one") << "the job that has it goes on with it";
}

TEST_F(CopyCache, BelievesAVersionWithoutALook) {
  order.request.version = "v1";
  EXPECT_EQ(prepare().how, "copied");
  add("a", "changed");
  EXPECT_EQ(prepare().how, "found");
  order.request.version = "v2";
  const Prepared other = prepare();
  EXPECT_EQ(other.how, "copied");
  EXPECT_EQ(read(other.path + "/a"), "changed");
}

TEST_F(CopyCache, KeepsWhatWasChosenApart) {
  const Prepared all = prepare();
  order.request.exclude = {"d/"};
  const Prepared some = prepare();
  EXPECT_NE(some.path, all.path);
  EXPECT_FALSE(exists(some.path + "/d"));
  order.owner = Owner{.uid = ::geteuid(), .gid = ::getegid()};
  EXPECT_NE(prepare().path, some.path) << "another owner is another copy";
}

TEST_F(CopyCache, FollowsALinkToItsOwnCopyBackToTheSource) {
  const Prepared first = prepare();
  ASSERT_EQ(::symlink(first.path.c_str(), path("link").c_str()), 0);
  order.dataset.source = path("link");
  const Prepared second = prepare();
  EXPECT_EQ(second.how, "found");
  EXPECT_EQ(second.path, first.path);
}

TEST_F(CopyCache, FollowsALinkToItsOwnCopyAlsoWhereThatIsGone) {
  Prepared first = prepare();
  ASSERT_EQ(::symlink(first.path.c_str(), path("link").c_str()), 0);
  first.lease.reset();
  CacheLimits all;
  all.now_ms = sys::wall_ms() + 10;
  ASSERT_THAT(collect_garbage(path("cache"), all, false)->removed, SizeIs(1));
  order.dataset.source = path("link");
  EXPECT_EQ(prepare().how, "copied");
  EXPECT_FALSE(exists(entry_of(first) + ".was"));
}

TEST_F(CopyCache, IsUsedAsLongAsAJobHasIt) {
  const Prepared prepared = prepare();
  const std::string lock = entry_of(prepared) + ".lock";
  const std::array<timespec, 2> long_ago{};
  ASSERT_EQ(::utimensat(AT_FDCWD, lock.c_str(), long_ago.data(), 0), 0);
  CacheLimits all;
  all.now_ms = sys::wall_ms();
  EXPECT_THAT(collect_garbage(path("cache"), all, false)->removed, IsEmpty());
  EXPECT_GT(list()[0].used_ms, all.now_ms - 60'000);
}

TEST_F(CopyCache, CopiesToAPlaceOfItsOwn) {
  order.dataset.destination = path("place");
  order.request.version = "v1";
  const Prepared prepared = prepare();
  EXPECT_EQ(prepared.path, path("place"));
  EXPECT_TRUE(prepared.lease.valid());
  EXPECT_EQ(prepared.how, "copied");
  EXPECT_THAT(prepared.warnings, ElementsAre("--data-version is for the node's cache, ignoring"));
  EXPECT_EQ(prepare().how, "found");
  EXPECT_THAT(list(), IsEmpty());
}

TEST_F(CopyCache, PlaceThatAJobUsesIsNotTakenFromIt) {
  order.dataset.destination = path("place");
  Prepared first = prepare();
  const Prepared second = prepare();
  EXPECT_EQ(second.how, "found") << "two may use it";
  add("a", "changed");
  EXPECT_THAT(error(),
              AllOf(HasSubstr(path("place") + ": found a copy that is in use by another job"),
                    HasSubstr("name another place")));
  EXPECT_EQ(read(path("place/a")), "one");
  first.lease.reset();
  EXPECT_THAT(error(), HasSubstr("in use by another job")) << "the other one is still there";
}

// By whatever path somebody comes to it.
TEST_F(CopyCache, PlaceThatAJobUsesIsNotTakenFromItByADirectoryAboveOrBelow) {
  ASSERT_TRUE(sys::make_directories(path("all/deep"), 0755));
  order.dataset.destination = path("all/deep/place");
  Prepared used = prepare();
  add("a", "changed");
  for (const char* above : {"all", "all/deep", "all/deep/place/below", "all/deep/place/d/x"}) {
    order.dataset.destination = path(above);
    EXPECT_THAT(error(), HasSubstr("a copy that is in use by another job")) << above;
  }
  ASSERT_EQ(::symlink("all", path("link").c_str()), 0);
  order.dataset.destination = path("link");
  EXPECT_THAT(error(), HasSubstr("a copy that is in use by another job"));
  EXPECT_EQ(read(path("all/deep/place/a")), "one");
  order.dataset.destination = path("all/deep/beside");
  EXPECT_EQ(prepare().how, "copied");
  used.lease.reset();
  order.dataset.destination = path("all");
  EXPECT_EQ(prepare().how, "copied");
}

TEST_F(CopyCache, PlaceIsRenewedWhenNobodyUsesIt) {
  order.dataset.destination = path("place");
  prepare();
  add("a", "changed");
  EXPECT_EQ(prepare().how, "copied");
  EXPECT_EQ(read(path("place/a")), "changed");
}

TEST_F(CopyCache, WhatAJobWroteAtItsPlaceIsKeptAndNamed) {
  order.dataset.destination = path("place");
  prepare();
  write("place/ckpt", "precious");
  const Prepared again = prepare();
  EXPECT_EQ(again.how, "copied");
  ASSERT_THAT(again.warnings, SizeIs(2));
  EXPECT_THAT(again.warnings[0], HasSubstr("5 entries, not 4; copying it anew"));
  const std::string& line = again.warnings[1];
  EXPECT_THAT(line, HasSubstr("kept the previous content of"));
  const std::size_t at = line.find(path(".trainit-copy.place/replaced-"));
  ASSERT_NE(at, std::string::npos) << line;
  EXPECT_EQ(read(line.substr(at, line.find(": ", at) - at) + "/ckpt"), "precious");
}

TEST_F(CopyCache, CanBeReadAsItsRootAndWrittenByNobodyElse) {
  const mode_t before = ::umask(077);
  ASSERT_EQ(::chmod(path("cache").c_str(), 01777), 0);
  const Prepared prepared = prepare();
  struct stat status{};
  ASSERT_EQ(::stat(path("cache/trainit-datasets").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755);
  ASSERT_EQ(::stat((entry_of(prepared) + ".lock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644);
  ASSERT_EQ(::stat(entry_of(prepared).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755);
  ASSERT_EQ(::chmod(path("cache").c_str(), 0750), 0);
  ASSERT_TRUE(sys::remove_tree(path("cache/trainit-datasets")));
  prepare();
  ::umask(before);
  ASSERT_EQ(::stat(path("cache/trainit-datasets").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0750);
}

// As an earlier version made it: whoever may write there may have made what is in it.
TEST_F(CopyCache, StoreThatOthersMayWriteIsNotUsed) {
  prepare();
  ASSERT_EQ(::chmod(path("cache/trainit-datasets").c_str(), 01777), 0);
  const Prepared again = prepare();
  EXPECT_EQ(again.how, "copied");
  EXPECT_THAT(again.path, HasSubstr("/trainit-datasets-" + std::to_string(::geteuid()) + "/"));
  EXPECT_EQ(prepare().how, "found");
  EXPECT_THAT(list(), SizeIs(1)) << "what may be anybody's is not looked into";
}

// Neither to be used nor to be mended.
TEST_F(CopyCache, CopyThatWasChangedAndIsInUseIsCopiedBesideIt) {
  const Prepared first = prepare();
  std::ofstream(first.path + "/more") << "x";
  const Prepared second = prepare();
  EXPECT_EQ(second.how, "copied");
  EXPECT_NE(second.path, first.path);
  EXPECT_THAT(second.warnings, ElementsAre(HasSubstr("another job uses it")));
  EXPECT_FALSE(exists(second.path + "/more"));
  EXPECT_TRUE(exists(first.path + "/more"));
}

// Jobs that wait for one copy look at once when it was given up.
TEST_F(CopyCache, ThatAnotherJobLooksForIsNotInUse) {
  std::string entry;
  {
    const Prepared first = prepare();
    entry = entry_of(first);
  }
  ASSERT_TRUE(sys::remove_tree(entry));
  const CacheEntry shared = {.cache = path("cache/trainit-datasets"),
                             .key = entry.substr(entry.rfind('/') + 1)};
  sys::Fd other = try_lock(shared, LockMode::kExclusive).value();
  ASSERT_TRUE(other.valid());
  int waits = 0;
  order.report = [&](const Report& news) {
    if (!news.waiting) return;
    ++waits;
    if (waits == 30) {
      other.reset();
      other = try_lock(shared, LockMode::kShared).value();
    }
    if (waits == 60) other.reset();
  };
  const Prepared prepared = prepare();
  EXPECT_EQ(prepared.path, entry + "/data");
  EXPECT_EQ(prepared.how, "copied");
  EXPECT_THAT(prepared.warnings, IsEmpty());
  EXPECT_GE(waits, 60);
}

TEST_F(CopyCache, FiveThatWereChangedAndAreInUseAreAnError) {
  std::vector<Prepared> used;
  for (int copy = 0; copy < 4; ++copy) {
    used.push_back(prepare());
    EXPECT_EQ(used.back().how, "copied");
    write(used.back().path.substr(path("").size()) + "/a",
          "changed by job " + std::to_string(copy));
  }
  EXPECT_THAT(error(), AllOf(HasSubstr("copies that jobs have changed and use, 4 of them"),
                             HasSubstr("let jobs not write to their data")));
  used[2].lease.reset();
  const Prepared mended = prepare();
  EXPECT_EQ(mended.path, used[2].path);
  EXPECT_EQ(read(mended.path + "/a"), "one");
}

// An entry that stays would be reported as removed.
TEST_F(CopyCache, EntryWhoseLockCannotBeDeletedIsAnError) {
  const CacheEntry entry{.cache = path("cache"), .key = "set"};
  EXPECT_TRUE(remove_cache_entry(entry)) << "there is nothing to delete";
  ASSERT_EQ(::mkdir(entry.lock().c_str(), 0755), 0);
  const auto removed = remove_cache_entry(entry);
  ASSERT_FALSE(removed);
  EXPECT_THAT(to_line(removed.error()), HasSubstr("set.lock"));
}

TEST_F(CopyCache, IsSharedByUsers) {
  if (!child::is_root()) GTEST_SKIP() << "not root";
  ASSERT_EQ(::chmod(path("cache").c_str(), 01777), 0);
  ASSERT_EQ(::chmod(path("").c_str(), 0755), 0);
  prepare();
  const child::Outcome other = child::run([this] {
    if (!child::become_nobody()) return 1;
    const auto prepared = prepare_dataset(order);
    std::printf("%s", prepared ? prepared->how.c_str() : to_line(prepared.error()).c_str());
    return prepared && read(prepared->path + "/a") == "one" ? 0 : 2;
  });
  EXPECT_EQ(other.code, 0);
  EXPECT_EQ(other.out, "found");
}

TEST_F(CopyCache, ProvesWhatACrashOfTheMachineMayHaveHarmedByItsHashes) {
  order.request.verify = true;
  Prepared first = prepare();
  const std::string entry = entry_of(first);
  first.lease.reset();
  change_record(entry, [](CopyRecord& record) { record.boot_id = "the one before"; });
  const Prepared again = prepare();
  EXPECT_EQ(again.how, "found");
  EXPECT_THAT(again.warnings, IsEmpty());
  change_record(entry, [](CopyRecord& record) {
    EXPECT_TRUE(record.synced) << "not to be proven again";
    EXPECT_EQ(record.boot_id, sys::boot_id());
  });
}

// Of the same size and times: a file whose blocks never came to the disk.
void harm(const std::string& file) {
  struct stat status{};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  const sys::Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(fd.get(), "\0\0", 2, 0), 2);
  const std::array times = {status.st_atim, status.st_mtim};
  ASSERT_EQ(::futimens(fd.get(), times.data()), 0);
}

TEST_F(CopyCache, RepairsWhatACrashOfTheMachineHasHarmed) {
  order.request.verify = true;
  Prepared first = prepare();
  const std::string entry = entry_of(first);
  first.lease.reset();
  harm(entry + "/data/d/b");
  change_record(entry, [](CopyRecord& record) { record.boot_id = "the one before"; });
  const Prepared again = prepare();
  EXPECT_EQ(again.how, "copied");
  EXPECT_THAT(again.warnings, ElementsAre(AllOf(HasSubstr("d/b"), HasSubstr("copied again"))));
  EXPECT_EQ(read(again.path + "/d/b"), std::string(100'000, 'b'));
}

TEST_F(CopyCache, ComparesWithTheSourceWhereThereAreNoHashes) {
  Prepared first = prepare();
  const std::string entry = entry_of(first);
  first.lease.reset();
  harm(entry + "/data/a");
  change_record(entry, [](CopyRecord& record) { record.boot_id = "the one before"; });
  const Prepared again = prepare();
  EXPECT_EQ(read(again.path + "/a"), "one");
  change_record(entry, [](CopyRecord& record) { EXPECT_TRUE(record.synced); });
}

// Jobs can write to what they are given; the next one gets what was copied.
TEST_F(CopyCache, MendsWhatAJobHasChangedAndSaysSo) {
  struct Change {
    std::string found;
    std::function<void(const std::string&)> make;
  };
  const std::vector<Change> changes = {
      {"5 entries, not 4", [](const std::string& at) { std::ofstream(at + "/d/more") << "x"; }},
      {"/d/b: ", [](const std::string& at) { EXPECT_EQ(::unlink((at + "/d/b").c_str()), 0); }},
      {"4 bytes, not 3", [](const std::string& at) { std::ofstream(at + "/a") << "four"; }},
      {"another mtime", [](const std::string& at) { std::ofstream(at + "/a") << "two"; }},
      {"/data/a: other bytes than ", [](const std::string& at) { harm(at + "/a"); }},
      {"another mode", [](const std::string& at) { EXPECT_EQ(::chmod(at.c_str(), 0700), 0); }},
  };
  for (const Change& change : changes) {
    Prepared first = prepare();
    first.lease.reset();
    // A change in the clock's tick of the publication has the time of that.
    let_the_clock_of_files_tick();
    change.make(first.path);
    const Prepared again = prepare();
    EXPECT_EQ(again.how, "copied");
    EXPECT_EQ(again.path, first.path);
    EXPECT_THAT(again.warnings,
                ElementsAre(AllOf(HasSubstr(change.found), HasSubstr("changed since"))));
    EXPECT_EQ(copy_job::listing(again.path), copy_job::listing(path("source")));
    EXPECT_EQ(read(again.path + "/a"), "one");
    EXPECT_EQ(prepare().how, "found");
  }
}

TEST_F(CopyCache, FindsWhatWasOnlyTouched) {
  const Prepared first = prepare();
  ASSERT_EQ(::chmod((first.path + "/a").c_str(), 0664), 0);
  for (int round = 0; round < 2; ++round) {
    const Prepared again = prepare();
    EXPECT_EQ(again.how, "found");
    EXPECT_THAT(again.warnings, IsEmpty());
  }
}

TEST_F(CopyCache, VerifiesWhatWasCopiedWithoutWhenThatIsAsked) {
  Prepared first = prepare();
  order.request.verify = true;
  Prepared second = prepare();
  EXPECT_EQ(second.how, "found");
  EXPECT_THAT(second.warnings,
              ElementsAre("it was copied without --verify and is in use, taking it as it is"));
  first.lease.reset();
  second.lease.reset();
  const Prepared third = prepare();
  EXPECT_EQ(third.how, "copied");
  change_record(entry_of(third), [](CopyRecord& record) { EXPECT_TRUE(record.hashed); });
}

TEST_F(CopyCache, ReplacesABrokenRecordWithAWarning) {
  const std::string entry = entry_of(prepare());
  for (const std::string content : {"", "{\"format\": 1", "[]"}) {
    ASSERT_TRUE(sys::write_file_atomic(record_of(entry), 0644, content));
    const Prepared again = prepare();
    EXPECT_EQ(again.how, "copied");
    EXPECT_THAT(again.warnings,
                ElementsAre(AllOf(HasSubstr(record_of(entry)), HasSubstr(", copying it again"))));
  }
  change_record(entry, [](CopyRecord& record) { record.source = "/another"; });
  EXPECT_THAT(prepare().warnings,
              ElementsAre(record_of(entry) + " is of another source, copying it again"));
}

TEST_F(CopyCache, ReplacesWhatIsNoCopy) {
  const std::string entry = entry_of(prepare());
  ASSERT_TRUE(sys::remove_tree(entry));
  ASSERT_TRUE(sys::write_file_atomic(entry, 0644, "x"));
  const Prepared again = prepare();
  EXPECT_EQ(again.how, "copied");
  EXPECT_THAT(again.warnings, ElementsAre(HasSubstr(", copying it again")));
}

TEST_F(CopyCache, ReplacesACopyThatIsGone) {
  const std::string entry = entry_of(prepare());
  ASSERT_TRUE(sys::remove_tree(entry + "/data"));
  EXPECT_THAT(prepare().warnings,
              ElementsAre(AllOf(HasSubstr(entry + "/data: "), HasSubstr(", copying it again"))));
  ASSERT_EQ(::unlink((record_of(entry)).c_str()), 0);
  const Prepared again = prepare();
  EXPECT_THAT(again.warnings, IsEmpty()) << "a removal that was killed is nothing to speak of";
  EXPECT_EQ(again.how, "copied");
  EXPECT_EQ(read(again.path + "/a"), "one");
}

// An entry is a destination: its journal tells what a killed process has brought to its place.
TEST_F(CopyCache, EndsAPublicationThatWasKilled) {
  Prepared first = prepare();
  first.lease.reset();
  const std::string state = entry_of(first) + "/.trainit-copy.data";
  struct stat status{};
  ASSERT_EQ(::stat(first.path.c_str(), &status), 0);
  ASSERT_EQ(::rename((state + "/record.json").c_str(), (state + "/record.next").c_str()), 0);
  write_state(state + "/journal",
              "publishing " + std::to_string(status.st_ino) + " 0 0 " +
                  std::to_string(status.st_mode & 07777) + "\n",
              false)
      .value();
  EXPECT_TRUE(list()[0].partial);
  const Prepared again = prepare();
  EXPECT_EQ(again.how, "found");
  EXPECT_THAT(again.warnings, IsEmpty());
  EXPECT_FALSE(list()[0].partial);
}

TEST_F(CopyCache, CopiesAgainWhereAJournalIsTorn) {
  Prepared first = prepare();
  first.lease.reset();
  const std::string entry = entry_of(first);
  std::ofstream(entry + "/.trainit-copy.data/journal") << "publ";
  ASSERT_EQ(::unlink(record_of(entry).c_str()), 0);
  const Prepared again = prepare();
  EXPECT_EQ(again.how, "copied");
  EXPECT_THAT(again.warnings, ElementsAre(entry + ": an incomplete journal, copying it again"));
  EXPECT_EQ(copy_job::listing(again.path), copy_job::listing(path("source")));
  EXPECT_THAT(names_in(entry), UnorderedElementsAre("data", ".trainit-copy.data"));
}

TEST_F(CopyCache, ReplacesAStateThatTrainitCannotHaveMade) {
  const std::string entry = entry_of(prepare());
  const std::string state = entry + "/.trainit-copy.data";
  const std::vector<std::function<void()>> damages = {
      [&] { std::ofstream(state + "/mark") << "another"; },
      [&] {
        ASSERT_TRUE(sys::remove_tree(state));
        ASSERT_EQ(::symlink(path("source").c_str(), state.c_str()), 0);
      },
      [&] {
        ASSERT_TRUE(sys::remove_tree(state));
        std::ofstream(state) << "x";
      },
      [&] {
        ASSERT_EQ(::unlink((state + "/manifest").c_str()), 0);
        ASSERT_EQ(::mkdir((state + "/manifest").c_str(), 0755), 0);
      },
  };
  for (const auto& damage : damages) {
    damage();
    if (exists(record_of(entry))) ASSERT_EQ(::unlink(record_of(entry).c_str()), 0);
    const Prepared again = prepare();
    EXPECT_EQ(again.how, "copied");
    EXPECT_EQ(copy_job::listing(again.path), copy_job::listing(path("source")));
    EXPECT_EQ(prepare().how, "found");
  }
  EXPECT_TRUE(exists(path("source/a"))) << "no link was followed";
}

// A move of a directory to another parent takes a permission of its owner.
TEST_F(CopyCache, RepairsAReadOnlyDirectoryOfAnOrdinaryUser) {
  if (!child::is_root()) GTEST_SKIP() << "not root";
  ASSERT_EQ(::chmod(path("cache").c_str(), 01777), 0);
  ASSERT_EQ(::chmod(path("source").c_str(), 0555), 0);
  const child::Outcome outcome = child::run([this] {
    if (!child::become_nobody()) return 1;
    const std::string data = prepare().path;
    if (::chmod(data.c_str(), 0755) != 0) return 2;
    std::ofstream(data + "/more") << "x";
    if (::chmod(data.c_str(), 0555) != 0) return 3;
    const Prepared again = prepare();
    std::printf("%s %zu %s", again.how.c_str(), again.warnings.size(), prepare().how.c_str());
    return 0;
  });
  EXPECT_EQ(outcome.out, "copied 1 found") << outcome.err;
}

TEST_F(CopyCache, TakesOverAReadOnlyDirectoryOfAnOrdinaryUser) {
  if (!child::is_root()) GTEST_SKIP() << "not root";
  ASSERT_EQ(::chmod(path("cache").c_str(), 01777), 0);
  ASSERT_EQ(::chmod(path("source").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(path("source/a").c_str(), 0666), 0);
  bool changed = false;
  order.report = [this, &changed](const Report& report) {
    if (changed || report.counters == nullptr || report.counters->phase != Phase::kCopying) return;
    changed = true;
    std::ofstream(path("source/a")) << "changed";
  };
  const child::Outcome outcome = child::run([this] {
    if (!child::become_nobody()) return 1;
    std::printf("%s", prepare().how.c_str());
    std::printf(" %zu", list().size());
    return 0;
  });
  EXPECT_EQ(outcome.out, "copied 1") << outcome.err;
}

TEST_F(CopyCache, LetsOthersShareACopyWhosePublisherWasKilled) {
  const std::string lock = entry_of(prepare()) + ".lock";
  ASSERT_EQ(::chmod(lock.c_str(), 0600), 0);
  prepare();
  struct stat status{};
  ASSERT_EQ(::stat(lock.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644);
}

// Copies by 0.1.0 have other keys. They count by their size, and a link to one leads to its source.
TEST_F(CopyCache, KnowsCopiesOfAnotherLayout) {
  Prepared made = prepare();
  made.lease.reset();
  const std::string entry = entry_of(made);
  const std::string old = path("cache/trainit-datasets/set-0123456789abcdef");
  ASSERT_EQ(::rename(record_of(entry).c_str(), (entry + "/record.json").c_str()), 0);
  ASSERT_TRUE(sys::remove_tree(entry + "/.trainit-copy.data"));
  ASSERT_EQ(::rename(entry.c_str(), old.c_str()), 0);
  ASSERT_EQ(::unlink((entry + ".lock").c_str()), 0);
  ASSERT_THAT(list(), SizeIs(1));
  EXPECT_FALSE(list()[0].partial);
  EXPECT_EQ(list()[0].source, path("source"));
  EXPECT_GE(list()[0].bytes, 100'000);
  ASSERT_EQ(::symlink((old + "/data").c_str(), path("link").c_str()), 0);
  order.dataset.source = path("link");
  const Prepared again = prepare();
  EXPECT_EQ(again.how, "copied");
  EXPECT_EQ(read(again.path + "/a"), "one");
  CacheLimits all;
  all.now_ms = std::int64_t{1} << 60;
  EXPECT_THAT(collect_garbage(path("cache"), all, false)->removed, SizeIs(1));
  EXPECT_FALSE(exists(old));
  EXPECT_EQ(prepare().how, "found") << "by the record of the deleted copy";
}

TEST_F(CopyCache, SaysWhatIsWrongWithItsRoot) {
  order.request.root = path("nothing");
  EXPECT_EQ(error(), "looking for local storage: " + path("nothing") +
                         ": found No such file or directory (ENOENT); make it, or name another "
                         "directory with --data-root");
  order.request.root = write("file", "");
  EXPECT_THAT(error(), HasSubstr(path("file") + ": found no directory; name a directory with"));
  order.request.root = "cache";
  EXPECT_THAT(error(), HasSubstr("found a relative path; give --data-root an absolute one"));
  order.request.root = path("source");
  EXPECT_THAT(error(), HasSubstr("found the place inside the source"));
}

TEST_F(CopyCache, SaysThatItsRootCannotBeWritten) {
  if (!child::is_root()) GTEST_SKIP() << "not root";
  const child::Outcome other = child::run([this] {
    if (!child::become_nobody()) return 1;
    std::printf("%s", error().c_str());
    return 0;
  });
  EXPECT_EQ(other.out, "looking for local storage: " + path("cache") +
                           ": found Permission denied (EACCES); let it be written, or name another "
                           "directory with --data-root");
}

TEST_F(CopyCache, SaysThatTheSourceIsNotThere) {
  order.dataset.source = path("nothing");
  EXPECT_THAT(error(), HasSubstr(path("nothing") + ": found No such file or directory"));
  EXPECT_THAT(list(), IsEmpty());
}

TEST_F(CopyCache, SaysThatTheCopyWouldNotFit) {
  order.request.cache_max_bytes = 1000;
  EXPECT_THAT(error(), AllOf(HasSubstr("to be copied; raise --cache-max-size"),
                             HasSubstr("making room for a dataset: " + path("cache"))));
  order.request.cache_max_bytes = 0;
  order.request.headroom.bytes = std::int64_t{1} << 60;
  EXPECT_THAT(error(), AllOf(HasSubstr("found 0 B for "), HasSubstr("to stay free"),
                             HasSubstr("name a larger --data-root, or lower --data-headroom")));
  EXPECT_EQ(::rmdir(path("cache/trainit-datasets").c_str()), 0) << "nothing is left, as a lock";
}

TEST_F(CopyCache, IsListedAndCollected) {
  EXPECT_THAT(list(), IsEmpty());
  Prepared prepared = prepare();
  ASSERT_THAT(list(), SizeIs(1));
  const CachedDataset entry = list()[0];
  EXPECT_EQ(entry.key, entry_of(prepared).substr(entry_of(prepared).rfind('/') + 1));
  EXPECT_EQ(entry.source, path("source"));
  EXPECT_EQ(entry.entries, 4);
  EXPECT_GE(entry.bytes, 100'000);
  EXPECT_TRUE(entry.in_use);
  EXPECT_FALSE(entry.partial);
  CacheLimits all;
  all.now_ms = entry.used_ms + 10;
  EXPECT_THAT(collect_garbage(path("cache"), all, false)->removed, IsEmpty()) << "it is in use";
  prepared.lease.reset();
  EXPECT_FALSE(list()[0].in_use);
  EXPECT_THAT(collect_garbage(path("cache"), all, true)->removed, SizeIs(1));
  EXPECT_THAT(list(), SizeIs(1)) << "it was only said";
  EXPECT_THAT(collect_garbage(path("cache"), all, false)->removed, SizeIs(1));
  EXPECT_THAT(list(), IsEmpty());
  EXPECT_FALSE(exists(entry_of(prepared) + ".lock"));
  EXPECT_EQ(prepare().how, "copied");
}

TEST_F(CopyCache, MakesRoomByItsLimits) {
  order.request.version = "v1";
  const std::string old = entry_of(prepare());
  order.request.version = "v2";
  order.request.cache_max_bytes = 150'000;
  const Prepared second = prepare();
  EXPECT_FALSE(exists(old)) << "two are too much";
  order.request.version = "v3";
  EXPECT_EQ(prepare().how, "copied");
  EXPECT_TRUE(exists(second.path)) << "it is in use";
}

TEST_F(CopyCache, LeavesWhatItDoesNotKnow) {
  prepare();
  write("cache/trainit-datasets/README", "");
  ASSERT_EQ(::mkdir(path("cache/trainit-datasets/mine").c_str(), 0755), 0);
  CacheLimits all;
  all.now_ms = std::int64_t{1} << 60;
  EXPECT_THAT(collect_garbage(path("cache"), all, false)->removed, SizeIs(1));
  EXPECT_TRUE(exists(path("cache/trainit-datasets/mine")));
}

// A name would come to root's terminal as it is.
TEST_F(CopyCache, ListsNoNameThatItDoesNotMake) {
  prepare();
  const std::string forged = "x\033]0;title\a\nremoved imagenet-0123456789abcdef";
  ASSERT_EQ(::mkdir(path("cache/trainit-datasets/" + forged + "-0123456789abcdef").c_str(), 0755),
            0);
  EXPECT_THAT(*list_cache(path("cache")), SizeIs(1));
}

}  // namespace
}  // namespace copy
