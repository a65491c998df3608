#pragma once
// Message authentication codes: HMAC-SHA256 (RFC 2104). Only an owner of the key can compute them.
// The messages are not encrypted: anybody can read them, and send them again. Against such a
// replay, the receiver adds numbers that never repeat (random_bytes) to the authenticated data.

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/result.h"

namespace sys {

using MacKey = std::array<unsigned char, 32>;
using Mac = std::array<unsigned char, 32>;

// Returns a key for the purpose that `label` names: HMAC-SHA256(secret, label). Keys for two labels
// of one secret reveal neither each other nor the secret. The secret can have any length, but one
// of less than 16 random bytes can be guessed from one MAC.
MacKey derive_key(std::string_view secret, std::string_view label);
MacKey derive_key(const MacKey& secret, std::string_view label);

// Returns the MAC of the parts. Each part follows its length, so ("ab", "c") and ("a", "bc")
// differ.
Mac mac_of(const MacKey& key, std::initializer_list<std::string_view> parts);

// Compares two MACs in constant time, which does not reveal where they differ.
bool same(const Mac& one, const Mac& other);

// Fills `bytes` with random bytes of the kernel. If getrandom(2) fails, as in a sandbox that does
// not know it, reads /dev/urandom.
base::Status random_bytes(std::span<unsigned char> bytes);

// Returns the bytes as a view, for mac_of() or a message.
template <std::size_t kSize>
std::string_view bytes_of(const std::array<unsigned char, kSize>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), kSize};
}

}  // namespace sys
