// What a job is planned by: trainit reads it as root, and tells what it says.

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using escape::Result;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Inputs : public Border {
 protected:
  [[nodiscard]] Result run(const std::string& table) const {
    return rules::run(contained({"--user", "1000:1000", "--rank-table", path(table), "--work-dir",
                                 path("out"), "--", "/bin/true"}));
  }
  // Whether a file that trainit has written has it.
  [[nodiscard]] bool published(const std::string& text) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path("run"))) {
      const std::string file = entry.path().string().substr(path("").size());
      if (entry.is_regular_file() && read(file).find(text) != std::string::npos) return true;
    }
    return false;
  }
};

// A table, and what is none: a parser's error shows what it has found.
TEST_F(Inputs, BehindALinkOfTheJobsAreReadAsTheJob) {
  std::string table = rules::rank_table(2);
  table.replace(table.find("10.0.0.1"), 8, "10.99.9.9");
  for (const std::string& content : {table, std::string(R"({"status":"the secret of root"})")}) {
    write("root/table.json", content);
    give("root/table.json", 0, 0600);
    as(kJob, path("home"), "rm -f table.json; ln -s " + path("root/table.json") + " table.json");
    const Result result = run("home/table.json");
    EXPECT_EQ(result.code, 125) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("Permission denied"), Not(HasSubstr("the secret"))));
    EXPECT_FALSE(published("10.99.9.9") || published("the secret"));

    ASSERT_EQ(::link(path("root/table.json").c_str(), path("home/hard").c_str()), 0);
    EXPECT_EQ(run("home/hard").code, 125);
    EXPECT_FALSE(published("10.99.9.9") || published("the secret"));
    ASSERT_EQ(::unlink(path("home/hard").c_str()), 0);
  }
}

TEST_F(Inputs, OfTheJobsAndOfRootsAreRead) {
  write("home/table.json", rules::rank_table(1));
  give("home/table.json", kJob, 0600);
  EXPECT_EQ(run("home/table.json").code, 0);
  as(kJob, path("home"), "ln -s table.json link");
  EXPECT_EQ(run("home/link").code, 0);
  write("root/table.json", rules::rank_table(1));
  give("root/table.json", 0, 0600);
  EXPECT_EQ(run("root/table.json").code, 0);
}

TEST_F(Inputs, BehindALinkThatChangesAllTheTimeAreNeverRoots) {
  write("home/table.json", rules::rank_table(1));
  give("home/table.json", kJob, 0644);
  write("root/table.json", R"({"status":"the secret of root"})");
  as(kJob, path("home"), "ln -s " + path("root/table.json") + " link");
  const Exchange exchange(kJob, path("home/table.json"), path("home/link"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(run("home/table.json").err, Not(HasSubstr("the secret")));
    EXPECT_FALSE(published("the secret"));
  }
}

}  // namespace
