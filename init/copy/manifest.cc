#include "init/copy/manifest.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>

#include "base/text.h"

namespace envgen {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr int kOctal = 8;
constexpr int kHex = 16;
constexpr std::size_t kHashDigits = 16;
constexpr std::uint32_t kMostMode = 07777;
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

template <class T>
bool read_number(std::string_view word, T& value, int base = 10) {
  const auto number = parse_number<T>(word, base);
  value = number.value_or(0);
  return number.has_value();
}

// Takes the next word and the space behind it.
std::string_view next_word(std::string_view& line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return {};
  const std::string_view word = line.substr(0, space);
  line.remove_prefix(space + 1);
  return word;
}

std::optional<std::string> read_path(std::string_view text) {
  std::string path;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto plain = static_cast<unsigned char>(text[at]);
    if (plain < 0x20 || plain == 0x7f) return std::nullopt;
    if (text[at] != '\\') {
      path += text[at];
      continue;
    }
    constexpr std::size_t kEscape = 4;  // \xHH
    unsigned byte = 0;
    const std::string_view digits = text.substr(at).size() < kEscape ? "" : text.substr(at + 2, 2);
    if (digits.empty() || text[at + 1] != 'x' || !read_number(digits, byte, kHex) || byte == 0) {
      return std::nullopt;
    }
    path += static_cast<char>(byte);
    at += kEscape - 1;
  }
  return path;
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
  ManifestLine parsed;
  const std::string_view type = next_word(line);
  if (type.size() != 1 || std::string_view("dflp").find(type[0]) == std::string_view::npos) {
    return std::nullopt;
  }
  parsed.type = static_cast<ManifestType>(type[0]);
  const bool numbers = read_number(next_word(line), parsed.size) &&
                       read_number(next_word(line), parsed.mtime_ns) &&
                       read_number(next_word(line), parsed.mode, kOctal) &&
                       read_number(next_word(line), parsed.links);
  if (!numbers || parsed.mode > kMostMode) return std::nullopt;
  const std::string_view hash = next_word(line);
  if (hash != "-") {
    std::uint64_t value = 0;
    if (hash.size() != kHashDigits || !read_number(hash, value, kHex)) return std::nullopt;
    parsed.hash = value;
  }
  auto path = read_path(line);
  if (!path || path->empty()) return std::nullopt;
  parsed.path = *path == kRoot ? std::string() : std::move(*path);
  return parsed;
}

}  // namespace envgen
