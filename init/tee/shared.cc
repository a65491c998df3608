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

// Maximum number of tries to read, because a stopped writer must not block a reader. After them,
// the text may be inconsistent.
constexpr int kMaxTries = 100;

}  // namespace

// The part of one stream that the tee has seen. `sequence` is odd while another member or the ring
// changes.
struct Shared::Board {
  std::atomic<std::uint32_t> sequence{0};
  std::atomic<bool> used{false};
  std::atomic<bool> open{false};
  std::atomic<bool> held{false};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::int64_t> last_ms{0};
  struct Mark {
    std::atomic<std::int64_t> ms{0};
    std::atomic<std::uint64_t> before{0};  // total number of bytes before this mark
  };
  std::array<Mark, kMarks> marks = {};
  std::atomic<std::uint32_t> mark{0};  // index of the newest mark
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

namespace {

// Returns the size of all boards, rounded up to whole pages. So a ring that is never used shares no
// page with them, and takes no memory.
std::size_t boards_size(std::size_t count, std::size_t board) {
  constexpr std::size_t kAlign = 64U << 10;  // the largest page size
  return (std::max<std::size_t>(2 * count * board, 1) + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

base::Result<Shared> Shared::make(std::size_t processes) {
  const std::size_t size = boards_size(processes, sizeof(Board)) + 2 * processes * kRingBytes;
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return base::fail("sharing what the log tee has seen", "mmap", sys::errno_text(errno),
                      "raise the memory limit of the container");
  }
  auto* boards = static_cast<Board*>(memory);
  for (std::size_t i = 0; i < 2 * processes; ++i) new (boards + i) Board;
  return Shared(memory, processes);
}

Shared& Shared::operator=(Shared&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(count_, other.count_);
  return *this;
}

Shared::~Shared() {
  if (memory_ == nullptr) return;
  ::munmap(memory_, boards_size(count_, sizeof(Board)) + 2 * count_ * kRingBytes);
}

Shared::Board* Shared::board(std::size_t process, Stream stream) const {
  if (process >= count_) return nullptr;
  return static_cast<Board*>(memory_) + 2 * process + (stream == Stream::kErr ? 1 : 0);
}

char* Shared::ring(std::size_t process, Stream stream) const {
  return static_cast<char*>(memory_) + boards_size(count_, sizeof(Board)) +
         (2 * process + (stream == Stream::kErr ? 1 : 0)) * kRingBytes;
}

Seen Shared::seen(std::size_t process) const {
  Seen seen;
  for (const Stream stream : {Stream::kOut, Stream::kErr}) {
    const Seen one = this->seen(process, stream);
    seen.bytes += one.bytes;
    seen.last_ms = std::max(seen.last_ms, one.last_ms);
  }
  return seen;
}

Seen Shared::seen(std::size_t process, Stream stream) const {
  const Board* one = board(process, stream);
  if (one == nullptr) return {};
  return {.bytes = one->bytes.load(std::memory_order_acquire),
          .last_ms = one->last_ms.load(std::memory_order_relaxed)};
}

std::string Shared::output_tail(std::size_t process) const {
  const std::string out = output_tail(process, Stream::kOut);
  const Board* of_out = board(process, Stream::kOut);
  const std::int64_t last_ms = of_out == nullptr ? 0 : of_out->last_ms.load();
  const Tail all = output_tail(process, Stream::kErr, last_ms - kTogetherMs);
  const std::string& err = all.text;
  constexpr std::size_t kHalf = kRingBytes / 2;
  const std::size_t outs = std::min(out.size(), std::max(kHalf, kRingBytes - err.size()));
  const std::size_t errs = std::min(err.size(), kRingBytes - outs);
  // Divides at a line end: if the fresh part begins within a line, that whole line counts as fresh.
  const bool has_old = last_ms > kTogetherMs && all.fresh < err.size();
  const std::size_t end = has_old ? err.rfind('\n', err.size() - all.fresh - 1) : err.npos;
  const std::size_t behind = end == err.npos ? errs : std::min(err.size() - end - 1, errs);
  return err.substr(err.size() - errs, errs - behind) + out.substr(out.size() - outs) +
         err.substr(err.size() - behind);
}

std::string Shared::read_ring(std::size_t process, Stream stream, std::uint64_t& total) const {
  const Board* one = board(process, stream);
  if (one == nullptr) return "";
  const char* bytes = ring(process, stream);
  std::string tail;
  for (int i = 0; i < kMaxTries; ++i) {
    const std::uint32_t before = one->sequence.load(std::memory_order_acquire);
    total = one->bytes.load(std::memory_order_relaxed);
    // Reads no more than was written, because reading unused pages would take memory.
    if (total <= kRingBytes) {
      tail.assign(bytes, static_cast<std::size_t>(total));
    } else {
      const auto middle = static_cast<std::size_t>(total % kRingBytes);
      tail.assign(bytes + middle, kRingBytes - middle).append(bytes, middle);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && before == one->sequence.load(std::memory_order_relaxed)) break;
  }
  return tail;
}

bool Shared::held() const {
  const auto* boards = static_cast<const Board*>(memory_);
  return std::any_of(boards, boards + 2 * count_,
                     [](const Board& one) { return one.held.load(std::memory_order_relaxed); });
}

std::string Shared::output_tail(std::size_t process, Stream stream) const {
  std::uint64_t total = 0;
  return read_ring(process, stream, total);
}

Tail Shared::output_tail(std::size_t process, Stream stream, std::int64_t since_ms) const {
  std::uint64_t total = 0;
  Tail tail{.text = read_ring(process, stream, total)};
  const Board* one = board(process, stream);
  if (one == nullptr) return tail;
  std::uint64_t before = total;  // number of bytes that had come before since_ms
  for (const Board::Mark& mark : one->marks) {
    const std::int64_t ms = mark.ms.load(std::memory_order_acquire);
    if (ms == 0 || ms + kMarkMs <= since_ms) continue;
    before = std::min(before, mark.before.load(std::memory_order_relaxed));
  }
  tail.fresh = static_cast<std::size_t>(std::min<std::uint64_t>(total - before, tail.text.size()));
  return tail;
}

bool Shared::is_whole(std::size_t process, Stream stream) const {
  const Board* one = board(process, stream);
  return one == nullptr || one->sequence.load(std::memory_order_acquire) % 2 == 0;
}

bool Shared::has(std::size_t process) const {
  const Board* one = board(process, Stream::kOut);
  return one != nullptr && one->used.load(std::memory_order_relaxed);
}

bool Shared::ended(std::size_t process) const {
  const Board* out = board(process, Stream::kOut);
  const Board* err = board(process, Stream::kErr);
  return out == nullptr ||
         (!out->open.load(std::memory_order_acquire) && !err->open.load(std::memory_order_acquire));
}

void Shared::open(std::size_t process, Stream stream) {
  Board* one = board(process, stream);
  if (one == nullptr) return;
  one->used.store(true, std::memory_order_relaxed);
  one->open.store(true, std::memory_order_release);
}

void Shared::take_over() {
  auto* boards = static_cast<Board*>(memory_);
  for (std::size_t i = 0; i < 2 * count_; ++i) {
    boards[i].held.store(false, std::memory_order_relaxed);
    const std::uint32_t sequence = boards[i].sequence.load(std::memory_order_relaxed);
    if (sequence % 2 != 0) boards[i].sequence.store(sequence + 1, std::memory_order_release);
  }
}

std::span<char> Shared::begin(std::size_t process, Stream stream) {
  Board* one = board(process, stream);
  if (one == nullptr) return {};
  const std::uint32_t sequence = one->sequence.load(std::memory_order_relaxed);
  if (sequence % 2 == 0) one->sequence.store(sequence + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const auto at = static_cast<std::size_t>(one->bytes.load(std::memory_order_relaxed) % kRingBytes);
  return {ring(process, stream) + at, kRingBytes - at};
}

void Shared::add(std::size_t process, Stream stream, std::string_view bytes, std::int64_t now_ms) {
  Board* one = board(process, stream);
  if (one == nullptr) return;
  if (!bytes.empty()) {
    const std::uint64_t total = one->bytes.load(std::memory_order_relaxed) + bytes.size();
    const std::string_view last = bytes.substr(bytes.size() - std::min(bytes.size(), kRingBytes));
    const auto at = static_cast<std::size_t>((total - last.size()) % kRingBytes);
    char* const bytes_of = ring(process, stream);
    if (bytes_of + at != last.data()) {
      const std::size_t first = std::min(last.size(), kRingBytes - at);
      std::memcpy(bytes_of + at, last.data(), first);
      std::memcpy(bytes_of, last.data() + first, last.size() - first);
    }
    const std::uint32_t mark = one->mark.load(std::memory_order_relaxed) % kMarks;
    if (now_ms >= one->marks[mark].ms.load(std::memory_order_relaxed) + kMarkMs) {
      Board::Mark& next = one->marks[(mark + 1) % kMarks];
      next.before.store(total - bytes.size(), std::memory_order_relaxed);
      next.ms.store(now_ms, std::memory_order_release);
      one->mark.store((mark + 1) % kMarks, std::memory_order_relaxed);
    }
    one->last_ms.store(now_ms, std::memory_order_relaxed);
    one->bytes.store(total, std::memory_order_release);
  }
  const std::uint32_t sequence = one->sequence.load(std::memory_order_relaxed);
  if (sequence % 2 != 0) one->sequence.store(sequence + 1, std::memory_order_release);
}

void Shared::hold(std::size_t process, Stream stream, bool held) {
  if (Board* one = board(process, stream)) one->held.store(held, std::memory_order_relaxed);
}

void Shared::end(std::size_t process, Stream stream) {
  hold(process, stream, false);
  if (Board* one = board(process, stream)) one->open.store(false, std::memory_order_release);
}

}  // namespace logtee
