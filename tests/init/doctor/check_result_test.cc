#include "init/doctor/check_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/xml.h"

namespace doctor {
namespace {

using testing::HasSubstr;

const std::vector<CheckResult> kResults = {
    {"kernel", "", CheckStatus::kOk, "Linux 6.1.0 x86_64", ""},
    {"gpu", "", CheckStatus::kSkipped, "nvidia-smi is not in PATH", ""},
    {"shm", "/dev/shm", CheckStatus::kWarning, "64 MiB, 63 MiB free", "give it --shm-size 16g"},
    {"npu", "NPU 3 chip 0", CheckStatus::kFailed, "its health is <Alarm>", "reset the \"card\""},
};

TEST(CheckResults, MakeATable) {
  EXPECT_EQ(results_to_text(kResults, false, 0),
            "kernel  ok       Linux 6.1.0 x86_64\n"
            "gpu     skipped  nvidia-smi is not in PATH\n"
            "shm     warning  /dev/shm: 64 MiB, 63 MiB free\n"
            "                 -> give it --shm-size 16g\n"
            "npu     failed   NPU 3 chip 0: its health is <Alarm>\n"
            "                 -> reset the \"card\"\n"
            "1 ok, 1 warning, 1 failed, 1 skipped\n");
}

TEST(CheckResults, WrapAtTheTerminalsWidthBetweenWords) {
  const std::vector<CheckResult> results = {
      {"disk", "", CheckStatus::kFailed, "no room is left in the directory of logs", "clear it"}};
  EXPECT_EQ(results_to_text(results, false, 42),
            "disk  failed   no room is left in the\n"
            "               directory of logs\n"
            "               -> clear it\n"
            "0 ok, 0 warnings, 1 failed, 0 skipped\n");
  // A word without blanks is cut, and one character of UTF-8 is never.
  const std::string wide = "ä";
  std::string word;
  for (int i = 0; i < 40; ++i) word += wide;
  const std::vector<CheckResult> one = {{"disk", "", CheckStatus::kOk, word, ""}};
  const std::string text = results_to_text(one, false, 45);
  EXPECT_THAT(text, HasSubstr("disk  ok       " + word.substr(0, 60) + "\n"));
  // A terminal too narrow to wrap for is left to wrap by itself.
  EXPECT_THAT(results_to_text(results, false, 20), HasSubstr("in the directory of logs\n"));
}

TEST(CheckResults, ColourTheVerdictAlone) {
  EXPECT_THAT(results_to_text(kResults, true, 80),
              HasSubstr("npu     \033[31mfailed   \033[0mNPU 3"));
}

TEST(CheckResults, StayALineWhateverTheyHold) {
  const std::vector<CheckResult> results = {
      {"x", "a\nb", CheckStatus::kFailed, "c\033[2Jd", "e\tf"}};
  EXPECT_EQ(results_to_text(results, false, 0),
            "x  failed   a\\nb: c\\x1b[2Jd\n"
            "            -> e\\tf\n"
            "0 ok, 0 warnings, 1 failed, 0 skipped\n");
}

TEST(CheckResults, MakeJson) {
  EXPECT_EQ(results_to_json(std::vector{kResults[2]}),
            "{\n"
            "  \"ok\": 0,\n"
            "  \"warnings\": 1,\n"
            "  \"failed\": 0,\n"
            "  \"skipped\": 0,\n"
            "  \"results\": [\n"
            "    {\n"
            "      \"check\": \"shm\",\n"
            "      \"place\": \"/dev/shm\",\n"
            "      \"verdict\": \"warning\",\n"
            "      \"found\": \"64 MiB, 63 MiB free\",\n"
            "      \"fix\": \"give it --shm-size 16g\"\n"
            "    }\n"
            "  ]\n"
            "}\n");
}

TEST(CheckResults, MakeAJUnitReportThatParses) {
  const std::string report = results_to_junit(kResults, "node-<1>");
  const auto root = base::xml::parse(report, "report");
  ASSERT_TRUE(root.has_value()) << report;
  EXPECT_EQ(root->name, "testsuites");
  const base::xml::Element& suite = *root->child("testsuite");
  EXPECT_EQ(suite.attribute("tests"), "4");
  EXPECT_EQ(suite.attribute("failures"), "1");
  EXPECT_EQ(suite.attribute("skipped"), "1");
  EXPECT_EQ(suite.attribute("hostname"), "node-<1>");
  ASSERT_EQ(suite.children.size(), 4U);
  EXPECT_EQ(suite.children[1].child("skipped")->attribute("message"), "nvidia-smi is not in PATH");
  EXPECT_EQ(suite.children[2].text_at("system-out"),
            "warning: 64 MiB, 63 MiB free; give it --shm-size 16g");
  const base::xml::Element& failed = suite.children[3];
  EXPECT_EQ(failed.attribute("classname"), "trainit.doctor");
  EXPECT_EQ(failed.attribute("name"), "npu NPU 3 chip 0");
  EXPECT_EQ(failed.child("failure")->attribute("message"), "its health is <Alarm>");
  EXPECT_EQ(failed.text_at("failure"), "reset the \"card\"");
}

TEST(CheckResults, PassAPipeUnchanged) {
  const std::string bytes = encode_results(kResults);
  EXPECT_EQ(decode_results(bytes), kResults);
  EXPECT_EQ(decode_results(""), std::vector<CheckResult>{});
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const auto cut = decode_results(std::string_view(bytes).substr(0, size));
    if (cut) {
      EXPECT_LT(cut->size(), kResults.size()) << size;
    }
  }
  EXPECT_FALSE(decode_results("9").has_value());
}

TEST(CheckResults, AreOneLineForALog) {
  EXPECT_EQ(to_line(kResults[2]), "shm: /dev/shm: 64 MiB, 63 MiB free; give it --shm-size 16g");
  EXPECT_EQ(to_line(kResults[0]), "kernel: Linux 6.1.0 x86_64");
}

}  // namespace
}  // namespace doctor
