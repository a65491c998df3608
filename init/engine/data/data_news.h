#pragma once
// What the child that prepares a dataset tells PID 1: packets on a socket, {u32 kind, the rest},
// little endian. The last one may bring a descriptor, the lease of the copy.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "init/sys/fd.h"

namespace engine {

// How far a copy is. Entries are files, directories and links.
struct DataProgress {
  std::uint32_t phase = 0;  // copy::Phase
  bool waiting = false;     // for another job, whose copy this is
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t total_entries = 0;  // 0 = not known yet
  std::uint64_t total_bytes = 0;

  bool operator==(const DataProgress&) const = default;
};

struct DataNews {
  enum class Kind : std::uint32_t {
    kProgress = 1,
    kWarning,  // `text`
    kReady,    // at `path`, and how it came there; `progress` has what it holds
    kFailed,   // `text`, and the exit code that it stands for
    kMissing,  // the same, and the source is not there or closed: it cannot be read instead
  };
  Kind kind = Kind::kProgress;
  DataProgress progress = {};
  int exit_code = 0;
  std::string path = {};
  std::string text = {};

  bool operator==(const DataNews&) const = default;
};

// Texts are cut so that a packet has at most kMostPacketBytes.
std::string encode_data_news(const DataNews& news);
// nullopt: not what encode_data_news makes.
std::optional<DataNews> decode_data_news(std::string_view packet);
inline constexpr std::size_t kMostPacketBytes = 16UL << 10;

// Both ends close on exec.
struct DataSocket {
  sys::Fd ours;
  sys::Fd theirs;
};
std::optional<DataSocket> make_data_socket();

// Waits until there is room, but for kProgress, which may be lost. `lease`: -1 = none.
void send_data_news(int socket, const DataNews& news, int lease = -1);

// What one look at the socket finds; never blocks.
struct DataMail {
  std::optional<DataNews> news;  // nothing: none is there now
  sys::Fd lease;
  bool damaged = false;  // by a child gone mad: read no further
};
DataMail receive_data_news(int socket);

}  // namespace engine
