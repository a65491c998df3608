#include "init/engine/report/output_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/wire.h"
#include "init/sys/clock.h"
#include "init/sys/open_log.h"
#include "init/sys/safe_path.h"

namespace engine {
namespace {

constexpr std::uint32_t kEnd = 1;
constexpr std::uint32_t kMaxMessageBytes = 64U << 10;

}  // namespace

LastBytes last_bytes_in(const std::string& path, const envgen::Identity* job_user,
                        std::int64_t since_ms) {
  // A file's time can lag behind the clock by one tick.
  constexpr std::int64_t kTickMs = 20;
  const auto file = sys::open_to_read(path, job_user);
  struct stat status{};
  if (!file) {
    if (::lstat(path.c_str(), &status) != 0) return {};
    return {.bytes = "trainit: its log is not shown: " + to_line(file.error()) + "\n"};
  }
  if (::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const std::int64_t written_ms =
      std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
  if (written_ms + kTickMs < since_ms) return {};
  const off_t most = logtee::kRingBytes;
  const off_t start = std::max<off_t>(status.st_size - most, 0);
  std::string bytes(logtee::kRingBytes, '\0');
  const ssize_t count = ::pread(file->get(), bytes.data(), bytes.size(), start);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return {.bytes = std::move(bytes), .whole = start == 0};
}

LastBytes last_bytes_of_tee(const logtee::Shared& seen, std::size_t process,
                            std::int64_t until_ms) {
  constexpr int kPauseMs = 5;
  while (!seen.ended(process) && sys::monotonic_ms() < until_ms) sys::pause_ms(kPauseMs);
  std::string text = seen.output_tail(process);
  const bool whole = text.size() < logtee::kRingBytes;
  return {.bytes = std::move(text), .whole = whole};
}

OutputTail::OutputTail() : ChildWorker(kEnd, kMaxMessageBytes) {}

base::Status OutputTail::start(const std::function<void(const Tell&)>& look,
                               const proc::SavedSignals& saved, std::int64_t most_ms) {
  auto body = [&](int fd) {
    bool heard = true;
    look([&](const PrintedEnd& end) {
      heard = heard && send_message(fd, kEnd, base::to_wire(end));
    });
    return heard ? 0 : 1;
  };
  TRY(fork("reading what a process printed last", saved, body));
  awaited_ = true;
  deadline_ms_ = sys::monotonic_ms() + most_ms;
  return {};
}

void OutputTail::give_up() {
  kill();
  awaited_ = false;
}

ChildWorker::Heard OutputTail::on_message(std::uint32_t /*kind*/, std::string_view bytes) {
  auto end = base::from_wire<PrintedEnd>(bytes);
  if (!end) return Heard::kDamaged;
  end_ = *std::move(end);
  return Heard::kMore;
}

void OutputTail::on_silence(bool /*damaged*/) {
  awaited_ = false;
  deadline_ms_.reset();
}

// Uses what has arrived until the deadline: the worker hangs, most likely on the file's mount.
void OutputTail::on_overdue() {
  read();
  awaited_ = false;
  messages_.reset();
}

}  // namespace engine
