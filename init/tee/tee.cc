#include "init/tee/tee.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "init/sys/clock.h"
#include "init/sys/log.h"
#include "init/tee/lines.h"
#include "init/tee/log_file.h"
#include "init/tee/source.h"
#include "init/tee/stdout_mirror.h"

namespace logtee {
namespace {

constexpr std::size_t kReadBytes = 128U << 10;
// A line without an end is shown after this time.
constexpr std::int64_t kPartialMs = 100;
// Where the terminal's own group alone is told of a new size, we see it here.
constexpr std::int64_t kResizeMs = 100;
// The tee of the last incarnation has an end that is bounded by itself.
constexpr std::int64_t kBeforeMs = 2000;

struct Input {
  std::size_t process = 0;
  Stream stream = Stream::kOut;
  int fd = -1;
  LogFile* log = nullptr;
  StdoutMirror* mirror = nullptr;
  Cursor* cursor = nullptr;
  std::optional<Lines> lines = {};  // none: the copy is of the bytes as they come
  std::int64_t partial_since_ms = 0;
  bool terminal = false;
  std::int64_t sized_ms = 0;
};

class Tee {
 public:
  Tee(const Work& work, Shared& shared, const Scan& scan);
  int run();

 private:
  void add_inputs(std::size_t process, const Feed& feed, bool shares);
  void wait();
  [[nodiscard]] int timeout_ms() const;
  // False: there is nothing now.
  bool read(Input& input);
  void close(Input& input);
  void show(Input& input, std::string_view bytes);
  void flush_partial(bool all);
  [[nodiscard]] bool all_ended() const;
  void take_the_rest();
  void finish_echo();

  Shared& shared_;
  const Scan& scan_;
  std::vector<std::unique_ptr<LogFile>> logs_;
  StdoutMirror out_{STDOUT_FILENO};
  std::unique_ptr<StdoutMirror> err_;  // none: it is the same place
  Cursor out_cursor_;
  Cursor err_cursor_;
  std::vector<Input> inputs_;
  std::vector<pollfd> polled_;
  std::vector<char> chunk_ = std::vector<char>(kReadBytes);
  int life_;
  bool ending_ = false;
  std::int64_t now_ms_ = sys::monotonic_ms();
};

Tee::Tee(const Work& work, Shared& shared, const Scan& scan)
    : shared_(shared), scan_(scan), life_(work.life) {
  if (!same_file(STDOUT_FILENO, STDERR_FILENO))
    err_ = std::make_unique<StdoutMirror>(STDERR_FILENO);
  const auto echoing = std::ranges::count_if(work.feeds, &Feed::echo);
  const LogRule rule{.max_bytes = work.log_max_bytes,
                     .keep = work.log_keep,
                     .job_user = work.job_user ? &*work.job_user : nullptr};
  for (std::size_t i = 0; i < work.feeds.size(); ++i) {
    const std::string& log = work.feeds[i].log;
    logs_.push_back(log.empty() ? nullptr : std::make_unique<LogFile>(log, rule));
    add_inputs(i, work.feeds[i], echoing > 1);
  }
}

void Tee::add_inputs(std::size_t process, const Feed& feed, bool shares) {
  for (const Stream stream : {Stream::kOut, Stream::kErr}) {
    const int fd = feed.fds[static_cast<std::size_t>(stream)];
    if (fd < 0) continue;
    Input input{.process = process, .stream = stream, .fd = fd, .log = logs_[process].get()};
    const bool err = stream == Stream::kErr && err_;
    input.terminal = ::isatty(fd) == 1;
    if (feed.echo) {
      input.mirror = err ? err_.get() : &out_;
      input.cursor = err ? &err_cursor_ : &out_cursor_;
      if (shares || !feed.prefix.empty()) {
        input.lines.emplace(static_cast<int>(inputs_.size()), feed.prefix);
      }
    }
    inputs_.push_back(std::move(input));
  }
}

int Tee::run() {
  shared_.take_over();
  while (!ending_ && !all_ended()) wait();
  take_the_rest();
  flush_partial(true);
  finish_echo();
  for (const auto& log : logs_) {
    if (log) log->say_lost();
  }
  return 0;
}

bool Tee::all_ended() const {
  return std::ranges::all_of(inputs_, [](const Input& input) { return input.fd < 0; });
}

int Tee::timeout_ms() const {
  std::optional<std::int64_t> until;
  auto at = [&until](std::int64_t ms) { until = std::min(until.value_or(ms), ms); };
  for (const Input& input : inputs_) {
    if (input.partial_since_ms != 0) at(input.partial_since_ms + kPartialMs);
  }
  if (const auto pause = out_.pause_until()) at(*pause);
  if (err_) {
    if (const auto pause = err_->pause_until()) at(*pause);
  }
  if (!until) return -1;
  return static_cast<int>(std::max<std::int64_t>(*until - now_ms_, 0));
}

void Tee::wait() {
  const bool out_waits = out_.wants_pause(now_ms_);
  const bool err_waits = err_ && err_->wants_pause(now_ms_);
  polled_.clear();
  polled_.push_back({life_, POLLIN, 0});
  polled_.push_back({out_.waits_for(), POLLOUT, 0});
  polled_.push_back({err_ ? err_->waits_for() : -1, POLLOUT, 0});
  for (const Input& input : inputs_) {
    const bool waits = input.mirror != nullptr && (input.mirror == &out_ ? out_waits : err_waits);
    polled_.push_back({waits ? -1 : input.fd, POLLIN, 0});
  }
  const int count = ::poll(polled_.data(), polled_.size(), timeout_ms());
  now_ms_ = sys::monotonic_ms();
  if (count > 0) {
    if (polled_[1].revents != 0) out_.flush();
    if (polled_[2].revents != 0) err_->flush();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (polled_[i + 3].revents != 0) read(inputs_[i]);
    }
    ending_ = polled_[0].revents != 0;
  }
  flush_partial(false);
}

bool Tee::read(Input& input) {
  shared_.begin(input.process, input.stream);
  ssize_t size = 0;
  do {
    size = ::read(input.fd, chunk_.data(), chunk_.size());
  } while (size < 0 && errno == EINTR);
  const int error = errno;
  const std::string_view bytes(chunk_.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  shared_.add(input.process, input.stream, bytes, now_ms_);
  if (bytes.empty()) {
    if (size < 0 && error == EAGAIN) return false;
    close(input);  // a terminal whose last user has gone says EIO
    return false;
  }
  if (input.log != nullptr) input.log->write(bytes, now_ms_);
  if (input.mirror != nullptr) show(input, bytes);
  if (scan_) scan_(input.process, bytes);
  return true;
}

void Tee::close(Input& input) {
  ::close(std::exchange(input.fd, -1));
  if (input.lines) {
    input.lines->flush(*input.mirror, *input.cursor);
    input.mirror->flush();
  }
  input.partial_since_ms = 0;
  shared_.end(input.process, input.stream);
}

void Tee::show(Input& input, std::string_view bytes) {
  if (input.terminal && now_ms_ - input.sized_ms >= kResizeMs) {
    input.sized_ms = now_ms_;
    resize(input.fd, input.stream == Stream::kOut ? STDOUT_FILENO : STDERR_FILENO);
  }
  if (!input.lines) return input.mirror->pass(bytes);
  input.lines->add(bytes, *input.mirror, *input.cursor);
  input.mirror->flush();
  if (!input.lines->waiting()) {
    input.partial_since_ms = 0;
  } else if (input.partial_since_ms == 0) {
    input.partial_since_ms = now_ms_;
  }
}

void Tee::flush_partial(bool all) {
  for (Input& input : inputs_) {
    if (input.partial_since_ms == 0) continue;
    if (!all && now_ms_ - input.partial_since_ms < kPartialMs) continue;
    input.lines->flush(*input.mirror, *input.cursor);
    input.mirror->flush();
    input.partial_since_ms = 0;
  }
}

// The processes are gone; what others have inherited of a stream is left to its fate.
void Tee::take_the_rest() {
  const std::int64_t deadline_ms = sys::monotonic_ms() + kIdleEndMs;
  bool more = true;
  while (more && now_ms_ < deadline_ms) {
    more = false;
    for (Input& input : inputs_) {
      if (input.fd >= 0 && read(input)) more = true;
    }
    now_ms_ = sys::monotonic_ms();
  }
}

void Tee::finish_echo() {
  const std::int64_t begin_ms = sys::monotonic_ms();
  std::int64_t progress_ms = begin_ms;
  auto written = [this] { return out_.written() + (err_ ? err_->written() : 0); };
  std::uint64_t before = written();
  while (true) {
    out_.flush();
    if (err_) err_->flush();
    const std::int64_t now_ms = sys::monotonic_ms();
    if (written() != std::exchange(before, written())) progress_ms = now_ms;
    const std::size_t left = out_.pending() + (err_ ? err_->pending() : 0);
    const std::uint64_t unsaid = out_.unsaid() + (err_ ? err_->unsaid() : 0);
    if (left == 0 && unsaid > 0) {
      return sys::log::warning("our output lacks the last " + std::to_string(unsaid) +
                               " bytes: there is no room for them");
    }
    if (left == 0) return;
    const std::int64_t until_ms = std::min(progress_ms + kIdleEndMs, begin_ms + kLongestEndMs);
    if (now_ms >= until_ms) {
      return sys::log::warning(std::to_string(left) +
                               " bytes of output were not shown: their reader does not read");
    }
    pollfd ready[] = {{out_.waits_for(), POLLOUT, 0}, {err_ ? err_->waits_for() : -1, POLLOUT, 0}};
    ::poll(ready, 2, static_cast<int>(until_ms - now_ms));
  }
}

}  // namespace

int run(const Work& work, Shared& shared, const Scan& scan) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  ::prctl(PR_SET_NAME, "trainit-tee", 0, 0, 0);
  if (work.before >= 0) {
    pollfd end{work.before, 0, 0};
    ::poll(&end, 1, static_cast<int>(kBeforeMs));
  }
  return Tee(work, shared, scan).run();
}

}  // namespace logtee
