// The summary and the listing of a plan: values that look like several, and texts that are wider
// than a terminal.

#include "envgen/show/plan_text.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "envgen/show/columns.h"
#include "envgen/show/paragraph.h"
#include "envgen/show/plan_parts.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr auto kSet = base::EnvEdit::Kind::kSet;

class PlanText : public testing::Test {
 protected:
  PlanText() { set_ranks(2); }

  void set_ranks(int count) {
    plan_.processes.clear();
    for (int rank = 0; rank < count; ++rank) {
      const std::string name = "rank-" + std::to_string(rank);
      Process process{.name = name, .rank = rank, .argv = {"train"}, .cwd = "/w", .env = {}};
      process.log = directory_ + "/" + name + ".log";
      plan_.processes.push_back(process);
    }
  }

  [[nodiscard]] std::string summary() const {
    const std::string text = plan_summary(plan_, {}, {}).text();
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view line = base::take_line(rest);
      EXPECT_LE(columns_of(line), kColumns) << line;
    }
    return text;
  }

  Plan plan_;
  std::string directory_ = "/run/trainit/logs";
};

// --- Values ---

TEST_F(PlanText, QuotesOnlyAValueThatLooksLikeSeveral) {
  for (const char* plain : {"", "/a/b:c", "0,1", "a=b", "$HOME", R"({"a":"b","c":[1]})", "数据"}) {
    EXPECT_EQ(value_text(plain), plain);
  }
  EXPECT_EQ(value_text("a b"), "'a b'");
  EXPECT_EQ(value_text("it's"), R"('it'\''s')");
  EXPECT_EQ(value_text("a\\"), R"('a\')");
  EXPECT_EQ(value_text("\"a"), R"('"a')");
  EXPECT_EQ(value_text("a\nB=1\t'\\"), R"($'a\nB=1\t\'\\')");
}

TEST_F(PlanText, HasNoVariableThatAValueForges) {
  plan_.env = {{kSet, "RUN_NAME", "x RANK_TABLE_FILE=/forged"}, {kSet, "NOTE", "a\n    B=1"}};
  plan_.processes[0].env = {{kSet, "PART", "0, LOCAL_RANK 7"}, {kSet, "PLACE", "a b"}};
  plan_.processes[1].env = {{kSet, "PART", "1, LOCAL_RANK 7"}, {kSet, "PLACE", "c"}};
  EXPECT_THAT(summary(), AllOf(HasSubstr("RUN_NAME='x RANK_TABLE_FILE=/forged'"),
                               HasSubstr(R"(NOTE=$'a\n    B=1')"),
                               HasSubstr("PART '{0..1}, LOCAL_RANK 7'"), HasSubstr("'a b'")));
  EXPECT_THAT(plan_listing(plan_, {}, {}).text(),
              AllOf(HasSubstr("    RUN_NAME='x RANK_TABLE_FILE=/forged'\n"),
                    HasSubstr("    NOTE=$'a\\n    B=1'\n"), HasSubstr("    PLACE='a b'\n")));
}

TEST_F(PlanText, ListsACommandAsAShellWouldReadIt) {
  plan_.processes[0].argv = {"sh", "-c", "exec train a"};
  EXPECT_THAT(plan_listing(plan_, {}, {}).text(), HasSubstr("  rank-0: sh -c 'exec train a'\n"));
}

TEST_F(PlanText, CutsTheMiddleOfAValueOfManyWords) {
  std::string words;
  for (int i = 0; i < 100; ++i) words += std::to_string(i) + " ";
  plan_.env = {{kSet, "WORDS", words}};
  EXPECT_THAT(summary(), AllOf(HasSubstr("WORDS='0 1 2"), HasSubstr("..."), HasSubstr(" 99 '"),
                               Not(HasSubstr(" 40 "))));
}

// --- The table of ranks ---

TEST_F(PlanText, ShowsTheLogsBelowAWideTable) {
  for (int i = 0; i < 4; ++i) {
    const std::string name = "A_LONG_NAME_" + std::to_string(i);
    plan_.processes[0].env.push_back({kSet, name, "x"});
    plan_.processes[1].env.push_back({kSet, name, "y"});
  }
  EXPECT_THAT(summary(), AllOf(HasSubstr("  A_LONG_NAME_3\n"),
                               HasSubstr("  rank  output\n  0     rank-0.log\n  1     rank-1.log\n"
                                         "  files in /run/trainit/logs\n")));
}

TEST_F(PlanText, ShowsALongDirectoryOfLogsBelowTheTable) {
  directory_ = "/mnt/experiments/of-the-whole-group/2026-02-03/run-0017/logs";
  set_ranks(2);
  EXPECT_THAT(summary(), AllOf(HasSubstr("  rank  local rank  output\n"),
                               HasSubstr("  1     1           rank-1.log\n"),
                               HasSubstr("\n  files in " + directory_ + "\n")));
}

TEST_F(PlanText, ShowsEachLogOfDirectoriesWithoutAnythingInCommon) {
  for (Process& process : plan_.processes) {
    process.log = "/mnt/experiments/of-the-whole-group/" + process.name + "/2026-02-03/run/out.log";
    process.echo = true;
  }
  EXPECT_THAT(summary(),
              AllOf(HasSubstr("/rank-0/2026-02-03/run/out.log"),
                    HasSubstr("/rank-1/2026-02-03/run/out.log"), HasSubstr("stdout and stderr")));
}

TEST_F(PlanText, SaysWhyOnlyForRanksThatAreBound) {
  set_ranks(3);
  const auto bind = [this](std::size_t rank, const std::string& cpus) {
    plan_.processes[rank].cpus = cpus;
    plan_.processes[rank].cpus_reason = "NUMA node " + std::to_string(rank) + " of /dev/nvidia0";
  };
  bind(0, "0-7");
  EXPECT_THAT(summary(), AllOf(HasSubstr("  rank  local rank  CPUs  output"),
                               HasSubstr("  1     1           all   rank-1.log\n"),
                               HasSubstr("  CPUs of: NUMA node 0 of /dev/nvidia0\n")));
  bind(2, "8-15");
  EXPECT_THAT(summary(), AllOf(HasSubstr("  rank  local rank  CPUs  of  output"),
                               HasSubstr("  0     0           0-7   0   rank-0.log\n"),
                               HasSubstr("  1     1           all   -   rank-1.log\n"),
                               HasSubstr("  CPUs of: NUMA node ... of /dev/nvidia0\n")));
}

TEST(Columns, ThatDoNotFitFollowBehindTheFirstOne) {
  const std::string wide(40, 'x');
  base::ShownLines lines;
  const std::vector<Column> columns = {
      {"id", {"0", "1"}}, {"a", {wide, "a1"}}, {"b", {"b0", wide}}};
  add_columns(lines, columns);
  EXPECT_EQ(lines.text(),
            "  id  a\n  0   " + wide + "\n  1   a1\n  id  b\n  0   b0\n  1   " + wide + "\n");
  EXPECT_EQ(width_of(columns), 2 + 2 + 2 + 40 + 2 + 40U);
}

// --- Other lines ---

TEST_F(PlanText, NamesTheOtherNodesHoweverLongTheirNamesAre) {
  plan_.node_count = 3;
  plan_.local_node = LocalNode{.node_rank = 0, .reason = "x"};
  plan_.cluster = Cluster{};
  for (const char* begin : {"a", "b", "c"}) {
    plan_.cluster->nodes.push_back({.host = begin + std::string(90, 'n') + ".example"});
  }
  EXPECT_THAT(summary(), HasSubstr("\nother nodes: 1 bnnn"));
  EXPECT_THAT(summary(), HasSubstr("nnn.example and 1 more\n"));
}

TEST_F(PlanText, BreaksTheLinesOfAFile) {
  plan_.files = {{"/f", 0644,
                  base::LazyText(std::string(60, 'a') + " " + std::string(60, 'b') + "\n" +
                                 std::string(200, 'c') + "\n")}};
  EXPECT_THAT(summary(), AllOf(HasSubstr("writes /f:\n    aaaa"), HasSubstr("\n    bbbb"),
                               HasSubstr("ccc...ccc")));
}

// A server that exits has the exit code of its exit (lifecycle/machine_stop.cc).
TEST_F(PlanText, SaysWhichEndOfAServerIsASuccess) {
  plan_.policy.success = base::SuccessPolicy::kServe;
  EXPECT_THAT(summary(), HasSubstr("\nends when all 2 exit with 0 or one fails; to die of the stop "
                                   "signal is a success\n"));
  plan_.processes.pop_back();
  EXPECT_THAT(summary(), HasSubstr("\nends with rank-0's exit code; to die of the stop signal is a "
                                   "success\n"));
}

TEST_F(PlanText, NamesTheShortGraceAfterAFailure) {
  EXPECT_THAT(summary(), Not(HasSubstr("for a failure")));
  plan_.policy.failure_grace_ms = 3000;
  const char* line =
      "\nkills the other ranks 3 s after their SIGTERM for a failure, unless they write\n";
  EXPECT_THAT(summary(), HasSubstr(line));
  EXPECT_THAT(plan_listing(plan_, {}, {}).text(), HasSubstr(line));
}

}  // namespace
}  // namespace envgen
