#include "init/tee/tee.h"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/log.h"
#include "init/tee/lines.h"
#include "init/tee/log_file.h"
#include "init/tee/source.h"
#include "init/tee/stdout_mirror.h"

namespace logtee {
namespace {

constexpr std::size_t kReadBytes = 128U << 10;
// If a read has at least this size, the kernel passes the next one to the output without a copy. A
// pipe has few slots for such pages, even for short ones. Lines would fill the slots; a write packs
// them.
constexpr std::size_t kBulkBytes = 32U << 10;
// A line without an end is shown after this time. It may be a prompt, or show where a process
// hangs. Output that comes in the meantime tears no line. A bar cannot be torn.
constexpr std::int64_t kPartialMs = 5000;
constexpr std::int64_t kBarMs = 100;
// The interval of size checks. A new size may be signalled only to the terminal's own process
// group, so the tee checks the size when it shows output.
constexpr std::int64_t kResizeMs = 100;
// The time for the previous tee to write its files. Readers of trainit's stdout may keep it for
// longer.
constexpr std::int64_t kBeforeMs = 2000;
// Limit of what is read from a stream after its end: the size of a pipe. Processes that inherited
// the stream may write for ever.
constexpr std::size_t kMaxRest = 1U << 20;

struct Input {
  std::size_t process = 0;
  Stream stream = Stream::kOut;
  int fd = -1;
  LogFile* log = nullptr;
  StdoutMirror* mirror = nullptr;
  Cursor* cursor = nullptr;
  std::optional<Lines> lines = {};  // nullopt: bytes are copied as they come
  std::int64_t partial_since_ms = 0;
  // Blocked by the reader. The end of the partial line may have been written long ago.
  bool held = false;
  bool terminal = false;
  std::int64_t sized_ms = 0;
  bool bulk = false;  // the last read was large
  // Bytes in the pipe that are already on trainit's stdout or stderr.
  std::size_t passed = 0;

  [[nodiscard]] std::int64_t partial_until_ms() const {
    return partial_since_ms + (lines->draws() ? kBarMs : kPartialMs);
  }
};

class Tee {
 public:
  Tee(const Work& work, Shared& shared, const Scan& scan);
  int run();

 private:
  void add_inputs(std::size_t process, const Feed& feed, bool shares);
  void wait();
  bool is_held(StdoutMirror& mirror, const char* name, bool& said) const;
  [[nodiscard]] int timeout_ms(bool out_held, bool err_held) const;
  void hear();
  void set_reader_timeout(std::int64_t reader_timeout_ms);
  // Begins to write when the previous tee has ended.
  void begin_echo();
  // Returns false if there is nothing to read now.
  bool read(Input& input);
  void close(Input& input);
  void show(Input& input, std::string_view bytes);
  static void flush_partial(Input& input);
  [[nodiscard]] bool all_ended() const;
  void take_the_rest();
  void finish_echo();
  static void say_missing(const StdoutMirror& mirror, const std::string& name);

  Shared& shared_;
  const Scan& scan_;
  std::shared_ptr<OutputTotals> totals_;
  std::vector<std::unique_ptr<LogFile>> logs_;
  StdoutMirror out_;
  std::unique_ptr<StdoutMirror> err_;  // nullptr: the same file as stdout
  Cursor out_cursor_;
  Cursor err_cursor_;
  std::vector<Input> inputs_;
  std::vector<pollfd> polled_;
  int lifeline_;
  int before_;
  std::int64_t reader_timeout_ms_;
  bool out_said_ = false;  // the time-out of stdout was logged
  bool err_said_ = false;
  bool ending_ = false;
  std::optional<std::int64_t> end_by_ms_ = {};
  std::int64_t now_ms_ = sys::monotonic_ms();
};

Tee::Tee(const Work& work, Shared& shared, const Scan& scan)
    : shared_(shared),
      scan_(scan),
      totals_(work.totals),
      out_(STDOUT_FILENO, work.reader_timeout_ms, work.totals ? &work.totals->out : nullptr),
      lifeline_(work.lifeline),
      before_(work.before),
      reader_timeout_ms_(work.reader_timeout_ms) {
  if (!same_file(STDOUT_FILENO, STDERR_FILENO)) {
    err_ = std::make_unique<StdoutMirror>(STDERR_FILENO, work.reader_timeout_ms,
                                          work.totals ? &work.totals->err : nullptr);
  }
  if (totals_) (err_ ? *err_ : out_).show_line_state(&totals_->inside_line);
  if (before_ >= 0) {
    out_.wait_for_another(true);
    if (err_) err_->wait_for_another(true);
  }
  const LogRule rule{.max_bytes = work.log_max_bytes,
                     .keep = work.log_keep,
                     .job_user = work.job_user ? &*work.job_user : nullptr,
                     .lost_count = work.totals ? &work.totals->files : nullptr};
  std::vector<Feed> feeds = work.feeds;
  for (Feed& feed : feeds) {
    logs_.push_back(feed.log.empty() ? nullptr : std::make_unique<LogFile>(feed.log, rule));
    if (feed.log.empty() || feed.echo) continue;
    const std::string why = logs_.back()->open();
    if (why.empty()) continue;
    sys::log::warning(why + "; its output comes with trainit's own");
    logs_.back().reset();
    feed.echo = true;
  }
  const auto echoing = std::ranges::count_if(feeds, &Feed::echo);
  for (std::size_t i = 0; i < feeds.size(); ++i) add_inputs(i, feeds[i], echoing > 1);
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
  finish_echo();
  say_missing(out_, "stdout");
  if (err_) say_missing(*err_, "stderr");
  out_.give_up_rest();
  if (err_) err_->give_up_rest();
  for (const auto& log : logs_) {
    if (log) log->say_lost();
  }
  return 0;
}

bool Tee::all_ended() const {
  return std::ranges::all_of(inputs_, [](const Input& input) { return input.fd < 0; });
}

int Tee::timeout_ms(bool out_held, bool err_held) const {
  std::optional<std::int64_t> until;
  auto at = [&until](std::int64_t ms) { until = std::min(until.value_or(ms), ms); };
  for (const Input& input : inputs_) {
    if (input.partial_since_ms != 0 && !input.held) at(input.partial_until_ms());
  }
  if (out_held && before_ < 0) at(out_.reader_timeout_ends_ms());
  if (err_held && before_ < 0) at(err_->reader_timeout_ends_ms());
  if (!until) return -1;
  return static_cast<int>(std::max<std::int64_t>(*until - now_ms_, 0));
}

bool Tee::is_held(StdoutMirror& mirror, const char* name, bool& said) const {
  const bool held = mirror.should_pause_input(now_ms_);
  if (mirror.given_up() && !std::exchange(said, true)) {
    sys::log::warning("nobody has read our " + std::string(name) + " for " +
                      base::seconds(mirror.reader_timeout_ms()) +
                      ": the job goes on, and its oldest lines there are dropped");
  }
  return held;
}

void Tee::set_reader_timeout(std::int64_t reader_timeout_ms) {
  out_.set_reader_timeout(reader_timeout_ms);
  if (err_) err_->set_reader_timeout(reader_timeout_ms);
}

void Tee::hear() {
  std::array<char, 16> told{};
  const ssize_t size = ::read(lifeline_, told.data(), told.size());
  if (size < 0 && errno == EINTR) return;
  const std::string_view words(told.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  for (const char word : words) {
    ending_ = ending_ || word == static_cast<char>(Told::kEnd);
    set_reader_timeout(ending_ ? reader_timeout_ms_ : std::min(reader_timeout_ms_, kIdleEndMs));
  }
  if (!words.empty()) return;
  ending_ = true;
  lifeline_ = -1;
  end_by_ms_ = sys::monotonic_ms() + kLongestEndMs;
  set_reader_timeout(std::min(reader_timeout_ms_, kIdleEndMs));
}

void Tee::begin_echo() {
  before_ = -1;
  for (StdoutMirror* mirror : {&out_, err_.get()}) {
    if (mirror == nullptr) continue;
    mirror->wait_for_another(false);
    mirror->flush();
  }
}

void Tee::wait() {
  const bool out_held = is_held(out_, "stdout", out_said_);
  const bool err_held = err_ && is_held(*err_, "stderr", err_said_);
  polled_.clear();
  polled_.push_back({lifeline_, POLLIN, 0});
  polled_.push_back({before_, 0, 0});
  polled_.push_back({out_.waits_for(), POLLOUT, 0});
  polled_.push_back({err_ ? err_->waits_for() : -1, POLLOUT, 0});
  const std::size_t others = polled_.size();
  for (Input& input : inputs_) {
    const bool held = input.mirror != nullptr && (input.mirror == &out_ ? out_held : err_held);
    if (held != input.held) shared_.hold(input.process, input.stream, held && input.fd >= 0);
    const bool goes_on = std::exchange(input.held, held) && !held;
    if (goes_on && input.partial_since_ms != 0) input.partial_since_ms = now_ms_;
    // Poll for POLLHUP in any case: what a dead process has left may say why it died.
    polled_.push_back({input.fd, static_cast<short>(held ? 0 : POLLIN), 0});
  }
  const int count = ::poll(polled_.data(), polled_.size(), timeout_ms(out_held, err_held));
  now_ms_ = sys::monotonic_ms();
  if (count > 0) {
    if (polled_[1].revents != 0) begin_echo();
    if (polled_[2].revents != 0) out_.flush();
    if (polled_[3].revents != 0) err_->flush();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (polled_[i + others].revents != 0) read(inputs_[i]);
    }
    if (polled_[0].revents != 0) hear();
  }
  for (Input& input : inputs_) {
    const bool waits = input.partial_since_ms == 0 || input.held;
    if (!waits && now_ms_ >= input.partial_until_ms()) flush_partial(input);
  }
}

bool Tee::read(Input& input) {
  if (input.bulk && input.passed == 0 && input.mirror != nullptr && !input.lines) {
    input.passed = input.mirror->take_pages(input.fd, kReadBytes);
  }
  const std::span<char> room = shared_.begin(input.process, input.stream);
  const std::size_t most = input.passed > 0 ? input.passed : kReadBytes;
  ssize_t size = 0;
  do {
    size = ::read(input.fd, room.data(), std::min(room.size(), most));
  } while (size < 0 && errno == EINTR);
  const int error = errno;
  const std::string_view bytes(room.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  shared_.add(input.process, input.stream, bytes, now_ms_);
  if (bytes.empty()) {
    // EFAULT: there was no memory for the page of the ring.
    if (size < 0 && (error == EAGAIN || error == EFAULT)) return false;
    close(input);  // a terminal without users reports EIO
    return false;
  }
  if (totals_) totals_->last_ms.store(now_ms_, std::memory_order_relaxed);
  if (input.log != nullptr) input.log->write(bytes, now_ms_);
  input.bulk = bytes.size() >= kBulkBytes;
  if (input.passed > 0) {
    input.mirror->passed(bytes);
    input.passed -= bytes.size();
  } else if (input.mirror != nullptr) {
    show(input, bytes);
  }
  if (scan_) scan_(input.process, input.stream, bytes);
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
  } else if (input.partial_since_ms == 0 || bytes.contains('\n')) {
    input.partial_since_ms = now_ms_;  // the line that waited has ended, a new one waits
  }
}

// Shows a line without an end, if there is one.
void Tee::flush_partial(Input& input) {
  if (input.partial_since_ms == 0) return;
  input.lines->flush(*input.mirror, *input.cursor);
  input.mirror->flush();
  input.partial_since_ms = 0;
}

// Reads the rest of the streams after the processes have ended. Only PID 1 limits the time: on a
// busy machine, the streams of many ranks take long. Processes that inherited a stream may write
// more than kMaxRest, which is lost.
void Tee::take_the_rest() {
  for (Input& input : inputs_) {
    const std::uint64_t before = shared_.seen(input.process).bytes;
    while (input.fd >= 0 && shared_.seen(input.process).bytes - before < kMaxRest &&
           now_ms_ < end_by_ms_.value_or(INT64_MAX) && read(input)) {
      now_ms_ = sys::monotonic_ms();
    }
    flush_partial(input);
    if (sys::is_ready(lifeline_, POLLIN)) hear();
  }
}

void Tee::finish_echo() {
  while (true) {
    std::optional<std::int64_t> until_ms = end_by_ms_;
    now_ms_ = sys::monotonic_ms();
    bool waits = false;
    for (StdoutMirror* mirror : {&out_, err_.get()}) {
      if (mirror == nullptr) continue;
      mirror->flush();
      if (mirror->pending() == 0) continue;
      const bool patient = mirror->unread_ms(now_ms_) < mirror->reader_timeout_ms();
      waits = waits || before_ >= 0 || patient;
      const std::int64_t ends_ms = mirror->reader_timeout_ends_ms();
      if (before_ < 0 && patient) until_ms = std::min(until_ms.value_or(ends_ms), ends_ms);
    }
    if (!waits || (end_by_ms_ && now_ms_ >= *end_by_ms_)) return;
    pollfd ready[] = {{lifeline_, POLLIN, 0},
                      {before_, 0, 0},
                      {out_.waits_for(), POLLOUT, 0},
                      {err_ ? err_->waits_for() : -1, POLLOUT, 0}};
    ::poll(ready, std::size(ready),
           until_ms ? static_cast<int>(std::max<std::int64_t>(*until_ms - now_ms_, 0)) : -1);
    if (ready[1].revents != 0) begin_echo();
    if (ready[0].revents != 0) hear();
  }
}

void Tee::say_missing(const StdoutMirror& mirror, const std::string& name) {
  if (mirror.missing() == 0) return;
  sys::log::warning(std::to_string(mirror.missing()) + " bytes of output were not shown on our " +
                    name + ": " +
                    (mirror.dead()      ? "its reader has gone"
                     : mirror.no_room() ? "there is no room for them"
                                        : "its reader does not read"));
}

}  // namespace

int run(const Work& work, Shared& shared, const Scan& scan) {
  ::prctl(PR_SET_NAME, "trainit-tee", 0, 0, 0);
  if (work.before >= 0) {
    std::ignore = sys::await_ready(work.before, 0, sys::monotonic_ms() + kBeforeMs);
  }
  return Tee(work, shared, scan).run();
}

}  // namespace logtee
