#include "init/engine/cluster/link_session.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace engine {
namespace {

constexpr std::string_view kLabel = "trainit link 1";
constexpr std::string_view kHello = "hello";
constexpr std::string_view kSession = "session";

std::array<unsigned char, 8> bytes_of_number(std::uint64_t number) {
  std::array<unsigned char, 8> bytes;
  for (unsigned char& byte : bytes) {
    byte = static_cast<unsigned char>(number);
    number >>= 8;
  }
  return bytes;
}

// Returns the first half of the MAC, which is enough against guessing.
LinkFrame::Tag cut(const sys::Mac& mac) {
  LinkFrame::Tag tag;
  std::copy_n(mac.begin(), tag.size(), tag.begin());
  return tag;
}

bool same(const LinkFrame::Tag& one, const LinkFrame::Tag& other) {
  sys::Mac left{};
  sys::Mac right{};
  std::ranges::copy(one, left.begin());
  std::ranges::copy(other, right.begin());
  return sys::same(left, right);
}

}  // namespace

std::string new_link_nonce() {
  std::array<unsigned char, kLinkNonceBytes> bytes;
  if (!sys::random_bytes(bytes)) return {};
  return std::string(sys::bytes_of(bytes));
}

LinkFrame::Tag LinkSession::tag(bool of_node0, std::uint64_t number, LinkFrame::Kind kind,
                                std::string_view payload) const {
  const auto place = bytes_of_number(number);
  const auto kind_bytes = bytes_of_number(static_cast<std::uint64_t>(kind));
  return cut(sys::mac_of(
      key_, {of_node0 ? "0" : "1", sys::bytes_of(place), sys::bytes_of(kind_bytes), payload}));
}

LinkFrame::Tag LinkSession::seal(LinkFrame::Kind kind, std::string_view payload) {
  return tag(node0_, sent_++, kind, payload);
}

bool LinkSession::opens(const LinkFrame& frame) {
  return exists_ && same(frame.tag, tag(!node0_, opened_++, frame.kind, frame.payload));
}

LinkKey::LinkKey(const std::string& secret, const std::string& common)
    : key_(sys::derive_key(secret, std::string(kLabel) + '\0' + common)) {}

LinkFrame::Tag LinkKey::hello_tag(const std::string& nonce, std::string_view hello) const {
  return cut(sys::mac_of(key_, {kHello, nonce, hello}));
}

bool LinkKey::fits_hello(const std::string& nonce, const LinkFrame& hello) const {
  return same(hello.tag, hello_tag(nonce, hello.payload));
}

LinkSession LinkKey::session(const std::string& nonce, std::string_view hello, bool node0) const {
  LinkSession session;
  session.key_ = sys::mac_of(key_, {kSession, nonce, hello});
  session.exists_ = true;
  session.node0_ = node0;
  return session;
}

}  // namespace engine
