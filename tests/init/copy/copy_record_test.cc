#include "init/copy/copy_record.h"

#include <gtest/gtest.h>

#include <string>

namespace copy {
namespace {

constexpr const char* kWhere = "/cache/x/record.json";

CopyRecord whole() {
  return {.source = "/mnt/nfs/imagenet",
          .digest = "0123456789abcdef0123456789abcdef",
          .version = "2024-05",
          .options = "-5:*.tmp",
          .path = "/cache/trainit-datasets/imagenet-0123456789abcdef/data",
          .entries = 1'281'167,
          .bytes = 157'286'400'000,
          .allocated = 158'000'000'000,
          .finished_ms = 1'795'000'000'000,
          .boot_id = "c81f7a0e-17a1-4bd1-8f0e-1d8a3f0f6d5c",
          .synced = true,
          .hashed = true};
}

std::string error_of(const std::string& text) {
  const auto record = parse_record(text, kWhere);
  return record ? "accepted" : to_line(record.error());
}

std::string with(std::string_view from, std::string_view to) {
  std::string text = record_to_json(whole());
  return text.replace(text.find(from), from.size(), to);
}

TEST(CopyRecord, IsReadAsItWasWritten) {
  EXPECT_EQ(parse_record(record_to_json(whole()), kWhere), whole());
  EXPECT_EQ(parse_record(with("\"hashed\"", "\"new\": [1],\n  \"hashed\""), kWhere), whole())
      << "a later program may say more";
}

TEST(CopyRecord, KeepsPathsOfAnyBytes) {
  CopyRecord record = whole();
  record.source = "/a\nb/\xff\xfe 100%/\xe6\x95\xb0\"\\";
  record.path = "/%2F";
  const std::string text = record_to_json(record);
  EXPECT_NE(text.find(R"("/a%0Ab/%FF%FE 100%25/%E6%95%B0\"\\")"), std::string::npos) << text;
  EXPECT_EQ(parse_record(text, kWhere), record);
}

TEST(CopyRecord, IsRefusedWhereItIsNotWhole) {
  EXPECT_EQ(
      error_of(with("\"synced\": true", "\"synced\": 1")),
      "reading the record of a copy: /cache/x/record.json: found no such \"synced\" as it has; "
      "remove the copy that it describes");
  EXPECT_NE(error_of(with("157286400000", "-1")), "accepted");
  EXPECT_NE(error_of(with("157286400000", "1e3")), "accepted");
  EXPECT_NE(error_of(with("158000000000", "9223372036854775807")), "accepted") << "forged";
  EXPECT_NE(error_of(with("1281167", "1152921504606846977")), "accepted") << "forged";
  EXPECT_EQ(error_of(with("157286400000", "9223372036854775807")), "accepted") << "holes";
  EXPECT_NE(error_of(with("/mnt/nfs", "mnt/nfs")), "accepted");
  EXPECT_NE(error_of(with("/mnt/nfs", "/mnt/%nfs")), "accepted");
  EXPECT_NE(error_of(with("\"format\": 1", "\"format\": 2")), "accepted");
  EXPECT_NE(error_of(with("0123456789abcdef0", "")), "accepted");
  EXPECT_NE(error_of("[]"), "accepted");
  EXPECT_NE(error_of(record_to_json(whole()).substr(0, 100)), "accepted");
  EXPECT_EQ(error_of(""),
            "reading the record of a copy: /cache/x/record.json: line 1, column 1: found an empty "
            "text; remove the copy that it describes");
}

TEST(CopyRecord, IsTrustedWhereACrashCannotHaveHarmedIt) {
  CopyRecord record = whole();
  EXPECT_TRUE(can_be_trusted(record, "another")) << "it was synced";
  record.synced = false;
  EXPECT_FALSE(can_be_trusted(record, "another"));
  EXPECT_TRUE(can_be_trusted(record, record.boot_id));
  record.boot_id = "";
  EXPECT_FALSE(can_be_trusted(record, "")) << "two machines that do not say are not the same";
}

}  // namespace
}  // namespace copy
