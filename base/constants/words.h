#pragma once
// A constant list of words that contains no addresses, unlike an array of string_views
// (packed_texts.h explains why that matters). `constexpr auto kShells = words("sh", "bash")` is
// used like an array.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace base {

// The characters of all words are in one array, with the end of each word.
template <std::size_t kCount, std::size_t kBytes>
struct PackedWords {
  std::array<char, kBytes> bytes{};
  std::array<std::uint16_t, kCount> ends{};

  class Iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    constexpr Iterator() = default;
    constexpr Iterator(const PackedWords* words, std::ptrdiff_t at) : words_(words), at_(at) {}
    constexpr std::string_view operator*() const {
      return (*words_)[static_cast<std::size_t>(at_)];
    }
    constexpr Iterator& operator++() {
      ++at_;
      return *this;
    }
    constexpr Iterator operator++(int) { return {words_, at_++}; }
    constexpr bool operator==(const Iterator& other) const { return at_ == other.at_; }
    constexpr std::ptrdiff_t operator-(const Iterator& other) const { return at_ - other.at_; }

   private:
    const PackedWords* words_ = nullptr;
    std::ptrdiff_t at_ = 0;
  };

  [[nodiscard]] constexpr Iterator begin() const { return {this, 0}; }
  [[nodiscard]] constexpr Iterator end() const { return {this, kCount}; }
  [[nodiscard]] static constexpr std::size_t size() { return kCount; }
  // Requires `at` < size().
  constexpr std::string_view operator[](std::size_t at) const {
    const std::size_t from = at == 0 ? 0 : ends.at(at - 1);
    return {bytes.data() + from, ends.at(at) - from};
  }
};

// Makes the list from string literals. `kSizes` are the sizes of the literals, including NUL.
template <std::size_t... kSizes>
consteval PackedWords<sizeof...(kSizes), (kSizes + ...) - sizeof...(kSizes)> words(
    const char (&... texts)[kSizes]) {
  static_assert((kSizes + ...) <= UINT16_MAX);
  PackedWords<sizeof...(kSizes), (kSizes + ...) - sizeof...(kSizes)> all;
  std::size_t used = 0;
  std::size_t at = 0;
  const auto add = [&](std::string_view text) {
    for (const char c : text) all.bytes.at(used++) = c;
    all.ends.at(at++) = static_cast<std::uint16_t>(used);
  };
  (add({texts, kSizes - 1}), ...);
  return all;
}

}  // namespace base
