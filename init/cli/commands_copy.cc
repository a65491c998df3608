// copy: the data-preparation copy by itself.

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/exit_codes.h"
#include "base/json.h"
#include "base/utf8.h"
#include "init/cli/commands.h"
#include "init/copy/copy_progress.h"
#include "init/copy/progress_view.h"
#include "init/copy/publish/copy_tree.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace cli {
namespace {

constexpr int kCopyFailed = 1;

// Nothing has to be tidied up, so the end is at once. The other processes die with this one.
extern "C" void end_by_signal(int signal) {
  constexpr std::string_view kErase = "\r\x1b[K";
  constexpr std::string_view kText =
      "trainit: the copy was interrupted; run it again, it goes on where it was\n";
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  // A reader that has stopped must not hold us.
  if (::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0) {
    const bool drawn = ::isatty(STDERR_FILENO) == 1;
    ssize_t count = drawn ? ::write(STDERR_FILENO, kErase.data(), kErase.size()) : 0;
    count = ::write(STDERR_FILENO, kText.data(), kText.size());
    static_cast<void>(count);
  }
  ::raise(signal);
  ::_exit(exit_code::kSignalBase + signal);  // PID 1 of a container is not ended by its own signal
}

void end_by_signals() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before{};
    ::sigaction(signal, nullptr, &before);
    // Below nohup, or behind & of a shell without job control.
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action{};
    action.sa_handler = end_by_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    ::sigaction(signal, &action, nullptr);
  }
}

std::string amount(const copy::TreeSize& size) {
  return std::to_string(size.entries) + (size.entries == 1 ? " entry, " : " entries, ") +
         envgen::size_text(size.bytes);
}

std::string to_text(const copy::Copied& copied, std::int64_t took_ms) {
  const std::string took = envgen::time_text(took_ms);
  if (copied.how == copy::Published::kUnchanged) {
    return "unchanged: " + sys::printable(copied.path) + ", " + amount(copied.size) +
           ", looked at in " + took + "\n";
  }
  std::string text = "copied " + amount(copied.size) + " in " + took;
  const std::uint64_t moved = copied.size.bytes - std::min(copied.kept.bytes, copied.size.bytes);
  constexpr std::uint64_t kMsPerSecond = 1000;
  const std::uint64_t rate =
      took_ms > 0 ? moved * kMsPerSecond / static_cast<std::uint64_t>(took_ms) : 0;
  if (rate > 0) text += " (" + envgen::size_text(rate) + "/s)";
  text += ": " + sys::printable(copied.path) + ", " + published_name(copied.how);
  if (copied.kept.entries > 0) text += "; kept of an earlier run " + amount(copied.kept);
  if (!copied.replaced.empty()) {
    text += "; " + sys::printable(copy::kept_line(copied.replaced, copied.why));
  }
  return text + "\n";
}

std::string to_json(const copy::Copied& copied, std::int64_t took_ms) {
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  envgen::json::Writer writer;
  writer.begin_object();
  writer.key("path").string(copied.path);
  writer.key("published").string(published_name(copied.how));
  writer.key("entries").integer(number(copied.size.entries));
  writer.key("bytes").integer(number(copied.size.bytes));
  writer.key("kept_entries").integer(number(copied.kept.entries));
  writer.key("kept_bytes").integer(number(copied.kept.bytes));
  writer.key("ms").integer(took_ms);
  writer.key("replaced").string(copied.replaced);
  writer.key("why").string(copied.why);
  writer.end_object();
  return std::move(writer).take();
}

void say(const std::string& line) { sys::write_all(STDERR_FILENO, "trainit: " + line + "\n"); }

}  // namespace

int copy_command(Call& call) {
  const std::vector<std::string>& paths = call.options.operands;
  const envgen::DataRequest& data = call.options.request.data;
  auto filter = envgen::PathFilter::make(data.include, data.exclude);
  if (!filter) return complain(filter.error());
  if (paths.size() != 2) {
    return complain({"reading the command line", "trainit copy",
                     std::to_string(paths.size()) + " paths", "give two: SRC and DST"});
  }
  end_by_signals();
  const std::int64_t started_ms = sys::monotonic_ms();
  copy::Options options;
  options.filter = std::move(*filter);
  options.workers = data.workers;
  options.verify = data.verify;
  options.durable = data.durable;
  options.owner = call.options.owner;
  options.headroom = data.headroom;
  if (data.timeout_ms > 0) options.deadline_ms = started_ms + data.timeout_ms;
  copy::ProgressView view("");
  bool waited = false;
  options.report = [&view](const copy::Counters& counters) { view.show(counters); };
  options.waiting = [&view, &waited](const copy::Counters* counters) {
    if (!waited) say("another copy to this place is running; waiting for it");
    waited = true;
    if (counters != nullptr) view.show(*counters, true);
  };
  options.warn = [&view](const std::string& text) {
    view.clear();
    say("warning: " + text);
  };
  const auto copied = copy::copy_tree(paths[0], paths[1], options);
  view.clear();
  const std::int64_t now_ms = sys::monotonic_ms();
  if (!copied) {
    complain(copied.error());
    return options.deadline_ms != 0 && now_ms >= options.deadline_ms ? exit_code::kUnavailable
                                                                     : kCopyFailed;
  }
  return print(call.options.json ? to_json(*copied, now_ms - started_ms)
                                 : to_text(*copied, now_ms - started_ms));
}

}  // namespace cli
