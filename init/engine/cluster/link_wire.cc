#include "init/engine/cluster/link_wire.h"

#include <algorithm>

namespace engine {
namespace {

constexpr std::string_view kMagic = "trlk";

void put(std::string& bytes, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

}  // namespace

std::string link_frame(LinkFrame::Kind kind, std::string_view payload, const LinkFrame::Tag& tag) {
  std::string bytes;
  bytes.reserve(kLinkHeaderBytes + payload.size() + tag.size());
  bytes += kMagic;
  put(bytes, static_cast<std::uint32_t>(payload.size()));
  put(bytes, static_cast<std::uint32_t>(kind));
  bytes += payload;
  bytes.append(tag.data(), tag.size());
  return bytes;
}

LinkTaken take_link_frame(std::string_view bytes, std::uint32_t most_payload, LinkFrame& frame,
                          std::size_t& size) {
  const std::size_t magic = std::min(bytes.size(), kMagic.size());
  if (bytes.substr(0, magic) != kMagic.substr(0, magic)) return LinkTaken::kDamaged;
  constexpr std::size_t kSizeEnd = 8;
  if (bytes.size() < kSizeEnd) return LinkTaken::kIncomplete;
  const std::uint32_t payload = number_at(bytes, kMagic.size());
  if (payload > most_payload) return LinkTaken::kDamaged;
  if (bytes.size() < kLinkHeaderBytes) return LinkTaken::kIncomplete;
  const std::uint32_t kind = number_at(bytes, kSizeEnd);
  if (kind < static_cast<std::uint32_t>(LinkFrame::Kind::kGreeting) ||
      kind > static_cast<std::uint32_t>(LinkFrame::Kind::kDiffers)) {
    return LinkTaken::kDamaged;
  }
  size = kLinkHeaderBytes + payload + frame.tag.size();
  if (bytes.size() < size) return LinkTaken::kIncomplete;
  frame.kind = static_cast<LinkFrame::Kind>(kind);
  frame.payload = bytes.substr(kLinkHeaderBytes, payload);
  std::copy_n(bytes.data() + kLinkHeaderBytes + payload, frame.tag.size(), frame.tag.data());
  return LinkTaken::kFrame;
}

}  // namespace engine
