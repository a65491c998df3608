#pragma once
// A connection between two nodes that meet, and the records on it. Neither end trusts the other:
// anything may have connected, or listen.
//
// Wire, both ways: records of 36 bytes, little endian: "trvz", u32 version, u32 kind, u32 node
// rank, u32 node count, u32 restarts, u32 missing nodes, u64 cluster.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "init/sys/fd.h"

namespace engine {

struct MeetingRecord {
  enum class Kind : std::uint32_t {
    kGreeting = 1,  // of node 0, to whoever connects
    kHello = 2,     // of another node
    kRefused = 3,   // of node 0: another list of nodes, or another version
    kHere = 4,      // of node 0: noted, and so many are missing; again when that changes
    kReady = 5,     // of node 0: all are there; of another node: it still is
    kGo = 6,        // of node 0
  };
  std::uint32_t version = 1;
  Kind kind = Kind::kGreeting;
  std::uint32_t node_rank = 0;
  std::uint32_t node_count = 0;
  std::uint32_t restarts = 0;
  std::uint32_t missing = 0;
  std::uint64_t cluster = 0;

  bool operator==(const MeetingRecord&) const = default;
};

inline constexpr std::size_t kMeetingRecordBytes = 36;
std::string encode(const MeetingRecord& record);
// Of exactly one record; nothing where it is none. Of another version the values are those that
// every version has at these places.
std::optional<MeetingRecord> decode_meeting_record(std::string_view bytes);

class MeetingLink {
 public:
  // Of a connected socket that does not block.
  explicit MeetingLink(sys::Fd socket);
  MeetingLink(MeetingLink&&) = default;
  MeetingLink& operator=(MeetingLink&&) = default;

  [[nodiscard]] int fd() const { return socket_.get(); }

  enum class Read : unsigned char { kNothing, kRecord, kLost, kStranger };
  // At most one record, without waiting.
  Read read(MeetingRecord& record);
  // False: nobody takes it any more. Never waits: what is sent fits into any socket's buffer.
  bool send(const MeetingRecord& record);
  // Closes it so that the port is free at once, whatever was still on the way.
  void abort();
  // Closes it; the wait for late packets (TIME_WAIT) is then on this end, if it is the first.
  void close() { socket_.reset(); }

 private:
  sys::Fd socket_;
  std::string received_;
};

}  // namespace engine
