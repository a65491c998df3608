#include "init/engine/workers/child_worker.h"

#include <signal.h>

#include <cerrno>
#include <tuple>
#include <utility>

#include "init/sys/clock.h"
#include "init/sys/fd.h"

namespace engine {

void ChildWorker::adopt(pid_t pid, sys::Fd pipe) {
  pid_ = pid;
  messages_.reset();
  if (pipe.valid()) messages_.emplace(std::move(pipe), kinds_, most_bytes_);
}

int ChildWorker::channel() const {
  return messages_ && !messages_->at_end() ? messages_->pipe().get() : -1;
}

void ChildWorker::read() {
  if (!messages_ || messages_->at_end()) return;
  Heard heard = Heard::kMore;
  const bool whole = messages_->read([&](std::uint32_t kind, std::string_view bytes) {
    heard = on_message(kind, bytes);
    return heard == Heard::kMore;
  });
  if (!messages_->at_end()) return;
  const bool damaged = !whole || heard == Heard::kDamaged;
  // Otherwise the child would block for ever, because its further messages are not read.
  if (damaged && pid_ > 0) ::kill(pid_, SIGKILL);
  on_silence(damaged);
}

void ChildWorker::tend(std::int64_t now_ms) {
  if (!deadline_ms_ || now_ms < *deadline_ms_) return;
  deadline_ms_.reset();
  on_overdue();
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void ChildWorker::reaped(const proc::Death& death) {
  if (pid_ == 0 || death.pid != pid_) return;
  pid_ = 0;  // the pid must not be used any more: the kernel may reuse it
  read();
  // The pipe may still be open, because a process that the child started holds its other end.
  if (messages_ && !messages_->at_end()) on_silence(false);
  adopt(0);
  deadline_ms_.reset();
  on_exit(death);
}

void ChildWorker::await(std::int64_t most_ms) const {
  if (pid_ <= 0 || !messages_) return;
  std::ignore = sys::await_ready(messages_->pipe().get(), 0, sys::monotonic_ms() + most_ms);
}

base::Status ChildWorker::fork(const std::string& what, const proc::SavedSignals& saved,
                               const std::function<int(int fd)>& body, std::span<const int> keep) {
  TRY_ASSIGN(auto messenger, fork_messenger(what, saved, body, keep));
  adopt(messenger.pid, std::move(messenger.pipe));
  return {};
}

void ChildWorker::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  messages_.reset();
  deadline_ms_.reset();
}

void ChildWorker::keep(bool wanted, const std::function<void()>& start) {
  const bool before = std::exchange(kept_, wanted);
  if (before && !wanted) kill();
  if (wanted && !before) start();
}

}  // namespace engine
