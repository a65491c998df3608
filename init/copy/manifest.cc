#include "init/copy/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>

#include "base/text.h"

namespace copy {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr int kOctal = 8;
constexpr int kHex = 16;
constexpr std::size_t kHashDigits = 16;
constexpr std::uint32_t kMaxMode = 07777;
constexpr std::string_view kRoot = ".";

template <class T>
void append_number(std::string& text, T value, int base = 10) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
  text.append(digits.data(), end);
  text += ' ';
}

void append_path(std::string& text, std::string_view path) {
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f && c != '\\') {
      text += c;
    } else {
      text += {'\\', 'x', kDigits[byte / 16U], kDigits[byte % 16U]};
    }
  }
}

// Removes a number, and the blank after it, from the front of `line`.
template <class T>
bool take_number(std::string_view& line, T& value, int base = 10) {
  const char* end = line.data() + line.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the end is the next argument.
  const auto [stop, error] = std::from_chars(line.data(), end, value, base);
  if (error != std::errc() || stop == end || *stop != ' ') return false;
  line.remove_prefix(static_cast<std::size_t>(stop - line.data()) + 1);
  return true;
}

// Removes the next word, and the blank after it, from the front of `line` and returns it.
std::string_view next_word(std::string_view& line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return {};
  const std::string_view word = line.substr(0, space);
  line.remove_prefix(space + 1);
  return word;
}

bool read_path(std::string_view text, std::string& path) {
  const auto plain = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7f && c != '\\';
  };
  while (!text.empty()) {
    const auto end = std::ranges::find_if_not(text, plain);
    path.append(text.begin(), end);
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
    if (text.empty()) break;
    constexpr std::size_t kEscape = 4;  // \xHH
    if (text.size() < kEscape || !text.starts_with("\\x")) return false;
    const auto byte = base::parse_number<unsigned>(text.substr(2, 2), kHex);
    if (!byte || *byte == 0) return false;
    path += static_cast<char>(*byte);
    text.remove_prefix(kEscape);
  }
  return !path.empty();
}

}  // namespace

void append_line(std::string& text, const ManifestLine& line) {
  text += static_cast<char>(line.type);
  text += ' ';
  append_number(text, line.size);
  append_number(text, line.mtime_ns);
  append_number(text, line.mode, kOctal);
  append_number(text, line.links);
  if (line.hash) {
    for (unsigned shift = 64; shift > 0; shift -= 4) {
      text += kDigits[(*line.hash >> (shift - 4)) & 0xfU];
    }
  } else {
    text += '-';
  }
  text += ' ';
  append_path(text, line.path.empty() ? kRoot : std::string_view(line.path));
  text += '\n';
}

std::optional<ManifestLine> parse_manifest_line(std::string_view line) {
  std::optional<ManifestLine> parsed(std::in_place);
  const std::string_view type = next_word(line);
  if (type.size() != 1 || std::string_view("dflp").find(type[0]) == std::string_view::npos) {
    return std::nullopt;
  }
  parsed->type = static_cast<ManifestType>(type[0]);
  const bool numbers = take_number(line, parsed->size) && take_number(line, parsed->mtime_ns) &&
                       take_number(line, parsed->mode, kOctal) && take_number(line, parsed->links);
  if (!numbers || parsed->mode > kMaxMode) return std::nullopt;
  const std::string_view hash = next_word(line);
  if (hash != "-") {
    parsed->hash = base::parse_number<std::uint64_t>(hash, kHex);
    if (hash.size() != kHashDigits || !parsed->hash) return std::nullopt;
  }
  if (!read_path(line, parsed->path)) return std::nullopt;
  if (parsed->path == kRoot) parsed->path.clear();
  return parsed;
}

}  // namespace copy
