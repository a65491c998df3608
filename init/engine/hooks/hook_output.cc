#include "init/engine/hooks/hook_output.h"

#include <poll.h>
#include <unistd.h>

#include <utility>

#include "base/printed_text.h"
#include "base/secrets/secrets.h"
#include "init/sys/fd.h"

namespace engine {
namespace {

// Less than PIPE_BUF, because the log cuts a line that is longer than that.
constexpr std::size_t kMaxLineBytes = 3500;
constexpr std::size_t kLastLines = 5;
constexpr std::size_t kKeptLineBytes = 300;  // bytes of each line that output_tail() keeps
constexpr int kMaxLinesOfATurn = 64;

}  // namespace

void HookOutput::begin(std::string_view hook) {
  prefix_ = "hook " + std::string(hook) + ": ";
  line_.clear();
  last_.clear();
  shown_bytes_ = 0;
  hidden_bytes_ = 0;
}

void HookOutput::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMaxLineBytes - line_.size());
    const std::size_t end = part.find('\n');
    line_ += part.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? part.size() : end + 1);
    if (end != std::string_view::npos || line_.size() == kMaxLineBytes) take_line();
  }
}

void HookOutput::end() {
  take_line();
  if (hidden_bytes_ == 0) return;
  say(sys::log::Level::kWarning, prefix_ + std::to_string(hidden_bytes_) +
                                     " bytes more are not shown: a hook's output is limited to " +
                                     std::to_string(kMaxBytes) + " bytes");
}

void HookOutput::take_line() {
  std::string line = std::exchange(line_, {});
  while (line.ends_with('\r')) line.pop_back();
  line.erase(0, line.rfind('\r') + 1);
  if (line.empty()) return;
  last_.push_back(line.substr(0, kKeptLineBytes));
  if (last_.size() > kLastLines) last_.pop_front();
  const std::size_t bytes = prefix_.size() + line.size() + 1;
  if (hidden_bytes_ > 0 || shown_bytes_ + bytes > kMaxBytes) {
    hidden_bytes_ += line.size() + 1;
    return;
  }
  shown_bytes_ += bytes;
  say(sys::log::Level::kInfo, prefix_ + line);
}

void HookOutput::say(sys::log::Level level, std::string text) {
  waiting_.push_back({level, std::move(text)});
}

void HookOutput::write_first() {
  sys::log::write(waiting_.front().level, waiting_.front().text);
  waiting_.pop_front();
}

void HookOutput::write_ready() {
  for (int lines = 0; waits() && lines < kMaxLinesOfATurn; ++lines) {
    if (!sys::is_ready(STDERR_FILENO, POLLOUT)) return;
    write_first();
  }
}

void HookOutput::write_all() {
  while (waits()) write_first();
}

std::string HookOutput::output_tail() const {
  std::string words;
  for (const std::string& line : last_) {
    if (!words.empty()) words += " | ";
    words += base::escaped_text(line);
  }
  return base::mask_printed(words);
}

}  // namespace engine
