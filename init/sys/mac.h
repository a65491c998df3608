#pragma once
// Proof of who sent something: HMAC-SHA256 (RFC 2104), which only who has the key can make. Not
// encryption: what is sent can be read by all, and sent again by them. Who checks it puts numbers
// that never come twice (random_bytes) among what it is made of.

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/result.h"

namespace sys {

using MacKey = std::array<unsigned char, 32>;
using Mac = std::array<unsigned char, 32>;

// A key for one purpose, as `label` names it: HMAC-SHA256(secret, label). From one secret, keys for
// two labels tell nothing of each other, nor of the secret. Of any length; a secret of fewer than
// 16 random bytes can be guessed from one proof.
MacKey derive_key(std::string_view secret, std::string_view label);
MacKey derive_key(const MacKey& secret, std::string_view label);

// Of the parts, each behind its length: ("ab", "c") is another one than ("a", "bc").
Mac mac_of(const MacKey& key, std::initializer_list<std::string_view> parts);

// In a time that does not tell where the two differ.
bool same(const Mac& one, const Mac& other);

// Of the kernel's; of /dev/urandom where a sandbox does not know getrandom(2).
envgen::Status random_bytes(std::span<unsigned char> bytes);

// As a part of mac_of(), or in a message.
template <std::size_t kSize>
std::string_view bytes_of(const std::array<unsigned char, kSize>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), kSize};
}

}  // namespace sys
