#pragma once
// The frames on a connection of the link, between a node and node 0. Neither end trusts the other:
// anything may have connected, or listen. Pure.
//
// Wire, both ways, little endian: "trlk", u32 bytes of the payload, u32 kind, payload, 16 bytes of
// a tag that proves who sent it (link_session.h). Node 0 speaks first, and says nothing but a
// number that is new, so that whatever else listens at its port gets no byte from us, and a
// stranger at ours no fact.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace engine {

struct LinkFrame {
  enum class Kind : std::uint32_t {
    kGreeting = 1,   // of node 0, to whoever connects: its nonce. No tag
    kHello = 2,      // of another node: LinkHello. Its tag: of the job's key
    kWelcome = 3,    // of node 0: LinkWelcome. From here on tags are of the session's key
    kRefused = 4,    // of node 0, instead: why, in words
    kReport = 5,     // of another node: lifecycle::NodeReport
    kVerdict = 6,    // of node 0: lifecycle::NodeVerdict
    kHeartbeat = 7,  // of another node, and node 0's answer
    kPing = 8,       // of node 0: a heartbeat is due at once
    kNodes = 9,      // of another node: LinkNodesRequest
    kRows = 10,      // of node 0: LinkRows
    kRecorder = 11,  // of another node, ahead of the report of a look: hang_dumps.h
    kDiffers = 12,   // of node 0, instead of kWelcome: LinkDifference
  };
  using Tag = std::array<char, 16>;

  Kind kind = Kind::kGreeting;
  std::string_view payload;
  Tag tag{};
};

inline constexpr std::size_t kLinkHeaderBytes = 12;
inline constexpr std::size_t kLinkNonceBytes = 32;
inline constexpr std::uint32_t kMaxLinkPayload = 16U * 1024;
inline constexpr std::uint32_t kMaxStrangersPayload = 256;  // of who has not shown who it is
inline constexpr std::uint32_t kLinkVersion = 4;

struct LinkHello {
  std::uint32_t version = kLinkVersion;
  std::uint32_t node = 0;
  std::uint32_t node_count = 0;
  std::uint64_t cluster = 0;
  std::uint64_t life = 0;
  std::int64_t clock_ms = 0;  // its wall clock, when it said this
  std::string nonce;
  std::int32_t world_size = 0;

  bool operator==(const LinkHello&) const = default;
};
inline void fields(envgen::FieldVisitor& v, LinkHello& hello) {
  v("version", hello.version);
  v("node", hello.node);
  v("node_count", hello.node_count);
  v("cluster", hello.cluster);
  v("life", hello.life);
  v("clock_ms", hello.clock_ms, {.least = 0});
  v("nonce", hello.nonce);
  v("world_size", hello.world_size, {.least = 0});
}

struct LinkWelcome {
  std::uint32_t heartbeat_ms = 0;
};
inline void fields(envgen::FieldVisitor& v, LinkWelcome& welcome) {
  v("heartbeat_ms", welcome.heartbeat_ms, {.least = 1});
}

// Why two nodes can never run together.
struct LinkDifference {
  bool ends_job = false;  // it has lasted
  std::string how;        // in words
};
inline void fields(envgen::FieldVisitor& v, LinkDifference& difference) {
  v("ends_job", difference.ends_job);
  v("how", difference.how);
}

// For `trainit status --cluster`: the rows of the nodes from that rank on, as many as a frame
// holds.
struct LinkNodesRequest {
  std::uint32_t from = 0;
};
inline void fields(envgen::FieldVisitor& v, LinkNodesRequest& request) { v("from", request.from); }
struct LinkRows {
  std::uint32_t next = 0;  // 0: these were the last ones
  std::string text;        // lines of JSON
};
inline void fields(envgen::FieldVisitor& v, LinkRows& rows) {
  v("next", rows.next);
  v("text", rows.text);
}

std::string link_frame(LinkFrame::Kind kind, std::string_view payload, const LinkFrame::Tag& tag);

enum class LinkTaken : unsigned char { kIncomplete, kFrame, kDamaged };
// The frame that `bytes` begin with; `size` becomes what it takes of them. kDamaged as soon as that
// can be seen: a stranger may send three bytes and wait.
LinkTaken take_link_frame(std::string_view bytes, std::uint32_t most_payload, LinkFrame& frame,
                          std::size_t& size);

}  // namespace engine
