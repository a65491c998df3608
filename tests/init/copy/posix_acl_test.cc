#include "init/copy/posix_acl.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace copy {
namespace {

struct Entry {
  unsigned tag;
  unsigned permissions;
};
constexpr unsigned kOwner = 0x01;
constexpr unsigned kUser = 0x02;
constexpr unsigned kGroupObject = 0x04;
constexpr unsigned kGroup = 0x08;
constexpr unsigned kMask = 0x10;
constexpr unsigned kOther = 0x20;

// As the kernel gives it.
std::string acl(const std::vector<Entry>& entries) {
  std::string bytes("\2\0\0\0", 4);
  for (const Entry& entry : entries) {
    bytes += static_cast<char>(entry.tag);
    bytes += '\0';
    bytes += static_cast<char>(entry.permissions);
    bytes += std::string("\0\1\0\0\0", 5);
  }
  return bytes;
}

TEST(PosixAcl, GroupHasWhatItsEntryGivesAndNotTheMask) {
  EXPECT_EQ(without_acl(0100670, acl({{kOwner, 6}, {kUser, 7}, {kGroupObject, 0}, {kMask, 7}})),
            0100600U);
  EXPECT_EQ(without_acl(0640, acl({{kGroup, 7}, {kGroupObject, 6}, {kMask, 4}, {kOther, 0}})),
            0640U);
  EXPECT_EQ(without_acl(02755, acl({{kGroupObject, 5}, {kGroup, 7}, {kMask, 5}, {kOther, 5}})),
            02755U);
}

TEST(PosixAcl, WhoIsShutOutByNameGetsNothingAsOneOfTheOthers) {
  EXPECT_EQ(without_acl(0755, acl({{kUser, 0}, {kGroupObject, 5}, {kMask, 5}, {kOther, 5}})),
            0700U);
  EXPECT_EQ(without_acl(0755, acl({{kGroup, 0}, {kGroupObject, 5}, {kMask, 5}, {kOther, 5}})),
            0750U);
}

TEST(PosixAcl, MaskCountsForWhoIsNamed) {
  EXPECT_EQ(without_acl(0745, acl({{kUser, 7}, {kGroupObject, 7}, {kMask, 4}, {kOther, 5}})),
            0744U);
}

TEST(PosixAcl, ListThatIsNotUnderstoodLeavesTheOwnerAlone) {
  EXPECT_EQ(without_acl(04775, ""), 04700U);
  EXPECT_EQ(without_acl(0775, std::string("\3\0\0\0", 4)), 0700U);
  EXPECT_EQ(without_acl(0775, acl({{kGroupObject, 7}}) + "x"), 0700U);
}

}  // namespace
}  // namespace copy
