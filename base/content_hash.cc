#include "base/content_hash.h"

#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

#include <new>

namespace base {
namespace {

XXH3_state_t* state_at(std::byte* bytes) { return reinterpret_cast<XXH3_state_t*>(bytes); }
const XXH3_state_t* state_at(const std::byte* bytes) {
  return reinterpret_cast<const XXH3_state_t*>(bytes);
}

}  // namespace

std::uint64_t hash_of(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

ContentHash::ContentHash() : state_() {
  static_assert(sizeof(XXH3_state_t) <= kState && alignof(XXH3_state_t) <= 64);
  new (state_.data()) XXH3_state_t;
  XXH3_64bits_reset(state_at(state_.data()));
}

void ContentHash::update(std::string_view bytes) {
  XXH3_64bits_update(state_at(state_.data()), bytes.data(), bytes.size());
}

std::uint64_t ContentHash::value() const { return XXH3_64bits_digest(state_at(state_.data())); }

}  // namespace base
