#pragma once
// The texts of a large constant table, packed into one character array, with the offset of each
// text. Reason: a string_view in a constant contains an address, and the loader of a
// position-independent executable must write each address at start. Each memory page that it writes
// becomes private memory of PID 1 and of each child. Packed texts contain no addresses.

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <string_view>
#include <type_traits>

namespace base {

struct TextPlace {
  std::uint16_t at = 0;  // offset in bytes
  std::uint16_t size = 0;
};

// An array for texts of at most 65535 bytes in total. More bytes do not compile.
template <std::size_t kBytes>
class PackedTexts {
 public:
  consteval TextPlace add(std::string_view text) {
    static_assert(kBytes <= UINT16_MAX);
    const TextPlace place{static_cast<std::uint16_t>(used_),
                          static_cast<std::uint16_t>(text.size())};
    for (const char c : text) bytes_.at(used_++) = c;
    return place;
  }
  [[nodiscard]] constexpr std::string_view at(TextPlace place) const {
    return {bytes_.data() + place.at, place.size};
  }

 private:
  std::array<char, kBytes> bytes_{};
  std::size_t used_ = 0;
};

// A packed copy of the constant array `kRows`, whose members `kTexts` are texts. operator[] returns
// a copy of a row. The array itself is not part of the program.
template <const auto& kRows, auto... kTexts>
class PackedTable {
 public:
  using Row = std::remove_cvref_t<decltype(kRows[0])>;

  consteval PackedTable() {
    for (std::size_t at = 0; at < std::size(kRows); ++at) {
      Row& row = rows_[at] = kRows[at];
      places_[at] = {texts_.add(row.*kTexts)...};
      ((row.*kTexts = {}), ...);
    }
  }
  [[nodiscard]] constexpr Row operator[](std::size_t at) const {
    Row row = rows_[at];
    std::size_t text = 0;
    ((row.*kTexts = texts_.at(places_[at][text++])), ...);
    return row;
  }
  [[nodiscard]] constexpr auto all() const {
    return std::views::iota(std::uint32_t{0}, std::uint32_t{std::size(kRows)}) |
           std::views::transform([this](std::uint32_t at) { return (*this)[at]; });
  }

 private:
  static consteval std::size_t bytes() {
    std::size_t sum = 0;
    for (const Row& row : kRows) sum += ((row.*kTexts).size() + ...);
    return sum;
  }
  std::array<Row, std::size(kRows)> rows_{};
  std::array<std::array<TextPlace, sizeof...(kTexts)>, std::size(kRows)> places_{};
  PackedTexts<bytes()> texts_;
};

}  // namespace base
