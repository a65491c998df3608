// copy: the data-preparation copy by itself.

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "init/cli/commands.h"
#include "init/cli/values.h"
#include "init/copy/copy_progress.h"
#include "init/copy/progress_view.h"
#include "init/copy/publish/copy_tree.h"
#include "init/sys/clock.h"

namespace cli {
namespace {

constexpr const char* kWhat = "reading the command line";
constexpr const char* kSee = "see trainit copy --help";
constexpr int kCopyFailed = 1;
constexpr int kTimedOut = 124;
constexpr int kSignalBase = 128;

constexpr const char* kUsage =
    "trainit copy [OPTIONS] SRC DST\n"
    "    makes DST a copy of the directory or file SRC, by several processes; DST appears when it\n"
    "    is complete, and never partly. Killed, it goes on where it was when it is run again.\n"
    "    0 done or there already, 1 failed, 124 timed out, 125 bad input, 128+n by a signal\n"
    "    DST that is there is exchanged for the copy; what is no copy of trainit's, or was "
    "changed\n"
    "    since, is kept in .trainit-copy.<name> beside it. A mount point gets DST/current, a link "
    "to\n"
    "    the copy.\n"
    "    --include PATTERN   only these files: *.rec, train/**; repeatable\n"
    "    --exclude PATTERN   not these; repeatable, and stronger\n"
    "    --verify            read all of it again, from the disk, and compare hashes\n"
    "    --durable           sync it to the disk before it appears\n"
    "    --workers N         processes (four for each CPU, from 8 to 32)\n"
    "    --headroom SIZE     of the disk that stays free: 10g, or a percentage (5%)\n"
    "    --timeout DURATION  of all of it\n"
    "    --owner UID:GID     of all that is made (the source's, as root)\n"
    "    --json              the result as JSON\n"
    "SRC is only read. Kept: contents, permissions, mtimes, symbolic and hard links, holes; of\n"
    "what gets another owner or group no set-ID bits.\n";

struct Line {
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::vector<std::string> paths;
  copy::Options options;
  std::int64_t timeout_ms = 0;
  bool json = false;
  bool help = false;
};

bool set_owner(std::string_view text, std::optional<copy::Owner>& target) {
  copy::Owner owner;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto uid = std::from_chars(begin, end, owner.uid);
  if (uid.ec != std::errc() || uid.ptr == end || *uid.ptr != ':') return false;
  const auto gid = std::from_chars(uid.ptr + 1, end, owner.gid);
  if (gid.ec != std::errc() || gid.ptr != end) return false;
  target = owner;
  return true;
}

struct Flag {
  std::string_view name;
  std::string_view accepts;  // "" = it has no value
  bool (*set)(Line& line, std::string_view value);
};

constexpr std::array kFlags = {
    Flag{"--include", "a pattern",
         [](Line& line, std::string_view value) { return add_lines(value, line.include); }},
    Flag{"--exclude", "a pattern",
         [](Line& line, std::string_view value) { return add_lines(value, line.exclude); }},
    Flag{"--verify", "", [](Line& line, std::string_view) { return line.options.verify = true; }},
    Flag{"--durable", "", [](Line& line, std::string_view) { return line.options.durable = true; }},
    Flag{"--workers", "a number from 1 to 64",
         [](Line& line, std::string_view value) {
           constexpr int kMostWorkers = 64;
           return set_up_to(value, kMostWorkers, line.options.workers) && line.options.workers > 0;
         }},
    Flag{"--headroom", "a size such as 10g, or a percentage such as 5%",
         [](Line& line, std::string_view value) {
           return set_headroom(value, line.options.headroom);
         }},
    Flag{"--timeout", "a duration above 0 such as 30m",
         [](Line& line, std::string_view value) { return set_time(value, line.timeout_ms); }},
    Flag{"--owner", "two numbers, UID:GID",
         [](Line& line, std::string_view value) { return set_owner(value, line.options.owner); }},
    Flag{"--json", "", [](Line& line, std::string_view) { return line.json = true; }},
    Flag{"--help", "", [](Line& line, std::string_view) { return line.help = true; }},
};

envgen::Result<Line> parse_line(Arguments arguments) {
  Line line;
  bool only_paths = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (only_paths || !word.starts_with("-") || word == "-") {
      line.paths.emplace_back(word);
      continue;
    }
    only_paths = word == "--";
    if (only_paths) continue;
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const auto* flag = std::ranges::find(kFlags, name, &Flag::name);
    if (flag == kFlags.end()) return envgen::fail(kWhat, std::string(word), "no such option", kSee);
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (!flag->accepts.empty() && ++i < arguments.size()) {
      value = arguments[i];
    }
    if (flag->accepts.empty() != value.empty() || !flag->set(line, value)) {
      return envgen::fail(
          kWhat, std::string(name), '"' + std::string(value) + '"',
          flag->accepts.empty() ? "give no value" : "give " + std::string(flag->accepts));
    }
  }
  auto filter = envgen::PathFilter::make(line.include, line.exclude);
  if (!filter) return std::unexpected(filter.error());
  line.options.filter = std::move(*filter);
  if (!line.help && line.paths.size() != 2) {
    return envgen::fail(kWhat, "trainit copy", std::to_string(line.paths.size()) + " paths",
                        "give two: SRC and DST");
  }
  return line;
}

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
  ::_exit(kSignalBase + signal);  // PID 1 of a container is not ended by its own signal
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

void say(const std::string& line) { write_to(STDERR_FILENO, "trainit: " + line + "\n"); }

}  // namespace

int copy_command(Arguments arguments, const envgen::Environ&) {
  auto line = parse_line(arguments);
  if (!line) return complain(line.error());
  if (line->help) return print(kUsage);
  end_by_signals();
  const std::int64_t started_ms = sys::monotonic_ms();
  copy::Options& options = line->options;
  if (line->timeout_ms > 0) options.deadline_ms = started_ms + line->timeout_ms;
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
  const auto copied = copy::copy_tree(line->paths[0], line->paths[1], options);
  view.clear();
  const std::int64_t now_ms = sys::monotonic_ms();
  if (!copied) {
    complain(copied.error());
    return options.deadline_ms != 0 && now_ms >= options.deadline_ms ? kTimedOut : kCopyFailed;
  }
  return print(line->json ? to_json(*copied, now_ms - started_ms)
                          : to_text(*copied, now_ms - started_ms));
}

}  // namespace cli
