#include "base/search_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace base {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SearchPath, UnsetIsTheDefaultAndEmptyIsTheCurrentDirectory) {
  EXPECT_EQ(search_path_of(Environ()), "/bin:/usr/bin");
  EXPECT_EQ(search_path_of(Environ({"PATH="})), "");
  EXPECT_EQ(search_path_of(Environ({"PATH=/a:b"})), "/a:b");
  EXPECT_THAT(places_of_program("", "tool"), ElementsAre("./tool"));
}

TEST(SearchPath, EachElementIsAPlaceAndAnEmptyOneIsTheCurrentDirectory) {
  EXPECT_THAT(places_of_program("/a:b:/c/", "tool"), ElementsAre("/a/tool", "b/tool", "/c/tool"));
  EXPECT_THAT(places_of_program(":/a::/b:", "tool"),
              ElementsAre("./tool", "/a/tool", "./tool", "/b/tool", "./tool"));
  EXPECT_THAT(places_of_program("/", "tool"), ElementsAre("/tool"));
}

TEST(SearchPath, ANameWithASlashIsAPath) {
  EXPECT_THAT(places_of_program("/a:/b", "./tool"), ElementsAre("./tool"));
  EXPECT_THAT(places_of_program("/a:/b", "bin/tool"), ElementsAre("bin/tool"));
  EXPECT_THAT(places_of_program("/a:/b", ""), IsEmpty());
}

TEST(SearchPath, ProgramsWithTrainitsRightsLieInAbsoluteDirectories) {
  EXPECT_THAT(absolute_places_of_program(":/a:b::/c:.", "tool"), ElementsAre("/a/tool", "/c/tool"));
  for (const char* path : {"", ":", "bin", "bin:."}) {
    EXPECT_THAT(absolute_places_of_program(path, "tool"), IsEmpty()) << path;
  }
  EXPECT_EQ(server_path_of(Environ({"PATH=bin:/a:"})),
            "/a:/usr/sbin:/usr/local/sbin:/sbin:/usr/bin");
}

}  // namespace
}  // namespace base
