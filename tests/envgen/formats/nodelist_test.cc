#include "envgen/formats/nodelist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

namespace envgen {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> expand(std::string_view text) {
  auto hosts = expand_nodelist(text, "SLURM_JOB_NODELIST");
  if (!hosts) ADD_FAILURE() << to_line(hosts.error());
  return hosts.value_or(std::vector<std::string>());
}

std::string refusal(std::string_view text) {
  auto hosts = expand_nodelist(text, "SLURM_JOB_NODELIST");
  EXPECT_FALSE(hosts.has_value()) << text;
  return hosts ? "" : to_line(hosts.error());
}

TEST(Nodelist, ASingleNameIsItself) {
  EXPECT_THAT(expand("login-1.x.org"), ElementsAre("login-1.x.org"));
}

TEST(Nodelist, RangesKeepTheWidthOfTheirLowEnd) {
  EXPECT_THAT(expand("n[1-3,07],login"), ElementsAre("n1", "n2", "n3", "n07", "login"));
  EXPECT_THAT(expand("n[08-11]"), ElementsAre("n08", "n09", "n10", "n11"));
  EXPECT_THAT(expand("n[8-011]"), ElementsAre("n8", "n9", "n10", "n11"));
  EXPECT_THAT(expand("n[99-101]"), ElementsAre("n99", "n100", "n101"));
}

TEST(Nodelist, OfTwoGroupsTheSecondRunsFastest) {
  EXPECT_THAT(expand("n[1-2]r[3-4]"), ElementsAre("n1r3", "n1r4", "n2r3", "n2r4"));
}

TEST(Nodelist, OfThreeGroupsTheLastRunsFastestAndThenTheFirst) {
  EXPECT_THAT(expand("a[1-2]b[3-4]c[5-6]"), ElementsAre("a1b3c5", "a1b3c6", "a2b3c5", "a2b3c6",
                                                        "a1b4c5", "a1b4c6", "a2b4c5", "a2b4c6"));
}

TEST(Nodelist, TextMayFollowABracket) {
  EXPECT_THAT(expand("n[1-2]-ib,n[3]-ib"), ElementsAre("n1-ib", "n2-ib", "n3-ib"));
}

TEST(Nodelist, WhatIsNoListIsRefusedWithItsPlace) {
  EXPECT_THAT(refusal("n[1-2"), AllOf(HasSubstr("SLURM_JOB_NODELIST"), HasSubstr("a [ without")));
  EXPECT_THAT(refusal("n1]"), HasSubstr("a ] without"));
  EXPECT_THAT(refusal("n[]"), HasSubstr("no range"));
  EXPECT_THAT(refusal("n[3-1]"), HasSubstr("\"3-1\""));
  EXPECT_THAT(refusal("n[a-b]"), HasSubstr("\"a-b\""));
  EXPECT_THAT(refusal("n[1-]"), HasSubstr("\"1-\""));
  EXPECT_THAT(refusal("n[1,,2]"), HasSubstr("no range"));
  EXPECT_THAT(refusal("n[[1]]"), HasSubstr("no range"));
  EXPECT_THAT(refusal("(null)"), HasSubstr("\"(\""));
  EXPECT_THAT(refusal(""), HasSubstr("no host"));
  EXPECT_THAT(refusal(", ,"), HasSubstr("no host"));
}

TEST(Nodelist, ATypoCannotAskForAllMemory) {
  EXPECT_EQ(expand("n[1-262144]").size(), kMaxHosts);
  EXPECT_THAT(refusal("n[0-262144]"), HasSubstr("more than 262144"));
  EXPECT_THAT(refusal("n[1-999999999999999999]"), HasSubstr("more than 262144"));
  EXPECT_THAT(refusal("n[1-262144],m"), HasSubstr("more than 262144"));
  EXPECT_THAT(refusal("n[0-999]m[0-999]"), HasSubstr("more than 262144"));
  EXPECT_THAT(refusal("n[99999999999999999999]"), HasSubstr("no range"));
}

// As Slurm compresses: neighbours of one prefix and one width become a range.
std::string compress(const std::vector<std::string>& hosts) {
  auto split = [](const std::string& host) {
    std::size_t at = host.find_last_not_of("0123456789") + 1;
    return std::pair(host.substr(0, at), host.substr(at));
  };
  std::string text;
  for (std::size_t i = 0; i < hosts.size();) {
    auto [prefix, first] = split(hosts[i]);
    std::string last = first;
    std::size_t next = i + 1;
    for (; next < hosts.size() && !first.empty(); ++next) {
      auto [other, digits] = split(hosts[next]);
      bool follows = other == prefix && digits.size() == first.size() &&
                     std::stoul(digits) == std::stoul(last) + 1;
      if (!follows) break;
      last = digits;
    }
    text += (text.empty() ? "" : ",") + prefix;
    if (!first.empty()) text += "[" + first + (first == last ? "" : "-" + last) + "]";
    i = next;
  }
  return text;
}

class Shapes {
 public:
  explicit Shapes(std::uint32_t seed) : random_(seed) {}

  std::vector<std::string> hosts() {
    std::vector<std::string> list;
    for (int run = pick(1, 4); run > 0; --run) {
      std::string prefix(1, static_cast<char>('a' + pick(0, 25)));
      if (pick(0, 1) == 1) prefix += "-" + std::to_string(pick(0, 9)) + "-";
      auto width = static_cast<std::size_t>(pick(1, 5));
      int first = pick(0, 120);
      for (int i = first; i <= first + pick(0, 6); ++i) {
        std::string digits = std::to_string(i);
        if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
        list.push_back(prefix + digits);
      }
    }
    return list;
  }

  // A list of up to three items of up to three groups, in a form that every Slurm accepts.
  std::string pattern() {
    std::string text;
    for (int item = pick(1, 3); item > 0; --item) {
      if (!text.empty()) text += ',';
      for (int group = pick(0, 3); group > 0; --group) text += word() + "[" + ranges() + "]";
      if (!text.ends_with(']')) text += word() + std::to_string(pick(0, 300));
    }
    return text;
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  std::string word() {
    constexpr std::string_view kWords[] = {"n", "rack", "gpu-", "x.y-z", "A_"};
    return std::string(kWords[pick(0, 4)]);
  }
  std::string ranges() {
    std::string text;
    for (int range = pick(1, 3); range > 0; --range) {
      int low = pick(0, 110);
      std::string digits = std::to_string(low);
      if (pick(0, 1) == 1) digits.insert(0, static_cast<std::size_t>(pick(0, 3)), '0');
      text += (text.empty() ? "" : ",") + digits;
      if (pick(0, 2) > 0) text += "-" + std::to_string(low + pick(0, 4));
    }
    return text;
  }

  std::mt19937 random_;
};

TEST(Nodelist, ExpandingWhatWasCompressedGivesTheSameHosts) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    std::vector<std::string> hosts = Shapes(seed).hosts();
    std::string text = compress(hosts);
    ASSERT_EQ(expand(text), hosts) << "seed " << seed << ": " << text;
  }
}

// Nothing where there is no scontrol. It reads a configuration even for this.
class Scontrol {
 public:
  Scontrol() : config_(testing::TempDir() + "/trainit_nodelist_slurm.conf") {
    std::ofstream(config_) << "ClusterName=test\nSlurmctldHost=localhost\n";
  }
  ~Scontrol() { std::remove(config_.c_str()); }
  Scontrol(const Scontrol&) = delete;
  Scontrol& operator=(const Scontrol&) = delete;

  static bool exists() { return std::system("command -v scontrol >/dev/null 2>&1") == 0; }

  // Its lines; "Invalid hostlist: ..." where it refuses.
  [[nodiscard]] std::vector<std::string> hostnames(const std::string& text) const {
    std::string command =
        "SLURM_CONF='" + config_ + "' scontrol show hostnames '" + text + "' 2>&1";
    std::vector<std::string> lines;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return lines;
    std::string output;
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
      output.append(buffer, got);
    }
    pclose(pipe);
    for (std::size_t at = 0; at < output.size();) {
      std::size_t end = output.find('\n', at);
      if (end == std::string::npos) end = output.size();
      lines.push_back(output.substr(at, end - at));
      at = end + 1;
    }
    return lines;
  }

 private:
  std::string config_;
};

TEST(Nodelist, AgreesWithScontrol) {
  if (!Scontrol::exists()) GTEST_SKIP() << "no scontrol on PATH: Slurm itself was NOT asked";
  Scontrol scontrol;
  std::vector<std::string> lists = {"n1",
                                    "n[1]",
                                    "n[1-3,07],login",
                                    "n[1-2]r[3-4]",
                                    "n[01-03]",
                                    "n[8-011]",
                                    "n[1-003]",
                                    "[1-3]",
                                    "n[1-2],[3-4]",
                                    "a[1-2][3-4][5-6]",
                                    "a[1-3]b[1-2]c[1-2]",
                                    "a[1-2]b[3-4]c[5-6]d[7-8]",
                                    "a[1-2,5]b[3,04]",
                                    "r1n[1-2],r2n[1-2]",
                                    "host-01-[1-2]",
                                    "a.b.c,d[1-2]",
                                    "n[01-02,100]",
                                    "n[1-2,01-02]",
                                    "a b",
                                    "a,,b",
                                    "a, b,",
                                    "n[1,1]",
                                    "n[98-101]",
                                    "n[0-65535]",
                                    "n001,n002",
                                    "n1-3",
                                    "n[99999999999]"};
  for (std::uint32_t seed = 0; seed < 200; ++seed) lists.push_back(Shapes(seed).pattern());
  for (const std::string& list : lists) {
    EXPECT_EQ(expand(list), scontrol.hostnames(list)) << list;
  }
}

TEST(Counts, ARepeatedCountIsWrittenOut) {
  EXPECT_THAT(*expand_counts("2(x3),1", "w"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(*expand_counts("8", "w"), ElementsAre(8));
  EXPECT_THAT(*expand_counts("4,4(x1),0", "w"), ElementsAre(4, 4, 0));
}

TEST(Counts, WhatIsNoCountIsRefused) {
  for (const char* text : {"", "a", "2(x)", "2(x0)", "2(x3", "2(3)", "2,", "-1", "2x3", "(x3)",
                           "1(x999999)", "300000(x1)"}) {
    auto counts = expand_counts(text, "SLURM_TASKS_PER_NODE");
    ASSERT_FALSE(counts.has_value()) << text;
    EXPECT_THAT(to_line(counts.error()), HasSubstr("SLURM_TASKS_PER_NODE"));
  }
}

}  // namespace
}  // namespace envgen
