#include "init/copy/tree/work_list.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "init/copy/tree/contents.h"
#include "init/sys/files.h"

namespace copy {
namespace {

// A record on the stack: this header, the path, the names, and its length (4 bytes), by which it is
// found from the end.
struct Header {
  ItemKind kind;
  std::uint32_t flags;  // bits for `fresh` and `in_linked`
  std::uint64_t first;
  std::uint64_t last;
  std::uint64_t source;
  std::uint32_t path_size;
  std::uint32_t names_size;
};
using Length = std::uint32_t;

// Number of bytes to read first: most records are not longer.
constexpr std::size_t kGuess = 4096;

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { ::pthread_mutex_lock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { ::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t& mutex_;
};

std::unexpected<base::Error> list_failed(int error) {
  return base::fail("keeping the list of what is to be copied", "the copy's own directory",
                    sys::errno_text(error), "make room on its file system");
}

void append(std::string& record, const void* bytes, std::size_t size) {
  record.append(static_cast<const char*>(bytes), size);
}

}  // namespace

base::Result<WorkList> WorkList::create(const std::string& directory, WorkState* state) {
  const std::string path = directory.empty() ? "in memory" : directory + "/work";
  constexpr int kFlags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  sys::Fd file(directory.empty() ? ::memfd_create("work", MFD_CLOEXEC)
                                 : ::open(path.c_str(), kFlags, 0600));
  if (!file.valid()) {
    return base::fail("making the list of what is to be copied", path, sys::errno_text(errno),
                      "let the directory be written");
  }
  if (!directory.empty()) ::unlink(path.c_str());
  pthread_mutexattr_t mutex_shared{};
  pthread_condattr_t wake_shared{};
  ::pthread_mutexattr_init(&mutex_shared);
  ::pthread_mutexattr_setpshared(&mutex_shared, PTHREAD_PROCESS_SHARED);
  ::pthread_condattr_init(&wake_shared);
  ::pthread_condattr_setpshared(&wake_shared, PTHREAD_PROCESS_SHARED);
  ::pthread_mutex_init(&state->mutex, &mutex_shared);
  ::pthread_cond_init(&state->wake, &wake_shared);
  state->top = 0;
  state->busy = 0;
  state->items = 0;
  state->waiting = 0;
  state->worker_limit.reset();
  return WorkList(std::move(file), state);
}

base::Status WorkList::push(const Item& item) {
  const Header header{item.kind,
                      (item.fresh ? 1U : 0U) | (item.in_linked ? 2U : 0U),
                      item.first,
                      item.last,
                      item.source,
                      static_cast<std::uint32_t>(item.path.size()),
                      static_cast<std::uint32_t>(item.names.size())};
  std::string record;
  record.reserve(sizeof header + item.path.size() + item.names.size() + sizeof(Length));
  append(record, &header, sizeof header);
  record += item.path;
  record += item.names;
  const auto length = static_cast<Length>(record.size() + sizeof(Length));
  append(record, &length, sizeof length);

  const Lock lock(state_->mutex);
  errno = ENOSPC;
  if (::pwrite(file_.get(), record.data(), record.size(), static_cast<off_t>(state_->top)) !=
      static_cast<ssize_t>(record.size())) {
    return list_failed(errno);
  }
  state_->top += record.size();
  state_->items.fetch_add(1, std::memory_order_relaxed);
  ::pthread_cond_signal(&state_->wake);
  return {};
}

base::Result<std::optional<Item>> WorkList::pop() {
  const std::size_t guess = state_->top < kGuess ? static_cast<std::size_t>(state_->top) : kGuess;
  record_.resize(guess);
  const auto read_at = [this](std::size_t size) {
    return read_kept(file_.get(), record_.data(), size, state_->top - size) ==
           static_cast<ssize_t>(size);
  };
  errno = EIO;
  if (!read_at(guess)) return list_failed(errno);
  Length length = 0;
  std::memcpy(&length, record_.data() + guess - sizeof length, sizeof length);
  if (length > guess) {
    record_.resize(length);
    if (!read_at(length)) return list_failed(errno);
  } else {
    record_.erase(0, guess - length);
  }
  state_->top -= length;
  state_->items.fetch_sub(1, std::memory_order_relaxed);
  Header header{};
  std::memcpy(&header, record_.data(), sizeof header);
  const std::string_view rest = std::string_view(record_).substr(sizeof header);
  return Item{header.kind,
              (header.flags & 1U) != 0,
              (header.flags & 2U) != 0,
              header.first,
              header.last,
              header.source,
              rest.substr(0, header.path_size),
              rest.substr(header.path_size, header.names_size)};
}

bool WorkList::end() {
  if (state_->busy != 0 || state_->items.load(std::memory_order_relaxed) != 0) return false;
  state_->worker_limit.open();
  ::pthread_cond_broadcast(&state_->wake);
  return true;
}

base::Result<std::optional<Item>> WorkList::take(int number) {
  if (working_) {
    const Lock lock(state_->mutex);
    working_ = false;
    --state_->busy;
    if (end()) return std::nullopt;
  }
  state_->worker_limit.wait_turn(static_cast<std::uint32_t>(number));
  const Lock lock(state_->mutex);
  while (state_->items.load(std::memory_order_relaxed) == 0) {
    if (end()) return std::nullopt;
    state_->waiting.fetch_add(1, std::memory_order_relaxed);
    ::pthread_cond_wait(&state_->wake, &state_->mutex);
    state_->waiting.fetch_sub(1, std::memory_order_relaxed);
  }
  auto item = pop();
  if (!item) return item;
  ++state_->busy;
  working_ = true;
  return item;
}

bool WorkList::hungry() const {
  return state_->waiting.load(std::memory_order_relaxed) >
         state_->items.load(std::memory_order_relaxed);
}

}  // namespace copy
