// trainit cache ls|gc.

#include <gmock/gmock.h>

#include "init/cli/commands.h"
#include "init/sys/clock.h"
#include "tests/init/copy/cache/cached.h"

namespace cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

class CacheCommand : public cached::Cached {
 protected:
  [[nodiscard]] child::Outcome run(std::vector<std::string> arguments) const {
    return child::run([this, &arguments] {
      arguments.push_back("--data-root=" + path("cache"));
      arguments.emplace_back("--data-headroom=0%");
      arguments.insert(arguments.begin(), "cache");
      return run_tool(arguments, base::Environ());
    });
  }
};

TEST_F(CacheCommand, ShowsWhatIsThere) {
  const child::Outcome none = run({"ls"});
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.out, MatchesRegex(".*/cache: 0 datasets, 0 B; [0-9.]+ [A-Za-z]+ free\n"));
  const copy::Prepared prepared = prepare();
  const child::Outcome used = run({"ls"});
  EXPECT_THAT(used.out, AllOf(HasSubstr("DATASET"), HasSubstr("set-"), HasSubstr("in use"),
                              HasSubstr(path("source") + "\n"), HasSubstr("/cache: 1 dataset, ")));
}

TEST_F(CacheCommand, ShowsWhatIsBeingCopied) {
  cached::Job copier(order, true);
  ASSERT_EQ(copier.line(), "publishing");
  EXPECT_THAT(run({"ls"}).out, HasSubstr("copying 100%"));
  copier.kill();
  EXPECT_THAT(run({"ls"}).out, HasSubstr("unfinished 100%"));
  EXPECT_THAT(run({"ls", "--json"}).out,
              AllOf(HasSubstr(R"("bytes": 100003)"), HasSubstr(R"("total_bytes": 100003)"),
                    HasSubstr(R"("state": "unfinished")")));
}

TEST_F(CacheCommand, RemovesWhatIsDueAndSaysWhatItKeeps) {
  copy::Prepared prepared = prepare();
  EXPECT_THAT(run({"gc", "--cache-ttl=0"}).out,
              AllOf(HasSubstr("kept set-"), HasSubstr(": a job uses it\n")));
  prepared.lease.reset();
  EXPECT_THAT(run({"gc"}).out, AllOf(HasSubstr("kept set-"), HasSubstr(": last used ")));
  EXPECT_THAT(run({"gc", "--cache-ttl=0", "--dry-run"}).out, HasSubstr("would remove set-"));
  EXPECT_TRUE(cached::exists(prepared.path));
  const child::Outcome gone = run({"gc", "--cache-ttl=0"});
  EXPECT_EQ(gone.code, 0);
  EXPECT_THAT(gone.out, AllOf(HasSubstr("removed set-"), testing::Not(HasSubstr("kept"))));
  EXPECT_FALSE(cached::exists(prepared.path));
}

TEST_F(CacheCommand, RemovesWhatIsTooMuch) {
  prepare();
  EXPECT_THAT(run({"gc", "--cache-max-size=1m"}).out, HasSubstr("kept set-"));
  EXPECT_THAT(run({"gc", "--cache-max-size=1k", "--json"}).out,
              AllOf(HasSubstr(R"("datasets": [])"), HasSubstr(R"("removed": [)"),
                    HasSubstr(R"("state": "unused")")));
}

TEST_F(CacheCommand, SaysWhatCannotBeRemoved) {
  if (!child::is_root()) GTEST_SKIP() << "not root";
  prepare();
  const child::Outcome other = child::run([this] {
    if (!child::become_nobody()) return 1;
    const std::vector<std::string> arguments = {"cache", "gc", "--cache-ttl=0", "--data-root",
                                                path("cache")};
    return run_tool(arguments, base::Environ());
  });
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out + other.err, HasSubstr("Permission denied (EACCES)"));
}

TEST_F(CacheCommand, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(run({}).code, 125);
  EXPECT_THAT(run({"rm"}).err, HasSubstr("found \"rm\"; use ls or gc"));
  EXPECT_THAT(run({"ls", "x"}).err, HasSubstr("x: found an argument that is no option"));
  EXPECT_THAT(run({"gc", "--cache-ttl=x"}).err, HasSubstr("--cache-ttl"));
  EXPECT_EQ(run({"gc", "--help"}).code, 0);
}

}  // namespace
}  // namespace cli
