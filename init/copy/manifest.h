#pragma once
// The manifest of a copy: what it holds, kept beside it. Lines in any order, after a first one
// "trainit manifest 1":
//
//   <type> <size> <mtime ns> <mode, octal> <links> <hash> <path>
//
// type: d, f, l (link), p (a part of a large file: size and "mtime" are its length and offset).
// hash: 16 digits of XXH3, of a file's or part's bytes, or of a link's target; "-": not taken. A
// large file has none, its parts have. path: below the root, "." the root itself; bytes below 0x20,
// 0x7f and the backslash are written as \xHH, so that a line is a line.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace envgen {

inline constexpr std::string_view kManifestTitle = "trainit manifest 1\n";

enum class ManifestType : char { kDirectory = 'd', kFile = 'f', kLink = 'l', kPart = 'p' };

struct ManifestLine {
  ManifestType type = ManifestType::kFile;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;  // of a part: where it begins
  std::uint32_t mode = 0;     // permissions only
  std::uint64_t links = 1;
  std::optional<std::uint64_t> hash;
  std::string path;

  bool operator==(const ManifestLine&) const = default;
};

// With its line end.
void append_line(std::string& text, const ManifestLine& line);
// Without its line end; nullopt where it is none.
std::optional<ManifestLine> parse_manifest_line(std::string_view line);

}  // namespace envgen
