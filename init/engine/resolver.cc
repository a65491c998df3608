#include "init/engine/resolver.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>

#include "init/engine/collect.h"
#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace engine {
namespace {

enum class Kind : std::uint32_t { kWaits = 1, kFailed = 2, kPlan = 3 };
constexpr std::size_t kHeaderBytes = 8;
// A plan's size is the command and its environment times the ranks of this node.
constexpr std::uint32_t kMostMessageBytes = 256U << 20;

// Of one turn, so that a resolver gone mad cannot keep PID 1 from its signals. A pipe holds less:
// what a dead resolver left is read at once.
constexpr int kMostReads = 64;

constexpr int kFirstPollMs = 100;
constexpr int kMostPollMs = 1000;
// Writers truncate and rewrite in place, so a table may look wrong for a moment: an error counts
// when it has stood for this long.
constexpr std::int64_t kSettleMs = 1000;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

std::string message(Kind kind, std::string_view payload) {
  std::string bytes;
  for (std::uint32_t value :
       {static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(payload.size())}) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  }
  bytes += payload;
  return bytes;
}

std::string encode(const ResolverNews& news) {
  if (const auto* waits = std::get_if<ResolverWaits>(&news)) {
    return message(Kind::kWaits, waits->reason);
  }
  if (const auto* failed = std::get_if<ResolverFailed>(&news)) {
    return message(Kind::kFailed, static_cast<char>(failed->exit_code) + failed->message);
  }
  return message(Kind::kPlan, envgen::encode_plan(std::get<envgen::Plan>(news)));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void wait_ms(int duration_ms) { ::poll(nullptr, 0, duration_ms); }

std::string out_of(const std::exception& error) {
  const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return to_line(
      envgen::Error{"resolving the job", "", memory ? "too little memory" : error.what(),
                    memory ? "raise the memory limit of the container"
                           : "this is a defect of trainit: report it with `trainit snapshot`"});
}

ResolverFailed timed_out(const envgen::Pending& pending, std::int64_t timeout_ms) {
  envgen::Error error{"waiting for the rank table", pending.path,
                      "after " + std::to_string(timeout_ms / 1000) + " s still: " + pending.why,
                      "see why the platform did not complete it, or raise --rank-table-timeout"};
  return {124, to_line(error)};
}

// One wait: the last reason told, and how long an error has stood.
class Waiting {
 public:
  // True when `error` has been the answer for long enough.
  bool settled(const envgen::Error& error, bool depends_on_files) {
    if (!depends_on_files) return true;
    if (error != error_) {
      error_ = error;
      since_ms_ = sys::monotonic_ms();
    }
    return sys::monotonic_ms() - since_ms_ >= kSettleMs;
  }
  void pending(const envgen::Pending& pending,
               const std::function<bool(const ResolverNews&)>& send) {
    error_ = {};
    std::string reason = pending.path + ": " + pending.why;
    if (reason == reason_) return;
    reason_ = reason;
    send(ResolverWaits{reason});
  }
  int next_poll_ms() {
    int now = poll_ms_;
    poll_ms_ = std::min(poll_ms_ * 3 / 2, kMostPollMs);
    return now;
  }

 private:
  envgen::Error error_;
  std::int64_t since_ms_ = 0;
  std::string reason_;
  int poll_ms_ = kFirstPollMs;
};

}  // namespace

envgen::Status carry_out_files(const envgen::Plan& plan) {
  for (const envgen::PlannedDirectory& directory : plan.directories) {
    if (directory.clean) {
      if (auto status = sys::remove_tree(directory.path); !status) return status;
    }
    if (auto status = sys::make_directories(directory.path, 0755); !status) return status;
  }
  for (const envgen::PlannedFile& file : plan.files) {
    auto status = sys::write_file_atomic(file.path, file.mode, file.content);
    if (!status) return status;
  }
  return {};
}

int resolve_and_prepare(envgen::Snapshot snapshot, const envgen::Request& request,
                        const std::function<bool(const ResolverNews&)>& send) {
  const std::int64_t deadline = sys::monotonic_ms() + request.rank_table_timeout_ms;
  Waiting waiting;
  while (true) {
    snapshot.paths.clear();
    envgen::Answer answer = collect_and_resolve(snapshot, request);
    if (auto* planned = std::get_if<envgen::Planned>(&answer.outcome)) {
      if (auto status = carry_out_files(planned->plan); !status) {
        send(ResolverFailed{125, to_line(status.error())});
        return 125;
      }
      return send(std::move(planned->plan)) ? 0 : 125;
    }
    const auto* pending = std::get_if<envgen::Pending>(&answer.outcome);
    if (pending != nullptr) {
      waiting.pending(*pending, send);
      if (sys::monotonic_ms() >= deadline) {
        send(timed_out(*pending, request.rank_table_timeout_ms));
        return 124;
      }
    } else {
      const auto& error = std::get<envgen::Error>(answer.outcome);
      // One that changes at each look is bounded by the deadline alone.
      if (waiting.settled(error, !snapshot.paths.empty()) || sys::monotonic_ms() >= deadline) {
        send(ResolverFailed{125, to_line(error)});
        return 125;
      }
    }
    std::int64_t left = std::max<std::int64_t>(deadline - sys::monotonic_ms(), 1);
    int poll = waiting.next_poll_ms();
    wait_ms(pending != nullptr ? static_cast<int>(std::min<std::int64_t>(poll, left)) : poll);
  }
}

envgen::Result<Resolver> Resolver::start(const envgen::Snapshot& base,
                                         const envgen::Request& request,
                                         const proc::SavedSignals& saved) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return envgen::fail("starting the resolver", "pipe", sys::errno_text(errno),
                        "raise the limit on open files");
  }
  sys::Fd read_end(ends[0]);
  sys::Fd write_end(ends[1]);
  auto send = [fd = write_end.get()](const ResolverNews& news) {
    return write_all(fd, encode(news));
  };
  auto body = [&base, &request, &send] {
    try {
      return resolve_and_prepare(base, request, send);
    } catch (const std::exception& error) {
      send(ResolverFailed{125, out_of(error)});
      return 125;
    }
  };
  auto pid = proc::fork_worker(saved, write_end.get(), body);
  if (!pid) return std::unexpected(pid.error());
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  return Resolver(*pid, std::move(read_end));
}

std::vector<ResolverNews> Resolver::read_news() {
  std::vector<ResolverNews> news;
  char chunk[65536];
  for (int reads = 0; reads < kMostReads && !at_end_; ++reads) {
    ssize_t size = ::read(pipe_.get(), chunk, sizeof chunk);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size <= 0) {
      at_end_ = true;
      break;
    }
    buffer_.append(chunk, static_cast<std::size_t>(size));
    while (take_message(news)) {
    }
  }
  return news;
}

bool Resolver::take_message(std::vector<ResolverNews>& news) {
  if (at_end_ || buffer_.size() < kHeaderBytes) return false;
  std::uint32_t kind = number_at(buffer_, 0);
  std::uint32_t size = number_at(buffer_, 4);
  bool known = kind >= static_cast<std::uint32_t>(Kind::kWaits) &&
               kind <= static_cast<std::uint32_t>(Kind::kPlan);
  if (!known || size > kMostMessageBytes) {
    news.emplace_back(ResolverFailed{125, "the resolver sent a damaged message"});
    at_end_ = true;
    return false;
  }
  if (buffer_.size() < kHeaderBytes + size) return false;
  std::string_view payload = std::string_view(buffer_).substr(kHeaderBytes, size);
  if (kind == static_cast<std::uint32_t>(Kind::kWaits)) {
    news.emplace_back(ResolverWaits{std::string(payload)});
  } else if (kind == static_cast<std::uint32_t>(Kind::kFailed)) {
    int code = payload.empty() ? 125 : static_cast<unsigned char>(payload[0]);
    news.emplace_back(ResolverFailed{code, std::string(payload.substr(payload.empty() ? 0 : 1))});
  } else if (auto plan = envgen::decode_plan(payload)) {
    news.emplace_back(std::move(*plan));
  } else {
    news.emplace_back(ResolverFailed{125, to_line(plan.error())});
  }
  buffer_.erase(0, kHeaderBytes + size);
  if (buffer_.empty()) buffer_ = {};
  // A plan and a failure are answers: nothing may follow them.
  at_end_ = kind != static_cast<std::uint32_t>(Kind::kWaits);
  return !at_end_;
}

}  // namespace engine
