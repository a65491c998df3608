#include "init/engine/monitor/hang_diagnostics.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "envgen/failure/nccl_ras.h"
#include "envgen/formats/hosts.h"
#include "init/engine/cluster/link_socket.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"

namespace engine {
namespace {

constexpr std::size_t kMaxAnswerBytes = 256U << 10;
constexpr std::size_t kMaxLineBytes = 256;
constexpr std::int64_t kConnectMs = 500;
// Shortest time that is enough for RAS, which counts whole seconds.
constexpr std::int64_t kShortestMs = 1200;
constexpr std::int64_t kLongestMs = 4000;
constexpr std::int64_t kSpareMs = 700;  // time that RAS needs apart from its wait for other ranks
// Time for dumps to appear; the recorder's thread reads the FIFO once a second.
constexpr std::int64_t kDumpMs = 3000;
constexpr std::int64_t kReadMs = 1500;  // time to read the dumps that exist
constexpr std::int64_t kWholeMs = 500;  // time for a rank to write the rest of its dump
constexpr int kLookMs = 50;
constexpr int kMaxRanks = 1024;
constexpr int kUncountedRanks = 64;  // a launcher's ranks are not counted, so this many are tried

sys::Fd connect_to(const std::string& address, int port, std::int64_t until_ms) {
  int error = 0;
  sys::Fd socket = begin_connect(socket_address(address, port), error);
  if (!socket.valid()) return socket;
  const std::int64_t last_ms = std::min(until_ms, sys::monotonic_ms() + kConnectMs);
  if (!sys::await_ready(socket.get(), POLLOUT, last_ms) || end_connect(socket.get()) != 0)
    socket.reset();
  return socket;
}

bool say(int fd, std::string_view line) {
  return ::send(fd, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
}

// Receives at most `most_bytes`, until `until_ms` or the end of the stream. If `line` is true, also
// ends after a newline.
std::string hear(int fd, std::size_t most_bytes, bool line, std::int64_t until_ms) {
  std::string text;
  std::array<char, 4096> part;
  while (text.size() < most_bytes && !(line && text.ends_with('\n'))) {
    if (!sys::await_ready(fd, POLLIN, until_ms)) break;
    const std::size_t room = std::min(part.size(), most_bytes - text.size());
    const ssize_t count = ::recv(fd, part.data(), room, 0);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::string status_of(int fd, std::int64_t until_ms) {
  if (!say(fd, "CLIENT PROTOCOL 2\n")) return "";
  if (!hear(fd, kMaxLineBytes, true, until_ms).starts_with("SERVER PROTOCOL ")) return "";
  // Limits the time that RAS waits for other ranks, which may be stopped.
  const std::int64_t wait_s =
      std::max<std::int64_t>((until_ms - kSpareMs - sys::monotonic_ms()) / 1000, 1);
  if (!say(fd, "TIMEOUT " + std::to_string(wait_s) + "\n")) return "";
  if (!hear(fd, kMaxLineBytes, true, until_ms).starts_with("OK")) return "";
  if (!say(fd, "VERBOSE STATUS\n")) return "";
  return hear(fd, kMaxAnswerBytes, false, until_ms);
}

// Requests a dump by a FIFO, which a process of the job reads. Does not write if the path is no
// FIFO or has no reader.
bool ask_for_dump(const std::string& path) {
  const sys::Fd pipe(
      ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  if (!pipe.valid() || ::fstat(pipe.get(), &status) != 0 || !S_ISFIFO(status.st_mode)) return false;
  return ::write(pipe.get(), "1\n", 2) == 2;
}

RecorderFindings recorder_note(const StackOrder& order, const AskedDumps& asked,
                               std::int64_t until_ms) {
  if (order.dumps.prefixes.empty()) return {};
  DumpOrder fresh = order.dumps;
  fresh.since_ms = std::max(fresh.since_ms, asked.at_ms);
  const std::int64_t last_ms = std::min(until_ms, sys::monotonic_ms() + kDumpMs);
  while (asked.count > 0 && find_dumps(fresh).count < asked.count &&
         sys::monotonic_ms() < last_ms) {
    sys::pause_ms(kLookMs);
  }
  const std::int64_t read_by_ms = std::max(until_ms, sys::monotonic_ms() + kReadMs);
  const std::int64_t whole_by_ms = std::min(last_ms, sys::monotonic_ms() + kWholeMs);
  RecorderFindings findings = read_dumps(order.dumps, read_by_ms);
  // A dump that cannot be read may not be complete yet, so read again.
  while (asked.count > 0 && findings.unreadable > 0 && sys::monotonic_ms() < whole_by_ms) {
    sys::pause_ms(kLookMs);
    findings = read_dumps(order.dumps, read_by_ms);
  }
  return findings;
}

}  // namespace

std::string ask_ras(std::string_view address, std::int64_t until_ms) {
  const auto place = envgen::parse_host_port(address);
  if (!place || place->port == 0) return "";
  std::vector<std::string> addresses = {place->host};
  if (place->host == "localhost") addresses = {"127.0.0.1", "::1"};
  for (const std::string& one : addresses) {
    const sys::Fd socket = connect_to(one, place->port, until_ms);
    if (socket.valid()) return status_of(socket.get(), until_ms);
  }
  return "";
}

AskedDumps ask_for_dumps(const StackOrder& order) {
  if (order.trace_pipes.empty() || order.most_ms < kDumpMs) return {};
  std::optional<sys::AsUser> as_job;
  if (!sys::take_rights(order.job, as_job)) return {};
  AskedDumps asked{.at_ms = sys::wall_ms()};
  const int ranks = order.world_size > 0 ? std::min(order.world_size, kMaxRanks) : kUncountedRanks;
  for (const std::string& stem : order.trace_pipes) {
    for (int rank = 0; rank < ranks; ++rank) {
      if (ask_for_dump(stem + std::to_string(rank) + ".pipe")) ++asked.count;
    }
  }
  return asked;
}

void add_ras_note(const StackOrder& order, std::int64_t until_ms, envgen::SeenJob& seen) {
  const std::int64_t left_ms = std::min(until_ms - sys::monotonic_ms(), kLongestMs);
  if (!order.nccl_ras.empty() && left_ms >= kShortestMs) {
    const std::string answer = ask_ras(order.nccl_ras, sys::monotonic_ms() + left_ms);
    const std::string text = envgen::ras_text(answer, order.world_size, seen);
    if (!text.empty()) seen.notes.push_back("NCCL's RAS: " + text);
  }
}

std::vector<envgen::RecorderDump> add_recorder_note(const StackOrder& order,
                                                    const AskedDumps& asked, std::int64_t until_ms,
                                                    envgen::SeenJob& seen) {
  RecorderFindings findings = recorder_note(order, asked, until_ms);
  if (!findings.text.empty()) seen.notes.push_back(std::move(findings.text));
  seen.recorded = std::move(findings.culprits);
  const bool known =
      std::ranges::any_of(seen.ranks, [](const auto& rank) { return rank.rank >= 0; });
  if (known) {
    std::erase_if(findings.dumps, [&seen](const envgen::RecorderDump& dump) {
      return std::ranges::find(seen.ranks, dump.rank, &envgen::SeenRank::rank) == seen.ranks.end();
    });
  }
  return std::move(findings.dumps);
}

}  // namespace engine
