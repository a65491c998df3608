#pragma once
// The frames on a connection of the link, between a node and node 0. Neither end trusts the other
// before it has proved its identity: any program may connect, or may listen. Pure.
//
// Wire format in both directions, little endian: "trlk", u32 size of the payload, u32 kind,
// payload, tag. The tag of 16 bytes proves who sent the frame (link_session.h). Node 0 sends the
// first frame, which contains nothing but a new random number. So if another program listens at
// node 0's port, a node sends it no byte. And a stranger that connects to node 0 learns nothing.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace engine {

struct LinkFrame {
  // Each comment has the sender of the frame, then the payload.
  enum class Kind : std::uint32_t {
    kGreeting = 1,   // node 0 to each peer: its nonce, without a tag
    kHello = 2,      // other node: LinkHello, tagged with the job's key
    kWelcome = 3,    // node 0: LinkWelcome; this and later frames are tagged with the session's key
    kRefused = 4,    // node 0, instead of kWelcome: the reason as text
    kReport = 5,     // other node: lifecycle::NodeReport
    kVerdict = 6,    // node 0: lifecycle::NodeVerdict
    kHeartbeat = 7,  // other node: LinkHeartbeat; node 0 answers with the same kind, without it
    kPing = 8,       // node 0: requests a heartbeat at once
    kNodes = 9,      // other node: LinkNodesRequest
    kRows = 10,      // node 0: LinkRows
    // Other node: a flight recorder dump (hang_dumps.h), sent before the report with a look's
    // places.
    kRecorder = 11,
    kDiffers = 12,  // node 0, instead of kWelcome: LinkDifference
  };
  using Tag = std::array<char, 16>;

  Kind kind = Kind::kGreeting;
  std::string_view payload;
  Tag tag{};
};

inline constexpr std::size_t kLinkHeaderBytes = 12;
inline constexpr std::size_t kLinkNonceBytes = 32;
inline constexpr std::uint32_t kMaxLinkPayload = 16U * 1024;
// Limit until the peer has proved its identity.
inline constexpr std::uint32_t kMaxStrangersPayload = 256;
inline constexpr std::uint32_t kLinkVersion = 5;

struct LinkHello {
  std::uint32_t version = kLinkVersion;
  std::uint32_t node = 0;
  std::uint32_t node_count = 0;
  std::uint64_t cluster = 0;
  std::uint64_t instance = 0;
  std::int64_t clock_ms = 0;  // the sender's wall clock
  std::string nonce;
  std::int32_t world_size = 0;

  bool operator==(const LinkHello&) const = default;
};
inline void fields(base::FieldVisitor& v, LinkHello& hello) {
  v("version", hello.version);
  v("node", hello.node);
  v("node_count", hello.node_count);
  v("cluster", hello.cluster);
  v("instance", hello.instance);
  v("clock_ms", hello.clock_ms, {.least = 0});
  v("nonce", hello.nonce);
  v("world_size", hello.world_size, {.least = 0});
}

struct LinkWelcome {
  std::uint32_t heartbeat_ms = 0;
};
inline void fields(base::FieldVisitor& v, LinkWelcome& welcome) {
  v("heartbeat_ms", welcome.heartbeat_ms, {.least = 1});
}

struct LinkHeartbeat {
  std::int64_t silent_ms = -1;  // time since the last output of the node's ranks; -1: not known
};
inline void fields(base::FieldVisitor& v, LinkHeartbeat& heartbeat) {
  v("silent_ms", heartbeat.silent_ms, {.least = -1});
}

// The difference because of which two nodes can never run together.
struct LinkDifference {
  bool ends_job = false;  // the job fails, because the difference has lasted
  std::string how;        // text about the difference, for people
};
inline void fields(base::FieldVisitor& v, LinkDifference& difference) {
  v("ends_job", difference.ends_job);
  v("how", difference.how);
}

// The request for rows of `trainit status --cluster`: the nodes from rank `from` on, as many as fit
// into a frame.
struct LinkNodesRequest {
  std::uint32_t from = 0;
};
inline void fields(base::FieldVisitor& v, LinkNodesRequest& request) { v("from", request.from); }
struct LinkRows {
  std::uint32_t next = 0;  // first node of the next rows; 0: these were the last rows
  std::string text;        // the rows, as lines of JSON
};
inline void fields(base::FieldVisitor& v, LinkRows& rows) {
  v("next", rows.next);
  v("text", rows.text);
}

std::string link_frame(LinkFrame::Kind kind, std::string_view payload, const LinkFrame::Tag& tag);

enum class LinkTaken : unsigned char { kIncomplete, kFrame, kDamaged };
// Decodes the first frame in `bytes`, and sets `size` to its length. Returns kDamaged as soon as
// the bytes cannot be a frame, because a stranger may send three bytes and wait.
LinkTaken take_link_frame(std::string_view bytes, std::uint32_t most_payload, LinkFrame& frame,
                          std::size_t& size);

}  // namespace engine
