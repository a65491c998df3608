#pragma once
// The manifest beside a copy: a list of the copy's entries. The first line is "trainit manifest 1".
// The other lines have any order:
//
//   <type> <size> <mtime ns> <mode, octal> <links> <hash> <path>
//
// type: d, f, l (link), p (a part of a large file: size and "mtime" are its length and offset).
// hash: 16 digits of XXH3, of a file's or part's bytes, or of a link's target; "-": none. A large
// file has no hash, because its parts have them. A part without a hash reads as zeros. path: below
// the root; "." is the root. Bytes below 0x20, 0x7f and the backslash are written as \xHH.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace copy {

inline constexpr std::string_view kManifestTitle = "trainit manifest 1\n";

enum class ManifestType : char { kDirectory = 'd', kFile = 'f', kLink = 'l', kPart = 'p' };

struct ManifestLine {
  ManifestType type = ManifestType::kFile;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;  // for a part: its offset in the file
  std::uint32_t mode = 0;     // permissions only
  std::uint64_t links = 1;
  std::optional<std::uint64_t> hash;
  std::string path;

  bool operator==(const ManifestLine&) const = default;
};

// Appends `line` with a line end to `text`.
void append_line(std::string& text, const ManifestLine& line);
// Parses a line without its line end. Returns nullopt if it is not a line of a manifest.
std::optional<ManifestLine> parse_manifest_line(std::string_view line);

}  // namespace copy
