#include "envgen/failure/printed_line.h"

#include <gtest/gtest.h>

#include <string>

namespace envgen {
namespace {

TEST(PrintedLine, BeginsBehindWhatLaunchersPutBeforeIt) {
  for (const std::string ranks :
       {"[rank1]: ", "rank1: ", "15: ", "[default0]:[rank0]: ", "[1,0]<stderr>:", "[0] ",
        "[prterun-vm-12@1,1]<stderr>: ", "[default0]:rank0: "}) {
    const PrintedLine line = printed_line(ranks + "ValueError: batch 7");
    EXPECT_EQ(line.bare(), "ValueError: batch 7") << ranks;
    EXPECT_NE(line.stream, "") << ranks;
    EXPECT_EQ(without_rank(ranks + "ValueError: batch 7"), "ValueError: batch 7") << ranks;
  }
  EXPECT_NE(printed_line("[0] a").stream, printed_line("[1] a").stream);
}

TEST(PrintedLine, KeepsWhatIsNoRankWhenItIsShown) {
  for (const std::string whole : {"[Error]: lost", "node-3: error: lost", "12:00:01 lost",
                                  "rank: 3", "]: x", "[]: x", "(Worker pid=17) lost", ""}) {
    EXPECT_EQ(without_rank(whole), whole);
  }
}

LogLevel level_of(std::string_view line) { return log_level(printed_line(line)); }

TEST(PrintedLine, HasTheLevelOfARecord) {
  for (const char* error :
       {R"({"ts":"12:00:01","level":"error","msg":"lost"})", R"({"levelname": "ERROR", "x": 1})",
        R"({"msg":"lost","severity":"CRITICAL"})", "time=12:00:01 level=error msg=\"lost\"",
        R"({"log":"{\"level\":\"panic\",\"msg\":\"lost\"}"})", "lvl=fatal msg=lost"}) {
    EXPECT_EQ(level_of(error), LogLevel::kError) << error;
  }
  EXPECT_EQ(level_of(R"({"level":"warn","msg":"ERROR 3 times"})"), LogLevel::kWarning);
  EXPECT_EQ(level_of(R"(level=info msg="no ERROR")"), LogLevel::kInfo);
  for (const char* none :
       {"compression level: 3", "level=3", R"({"level":50})", "level=", "level", R"("level")"}) {
    EXPECT_EQ(level_of(none), LogLevel::kNone) << none;
  }
}

}  // namespace
}  // namespace envgen
