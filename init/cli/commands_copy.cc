// copy: the copy of a dataset as a command of its own.

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/exit_codes.h"
#include "base/json.h"
#include "base/text.h"
#include "init/cli/commands.h"
#include "init/copy/copy_progress.h"
#include "init/copy/progress_view.h"
#include "init/copy/publish/copy_tree.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace cli {
namespace {

constexpr int kCopyFailed = 1;

// Exits at once, because no cleanup is needed. The other processes of the copy die with this one.
extern "C" void end_by_signal(int signal) {
  constexpr std::string_view kErase = "\r\x1b[K";
  constexpr std::string_view kText =
      "trainit: the copy was interrupted; run it again, it goes on where it was\n";
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  // A reader that has stopped must not block this process.
  if (::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0) {
    const bool drawn = ::isatty(STDERR_FILENO) == 1;
    ssize_t count = drawn ? ::write(STDERR_FILENO, kErase.data(), kErase.size()) : 0;
    count = ::write(STDERR_FILENO, kText.data(), kText.size());
    static_cast<void>(count);
  }
  ::raise(signal);
  ::_exit(exit_code::kSignalBase + signal);  // for PID 1: raise() does not end it
}

void end_by_signals() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before{};
    ::sigaction(signal, nullptr, &before);
    // The caller ignores the signal: nohup, or & in a shell without job control.
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action{};
    action.sa_handler = end_by_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    ::sigaction(signal, &action, nullptr);
  }
}

std::string amount(const copy::TreeSize& size) {
  return std::to_string(size.entries) + (size.entries == 1 ? " entry, " : " entries, ") +
         base::size_text(size.bytes);
}

std::string outcome(const copy::Copied& copied, std::int64_t took_ms) {
  const std::string took = copy::time_text(took_ms);
  if (copied.how == copy::Published::kUnchanged) {
    return "unchanged: " + copied.path + ", " + amount(copied.size) + ", looked at in " + took;
  }
  std::string text = "copied " + amount(copied.size) + " in " + took;
  const std::uint64_t moved = copied.size.bytes - std::min(copied.kept.bytes, copied.size.bytes);
  constexpr std::uint64_t kMsPerSecond = 1000;
  const std::uint64_t rate =
      took_ms > 0 ? moved * kMsPerSecond / static_cast<std::uint64_t>(took_ms) : 0;
  if (rate > 0) text += " (" + base::size_text(rate) + "/s)";
  text += ": " + copied.path + ", " + published_name(copied.how);
  if (copied.kept.entries > 0) text += "; kept of an earlier run " + amount(copied.kept);
  if (!copied.replaced.empty()) {
    text += "; " + copy::kept_line(copied.path, copied.replaced, copied.why);
  }
  return text;
}

std::string to_json(const copy::Copied& copied, std::int64_t took_ms) {
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  base::json::Writer writer;
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

std::string preview_text(const copy::Preview& preview) {
  std::string text = preview.up_to_date
                         ? "up to date: " + preview.path + ", " + amount(preview.size) +
                               "; a copy would only check it"
                         : "would copy " + amount(preview.size) + " to " + preview.path;
  if (preview.space) {
    text += "; free there: " + base::size_text(preview.space->available_bytes) + ", of which " +
            base::size_text(preview.space->headroom) + " stay free";
  }
  return text;
}

std::string to_json(const copy::Preview& preview) {
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  base::json::Writer writer;
  writer.begin_object();
  writer.key("path").string(preview.path);
  writer.key("up_to_date").boolean(preview.up_to_date);
  writer.key("entries").integer(number(preview.size.entries));
  writer.key("bytes").integer(number(preview.size.bytes));
  writer.key("allocated_bytes").integer(number(preview.size.allocated));
  if (preview.space) {
    writer.key("available_bytes").integer(number(preview.space->available_bytes));
    writer.key("headroom_bytes").integer(number(preview.space->headroom));
  }
  writer.end_object();
  return std::move(writer).take();
}

// Prints the error and returns the exit code: one for an expired deadline, another for any other
// failure.
int refuse(const copy::Options& options, const base::Error& error) {
  const bool late = options.deadline_ms != 0 && sys::monotonic_ms() >= options.deadline_ms;
  complain(error);
  return late ? exit_code::kUnavailable : kCopyFailed;
}

int preview_command(const std::vector<std::string>& paths, const copy::Options& options,
                    copy::ProgressView& view, bool json) {
  const auto preview = copy::preview_copy(paths[0], paths[1], options);
  view.clear();
  if (!preview) return refuse(options, preview.error());
  if (json) return print_as_is(to_json(*preview));
  base::ShownLines lines;
  lines.add({preview_text(*preview)});
  return print(lines);
}

}  // namespace

int copy_command(Call& call) {
  const std::vector<std::string>& paths = call.options.operands;
  const envgen::DataRequest& data = call.options.request.data;
  auto filter = copy::PathFilter::make(data.include, data.exclude);
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
  copy::ProgressView view("", {.source = paths[0], .copy = paths[1]});
  bool waited = false;
  options.report = [&view](const copy::Counters& counters) { view.show(counters); };
  options.waiting = [&view, &waited](const copy::Counters* counters) {
    if (!waited) remark("another copy to this place is running; waiting for it");
    waited = true;
    if (counters != nullptr) view.show(*counters, true);
  };
  options.warn = [&view](const std::string& text) {
    view.clear();
    warn(text);
  };
  if (call.options.dry_run) return preview_command(paths, options, view, call.options.json);
  const auto copied = copy::copy_tree(paths[0], paths[1], options);
  view.clear();
  const std::int64_t now_ms = sys::monotonic_ms();
  if (!copied) return refuse(options, copied.error());
  if (call.options.json) return print_as_is(to_json(*copied, now_ms - started_ms));
  base::ShownLines lines;
  lines.add({outcome(*copied, now_ms - started_ms)});
  return print(lines);
}

}  // namespace cli
