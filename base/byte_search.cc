#include "base/byte_search.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace base {
namespace {

constexpr std::size_t kWidth = 16;
using Bytes = unsigned char __attribute__((vector_size(kWidth)));
using Words = std::uint64_t __attribute__((vector_size(kWidth)));

Bytes load(const char* from) {
  Bytes bytes;
  std::memcpy(&bytes, from, kWidth);
  return bytes;
}

Bytes all_of(unsigned char c) { return Bytes{} + c; }

static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");

bool ends_line(char c) { return c == '\n' || c == '\r'; }

// Returns true if `c` ends a line. Sets `escaped` if `c` is the escape character.
bool meets(char c, bool& escaped) {
  escaped = escaped || c == '\033';
  return ends_line(c);
}

bool has_control(const char* from) {
  const auto words = reinterpret_cast<Words>(load(from) < all_of(' '));
  return (words[0] | words[1]) != 0;
}

}  // namespace

std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  if (text.size() < word.size()) return std::string_view::npos;
  if (word.size() == 1) return text.find(word[0], from);
  const std::size_t ends = text.size() - word.size() + 1;  // the first index where `word` would not
                                                           // fit
  const Bytes first = all_of(static_cast<unsigned char>(word.front()));
  const Bytes last = all_of(static_cast<unsigned char>(word.back()));
  const std::size_t far = word.size() - 1;
  const auto fits = [&](std::size_t at) {
    return std::memcmp(text.data() + at, word.data(), word.size()) == 0;
  };
  std::size_t at = from;
  for (; at + kWidth <= ends; at += kWidth) {
    const char* here = text.data() + at;
    const auto both = (load(here) == first) & (load(here + far) == last);
    const auto words = reinterpret_cast<Words>(both);
    if ((words[0] | words[1]) == 0) continue;
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::uint64_t left = words[half]; left != 0;) {
        const int byte = std::countr_zero(left) / 8;
        const std::size_t place = at + half * sizeof left + static_cast<std::size_t>(byte);
        if (fits(place)) return place;
        left &= ~(std::uint64_t{0xff} << (8 * byte));
      }
    }
  }
  for (; at < ends; ++at) {
    if (fits(at)) return at;
  }
  return std::string_view::npos;
}

LineAround line_around(std::string_view text, std::size_t from, std::size_t at) {
  LineAround line{.begin = at, .end = at};
  const char* const bytes = text.data();
  while (line.end < text.size()) {
    const bool wide = line.end + kWidth <= text.size();
    if (wide && !has_control(bytes + line.end)) {
      line.end += kWidth;
      continue;
    }
    const std::size_t until = wide ? line.end + kWidth : text.size();
    while (line.end < until && !meets(bytes[line.end], line.escaped)) ++line.end;
    if (line.end < until) break;
  }
  while (line.begin > from) {
    const bool wide = line.begin - from >= kWidth;
    if (wide && !has_control(bytes + line.begin - kWidth)) {
      line.begin -= kWidth;
      continue;
    }
    const std::size_t until = wide ? line.begin - kWidth : from;
    while (line.begin > until && !meets(bytes[line.begin - 1], line.escaped)) --line.begin;
    if (line.begin > until) break;
  }
  return line;
}

}  // namespace base
