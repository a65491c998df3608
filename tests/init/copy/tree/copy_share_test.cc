// What a process of a copy gives to those that have nothing to do.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "init/copy/tree/file_copy.h"
#include "init/copy/tree/finalize.h"
#include "init/copy/tree/worker.h"
#include "tests/init/child.h"
#include "tests/init/copy/tree/copy_job.h"

namespace copy {
namespace {

class CopyShare : public child::Scratch {
 protected:
  CopyShare() : list_(std::move(WorkList::create("", &board_->work)).value()) {
    job_.counters = counters_.get();
    job_.header = board_.get();
    job_.options = &options_;
    worker_ = std::make_unique<Worker>(job_, list_, 0);
    worker_->rest.directory = "train";
  }

  void leave(std::vector<Name> names) {
    worker_->names = std::move(names);
    worker_->rest.names = worker_->names;
  }

  // The names of the next item, each ended by a comma.
  std::string given() {
    auto item = list_.take(0);
    if (!item || !*item) return "none";
    std::string names;
    for (const char byte : (*item)->names) names += byte == '\0' ? ',' : byte;
    return std::string((*item)->path) + ":" + names;
  }

  std::unique_ptr<SharedHeader> board_ = std::make_unique<SharedHeader>();
  std::unique_ptr<Counters> counters_ = std::make_unique<Counters>();
  Options options_;
  CopyJob job_;
  WorkList list_;
  std::unique_ptr<Worker> worker_;
};

constexpr unsigned char kFile = 'f';

TEST_F(CopyShare, NothingIsGivenWhenAllHaveSomethingToDo) {
  leave({{1, kFile, "a"}, {2, kFile, "b"}});
  ASSERT_TRUE(share_rest(*worker_, 1));
  EXPECT_EQ(worker_->rest.names.size(), 2U);
}

TEST_F(CopyShare, TheSecondHalfOfADirectoryIsGivenToWhoWaits) {
  leave({{1, kFile, "a"}, {2, kFile, "b"}, {3, kFile, "c"}});
  board_->work.waiting = 1;
  ASSERT_TRUE(share_rest(*worker_, 1));
  EXPECT_EQ(worker_->rest.names.size(), 1U);
  EXPECT_EQ(given(), "train:fb,fc,");
}

// A large file is copied by one process while there are others.
TEST_F(CopyShare, TheOnlyOneLeftIsGivenToo) {
  leave({{1, kFile, "a"}});
  board_->work.waiting = 1;
  ASSERT_TRUE(share_rest(*worker_, 1));
  EXPECT_TRUE(worker_->rest.names.empty());
  EXPECT_EQ(given(), "train:fa,");
}

TEST_F(CopyShare, EachWhoWaitsGetsSome) {
  leave({{1, kFile, "a"}, {2, kFile, "b"}, {3, kFile, "c"}, {4, kFile, "d"}});
  board_->work.waiting = 2;
  ASSERT_TRUE(share_rest(*worker_, 1));
  EXPECT_EQ(worker_->rest.names.size(), 1U);
  EXPECT_EQ(given(), "train:fb,");
  EXPECT_EQ(given(), "train:fc,fd,");
}

TEST_F(CopyShare, AFewSmallFilesAreNotWorthAnItem) {
  leave({{1, kFile, "a"}, {2, kFile, "b"}});
  board_->work.waiting = 1;
  ASSERT_TRUE(share_rest(*worker_, 3));
  EXPECT_EQ(worker_->rest.names.size(), 2U);
}

// What is compared has something to compute; who only writes a local file gives nothing away.
TEST_F(CopyShare, HalfOfTheBytesOfAFileAreGivenToWhoWaitsWhereThatIsFaster) {
  const sys::Fd root(::open(path("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto journal = Journal::open(path(""));
  ASSERT_TRUE(journal);
  job_.journal = &*journal;
  job_.tree = path("");
  worker_->source.reset(::open(path("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  worker_->tree.reset(::open(path("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  copy_job::make_parts(path("large"), 4);
  board_->work.waiting = 1;
  for (const bool compare : {false, true}) {
    struct stat status{};
    ASSERT_EQ(::fstatat(root.get(), "large", &status, 0), 0);
    job_.compare = compare;
    Item item;
    item.kind = ItemKind::kRange;
    item.fresh = !compare;
    item.last = 4;
    item.source = state_of("large", status);
    item.path = "large";
    ASSERT_TRUE(copy_range(*worker_, item));
    EXPECT_EQ(board_->work.items.load(), compare ? 1U : 0U);
  }
  const auto given = list_.take(0);
  ASSERT_TRUE(given && *given);
  EXPECT_EQ((*given)->first, 2U);
  EXPECT_EQ((*given)->last, 4U);
}

TEST_F(CopyShare, PartOfAFileThatHasGoneMeanwhileIsAChangeOfTheSource) {
  write("train", "a file where a directory was");
  worker_->source.reset(::open(path("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const char* gone : {"train/part", "part"}) {
    board_->unstable = false;
    Item item;
    item.kind = ItemKind::kRange;
    item.last = 1;
    item.path = gone;
    EXPECT_TRUE(copy_range(*worker_, item)) << gone;
    EXPECT_TRUE(board_->unstable) << gone;
  }
}

// Several wrote it, by one of its names: those that come first to the others cannot finish it.
TEST_F(CopyShare, AnotherNameOfADividedFileIsNoChangeOfTheSource) {
  const sys::Fd directory(::open(path("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const char* name : {"source", "copy"}) {
    const sys::Fd file(::openat(directory.get(), name, O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_EQ(::ftruncate(file.get(), 2 * kPartSize), 0);
    const std::string other = std::string(name) + ".other";
    ASSERT_EQ(::linkat(directory.get(), name, directory.get(), other.c_str(), 0), 0);
  }
  constexpr timespec kWritten[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(directory.get(), "source", kWritten, 0), 0);
  struct stat source{};
  ASSERT_EQ(::fstatat(directory.get(), "source", &source, 0), 0);
  auto journal = Journal::open(path(""));
  ASSERT_TRUE(journal);
  job_.journal = &*journal;
  const DirectoryPair directories{directory.get(), directory.get(), true, false};
  worker_->path = "other";
  ASSERT_TRUE(finish_large(*worker_, directories, "copy.other", source));
  EXPECT_FALSE(board_->unstable);

  worker_->path = "file";
  ASSERT_TRUE(journal->add(state_of("file", source), {0, 1}));
  ASSERT_TRUE(finish_large(*worker_, directories, "copy", source));
  EXPECT_TRUE(board_->unstable);
}

}  // namespace
}  // namespace copy
