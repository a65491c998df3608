#include "envgen/plan/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace envgen {
namespace {

using testing::HasSubstr;

Snapshot full_snapshot() {
  Snapshot snapshot;
  snapshot.argv = {"--platform", "bare", "--", "python", "a b\n\"c\".py"};
  snapshot.env = base::Environ({"PATH=/bin", "MY_TOKEN=s3cret", "ODD=\xff\xfe", "no assignment"});
  snapshot.facts = {
      "/srv/job",        1000, 100, "host-0", {"10.0.0.1", "fe80::1"}, 192, "0-191", "/run/trainit",
      "/opt/bin/trainit"};
  snapshot.paths["/a/table.json"] = {
      PathState::Kind::kFile, "{\"status\":\"completed\"}", {}, true, 0, 22};
  snapshot.paths["/a"] = {
      PathState::Kind::kDirectory, "", {"table.json", "\xc3\x28"}, false, 0, 0, true};
  snapshot.paths["/empty"] = {PathState::Kind::kDirectory, "", {}, false, 0, 0, true};
  snapshot.paths["/unread"].kind = PathState::Kind::kDirectory;
  snapshot.paths["/hook"] = {PathState::Kind::kFile, "", {}, false, 0, 9, false, true};
  snapshot.paths["/null"] = {PathState::Kind::kError, "", {}, false, 22, 0, false, false, true};
  snapshot.paths["/binary"] = {
      PathState::Kind::kFile, std::string("\0\x80\xff", 3), {}, false, 0, 3};
  snapshot.paths["/gone"] = {};
  snapshot.paths["/big"] = {PathState::Kind::kError, "", {}, false, 27, 200ULL << 20};
  return snapshot;
}

TEST(SnapshotJson, ComesBackAsItWasWithEveryByte) {
  Snapshot before = full_snapshot();
  auto after = snapshot_from_json(to_json(before, false), "saved");
  ASSERT_TRUE(after.has_value()) << to_line(after.error());
  EXPECT_EQ(*after, before);
}

TEST(SnapshotJson, AnOlderOneWithoutTheProgramOrTheCpusIsTaken) {
  std::string text = to_json(full_snapshot(), false);
  for (const std::string name : {"\"program\"", "\"cpu_list\""}) {
    const std::size_t key = text.find(name);
    ASSERT_NE(key, std::string::npos);
    text.replace(key, name.size(), "\"unknown\"");
  }
  auto after = snapshot_from_json(text, "saved");
  ASSERT_TRUE(after.has_value()) << to_line(after.error());
  EXPECT_EQ(after->facts.program, "");
  EXPECT_EQ(after->facts.cpu_list, "");
  EXPECT_EQ(after->facts.run_dir, "/run/trainit");
}

TEST(SnapshotJson, TheSameSnapshotGivesTheSameBytes) {
  EXPECT_EQ(to_json(full_snapshot(), true), to_json(full_snapshot(), true));
}

TEST(SnapshotJson, MasksSecretsWhenAsked) {
  std::string text = to_json(full_snapshot(), true);
  EXPECT_THAT(text, HasSubstr("MY_TOKEN=***"));
  EXPECT_THAT(text, testing::Not(HasSubstr("s3cret")));
}

TEST(SnapshotJson, EveryLengthOfOddBytesSurvivesBase64) {
  for (std::size_t length = 1; length < 20; ++length) {
    Snapshot before;
    std::string bytes(length, '\xfe');
    for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>(0x80 + i * 7);
    before.argv = {bytes};
    auto after = snapshot_from_json(to_json(before, false), "saved");
    ASSERT_TRUE(after.has_value());
    EXPECT_EQ(after->argv[0], bytes) << length;
  }
}

TEST(SnapshotJson, ADamagedOneSaysWhatIsMissing) {
  auto none = snapshot_from_json("[]", "f.json");
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(to_line(none.error()), HasSubstr("f.json: argv"));

  auto torn = snapshot_from_json("{\"argv\": [", "f.json");
  ASSERT_FALSE(torn.has_value());
  EXPECT_THAT(to_line(torn.error()), HasSubstr("line 1"));

  std::string text = to_json(full_snapshot(), false);
  text.replace(text.find("\"directory\""), 11, "\"whatever\"");
  auto odd = snapshot_from_json(text, "f.json");
  ASSERT_FALSE(odd.has_value());
  EXPECT_THAT(to_line(odd.error()), HasSubstr("kind"));
}

}  // namespace
}  // namespace envgen
