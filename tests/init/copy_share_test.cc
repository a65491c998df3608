// What a process of a copy gives to those that have nothing to do.
#include <dirent.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "init/copy/worker.h"

namespace copy {
namespace {

class CopyShare : public testing::Test {
 protected:
  CopyShare() : list_(std::move(WorkList::create("", &board_->work)).value()) {
    job_.counters = counters_.get();
    job_.board = board_.get();
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
    auto item = list_.take();
    if (!item || !*item) return "none";
    std::string names;
    for (const char byte : (*item)->names) names += byte == '\0' ? ',' : byte;
    return std::string((*item)->path) + ":" + names;
  }

  std::unique_ptr<Board> board_ = std::make_unique<Board>();
  std::unique_ptr<Counters> counters_ = std::make_unique<Counters>();
  Options options_;
  Job job_;
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

// A large file is copied by one process while there are others: its writers wait for each other.
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

}  // namespace
}  // namespace copy
