#pragma once
// Message authentication codes: HMAC-SHA256 (RFC 2104), which only an owner of the key can compute.
// Messages are not encrypted: all can read them, and send them again. Against replay, the receiver
// makes numbers that never repeat (random_bytes) a part of the authenticated data.

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/result.h"

namespace sys {

using MacKey = std::array<unsigned char, 32>;
using Mac = std::array<unsigned char, 32>;

// Returns a key for the purpose that `label` names: HMAC-SHA256(secret, label). Keys for two labels
// of one secret reveal neither each other nor the secret. The secret may have any length, but fewer
// than 16 random bytes can be guessed from one MAC.
MacKey derive_key(std::string_view secret, std::string_view label);
MacKey derive_key(const MacKey& secret, std::string_view label);

// Returns the MAC of the parts. Each part follows its length, so ("ab", "c") and ("a", "bc")
// differ.
Mac mac_of(const MacKey& key, std::initializer_list<std::string_view> parts);

// Compares two MACs in constant time, which does not reveal where they differ.
bool same(const Mac& one, const Mac& other);

// Fills `bytes` with random bytes of the kernel. Reads /dev/urandom if getrandom(2) fails, as in a
// sandbox that does not know it.
base::Status random_bytes(std::span<unsigned char> bytes);

// Returns the bytes as a view, for mac_of() or a message.
template <std::size_t kSize>
std::string_view bytes_of(const std::array<unsigned char, kSize>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), kSize};
}

}  // namespace sys
