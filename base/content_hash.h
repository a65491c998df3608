#pragma once
// XXH3, 64 bits (xxHash 0.8), for file contents and for the entries of a directory tree. The hash
// is not cryptographic: it detects damage and change, not malice.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace base {

std::uint64_t hash_of(std::string_view bytes, std::uint64_t seed = 0);

// A hash of bytes that arrive in pieces. The value equals hash_of() of all bytes together.
class ContentHash {
 public:
  ContentHash();
  void update(std::string_view bytes);
  [[nodiscard]] std::uint64_t value() const;

 private:
  static constexpr std::size_t kState = 640;  // size of the state in bytes, at least
                                              // sizeof(XXH3_state_t)
  alignas(64) std::array<std::byte, kState> state_;
};

}  // namespace base
