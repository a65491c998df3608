#include "init/engine/workers/messages.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "init/proc/spawn.h"
#include "init/sys/files.h"

namespace engine {
namespace {

constexpr std::size_t kHeaderBytes = 8;

// Limit of the reads in one call: a worker that writes without end must not keep PID 1 from its
// signals. A pipe holds less than that, so one call reads all that a dead worker left.
constexpr int kMaxReads = 64;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

}  // namespace

std::string message_of(std::uint32_t kind, std::string_view bytes) {
  std::string message;
  message.reserve(kHeaderBytes + bytes.size());
  for (const std::uint32_t value : {kind, static_cast<std::uint32_t>(bytes.size())}) {
    for (int i = 0; i < 4; ++i) message += static_cast<char>(value >> (8 * i));
  }
  message += bytes;
  return message;
}

bool send_message(int fd, std::uint32_t kind, std::string_view bytes) {
  const std::string message = message_of(kind, bytes);
  return sys::write_all(fd, message) == message.size();
}

bool MessagePipe::read(
    const std::function<bool(std::uint32_t kind, std::string_view bytes)>& take) {
  std::array<char, 65536> chunk;
  for (int reads = 0; reads < kMaxReads && !at_end_; ++reads) {
    const ssize_t size = ::read(pipe_.get(), chunk.data(), chunk.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size <= 0) {
      at_end_ = true;
      break;
    }
    buffer_.append(chunk.data(), static_cast<std::size_t>(size));
    Next next = Next::kTaken;
    while (next == Next::kTaken && !at_end_) next = take_next(take);
    if (next == Next::kDamaged) return false;
  }
  return true;
}

MessagePipe::Next MessagePipe::take_next(
    const std::function<bool(std::uint32_t kind, std::string_view bytes)>& take) {
  if (buffer_.size() < kHeaderBytes) return Next::kIncomplete;
  const std::uint32_t kind = number_at(buffer_, 0);
  const std::uint32_t size = number_at(buffer_, 4);
  if (kind < 1 || kind > kinds_ || size > most_bytes_) {
    at_end_ = true;
    return Next::kDamaged;
  }
  if (buffer_.size() < kHeaderBytes + size) return Next::kIncomplete;
  at_end_ = !take(kind, std::string_view(buffer_).substr(kHeaderBytes, size));
  buffer_.erase(0, kHeaderBytes + size);
  // Frees the memory, which = {} does not: PID 1 runs for weeks.
  if (buffer_.empty()) std::string().swap(buffer_);
  return Next::kTaken;
}

base::Result<Messenger> fork_messenger(const std::string& what, const proc::SavedSignals& saved,
                                       const std::function<int(int fd)>& body,
                                       std::span<const int> keep) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::fail(what, "pipe", sys::errno_text(errno), "raise the limit on open files");
  }
  Messenger messenger;
  messenger.pipe.reset(ends[0]);
  const sys::Fd write_end(ends[1]);
  std::vector<int> kept(keep.begin(), keep.end());
  kept.push_back(write_end.get());
  auto pid = proc::fork_worker(saved, kept, [&body, fd = write_end.get()] { return body(fd); });
  if (!pid) return std::unexpected(pid.error());
  messenger.pid = *pid;
  ::fcntl(messenger.pipe.get(), F_SETFL, O_NONBLOCK);
  return messenger;
}

}  // namespace engine
