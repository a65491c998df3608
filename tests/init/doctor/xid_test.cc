#include "init/doctor/xid.h"

#include <gmock/gmock.h>

namespace doctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// As dmesg and as /dev/kmsg have them.
TEST(Xids, AreFoundWithTheLastTextOfEach) {
  EXPECT_THAT(
      find_xids(
          "[1.0] NVRM: Xid (PCI:0000:0a:00): 79, pid='<unknown>', GPU has fallen off the bus.\n"
          "4,1,2,-;NVRM: Xid (PCI:0000:0b:00): 31, pid=1, Ch 8\n"
          "NVRM: Xid (PCI:0000:0a:00): 79, again\n"
          "NVRM: Xid (PCI:0000:0a:00): many\nNVRM: Xid (PCI:0000\nNVRM: loading\n"),
      ElementsAre(Xid{31, "0000:0b:00", "pid=1, Ch 8"}, Xid{79, "0000:0a:00", "again"}));
  EXPECT_THAT(find_xids(""), IsEmpty());
}

TEST(Xids, OfProgramsAreNoneOfTheHardware) {
  EXPECT_TRUE(is_of_hardware(79));
  EXPECT_TRUE(is_of_hardware(48));
  EXPECT_FALSE(is_of_hardware(13));
  EXPECT_FALSE(is_of_hardware(31));
  EXPECT_FALSE(is_of_hardware(43));
}

}  // namespace
}  // namespace doctor
