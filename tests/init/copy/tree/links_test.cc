// Names of one file, as far as the source's word for it can be believed.
#include "init/copy/tree/links.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <string>

#include "init/sys/fd.h"
#include "tests/init/child.h"

namespace copy {
namespace {

class CopyLinks : public child::Scratch {
 protected:
  CopyLinks() : list_(std::move(WorkList::create("", &header_->work)).value()) {
    job_.counters = counters_.get();
    job_.header = header_.get();
    job_.options = &options_;
    worker_ = std::make_unique<Worker>(job_, list_, 0);
  }

  // Returns the key of a file with these contents, whose inode is 7 in the source.
  std::string key_of(const std::string& text, std::int64_t mtime = 1'000) {
    write("file", text);
    const sys::Fd file(::open(path("file").c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status{};
    status.st_ino = 7;
    status.st_nlink = 2;
    status.st_size = static_cast<off_t>(text.size());
    status.st_mtim.tv_sec = mtime;
    EXPECT_TRUE(make_link_key(*worker_, file.get(), status));
    return worker_->link_key;
  }

  std::unique_ptr<SharedHeader> header_ = std::make_unique<SharedHeader>();
  std::unique_ptr<Counters> counters_ = std::make_unique<Counters>();
  Options options_;
  CopyJob job_;
  WorkList list_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(CopyLinks, NamesOfOneFileAreOne) { EXPECT_EQ(key_of("text"), key_of("text")); }

// As FUSE file systems do that number their files badly.
TEST_F(CopyLinks, OneInodeOfDifferentFilesIsNotOneFile) {
  const std::string filler(100'000, '.');
  const std::string first = key_of("a" + filler);
  EXPECT_NE(first, key_of("b" + filler));
  EXPECT_NE(key_of(filler + "a"), key_of(filler + "b"));
  EXPECT_NE(first, key_of("a." + filler));
  EXPECT_NE(first, key_of("a" + filler, 1'001));
}

}  // namespace
}  // namespace copy
