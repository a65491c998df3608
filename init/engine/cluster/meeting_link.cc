#include "init/engine/cluster/meeting_link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace engine {
namespace {

constexpr std::string_view kMagic = "trvz";

void put(std::string& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
}

std::uint64_t take(std::string_view& bytes, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  bytes.remove_prefix(size);
  return value;
}

void set(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof value);
}

}  // namespace

std::string encode(const MeetingRecord& record) {
  std::string bytes(kMagic);
  for (const std::uint32_t value :
       {record.version, static_cast<std::uint32_t>(record.kind), record.node_rank,
        record.node_count, record.restarts, record.missing}) {
    put(bytes, value, 4);
  }
  put(bytes, record.cluster, 8);
  return bytes;
}

std::optional<MeetingRecord> decode_meeting_record(std::string_view bytes) {
  if (bytes.size() != kMeetingRecordBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  MeetingRecord record;
  record.version = static_cast<std::uint32_t>(take(bytes, 4));
  const std::uint64_t kind = take(bytes, 4);
  if (kind < 1 || kind > static_cast<std::uint64_t>(MeetingRecord::Kind::kGo)) return std::nullopt;
  record.kind = static_cast<MeetingRecord::Kind>(kind);
  for (std::uint32_t* value :
       {&record.node_rank, &record.node_count, &record.restarts, &record.missing}) {
    *value = static_cast<std::uint32_t>(take(bytes, 4));
  }
  record.cluster = take(bytes, 8);
  return record;
}

// A machine that was switched off says nothing: it is missed after half a minute.
MeetingLink::MeetingLink(sys::Fd socket) : socket_(std::move(socket)) {
  constexpr int kIdleSeconds = 15;
  constexpr int kProbeSeconds = 5;
  constexpr int kProbes = 3;
  constexpr int kUnansweredMs = 30'000;
  const int fd = socket_.get();
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMs);
}

MeetingLink::Read MeetingLink::read(MeetingRecord& record) {
  std::array<char, kMeetingRecordBytes> part;
  while (received_.size() < kMeetingRecordBytes) {
    const ssize_t count =
        ::recv(socket_.get(), part.data(), kMeetingRecordBytes - received_.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Read::kNothing;
    if (count <= 0) return Read::kLost;
    received_.append(part.data(), static_cast<std::size_t>(count));
    // Not only when it is whole: a stranger may send three bytes and wait.
    const std::size_t magic = std::min(received_.size(), kMagic.size());
    if (received_.compare(0, magic, kMagic, 0, magic) != 0) return Read::kStranger;
  }
  const auto decoded = decode_meeting_record(received_);
  received_.clear();
  if (!decoded) return Read::kStranger;
  record = *decoded;
  return Read::kRecord;
}

bool MeetingLink::send(const MeetingRecord& record) {
  const std::string bytes = encode(record);
  ssize_t count = 0;
  do {
    count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(bytes.size());
}

void MeetingLink::abort() {
  if (!socket_.valid()) return;
  const linger at_once{1, 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  socket_.reset();
}

}  // namespace engine
