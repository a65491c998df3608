#include "envgen/formats/hostfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace envgen {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Dialect = HostfileDialect;
constexpr Dialect kAll[] = {Dialect::kOpenMpi,   Dialect::kMpich,   Dialect::kIntelMpi,
                            Dialect::kDeepSpeed, Dialect::kHorovod, Dialect::kPlain};

// "3" for "line 3"; "0": the whole file.
std::string number_of(const Finding& finding) {
  return finding.place.empty() ? "0" : finding.place.substr(std::string("line ").size());
}

// "a:2 b:3", then what is wrong: "line 2: ..." fatal, "(line 2: ...)" not.
std::string read(std::string_view text, Dialect dialect) {
  const Hostfile hostfile = parse_hostfile(text, dialect);
  std::string result;
  for (const HostfileEntry& entry : hostfile.entries) {
    result += (result.empty() ? "" : " ") + entry.host + ":" + std::to_string(entry.slots);
  }
  for (const Finding& finding : hostfile.findings) {
    const std::string line = number_of(finding) + ": " + finding.found;
    result += is_refused(finding) ? " | " + line : " (" + line + ")";
  }
  return result;
}

struct Row {
  Dialect dialect;
  const char* text;
  const char* hosts;  // what the reader takes without a word
};

class Accepted : public testing::TestWithParam<Row> {};

TEST_P(Accepted, AsTheProgramThatReadsIt) {
  EXPECT_EQ(read(GetParam().text, GetParam().dialect), GetParam().hosts);
}

INSTANTIATE_TEST_SUITE_P(
    Hostfile, Accepted,
    testing::Values(Row{Dialect::kOpenMpi, "a slots=2\nb slots=3\n", "a:2 b:3"},
                    Row{Dialect::kOpenMpi, "a\tslots = 2   max_slots=4\n", "a:2"},
                    Row{Dialect::kOpenMpi, "a\nb\na\n", "a:2 b:1"},
                    Row{Dialect::kOpenMpi, "a slots=2\na\n", "a:3"},
                    Row{Dialect::kOpenMpi, "\n  \n# c\n// c\na slots=1 # c\n", "a:1"},
                    Row{Dialect::kOpenMpi, "/* a\n b */c slots=2\nd /* e */\n", "c:2 d:1"},
                    Row{Dialect::kOpenMpi, "# /* no comment begins here\na slots=1\n", "a:1"},
                    Row{Dialect::kOpenMpi, "a max-slots=3\nb cpu=2\nc count=4 port=2222\n",
                        "a:3 b:2 c:4"},
                    Row{Dialect::kOpenMpi, "user@b slots=1\n", "user@b:1"},
                    Row{Dialect::kDeepSpeed, "a_b slots=2\n", "a_b:2"},
                    Row{Dialect::kMpich, "a:2\nb\n", "a:2 b:1"},
                    Row{Dialect::kMpich, "\n  \n#c\n  a:2\tuser=u binding=x\r\n", "a:2"},
                    Row{Dialect::kIntelMpi, "a:2\nb:2\n", "a:2 b:2"},
                    Row{Dialect::kDeepSpeed, "\n# c\na slots=2\n  b \t slots=3\r\n", "a:2 b:3"},
                    Row{Dialect::kHorovod, "a slots=2\nb  slots=3\n", "a:2 b:3"},
                    Row{Dialect::kPlain, "a\nb\n", "a:1 b:1"},
                    Row{Dialect::kPlain, "# c\n\na\na\nb", "a:2 b:1"}));

struct Fault {
  Dialect dialect;
  const char* text;
  int line;
  const char* found;
};

class Refused : public testing::TestWithParam<Fault> {};

TEST_P(Refused, WithTheLineAndWhatWasFound) {
  const Hostfile hostfile = parse_hostfile(GetParam().text, GetParam().dialect);
  const auto* text = GetParam().text;
  bool found = false;
  for (const Finding& finding : hostfile.findings) {
    found =
        found || (is_refused(finding) && number_of(finding) == std::to_string(GetParam().line) &&
                  finding.found.find(GetParam().found) != std::string::npos);
    EXPECT_FALSE(finding.fix.empty()) << text;
  }
  EXPECT_TRUE(found) << text << "\n" << read(text, GetParam().dialect);
}

INSTANTIATE_TEST_SUITE_P(
    Hostfile, Refused,
    testing::Values(
        Fault{Dialect::kOpenMpi, "server1 slots=4 server2 slots=4\n", 1, "a second host"},
        Fault{Dialect::kOpenMpi, "a slots=2\nb slots=2\na slots=2\n", 3, "\"a\" again"},
        Fault{Dialect::kOpenMpi, "a\na slots=2\n", 2, "\"a\" again"},
        Fault{Dialect::kOpenMpi, "host:4\n", 1, "\"host:4\", which this reader takes for a host"},
        Fault{Dialect::kOpenMpi, "a slot=8\n", 1, "\"slot\""},
        Fault{Dialect::kOpenMpi, "a slots=4\r\n", 1, "carriage return"},
        Fault{Dialect::kOpenMpi, "a slots=4 # c", 1, "comment in a last line"},
        Fault{Dialect::kOpenMpi, "a slots=4x\n", 1, "\"4x\""},
        Fault{Dialect::kOpenMpi, "a slots\n", 1, "without a value"},
        Fault{Dialect::kOpenMpi, "a slots=-1\n", 1, "\"-1\""},
        Fault{Dialect::kOpenMpi, "a slots=99999999999\n", 1, "99999999999"},
        Fault{Dialect::kOpenMpi, "a slots=4 max_slots=2\n", 1, "at most 2"},
        Fault{Dialect::kOpenMpi, "a slots=1 slots=2\n", 1, "second number"},
        Fault{Dialect::kOpenMpi, "a slots=0\n", 1, "0 slots"},
        Fault{Dialect::kOpenMpi, "slots=4\n", 1, "without a host"},
        Fault{Dialect::kOpenMpi, "^a\nb\n", 1, "\"^a\""},
        Fault{Dialect::kOpenMpi, "192.168.*.1 slots=8\n", 1, "192.168.*.1"},
        Fault{Dialect::kOpenMpi, "a /* b\nc slots=2\n", 0, "/*"},
        Fault{Dialect::kMpich, "a slots=4\n", 1, "\"slots=4\", which Hydra does not support"},
        Fault{Dialect::kMpich, "fd00::2\n", 1, "cuts at its first colon"},
        Fault{Dialect::kMpich, "a:x\n", 1, "\"x\""}, Fault{Dialect::kMpich, "a:0\n", 1, "0 slots"},
        Fault{Dialect::kMpich, "a:1 b:2\n", 1, "\"b:2\""},
        Fault{Dialect::kDeepSpeed, "a slots=2\nb slots=2\na slots=2\n", 3, "DeepSpeed refuses"},
        Fault{Dialect::kDeepSpeed, "server1 slots=4 server2 slots=4\n", 1, "ignores silently"},
        Fault{Dialect::kDeepSpeed, "a slot=8\n", 1, "\"a slot=8\""},
        Fault{Dialect::kDeepSpeed, "a slots =8\n", 1, "\"a slots =8\""},
        Fault{Dialect::kDeepSpeed, "a\n", 1, "\"a\""},
        Fault{Dialect::kHorovod, "a slots=2\n\nb slots=2\n", 2, "blank line"},
        Fault{Dialect::kHorovod, "# c\na slots=2\n", 1, "comment"},
        Fault{Dialect::kHorovod, "a slots=2 max_slots=3\n", 1, "as the slots"},
        Fault{Dialect::kHorovod, "a:2\n", 1, "without slots="},
        Fault{Dialect::kHorovod, "a slots=2\na slots=2\n", 2, "again"},
        Fault{Dialect::kHorovod, "fd00::1 slots=2\n", 1, "horovodrun does not take"},
        Fault{Dialect::kPlain, "a slots=2\n", 1, "behind the host"},
        Fault{Dialect::kPlain, "a:2\n", 1, "\"a:2\""}));

TEST(Hostfile, WhatIsOnlyUntidyIsAWarning) {
  EXPECT_EQ(read("a slots=2", Dialect::kOpenMpi), "a:2 (1: no newline at its end)");
  EXPECT_EQ(read("a slots=2 # c\n", Dialect::kDeepSpeed), "a:2 (1: a comment behind the slots)");
  EXPECT_EQ(read("a slot=2\n", Dialect::kHorovod), "a:2 (1: \"a slot=2\")");
  EXPECT_EQ(read("a:1\na:1\n", Dialect::kMpich),
            "a:2 (2: \"a\" again, after line 1: its slots add up)");
  EXPECT_EQ(read("a\nb", Dialect::kPlain), "a:1 b:1") << "Volcano writes its files so";
}

TEST(Hostfile, WithoutAHostIsRefusedEverywhere) {
  for (const Dialect dialect : kAll) {
    EXPECT_THAT(read("", dialect), HasSubstr("| 0: no host")) << dialect_name(dialect);
    EXPECT_THAT(read(std::string("a\0b\n", 4), dialect), HasSubstr("NUL")) << dialect_name(dialect);
  }
}

TEST(Hostfile, AFindingIsALine) {
  EXPECT_EQ(to_line(Finding{.place = "line 3", .found = "\"slot\"", .fix = "write slots=8"}),
            "refused: line 3: \"slot\"; write slots=8");
  EXPECT_EQ(to_line(Finding{
                .severity = Finding::Severity::kWarning, .found = "no newline", .fix = "end it"}),
            "warning: no newline; end it");
}

TEST(Hostfile, TheDialectIsGuessedByTheForm) {
  EXPECT_EQ(guess_dialect("a slots=2\nb slots=2\n"), Dialect::kOpenMpi);
  EXPECT_EQ(guess_dialect("a:2\nb:2\n"), Dialect::kMpich);
  EXPECT_EQ(guess_dialect("a\nb"), Dialect::kPlain);
  EXPECT_EQ(guess_dialect("a slots=2\r\nb slots=2\r\n"), Dialect::kDeepSpeed);
  EXPECT_EQ(guess_dialect("a slot=8\nb slot=8\n"), Dialect::kOpenMpi);
  EXPECT_EQ(guess_dialect("server1 slots=4 server2 slots=4\n"), Dialect::kOpenMpi);
}

TEST(Hostfile, DialectsHaveNames) {
  for (const Dialect dialect : kAll) EXPECT_EQ(dialect_by_name(dialect_name(dialect)), dialect);
  EXPECT_EQ(dialect_by_name("slurm"), std::nullopt);
}

TEST(RenderHostfile, OneLineAHostWithANewline) {
  const std::vector<HostfileEntry> two = {{"server1", 4}, {"server2", 2}};
  auto text = [&two](Dialect dialect) { return render_hostfile(two, dialect).value_or("error"); };
  EXPECT_EQ(text(Dialect::kOpenMpi), "server1 slots=4\nserver2 slots=2\n");
  EXPECT_EQ(text(Dialect::kDeepSpeed), "server1 slots=4\nserver2 slots=2\n");
  EXPECT_EQ(text(Dialect::kHorovod), "server1 slots=4\nserver2 slots=2\n");
  EXPECT_EQ(text(Dialect::kMpich), "server1:4\nserver2:2\n");
  EXPECT_EQ(text(Dialect::kIntelMpi), "server1:4\nserver2:2\n");
  EXPECT_EQ(text(Dialect::kPlain), "server1\nserver1\nserver1\nserver1\nserver2\nserver2\n");
}

TEST(RenderHostfile, RefusesWhatTheDialectCannotSay) {
  auto error = [](const std::vector<HostfileEntry>& entries, Dialect dialect) {
    auto text = render_hostfile(entries, dialect);
    return text ? "accepted" : to_line(text.error());
  };
  for (const Dialect dialect : kAll) {
    EXPECT_THAT(error({}, dialect), HasSubstr("no host"));
    EXPECT_THAT(error({{"a", 1}, {"a", 1}}, dialect), HasSubstr("\"a\" twice"));
    EXPECT_THAT(error({{"a", 0}}, dialect), HasSubstr("0 slots"));
    for (const char* host : {"", "a b", "-oProxyCommand=x", "a\nb", "a:4", "a#b", "1.*.1"}) {
      EXPECT_THAT(error({{host, 1}}, dialect), HasSubstr("as a host")) << host;
    }
  }
  for (const Dialect dialect : {Dialect::kMpich, Dialect::kIntelMpi, Dialect::kHorovod}) {
    EXPECT_THAT(error({{"fd00::2", 1}}, dialect), HasSubstr("IPv6"));
    EXPECT_THAT(error({{"u@a", 1}}, dialect), HasSubstr("user"));
  }
  EXPECT_THAT(error({{"slots", 1}}, Dialect::kOpenMpi), HasSubstr("as a host"));
}

TEST(OpenMpisHostfile, WarnsOfNamesThatMayNotBeReached) {
  EXPECT_EQ(read("u@a_b slots=2\n", Dialect::kOpenMpi),
            "u@a_b:2 (1: \"a_b\", with a \"_\", which no host name has (RFC 1123): resolvers and "
            "ssh may refuse it)");
  EXPECT_EQ(read("fd00::2 slots=2\n", Dialect::kOpenMpi),
            "fd00::2:2 (1: \"fd00::2\", an IPv6 address, which OpenMPI uses only if it was built "
            "with --enable-ipv6)");
}

TEST(RenderHostfile, ReadsBackAsItWas) {
  std::mt19937 random(20240607);  // NOLINT: the same cases in each run
  constexpr std::string_view kFirst = "abcxyz0189";
  constexpr std::string_view kMarks = "abz019-._";
  for (int round = 0; round < 500; ++round) {
    std::vector<HostfileEntry> entries;
    const std::size_t count = 1 + random() % 12;
    for (std::size_t i = 0; i < count; ++i) {
      std::string host(1, kFirst[random() % kFirst.size()]);
      for (std::size_t length = random() % 12; length > 0; --length) {
        host += kMarks[random() % kMarks.size()];
      }
      host += "-" + std::to_string(i);
      entries.push_back({host, 1 + static_cast<int>(random() % 16)});
    }
    for (const Dialect dialect : kAll) {
      auto text = render_hostfile(entries, dialect);
      ASSERT_TRUE(text) << to_line(text.error());
      const Hostfile again = parse_hostfile(*text, dialect);
      EXPECT_EQ(again.entries, entries) << dialect_name(dialect) << "\n" << *text;
      EXPECT_TRUE(std::ranges::none_of(again.findings, is_refused)) << dialect_name(dialect) << "\n"
                                                                    << *text;
    }
  }
}

TEST(HostfileOf, NamesTheNodesThatRunRanks) {
  Cluster cluster;
  cluster.nodes.resize(3);
  cluster.nodes[0].role = "launcher";
  cluster.nodes[1].host = "w0";
  cluster.nodes[1].slots = 4;
  cluster.nodes[2].host = "w1";
  cluster.nodes[2].slots = 2;
  EXPECT_THAT(hostfile_of(cluster).value(),
              ElementsAre(HostfileEntry{"w0", 4}, HostfileEntry{"w1", 2}));
  cluster.nodes[2].host = "";
  auto error = hostfile_of(cluster);
  ASSERT_FALSE(error);
  EXPECT_THAT(to_line(error.error()), AllOf(HasSubstr("node 2"), HasSubstr("--hosts")));
}

}  // namespace
}  // namespace envgen
