#include "init/tee/shared.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "init/sys/files.h"

namespace logtee {
namespace {

// A writer that was stopped half-way keeps nobody: what is read then may be torn.
constexpr int kMostTries = 100;

}  // namespace

// The sequence is odd while the rest changes.
struct Shared::Board {
  std::atomic<std::uint32_t> sequence{0};
  std::atomic<bool> open{false};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::int64_t> last_ms{0};
  std::array<char, kRingBytes> ring{};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

envgen::Result<Shared> Shared::make(std::size_t processes) {
  const std::size_t count = 2 * processes;
  void* memory = ::mmap(nullptr, std::max<std::size_t>(count, 1) * sizeof(Board),
                        PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return envgen::fail("sharing what the log tee has seen", "mmap", sys::errno_text(errno),
                        "raise the memory limit of the container");
  }
  auto* boards = static_cast<Board*>(memory);
  for (std::size_t i = 0; i < count; ++i) new (boards + i) Board;
  return Shared(boards, processes);
}

Shared& Shared::operator=(Shared&& other) noexcept {
  std::swap(boards_, other.boards_);
  std::swap(count_, other.count_);
  return *this;
}

Shared::~Shared() {
  if (boards_ != nullptr) ::munmap(boards_, std::max<std::size_t>(2 * count_, 1) * sizeof(Board));
}

Shared::Board* Shared::board(std::size_t process, Stream stream) const {
  if (process >= count_) return nullptr;
  return boards_ + 2 * process + (stream == Stream::kErr ? 1 : 0);
}

Seen Shared::seen(std::size_t process) const {
  Seen seen;
  for (const Stream stream : {Stream::kOut, Stream::kErr}) {
    const Board* one = board(process, stream);
    if (one == nullptr) continue;
    seen.bytes += one->bytes.load(std::memory_order_acquire);
    seen.last_ms = std::max(seen.last_ms, one->last_ms.load(std::memory_order_relaxed));
  }
  return seen;
}

std::string Shared::output_tail(std::size_t process) const {
  std::string words = output_tail(process, Stream::kErr);
  return words.empty() ? output_tail(process, Stream::kOut) : words;
}

std::string Shared::output_tail(std::size_t process, Stream stream) const {
  const Board* one = board(process, stream);
  if (one == nullptr) return "";
  std::array<char, kRingBytes> ring;
  std::uint64_t bytes = 0;
  for (int i = 0; i < kMostTries; ++i) {
    const std::uint32_t before = one->sequence.load(std::memory_order_acquire);
    bytes = one->bytes.load(std::memory_order_relaxed);
    std::memcpy(ring.data(), one->ring.data(), ring.size());
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && before == one->sequence.load(std::memory_order_relaxed)) break;
  }
  if (bytes <= kRingBytes) return {ring.data(), static_cast<std::size_t>(bytes)};
  const auto middle = static_cast<std::size_t>(bytes % kRingBytes);
  return std::string(ring.data() + middle, kRingBytes - middle).append(ring.data(), middle);
}

bool Shared::ended(std::size_t process) const {
  const Board* out = board(process, Stream::kOut);
  const Board* err = board(process, Stream::kErr);
  return out == nullptr ||
         (!out->open.load(std::memory_order_acquire) && !err->open.load(std::memory_order_acquire));
}

void Shared::open(std::size_t process, Stream stream) {
  if (Board* one = board(process, stream)) one->open.store(true, std::memory_order_release);
}

void Shared::take_over() {
  for (std::size_t i = 0; i < 2 * count_; ++i) {
    const std::uint32_t sequence = boards_[i].sequence.load(std::memory_order_relaxed);
    if (sequence % 2 != 0) boards_[i].sequence.store(sequence + 1, std::memory_order_release);
  }
}

void Shared::begin(std::size_t process, Stream stream) {
  Board* one = board(process, stream);
  if (one == nullptr) return;
  const std::uint32_t sequence = one->sequence.load(std::memory_order_relaxed);
  if (sequence % 2 == 0) one->sequence.store(sequence + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Shared::add(std::size_t process, Stream stream, std::string_view bytes, std::int64_t now_ms) {
  Board* one = board(process, stream);
  if (one == nullptr) return;
  if (!bytes.empty()) {
    const std::uint64_t total = one->bytes.load(std::memory_order_relaxed) + bytes.size();
    const std::string_view last = bytes.substr(bytes.size() - std::min(bytes.size(), kRingBytes));
    const auto at = static_cast<std::size_t>((total - last.size()) % kRingBytes);
    const std::size_t first = std::min(last.size(), kRingBytes - at);
    std::memcpy(one->ring.data() + at, last.data(), first);
    std::memcpy(one->ring.data(), last.data() + first, last.size() - first);
    one->last_ms.store(now_ms, std::memory_order_relaxed);
    one->bytes.store(total, std::memory_order_release);
  }
  const std::uint32_t sequence = one->sequence.load(std::memory_order_relaxed);
  if (sequence % 2 != 0) one->sequence.store(sequence + 1, std::memory_order_release);
}

void Shared::end(std::size_t process, Stream stream) {
  if (Board* one = board(process, stream)) one->open.store(false, std::memory_order_release);
}

}  // namespace logtee
