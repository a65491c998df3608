#include "envgen/failure/evidence.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <utility>

#include "base/constants/words.h"
#include "base/stable_sort.h"
#include "envgen/failure/exception_line.h"

namespace envgen {
namespace {

constexpr std::size_t kMaxMatchedBytes = 4096;  // maximum length of a line that is compared with
                                                // the catalogue
constexpr std::size_t kMaxStreams = 256;
constexpr std::size_t kMaxForeignLines = 8;  // maximum number of another process's lines within a
                                             // traceback
constexpr std::size_t kMaxMessageLines = 3;
constexpr int kBareWeight = 1;
constexpr int kCutWeight = 2;
constexpr int kAloneWeight = 3;  // weight of an exception's name and message without its traceback
constexpr std::string_view kWhat = " what():  ";
constexpr std::string_view kHeader = "Traceback (most recent call last)";

struct Traceback {
  std::size_t first = 0;  // index of the line of its header
  std::size_t indent = 0;
  std::size_t code = 0;      // index of the last line of code in it
  std::size_t foreign = 0;   // number of lines within it that do not belong to it
  bool interrupted = false;  // a foreign line has interrupted it; it may continue with a frame
  // Text that a logger has written before the header. The other lines of the traceback may have it
  // too.
  std::string prefix;
  bool launcher = false;
  bool ignored = false;
  Form form = Form::kEnding;  // kEnding; kError if a logger printed it
  bool inner = false;         // raised in a code string that the job runs (`<string>`)
  bool doubtful = false;      // as in Evidence
  bool original = false;      // the "Original Traceback" that an exception raised again quotes
  bool chained = false;       // the traceback before it belongs to the same chain of exceptions
  std::size_t ordinary = 0, fresh = 0;  // as in Evidence
};

struct Stream {
  std::optional<Traceback> open;
  std::optional<std::size_t> last;  // index in the evidence of the last traceback that is complete
  bool chained = false;             // the last line announced another traceback of a chain
  bool ignored = false;             // the next traceback does not end the process
  bool introduced = false;          // the last line is a logger's, or announces a traceback
  bool indented = false;  // the last line may be code of a traceback whose header is missing
  bool boxed = false;     // the last line ends a traceback drawn by rich
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns true if `text` begins with `prefix`. Any digit matches any other digit, because times and
// numbers differ.
bool begins_like(std::string_view text, std::string_view prefix) {
  auto same = [](char one, char other) {
    auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return one == other || (digit(one) && digit(other));
  };
  return text.size() >= prefix.size() &&
         std::ranges::equal(text.substr(0, prefix.size()), prefix, same);
}

// Returns true if two exceptions have the same name in different modules: a library has raised an
// exception of another one again, as "json.decoder.JSONDecodeError" and
// "requests.exceptions.JSONDecodeError".
bool same_name(std::string_view one, std::string_view other) {
  const std::string_view name = exception_name(one);
  const std::string_view again = exception_name(other);
  return name != again && name.substr(name.rfind('.') + 1) == again.substr(again.rfind('.') + 1);
}

// Returns true for the line of a frame: `  File "train.py", line 3, in main`.
bool is_frame(std::string_view text) {
  const std::size_t start = text.find_first_not_of(' ');
  const std::size_t line = text.find("\", line ");
  if (start == 0 || line == text.npos || !text.substr(start).starts_with("File \"")) return false;
  const std::size_t end = text.find_first_not_of("0123456789", line + 8);
  // at the end of the line for a SyntaxError, otherwise before ", in "
  return end == text.npos || text.substr(end).starts_with(", in ");
}

// Returns true for a line of a traceback drawn by rich.
bool is_boxed(std::string_view text) {
  return text.starts_with("│") || text.starts_with("╭") || text.starts_with("╰");
}

// Returns true for a message whose reason is in the next line: "RuntimeError: ", "  what():
// watchdog thread terminated:".
bool is_heading(std::string_view text) {
  const std::size_t last = text.find_last_not_of(' ');
  return last != text.npos && text[last] == ':';
}

bool is_raise(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of(' '), text.size());
  return start > 0 && text.substr(start).starts_with("raise ");
}

// Returns where the exception begins in a traceback that is printed as one line, with `\\n` for its
// line ends, as in a JSON log or within another exception's message. Returns `header` for any other
// line.
std::size_t last_quoted_line(std::string_view text, std::size_t header) {
  constexpr std::string_view kLineEnd = "\\n";
  std::size_t last = header;
  for (std::size_t at = text.find(kLineEnd, header); at != std::string_view::npos;
       at = text.find(kLineEnd, at)) {
    at += kLineEnd.size();
    if (is_exception(text.substr(at))) last = at;
  }
  return last;
}

bool is_launchers(std::string_view frame) {
  static constexpr auto kPlaces = base::words(
      "torch/distributed/run.py", "torch/distributed/launch", "torch/distributed/elastic/",
      "deepspeed/launcher/", "accelerate/commands/", "torchrun\"");
  return std::ranges::any_of(kPlaces, [&](auto place) { return has(frame, place); });
}

// Returns true for a progress bar, which only a living process draws.
bool is_bar(std::string_view text) { return has(text, "%|") || has(text, "it/s]"); }

// Returns true for a letter of any language: every non-ASCII byte is a letter.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}

// Returns true for a line that announces an exception which is caught: "Exception in thread
// Thread-3 (read):", "cannot load the cache:". Returns false for "Process worker-1:", by which
// multiprocessing names a process that has ended.
bool announces(std::string_view text) {
  return (text.ends_with(':') && !text.starts_with("Process ")) || has(text, "xception");
}

Form form_of(LogLevel level) {
  constexpr auto kForms = std::to_array({Form::kPlain, Form::kInfo, Form::kHeard, Form::kError});
  return kForms.at(static_cast<std::size_t>(level));
}

class Reader {
 public:
  explicit Reader(const FailureCatalog& catalog) : catalog_(catalog) {}

  void take(std::string_view raw) {
    if (raw.empty()) return;
    PrintedLine line = printed_line(raw);
    if (line.text.empty()) return;
    out_.lines.push_back(std::move(line));
    const std::size_t index = out_.lines.size() - 1;
    // After kMaxStreams names, further ones are ignored: a text such as "300: loss" names no
    // process.
    std::string& name = out_.lines[index].stream;
    if (streams_.size() >= kMaxStreams && !streams_.contains(name)) name.clear();
    Stream& stream = streams_[name];
    const LogLevel level = log_level(out_.lines[index]);
    look(index, level, stream);
    stream.introduced = level != LogLevel::kNone || announces(out_.lines[index].bare());
  }

  Printed take_all() && {
    for (auto& [name, stream] : streams_) {
      if (stream.open) end_unfinished(stream);
    }
    std::erase_if(out_.evidence, [](const Evidence& one) { return one.weight < 0; });
    base::stable_sort(out_.evidence, std::less(), &Evidence::line);
    return std::move(out_);
  }

 private:
  [[nodiscard]] FailureCatalog::Match known(std::string_view text, bool exception) const {
    return catalog_.match(text.substr(0, kMaxMatchedBytes), exception);
  }

  void look(std::size_t index, LogLevel level, Stream& stream) {
    PrintedLine& line = out_.lines[index];
    if (stream.open && begins_like(line.bare(), stream.open->prefix)) {
      line.body += stream.open->prefix.size();
    }
    const std::string_view text = line.bare();
    if (const std::size_t header = text.find(kHeader); header != std::string_view::npos) {
      const std::size_t last = last_quoted_line(text, header);
      return last > header ? end_quoted(index, last, level, stream)
                           : begin(index, header, level, stream);
    }
    if (stream.open && take_frame(index, stream)) return;
    if (!stream.open && is_frame(text)) {  // a frame whose traceback has no header here
      stream.open =
          Traceback{.first = index, .code = index, .ordinary = out_.ordinary, .fresh = out_.fresh};
      if (take_frame(index, stream)) return;
    }
    const bool boxed = std::exchange(stream.boxed, text.starts_with("╰"));
    const bool indented = std::exchange(stream.indented, text.starts_with("    "));
    if ((boxed || indented) && is_exception(text)) {
      return end(index, {.first = index}, known(text, true), stream);
    }
    if (is_raise(text)) return;  // the line raises the exception that follows
    if (const auto match = known(text, false); match.row != nullptr) {
      if (match.row->role != FailureRole::kNoise) add_known(index, level, match);
      return;
    }
    stream.chained = has(text, "During handling of the above exception") ||
                     has(text, "The above exception was the direct cause");
    stream.ignored = text.starts_with("Exception ignored") ||
                     text.starts_with("--- Logging error ---") ||
                     // Python's report about a .pth file, which ends no process
                     text.starts_with("Error processing line ");
    if (!stream.chained && !stream.ignored) {
      add_unknown(index, level);
    }
  }

  // Adds a line that matches a row of the catalogue and does not end a traceback.
  void add_known(std::size_t index, LogLevel level, const FailureCatalog::Match& match) {
    Evidence one{.line = index, .first = index, .at = match.at, .row = match.row};
    one.weight = match.row->weight;
    one.bare = match.row->weight <= kBareWeight;
    // A process may survive a line at these levels, such as vLLM's warning that a request "is
    // preempted".
    const bool survivable = level == LogLevel::kInfo || level == LogLevel::kWarning;
    const bool ends = (match.row->ends && !survivable) || is_uncaught(index) ||
                      has(out_.lines[index].bare(), kWhat);
    one.form = ends ? Form::kEnding : form_of(level);
    add(one);
  }

  void add_unknown(std::size_t index, LogLevel level) {
    const PrintedLine& line = out_.lines[index];
    const std::string_view text = line.bare();
    Evidence one{.line = index, .first = index};
    if (const std::size_t what = text.find(kWhat); what != std::string_view::npos) {
      one.form = Form::kEnding;
      one.bare = is_heading(text);
      one.weight = one.bare ? kBareWeight : FailureCatalog::kExceptionWeight;
    } else if (has(text, "terminate called ")) {  // the next line has what()
      one.form = Form::kEnding;
      one.bare = true;
      one.weight = kBareWeight;
    } else if (is_exception(text)) {  // the end of a traceback whose beginning is not in this
                                      // output
      const auto match = known(text, true);
      if (match.row != nullptr && match.row->role == FailureRole::kNoise) return;
      one.at = match.at;
      one.row = match.row;
      one.weight = std::min(match.row != nullptr ? match.row->weight : kAloneWeight, kAloneWeight);
      one.alone = !is_uncaught(index);
      if (!one.alone) one.form = Form::kEnding;
    } else if (level == LogLevel::kError) {
      one.bare = true;
    } else {
      return add_ordinary(line, level);
    }
    add(one);
  }

  // Returns true if PyTorch's exception hook has put the rank before the exception. The exception
  // was then not caught.
  [[nodiscard]] bool is_uncaught(std::size_t index) const {
    const PrintedLine& line = out_.lines[index];
    return has(line.stream, "[rank") && is_exception(line.bare());
  }

  void add_ordinary(const PrintedLine& line, LogLevel level) {
    const std::string_view text = line.bare();
    // A separator, or a number in a launcher's table, does not count as output of the job.
    const bool digits = text.find_first_of("0123456789") != text.npos;
    if (std::ranges::none_of(text, is_letter) && (!digits || text.ends_with(':'))) return;
    // An indented line belongs to the line before it: a frame of a stack, a row of a launcher's
    // table.
    const bool indented = text.starts_with("  ") || text.starts_with('\t');
    if (indented && !is_bar(text)) return;
    // A line that contains an address is a frame of native code.
    if (has(text, "0x")) return;
    ++out_.ordinary;
    if (level == LogLevel::kWarning) return;
    const bool goes_on = out_.work.take(line.stream, text, out_.lines.size() - 1);
    if (goes_on) ++out_.fresh;
  }

  void end_quoted(std::size_t index, std::size_t last, LogLevel level, Stream& stream) {
    auto match = known(out_.lines[index].bare().substr(last), true);
    match.at = last;
    const Form form = level == LogLevel::kNone ? Form::kError : form_of(level);
    end(index, {.first = index, .form = form}, match, stream);
  }

  void begin(std::size_t index, std::size_t header, LogLevel level, Stream& stream) {
    const std::string_view before = out_.lines[index].bare().substr(0, header);
    Traceback next{.first = index, .code = index, .ordinary = out_.ordinary, .fresh = out_.fresh};
    next.original = before.ends_with("Original ");
    const bool blank = before.find_first_not_of(' ') == std::string_view::npos;
    next.indent = blank ? header : 0;
    if (!blank) next.prefix = before;
    next.chained = stream.chained && stream.last;
    next.ignored = stream.ignored;
    if (level != LogLevel::kNone) next.form = Form::kError;
    next.doubtful = stream.introduced && !next.chained;
    stream.chained = false;
    stream.ignored = false;
    stream.open = next;  // ends an unfinished one, in which another process has printed
  }

  // Adds a line to the open traceback. Returns false if the line does not belong to it.
  bool take_frame(std::size_t index, Stream& stream) {
    const std::string_view text = out_.lines[index].bare();
    Traceback& open = *stream.open;
    const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
    const std::string_view said = text.substr(indent);
    if (indent > open.indent || is_boxed(said)) {
      const bool frame = said.starts_with("File \"");
      if (frame) open.launcher = is_launchers(said);
      if (frame && has(said, "\"<string>\"")) open.inner = true;  // a code string that the job runs
      if (frame || is_boxed(said)) open.interrupted = false;
      if (open.interrupted) return false;
      if (said.find_first_not_of("^~ ") != std::string_view::npos) open.code = index;
      return true;
    }
    if (exception_name(said).empty()) {
      open.interrupted = true;
      if (++open.foreign > kMaxForeignLines) end_unfinished(stream);
      return false;
    }
    const Traceback ended = *std::exchange(stream.open, std::nullopt);
    if (ended.ignored) return true;
    auto match = known(said, true);
    match.at += indent;
    end(index, ended, match, stream);
    return true;
  }

  // Adds the exception that ends a traceback. If exceptions are chained, only one of them is kept.
  void end(std::size_t index, const Traceback& ended, const FailureCatalog::Match& match,
           Stream& stream) {
    const std::string_view said = out_.lines[index].bare();
    Evidence one{.line = index, .first = ended.first, .at = match.at, .row = match.row};
    one.weight = match.row != nullptr ? match.row->weight : FailureCatalog::kExceptionWeight;
    one.form = ended.inner ? Form::kPlain : ended.form;
    one.whole = one.form == Form::kEnding && !ended.doubtful && ended.code > ended.first;
    one.doubtful = ended.doubtful;
    one.bare = one.weight <= kBareWeight || (match.row == nullptr && is_heading(said));
    // Skips an exception group, and TensorFlow's "root error(s) found.", because lines after it say
    // more.
    if (exception_name(said).ends_with("ExceptionGroup") ||
        said.ends_with("root error(s) found.")) {
      one.weight = kAloneWeight;
      one.bare = true;
    }
    if ((ended.chained || ended.original) && stream.last) {
      Evidence& before = out_.evidence[*stream.last];
      const std::string_view earlier = out_.lines[before.line].bare();
      const bool passed_on = is_stepping_stone(exception_name(earlier)) || same_name(earlier, said);
      const bool replaces = ended.original || one.weight > before.weight ||
                            (one.weight == before.weight && passed_on);
      if (!replaces) return;
      if (ended.original) one.first = before.first;
      one.form = before.form;
      one.doubtful = before.doubtful;
      one.whole = one.whole && !one.doubtful;
      before.weight = -1;
    }
    add(one);
    stream.last = out_.evidence.size() - 1;
  }

  // Adds a traceback whose exception is missing. Its last line of code is the evidence.
  void end_unfinished(Stream& stream) {
    const Traceback open = *std::exchange(stream.open, std::nullopt);
    if (open.ignored || open.code == open.first) return;
    if (stream.last && (open.chained || open.original)) return;
    if (Evidence* message = message_behind(open.code, stream)) {
      message->first = open.first;
      message->form = open.form;
      return;
    }
    Evidence one{.line = open.code, .first = open.first, .form = Form::kEnding};
    one.weight = open.launcher ? 0 : kCutWeight;
    one.bare = true;
    one.cut = true;
    one.ordinary = open.ordinary;
    one.fresh = open.fresh;
    out_.evidence.push_back(one);
  }

  // Returns the known line that ended a traceback instead of an exception's name; nullptr if none
  // did.
  Evidence* message_behind(std::size_t code, const Stream& stream) {
    for (Evidence& behind : std::views::reverse(out_.evidence)) {
      if (behind.line <= code) break;
      const bool near = behind.line <= code + kMaxMessageLines && behind.row != nullptr;
      if (near && &streams_.at(out_.lines[behind.line].stream) == &stream) return &behind;
    }
    return nullptr;
  }

  void add(Evidence one) {
    one.ordinary = out_.ordinary;
    one.fresh = out_.fresh;
    out_.evidence.push_back(one);
  }

  const FailureCatalog& catalog_;
  Printed out_;
  std::map<std::string, Stream> streams_;
};

}  // namespace

Printed read_evidence(std::string_view printed, const FailureCatalog& catalog) {
  Reader reader(catalog);
  while (!printed.empty()) {
    const std::size_t end = std::min(printed.find_first_of("\n\r"), printed.size());
    reader.take(printed.substr(0, end));
    printed.remove_prefix(std::min(end + 1, printed.size()));
  }
  return std::move(reader).take_all();
}

}  // namespace envgen
