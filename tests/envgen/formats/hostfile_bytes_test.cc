// Hostfiles with bytes that no reader takes, and what is said about them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envgen/formats/hostfile.h"

namespace envgen {
namespace {

using testing::HasSubstr;

Finding first_fatal(const std::string& text, HostfileDialect dialect) {
  for (const Finding& finding : parse_hostfile(text, dialect).findings) {
    if (is_refused(finding)) return finding;
  }
  ADD_FAILURE() << "accepted: " << text.substr(0, 80);
  return {};
}

TEST(Hostfile, AByteOrderMarkIsCalledSo) {
  for (const auto dialect : {HostfileDialect::kOpenMpi, HostfileDialect::kMpich,
                             HostfileDialect::kDeepSpeed, HostfileDialect::kHorovod}) {
    EXPECT_THAT(first_fatal("\xEF\xBB\xBF"
                            "a slots=8\n",
                            dialect)
                    .found,
                HasSubstr("byte order mark"));
  }
}

TEST(Hostfile, AHostIsNotLongerThanAnyName) {
  EXPECT_THAT(first_fatal(std::string(254, 'a') + "\n", HostfileDialect::kPlain).found,
              HasSubstr("as the host"));
  EXPECT_EQ(parse_hostfile(std::string(253, 'a') + "\n", HostfileDialect::kPlain).entries.size(),
            1U);
}

TEST(Hostfile, WhatHydraIsAdvisedToGetIsWhatItTakes) {
  EXPECT_EQ(first_fatal("a slots=8\n", HostfileDialect::kMpich).fix, "write a:8");
  for (const char* text : {"a slots=-1\n", "a slots=\n", "-oX slots=2\n", "a\xff slots=2\n"}) {
    EXPECT_EQ(first_fatal(text, HostfileDialect::kMpich).fix, "write \"host:N\" and nothing else");
  }
}

}  // namespace
}  // namespace envgen
