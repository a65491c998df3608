#include "init/copy/tree/directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/init/child.h"

namespace {

using copy::Name;
using copy::NameOrder;

class DirectoryTest : public child::Scratch {
 protected:
  // In a directory in another order than their inodes: ext4 has it by the hashes of the names.
  DirectoryTest() {
    for (int i = 0; i < kFiles; ++i) write(std::to_string(i), "");
  }

  std::vector<Name> read(NameOrder order) {
    const sys::Fd directory(::open(path("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::vector<Name> names;
    EXPECT_TRUE(reader_.read(directory.get(), names, order));
    return names;
  }

  static constexpr int kFiles = 200;
  copy::DirectoryReader reader_;
};

TEST_F(DirectoryTest, IsReadInTheOrderOfTheInodes) {
  const std::vector<Name> names = read(NameOrder::kByInode);
  EXPECT_EQ(names.size(), std::size_t{kFiles});
  EXPECT_TRUE(std::ranges::is_sorted(names, {}, &Name::inode));
}

TEST_F(DirectoryTest, IsReadAsItComesWithTheSameNames) {
  const auto sorted_texts = [](const std::vector<Name>& names) {
    std::vector<std::string> texts;
    for (const Name& name : names) texts.emplace_back(name.text);
    std::ranges::sort(texts);
    return texts;
  };
  const std::vector<std::string> any = sorted_texts(read(NameOrder::kAny));
  EXPECT_EQ(any, sorted_texts(read(NameOrder::kByInode)));
}

}  // namespace
