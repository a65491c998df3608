#include "init/copy/manifest.h"

#include <gtest/gtest.h>

#include <string>

namespace {

using copy::ManifestLine;
using copy::ManifestType;
using copy::parse_manifest_line;

std::string text_of(const ManifestLine& line) {
  std::string text;
  copy::append_line(text, line);
  return text;
}

TEST(Manifest, SaysWhatAFileIs) {
  const ManifestLine line{.type = ManifestType::kFile,
                          .size = 12,
                          .mtime_ns = -5,
                          .mode = 04755,
                          .links = 2,
                          .hash = 0xab,
                          .path = "a b/c"};
  EXPECT_EQ(text_of(line), "f 12 -5 4755 2 00000000000000ab a b/c\n");
  EXPECT_EQ(parse_manifest_line("f 12 -5 4755 2 00000000000000ab a b/c"), line);
}

TEST(Manifest, CallsTheRootADot) {
  const ManifestLine line{.type = ManifestType::kDirectory, .mode = 0755, .hash = {}, .path = ""};
  EXPECT_EQ(text_of(line), "d 0 0 755 1 - .\n");
  EXPECT_EQ(parse_manifest_line("d 0 0 755 1 - ."), line);
}

TEST(Manifest, KeepsAnyNameOnItsLine) {
  std::string path;
  for (int byte = 1; byte < 256; ++byte) path += static_cast<char>(byte);
  const ManifestLine line{.type = ManifestType::kLink, .hash = UINT64_MAX, .path = path};
  std::string text = text_of(line);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  text.pop_back();
  EXPECT_EQ(parse_manifest_line(text), line);
}

TEST(Manifest, TakesNoOtherLine) {
  for (const char* line :
       {"", "f", "x 0 0 0 1 - a", "f 0 0 0 1 - ", "f 0 0 0 1 -", "f -1 0 0 1 - a", "f 0 0 8 1 - a",
        "f 0 0 10000 1 - a", "f 0 0 0 1 abc a", "f 0 0 0 1 00000000000000ag a", "f 0 0 0 1 - a\\n",
        "f 0 0 0 1 - \\x", "f 0 0 0 1 - \\x0", "f 0 0 0 1 - \\x00", "f 0 0 0 1 - \\y41",
        "f 0 0 0 1 - a\tb", "f  0 0 0 1 - a", "f 99999999999999999999 0 0 1 - a"}) {
    EXPECT_FALSE(parse_manifest_line(line)) << line;
  }
}

}  // namespace
