#include "base/secrets/secret_reading.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/characters/utf8.h"
#include "base/constants/words.h"
#include "base/secrets/secret_text.h"

namespace base {
namespace {

// Decoded characters, and how many bytes of the source encode them. Length 0: nothing is encoded.
struct Piece {
  std::string text;
  std::size_t length = 0;
};

// Chinese words for credentials, each followed by its English name.
constexpr auto kNames =
    words("密码", "password", "密碼", "password", "口令", "password", "密钥", "api_key", "密鑰",
          "api_key", "私钥", "api_key", "令牌", "token", "凭证", "credential", "凭据", "credential",
          "验证码", "passcode", "授权码", "passcode");
// Signs and words of Chinese texts, each followed by its ASCII form.
constexpr auto kSigns =
    words("“", "\"", "”", "\"", "「", "\"", "」", "\"", "«", "\"", "»", "\"", "‘", "'", "’", "'",
          "是", " is ", "为", " is ", "為", " is ", "\xc2\xa0", " ", "\xe3\x80\x80", " ");

Piece translated(std::string_view text, const auto& table) {
  for (std::size_t i = 0; i < table.size(); i += 2) {
    if (text.starts_with(table[i])) return {std::string(table[i + 1]), table[i].size()};
  }
  return {};
}

bool is_ascii(char c) { return (static_cast<unsigned char>(c) & 0x80U) == 0; }

// Returns a decoded character as UTF-8. A quote gets a '\\', as within quotes. A character that
// would end a value becomes '~', because masking too much is better than masking half of a value.
std::string text_of(std::uint32_t code) {
  constexpr std::string_view kRead = "_-.=:,/[]{}()\t\n\r\033";
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
  if (code >= 0x800) {
    return {byte(0xE0U | code >> 12U), byte(0x80U | (code >> 6U & 0x3FU)),
            byte(0x80U | (code & 0x3FU))};
  }
  if (code >= 0x80) return {byte(0xC0U | code >> 6U), byte(0x80U | (code & 0x3FU))};
  const char c = byte(code);
  if (c == '"' || c == '\'') return {'\\', c};
  return {is_alnum(c) || kRead.contains(c) ? c : '~'};
}

// Decodes an escape: "\u003d", "\x3d", "\t", "%3D", "%253D", "&#61;", "&#x3d;", "&quot;".
Piece decoded(std::string_view text) {
  std::size_t digits = 0;
  std::size_t begin = 2;
  int base = 16;
  const std::string_view next = text.substr(1, 1);
  if (text[0] == '\\') {
    if (next == "t" || next == "n" || next == "r") return {next == "t" ? "\t" : "\n", 2};
    digits = next == "u" ? 4 : next == "x" ? 2 : next == "U" ? 8 : 0;
  } else if (text[0] == '%') {
    begin = 1;
    while (text.substr(begin).starts_with("25")) begin += 2;
    digits = 2;
  } else if (text.starts_with("&quot;") || text.starts_with("&apos;")) {
    return {text_of(next == "q" ? '"' : '\''), 6};
  } else if (text.starts_with("&lt;") || text.starts_with("&gt;")) {
    return {next == "l" ? "<" : ">", 4};
  } else if (text.starts_with("&#")) {
    constexpr std::size_t kMax = 10;
    const bool hex = text.substr(2, 1) == "x";
    begin += hex ? 1 : 0;
    base = hex ? 16 : 10;
    const std::size_t end = text.substr(0, kMax).find(';');
    if (end == std::string_view::npos) return {};
    digits = end - std::min(begin, end);
  }
  if (digits == 0 || begin + digits > text.size()) return {};
  std::uint32_t code = 0;
  const char* end = text.data() + begin + digits;
  const auto [stop, error] = std::from_chars(text.data() + begin, end, code, base);
  constexpr std::uint32_t kEnd = 0x10000;
  if (error != std::errc() || stop != end || code >= kEnd) return {};
  // A "%E5" is one byte of a UTF-8 character, so it is not encoded again.
  std::string said =
      text[0] == '%' && code >= 0x80 ? std::string(1, static_cast<char>(code)) : text_of(code);
  return {std::move(said), begin + digits + (text[0] == '&' ? 1 : 0)};
}

// Returns what a person sees of the character or escape sequence at the start of `text`.
Piece shown(std::string_view text) {
  constexpr std::string_view kFullWidth =  // Unicode order from U+FF01
      "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz"
      "{|}~";
  constexpr unsigned kFirst = 0xF01;
  if (text[0] == '\033') return {"", escape_length(text)};
  const std::size_t length = utf8_length(text);
  if (is_ascii(text[0]) || length == 0) return {};
  const unsigned low = length == 3 ? (static_cast<unsigned char>(text[1]) & 0x3FU) << 6U |
                                         (static_cast<unsigned char>(text[2]) & 0x3FU)
                                   : 0;
  if (text[0] == '\xef' && low >= kFirst && low - kFirst < kFullWidth.size()) {
    return {std::string(1, kFullWidth[low - kFirst]), length};
  }
  if (is_control(text)) return {"", length};
  Piece piece = translated(text, kNames);
  if (piece.length == 0) piece = translated(text, kSigns);
  // Dashes, arrows and lines of tables become '|', as they separate texts.
  constexpr std::uint32_t kFirstSign = 0x2010;
  constexpr std::uint32_t kBehindSigns = 0x2C00;
  const std::uint32_t code = utf8_code(text, length);
  if (piece.length == 0 && code >= kFirstSign && code < kBehindSigns) piece = {"|", length};
  return piece;
}

Reading read_by(Piece (*piece_of)(std::string_view), std::string_view source,
                std::string_view ascii) {
  Reading reading;
  std::size_t copied = 0;
  const auto copy = [&](std::size_t end) {
    reading.text += source.substr(copied, end - copied);
    for (; copied < end; ++copied) reading.at.push_back(static_cast<std::uint32_t>(copied));
  };
  for (std::size_t at = 0; at < source.size();) {
    Piece piece;
    if (!is_ascii(source[at]) || ascii.contains(source[at])) piece = piece_of(source.substr(at));
    if (piece.length == 0) {
      ++at;
      continue;
    }
    copy(at);
    reading.text += piece.text;
    reading.at.insert(reading.at.end(), piece.text.size(), static_cast<std::uint32_t>(at));
    at += piece.length;
    copied = at;
  }
  if (copied == 0) return {};
  copy(source.size());
  reading.at.push_back(static_cast<std::uint32_t>(source.size()));
  return reading;
}

}  // namespace

Reading reading_of(std::string_view source) {
  Reading plain = read_by(decoded, source, "\\%&");
  const bool same = plain.at.empty();
  Reading reading = read_by(shown, same ? source : std::string_view(plain.text), "\033");
  if (same) return reading;
  if (reading.at.empty()) return plain;
  for (std::uint32_t& at : reading.at) at = plain.at[at];
  return reading;
}

}  // namespace base
