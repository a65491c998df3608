// What a copy gives away: whoever makes its source must not gain by it.

#include <gmock/gmock.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using escape::kOther;
using escape::Result;
using escape::Words;
using testing::HasSubstr;

constexpr mode_t kPermissions = 07777;

class Copies : public Border {
 protected:
  // A tree of another user's with a program in it that runs as that user.
  void make_source() const {
    make("source", kOther, 02755);
    write("source/program", "#!/bin/sh\n");
    give("source/program", kOther, 06755);
  }
  [[nodiscard]] mode_t mode_of(const std::string& name) const {
    return status_of(name).st_mode & kPermissions;
  }
  [[nodiscard]] Result copy(const Words& args) const {
    return rules::run(contained(escape::joined({"copy", "--headroom", "0"}, args)));
  }
  // Where the data of a job is that runs with these options.
  [[nodiscard]] std::string data(const std::string& spec, const Words& options) const {
    const Result result = rules::run(contained(escape::joined(
        escape::joined({"--data", path(spec), "--data-root", path("cache"), "--data-headroom", "0"},
                       options),
        {"--", "/bin/sh", "-c", "echo $TRAINIT_DATASET_SOURCE"})));
    EXPECT_EQ(result.code, 0) << result.err;
    const std::size_t above = path("").size();
    EXPECT_TRUE(result.out.starts_with(path(""))) << result.out;
    return result.out.substr(above, result.out.find('\n') - above);
  }
};

// It would run as the new owner: chown takes the bits away, too.
TEST_F(Copies, OfAnotherOwnerHaveNoSetIds) {
  make_source();
  for (const char* owner : {"0:0", "2000:0", "0:2000"}) {
    const Result result = copy({"--owner", owner, path("source"), path("out/place")});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(mode_of("out/place/program"), 0755U) << owner;
    EXPECT_EQ(mode_of("out/place"), 0755U) << owner;
    EXPECT_THAT(copy({"--owner", owner, path("source"), path("out/place")}).out,
                HasSubstr("unchanged"));
  }
}

TEST_F(Copies, OfTheSameOwnerKeepThem) {
  make_source();
  const Result result = copy({path("source"), path("out/place")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(owner_of("out/place/program"), kOther);
  EXPECT_EQ(mode_of("out/place/program"), 06755U);
}

TEST_F(Copies, OfAnOrdinaryUserHaveNoSetIds) {
  make_source();
  as(kJob, path(""), "'" + rules::trainit() + "' copy --headroom 0 source home/place");
  EXPECT_EQ(owner_of("home/place/program"), kJob);
  EXPECT_EQ(mode_of("home/place/program"), 0755U);
}

TEST_F(Copies, ThatAreDataNeverHaveSetIds) {
  make_source();
  make("cache", 0, 0755);
  for (const Words& options : {Words{}, Words{"--user", "1000:1000"}, Words{"--user", "2000:2000"},
                               Words{"--user", "2000:2000", "--data-version", "1"}}) {
    const std::string cached = data("source", options);
    EXPECT_EQ(mode_of(cached + "/program"), 0755U) << cached;
    EXPECT_EQ(mode_of(cached), 0755U) << cached;
  }
}

// A copy that was made by itself had them.
TEST_F(Copies, ThatBecomeDataLoseThem) {
  make_source();
  make("cache", 0, 0755);
  ASSERT_EQ(copy({path("source"), path("out/place")}).code, 0);
  const std::string spec = "source=" + path("out/place");
  EXPECT_EQ(data(spec, {}), "out/place");
  EXPECT_EQ(mode_of("out/place/program"), 0755U);
}

}  // namespace
