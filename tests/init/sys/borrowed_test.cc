// When a start counts as one with another's rights.

#include "init/sys/borrowed.h"

#include <gmock/gmock.h>

namespace {

using sys::borrowed;
using testing::HasSubstr;

TEST(Borrowed, AreTheRightsOfASetIdProgramAndOfFileCapabilities) {
  EXPECT_THAT(borrowed({.secure = true, .uid = 1000, .effective_uid = 0}),
              HasSubstr("set-user-ID bit: uid 1000 would have the rights of uid 0"));
  EXPECT_THAT(borrowed({.secure = true, .uid = 0, .effective_uid = 1000}),
              HasSubstr("set-user-ID"));
  EXPECT_THAT(
      borrowed({.secure = true, .uid = 7, .effective_uid = 7, .gid = 7, .effective_gid = 0}),
      HasSubstr("set-group-ID bit: gid 7"));
  EXPECT_THAT(borrowed({.secure = true, .uid = 7, .effective_uid = 7, .gains_capabilities = true}),
              HasSubstr("file capabilities"));
}

// SELinux sets AT_SECURE for every container that it labels.
TEST(Borrowed, NothingIsByAChangeOfTheDomainAlone) {
  EXPECT_EQ(borrowed({.secure = true}), "");
  EXPECT_EQ(borrowed({.secure = true, .uid = 7, .effective_uid = 7, .gid = 7, .effective_gid = 7}),
            "");
  EXPECT_EQ(borrowed({.secure = false, .uid = 1000, .effective_uid = 0}), "");
  EXPECT_EQ(borrowed(sys::exec_rights()), "");
}

}  // namespace
