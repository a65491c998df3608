#include "envgen/failure/find_cause.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <utility>

#include "base/constants/words.h"
#include "base/printed_text.h"
#include "base/secrets/secrets.h"
#include "base/stable_sort.h"
#include "envgen/failure/printed_line.h"

namespace envgen {
namespace {

constexpr std::size_t kMostLineBytes = 400;
constexpr std::size_t kMostMatchedBytes = 4096;  // of a line
constexpr std::size_t kMostStreams = 256;
constexpr std::size_t kMostTracebackLines = 24;
constexpr std::size_t kMostForeignLines = 8;  // of another process, in the middle of a traceback
constexpr std::size_t kMostMessageLines = 3;
// So many lines of progress behind it, and what was logged there did not end the job ...
constexpr std::size_t kWentOn = 20;
// ... or so many where something else did.
constexpr std::size_t kWentOnToFail = 5;
constexpr int kLauncherWeight = 1;
constexpr int kCutWeight = 2;    // a traceback whose exception is not there
constexpr int kAloneWeight = 3;  // an exception's name and message without its traceback
constexpr std::string_view kHeader = "Traceback (most recent call last)";

struct Candidate {
  std::size_t line;
  std::size_t first;  // of its traceback; the line itself where there is none
  std::size_t at;     // where in the line what it is known by begins
  const FailureRow* row;
  int weight;
  std::size_t progress;  // lines of it that its stream had printed before
  bool torn = false;     // perhaps the end of a traceback whose beginning is not there
  bool weak = false;     // it may have been printed and done with: one line of progress behind it
};

struct Traceback {
  std::size_t first = 0;  // line
  std::size_t indent = 0;
  std::size_t code = 0;      // its last line of code
  std::size_t foreign = 0;   // lines in it that are not its own
  bool interrupted = false;  // by one of those; goes on with a frame
  std::string prefix;        // what a logger put before its header, and may before each line of it
  bool launcher = false;
  bool ignored = false;
  bool original = false;  // of the exception that the line before it was raised anew for
  bool chained = false;   // the one before is what led to it
};

struct Stream {
  std::optional<Traceback> open;
  std::optional<std::size_t> last;  // candidate, of a traceback that has ended
  bool chained = false;             // the line that says so was there
  bool ignored = false;             // the next traceback ends nothing
  bool torn = true;                 // what it prints may be the end of a traceback begun before
  bool boxed = false;               // the line before is the end of one as rich draws it
  std::size_t progress = 0;
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "torch.cuda.OutOfMemoryError" of what a traceback ends with; "" for what cannot be its end.
std::string_view exception_name(std::string_view text) {
  std::size_t end = 0;
  auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  };
  while (end < text.size() && is_part(text[end])) ++end;
  if (end == 0 || (end < text.size() && text[end] != ':')) return {};
  const std::string_view name = text.substr(0, end);
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (name == "Node") return {};  // TensorFlow's place of an error
  const bool named = !last.empty() && last[0] >= 'A' && last[0] <= 'Z';
  return named || has(name, ".") || has(last, "error") ? name : std::string_view();
}

// Of a line that may be anything.
bool is_error_name(std::string_view name) {
  static constexpr auto kEnds = words("Error", "Exception", "Interrupt", "Timeout", "Exit");
  return std::ranges::any_of(kEnds, [&](auto end) { return name.ends_with(end); });
}

// The same, but for its digits: times and numbers.
bool begins_like(std::string_view text, std::string_view prefix) {
  auto same = [](char one, char other) {
    auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return one == other || (digit(one) && digit(other));
  };
  return text.size() >= prefix.size() &&
         std::ranges::equal(text.substr(0, prefix.size()), prefix, same);
}

// Raised to be caught: what is raised in its place says more.
bool is_stepping_stone(std::string_view text) {
  static constexpr auto kNames =
      words("KeyError", "AttributeError", "StopIteration", "Empty", "ImportError",
            "ModuleNotFoundError", "IndexError", "TypeError", "AssertionError");
  const std::string_view name = exception_name(text);
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return std::ranges::find(kNames, last) != kNames.end();
}

// `  File "train.py", line 3, in main`
bool is_frame(std::string_view text) {
  const std::size_t start = text.find_first_not_of(' ');
  return start != std::string_view::npos && start > 0 &&
         text.substr(start).starts_with("File \"") && has(text, "\", line ") && has(text, ", in ");
}

// A line of a traceback as rich draws it.
bool is_boxed(std::string_view text) {
  return text.starts_with("│") || text.starts_with("╭") || text.starts_with("╰");
}

bool is_raise(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of(' '), text.size());
  return start > 0 && text.substr(start).starts_with("raise ");
}

// Where the exception begins of a traceback that is one line, its line ends written as `\\n` (a log
// in JSON, an exception that quotes another one); `header` where it is none.
std::size_t last_quoted_line(std::string_view text, std::size_t header) {
  constexpr std::string_view kLineEnd = "\\n";
  std::size_t last = header;
  for (std::size_t at = text.find(kLineEnd, header); at != std::string_view::npos;
       at = text.find(kLineEnd, at)) {
    at += kLineEnd.size();
    if (is_error_name(exception_name(text.substr(at)))) last = at;
  }
  return last;
}

bool is_launchers(std::string_view frame) {
  static constexpr auto kPlaces =
      words("torch/distributed/run.py", "torch/distributed/launch", "torch/distributed/elastic/",
            "deepspeed/launcher/", "accelerate/commands/", "torchrun\"");
  return std::ranges::any_of(kPlaces, [&](auto place) { return has(frame, place); });
}

class Search {
 public:
  explicit Search(const FailureCatalog& catalog) : catalog_(catalog) {}

  void take(std::string_view raw) {
    if (raw.empty()) return;
    PrintedLine line = printed_line(raw);
    if (line.text.empty()) return;
    lines_.push_back(std::move(line));
    const std::size_t index = lines_.size() - 1;
    const auto known = streams_.find(lines_[index].stream);
    if (known == streams_.end() && streams_.size() == kMostStreams) return;
    look(index, known == streams_.end() ? streams_[lines_[index].stream] : known->second);
  }

  std::optional<FoundCause> result() {
    for (auto& [name, stream] : streams_) {
      if (stream.open) end_unfinished(stream);
    }
    envgen::stable_sort(candidates_, std::less(), &Candidate::line);
    const Candidate* best = nullptr;
    const Candidate* doubted = nullptr;  // known, but the job seems to have gone on
    for (const Candidate& next : candidates_) {
      if (next.weight < 0) continue;  // noise, or what another one says better
      if (progress_of(next.line) >= next.progress + kWentOn) continue;
      if (next.weak && progress_of(next.line) > next.progress) {
        const bool few = progress_of(next.line) < next.progress + kWentOnToFail;
        if (doubted == nullptr && few && next.row != nullptr) doubted = &next;
        continue;
      }
      const bool went_on = best != nullptr &&
                           lines_[best->line].stream == lines_[next.line].stream &&
                           next.progress >= best->progress + kWentOnToFail &&
                           next.weight >= FailureCatalog::kExceptionWeight - 1;
      const bool nearer = best != nullptr && next.weight == best->weight &&
                          next.weight >= kAloneWeight && is_victim(*best) && !is_victim(next);
      if (best == nullptr || went_on || nearer || next.weight > best->weight) best = &next;
    }
    // Lines of several processes come out of order: it says more than a line of code, or a
    // launcher.
    const bool says_little =
        best != nullptr && best->weight <= kCutWeight && (best->row == nullptr || is_victim(*best));
    if (says_little && doubted != nullptr && doubted->weight >= kAloneWeight) best = doubted;
    if (best == nullptr) return std::nullopt;
    return told(*best);
  }

 private:
  static bool is_victim(const Candidate& one) {
    return one.row != nullptr && one.row->role == FailureRole::kVictim;
  }

  [[nodiscard]] std::size_t progress_of(std::size_t line) const {
    return streams_.at(lines_[line].stream).progress;
  }

  void look(std::size_t index, Stream& stream) {
    if (stream.open && begins_like(lines_[index].bare(), stream.open->prefix)) {
      lines_[index].body += stream.open->prefix.size();
    }
    const std::string_view text = lines_[index].bare();
    const std::size_t header = text.find(kHeader);
    if (header != std::string_view::npos) {
      if (const std::size_t last = last_quoted_line(text, header); last > header) {
        return end_quoted(index, last, stream);
      }
      return begin(index, header, stream);
    }
    if (stream.open && take_frame(index, stream)) return;
    if (!stream.open && is_frame(text)) {  // its beginning is not there
      stream.open = Traceback{.first = index, .code = index};
      if (take_frame(index, stream)) return;
    }
    const bool boxed = std::exchange(stream.boxed, text.starts_with("╰"));
    const bool torn = std::exchange(stream.torn, text.starts_with(' '));
    if (boxed && is_error_name(exception_name(text))) {
      return end(index, {.first = index}, catalog_.match(text.substr(0, kMostMatchedBytes), true),
                 stream);
    }
    if (torn && is_error_name(exception_name(text))) {
      end(index, {.first = index}, catalog_.match(text.substr(0, kMostMatchedBytes), true), stream);
      candidates_.back().torn = true;
      candidates_.back().weak = true;
      return;
    }
    if (is_raise(text)) return;  // a line of code: what is raised comes behind it
    const auto match = catalog_.match(text.substr(0, kMostMatchedBytes), false);
    if (match.row != nullptr) {
      const bool noise = match.row->role == FailureRole::kNoise;
      if (!noise) add(index, index, match, match.row->weight, stream);
      return;
    }
    if (has(text, "During handling of the above exception") ||
        has(text, "The above exception was the direct cause")) {
      stream.chained = true;
    } else if (text.starts_with("Exception ignored in") ||
               text.starts_with("--- Logging error ---")) {
      stream.ignored = true;
    } else if (const std::size_t what = text.find("  what():  "); what != std::string_view::npos) {
      add(index, index, {}, FailureCatalog::kExceptionWeight, stream);
    } else if (has(text, "terminate called ")) {
      add(index, index, {}, kLauncherWeight, stream);  // what() comes behind it
    } else if (is_error_name(exception_name(text))) {
      add_alone(index, stream);
    } else if (is_progress(text)) {
      ++stream.progress;
    } else if (const ErrorLevel level = error_level(lines_[index]); level != ErrorLevel::kNone) {
      add(index, index, {}, level == ErrorLevel::kFatal ? kLauncherWeight : 0, stream);
      candidates_.back().weak = true;
    }
  }

  void end_quoted(std::size_t index, std::size_t last, Stream& stream) {
    const std::string_view said = lines_[index].bare().substr(last, kMostMatchedBytes);
    auto match = catalog_.match(said, true);
    match.at = last;
    end(index, {.first = index}, match, stream);
  }

  // The end of a traceback that was printed elsewhere or not at all.
  void add_alone(std::size_t index, const Stream& stream) {
    const auto match = catalog_.match(lines_[index].bare().substr(0, kMostMatchedBytes), true);
    const int weight = match.row != nullptr ? match.row->weight : kAloneWeight;
    add(index, index, match, std::min(weight, kAloneWeight), stream);
    candidates_.back().weak = true;
  }

  void begin(std::size_t index, std::size_t header, Stream& stream) {
    const std::string_view before = lines_[index].bare().substr(0, header);
    Traceback next{.first = index, .code = index};
    next.original = before.ends_with("Original ");
    const bool blank = before.find_first_not_of(' ') == std::string_view::npos;
    next.indent = blank ? header : 0;
    if (!blank) next.prefix = before;
    next.chained = stream.chained && stream.last;
    next.ignored = stream.ignored;
    if (stream.open) {  // its end is not there: another process speaks
      stream.open.reset();
    }
    stream.chained = false;
    stream.ignored = false;
    stream.open = next;
  }

  // False: the line is none of the open traceback.
  bool take_frame(std::size_t index, Stream& stream) {
    const std::string_view text = lines_[index].bare();
    Traceback& open = *stream.open;
    const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
    const std::string_view said = text.substr(indent);
    if (indent > open.indent || is_boxed(said)) {
      const bool frame = said.starts_with("File \"");
      if (frame) open.launcher = is_launchers(said);
      if (frame || is_boxed(said)) open.interrupted = false;
      if (open.interrupted) return false;
      if (said.find_first_not_of("^~ ") != std::string_view::npos) open.code = index;
      return true;
    }
    if (exception_name(said).empty()) {
      open.interrupted = true;
      if (++open.foreign > kMostForeignLines) end_unfinished(stream);
      return false;
    }
    const Traceback ended = *std::exchange(stream.open, std::nullopt);
    if (ended.ignored) return true;
    auto match = catalog_.match(said.substr(0, kMostMatchedBytes), true);
    match.at += indent;
    end(index, ended, match, stream);
    return true;
  }

  // Of exceptions that led to one another, one stays.
  void end(std::size_t index, const Traceback& ended, const FailureCatalog::Match& match,
           Stream& stream) {
    int weight = match.row != nullptr ? match.row->weight : FailureCatalog::kExceptionWeight;
    const std::string_view said = lines_[index].bare();
    // What is behind it says more.
    if (exception_name(said).ends_with("ExceptionGroup") ||
        said.ends_with("root error(s) found.")) {
      weight = kAloneWeight;
    }
    std::size_t first = ended.first;
    if ((ended.chained || ended.original) && stream.last) {
      Candidate& before = candidates_[*stream.last];
      const std::string_view earlier = lines_[before.line].bare();
      const bool replaces = ended.original || weight > before.weight ||
                            (weight == before.weight && is_stepping_stone(earlier));
      if (!replaces) return;
      if (ended.original) first = before.first;
      before.weight = -1;
    }
    add(index, first, match, weight, stream);
    stream.last = candidates_.size() - 1;
  }

  // A traceback whose exception is not there: its last line of code.
  void end_unfinished(Stream& stream) {
    const Traceback open = *std::exchange(stream.open, std::nullopt);
    if (open.ignored || open.code == open.first) return;
    if (stream.last && (open.chained || open.original)) return;
    if (Candidate* message = message_behind(open.code, stream)) {
      message->first = open.first;
      return;
    }
    const int weight = open.launcher ? 0 : kCutWeight;
    add(open.code, open.first, {}, weight, stream);
  }

  // What a traceback ended with that is no exception's name, but known.
  Candidate* message_behind(std::size_t code, const Stream& stream) {
    for (Candidate& behind : std::views::reverse(candidates_)) {
      if (behind.line <= code) break;
      const bool near = behind.line <= code + kMostMessageLines && behind.row != nullptr;
      if (near && &streams_.at(lines_[behind.line].stream) == &stream) return &behind;
    }
    return nullptr;
  }

  void add(std::size_t line, std::size_t first, const FailureCatalog::Match& match, int weight,
           const Stream& stream) {
    candidates_.push_back({.line = line,
                           .first = first,
                           .at = match.at,
                           .row = match.row,
                           .weight = weight,
                           .progress = stream.progress});
  }

  [[nodiscard]] FoundCause told(const Candidate& best) const {
    FoundCause cause{.failure_class = "script-error"};
    if (best.row != nullptr) {
      cause.failure_class = best.row->failure_class;
      cause.role = best.row->role;
      // Nothing came behind it.
      const bool ended = best.torn && best.line + 1 == lines_.size();
      const bool sure = !best.weak || ended || best.row->restart != RestartHelps::kNo;
      cause.restart = sure ? best.row->restart : RestartHelps::kUnknown;
      cause.advice = best.row->advice;
    } else if (!best.weak && exception_name(lines_[best.line].bare()).empty() &&
               best.first == best.line) {
      cause.failure_class = "segfault";
      cause.advice = "native code ended the process: see the lines around it";
    }
    cause.weight = best.weight;
    cause.line = shown(best.line, lines_[best.line].body + best.at);
    for (std::size_t i = best.first; i <= best.line && best.first < best.line; ++i) {
      if (lines_[i].stream != lines_[best.line].stream) continue;
      cause.traceback.push_back(shown(i, 0));
      if (cause.traceback.size() > kMostTracebackLines) {
        cause.traceback.erase(cause.traceback.begin() + 1);  // the header stays
      }
    }
    return cause;
  }

  // A line that is too long is shown from near what it is known by.
  [[nodiscard]] std::string shown(std::size_t line, std::size_t at) const {
    const std::string masked = mask_printed(lines_[line].text);
    std::string_view text = masked;
    if (text.size() > kMostLineBytes && at > kMostLineBytes / 2 && at < text.size()) {
      std::size_t start = at - kMostLineBytes / 4;
      while (start < at && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) ++start;
      text.remove_prefix(start);
    }
    return std::string(cut_text(text, kMostLineBytes));
  }

  const FailureCatalog& catalog_;
  std::vector<PrintedLine> lines_;
  std::map<std::string, Stream> streams_;
  std::vector<Candidate> candidates_;  // no more than lines, of kMostSearchedBytes
};

}  // namespace

std::optional<FoundCause> find_cause(std::string_view printed, const FailureCatalog& catalog) {
  if (printed.size() > kMostSearchedBytes) {
    printed.remove_prefix(printed.size() - kMostSearchedBytes);
  }
  Search search(catalog);
  while (!printed.empty()) {
    const std::size_t end = std::min(printed.find_first_of("\n\r"), printed.size());
    search.take(printed.substr(0, end));
    printed.remove_prefix(std::min(end + 1, printed.size()));
  }
  return search.result();
}

std::string cause_key(std::string_view line) {
  std::string key;
  for (const char c : line) {
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    const bool digit = c >= '0' && c <= '9';
    if (digit) {
      if (!key.ends_with('#')) key += '#';
    } else if (!(hex && key.ends_with('#'))) {
      key += c;
    }
  }
  return key;
}

}  // namespace envgen
