#include "envgen/failure/nccl_ras.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"

namespace envgen {
namespace {

constexpr std::size_t kMaxRasBytes = 500;
constexpr std::size_t kMaxNamed = 8;
constexpr std::size_t kMaxMembers = 64;
constexpr std::size_t kMaxWordBytes = 64;

struct Member {
  int rank = -1;  // rank in its communicator; -1: not reported
  int size = 0;   // number of ranks of its communicator; 0: not reported
  int pid = -1;
  std::string node = {};
  bool dead = false;
};

bool cut_front(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

// Returns the number at the beginning of `rest`, and removes it; -1 if there is no number.
int take_int(std::string_view& rest) {
  const std::size_t end = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const auto number = base::parse_count<int>(rest.substr(0, end));
  rest.remove_prefix(end);
  return number.value_or(-1);
}

int int_behind(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return -1;
  text.remove_prefix(at + words.size());
  return take_int(text);
}

std::string word_for_people(std::string_view text) {
  std::string word(text.substr(0, kMaxWordBytes));
  std::ranges::replace_if(word, [](char c) { return c < ' ' || c > '~'; }, '?');
  return word;
}

// Reads "Process 483072 on node 172.16.64.210 ...", "... managed by process 483072 on node ...".
Member member_of(std::string_view text) {
  Member member;
  member.pid = int_behind(text, text.starts_with("Process ") ? "Process " : " managed by process ");
  constexpr std::string_view kNode = " on node ";
  if (const std::size_t at = text.find(kNode); at != std::string_view::npos) {
    text.remove_prefix(at + kNode.size());
    member.node = word_for_people(base::take_word(text));
  }
  return member;
}

class Reader {
 public:
  Reader(int world_size, const SeenJob& job) : world_size_(world_size), job_(job) {}
  std::string read(std::string_view answer);

 private:
  enum class Section : unsigned char { kNone, kProcesses, kRanks, kDead, kError, kMismatch };
  // The ranks that have launched fewer operations of one kind than the others.
  struct Behind {
    std::string operation;  // "AllReduce"; "": the answer has not named a kind yet
    std::optional<std::int64_t> least;
    std::int64_t most = 0;
    int count = 0;
    std::string names = {};  // "": the answer does not list them
    std::int64_t last = 0;   // the number of operations that the next lines are about
  };

  void take(std::string_view line);
  bool take_heading(std::string_view line);
  void take_summary(std::string_view line);
  void take_missing(std::string_view line);
  void take_error(std::string_view line);
  void take_mismatch(std::string_view line);
  void add_missing(const Member& member);
  void say(const std::string& text);
  void say_behind();
  void say_missing(bool dead);
  [[nodiscard]] std::string name_of(const Member& member) const;
  [[nodiscard]] std::string count_text(int count) const;

  int world_size_;
  const SeenJob& job_;
  Section section_ = Section::kNone;
  bool totals_ = false;  // the next line has the totals of the job
  bool table_ = false;   // the lines are those of the table of communicator groups
  int processes_ = 0;
  int size_ = 0;            // size of the current communicator
  std::vector<int> sizes_;  // sizes of communicators, by their group
  std::vector<Member> missing_;
  Behind behind_;
  std::string said_;
};

std::string Reader::read(std::string_view answer) {
  while (!answer.empty()) take(base::take_line(answer));
  say_behind();
  if (world_size_ > 0 && processes_ > world_size_) return "";
  // Puts missing and dead ranks before the other findings.
  const std::string others = std::exchange(said_, "");
  say_missing(true);
  say_missing(false);
  say(others);
  return said_.substr(0, kMaxRasBytes);  // a cut cannot divide a character, because the text is
                                         // ASCII
}

void Reader::say(const std::string& text) {
  if (text.empty() || said_.size() > kMaxRasBytes) return;
  if (!said_.empty()) said_ += "; ";
  said_ += text;
}

void Reader::take(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (take_heading(line)) return;
  take_summary(line);
  const std::string_view said = base::trimmed(line);
  if (section_ == Section::kError) return take_error(said);
  if (section_ == Section::kMismatch) return take_mismatch(said);
  if (section_ != Section::kNone) take_missing(said);
}

// Reads a heading: "INCOMPLETE", "DEAD", "#0-0 (cf264af53edbe986) MISMATCH".
bool Reader::take_heading(std::string_view line) {
  const bool communicator = line.starts_with('#');
  const std::string_view kind = communicator ? line.substr(line.rfind(' ') + 1) : line;
  Section section = Section::kNone;
  if (kind == "INCOMPLETE") section = communicator ? Section::kRanks : Section::kProcesses;
  if (kind == "DEAD") section = Section::kDead;
  if (communicator && kind == "ERROR") section = Section::kError;
  if (communicator && kind == "MISMATCH") section = Section::kMismatch;
  if (section == Section::kNone && kind != "TIMEOUT" && !communicator) return false;
  say_behind();
  section_ = section;
  size_ = 0;
  if (!communicator) return true;
  line.remove_prefix(1);
  const int group = take_int(line);
  if (group >= 0 && static_cast<std::size_t>(group) < sizes_.size()) {
    size_ = sizes_[static_cast<std::size_t>(group)];
  }
  return true;
}

// Reads the number of the job's processes, and the ranks in each group of communicators.
void Reader::take_summary(std::string_view line) {
  const auto words = base::words_of(line);
  if (words.empty()) return;
  if (totals_ && words.size() >= 2) {
    processes_ = base::parse_count<int>(words[words.size() - 2]).value_or(0);
  }
  totals_ = words.size() >= 3 && words.back() == "(total)";
  if (words[0] == "Group") table_ = true;
  if (words[0] == "Errors") table_ = false;
  const bool row =
      table_ && words.size() == 8 && base::parse_count<std::size_t>(words[0]) == sizes_.size();
  if (row && sizes_.size() < kMaxMembers)
    sizes_.push_back(base::parse_count<int>(words[4]).value_or(0));
}

void Reader::add_missing(const Member& member) {
  for (Member& known : missing_) {
    const bool same = member.pid >= 0 ? known.pid == member.pid && known.node == member.node
                                      : known.rank == member.rank && known.size == member.size;
    if (!same) continue;
    if (known.rank < 0) known.rank = member.rank, known.size = member.size;
    return;
  }
  if (missing_.size() < kMaxMembers) missing_.push_back(member);
}

void Reader::take_missing(std::string_view line) {
  if (line.starts_with("Process ")) {
    Member member = member_of(line);
    member.dead = section_ == Section::kDead;
    return add_missing(member);
  }
  if (section_ != Section::kRanks) return;
  if (cut_front(line, "Rank ")) {
    const int rank = take_int(line);
    Member member = member_of(line);
    member.rank = rank;
    member.size = size_;
    return add_missing(member);
  }
  if (!line.starts_with("The missing rank")) return;
  line.remove_prefix(std::min(line.find(':'), line.size() - 1) + 1);
  const bool one = line.find(',') == std::string_view::npos;
  while (!line.empty()) {
    const auto rank = base::parse_count<int>(base::trimmed(base::take_part(line, ',')));
    if (!rank) continue;
    // If one process does not answer and one rank is missing, they belong together.
    if (one && missing_.size() == 1 && missing_[0].pid >= 0) {
      if (missing_[0].rank < 0) missing_[0].rank = *rank, missing_[0].size = size_;
      return;
    }
    add_missing({.rank = *rank, .size = size_});
  }
}

// Reads "Rank 2 reported Remote process error -- GPU 2 managed by ...", "4 ranks reported ...".
void Reader::take_error(std::string_view line) {
  constexpr std::string_view kReported = " reported ";
  const std::size_t at = line.find(kReported);
  if (at == std::string_view::npos) return;
  std::string_view what = line.substr(at + kReported.size());
  what = base::trimmed(what.substr(0, what.find("--")));
  const bool rank = cut_front(line, "Rank ");
  const int number = take_int(line);
  Member member = member_of(line);
  member.rank = number;
  member.size = size_;
  std::string text = rank ? name_of(member) : count_text(number);
  text += base::concat({kReported, word_for_people(what)});
  say(text);
}

// Reads the lines of a mismatch:
// - "Communicator ranks have different AllReduce operation counts"
// - "7 ranks have launched up to operation 42"
// - "Rank 3 has not launched any operations -- GPU ...", "Rank 3 -- GPU ..."
void Reader::take_mismatch(std::string_view line) {
  if (cut_front(line, "Communicator ranks have different ")) {
    say_behind();
    if (line != "status") behind_.operation = word_for_people(base::take_word(line));
    return;
  }
  if (behind_.operation.empty()) return;
  const bool rank = cut_front(line, "Rank ");
  const int number = take_int(line);
  if (number < 0) return;
  const int launched = int_behind(line, " launched up to operation ");
  const bool none = line.contains(" not launched any operations");
  if (launched >= 0 || none) {
    const std::int64_t value = none ? 0 : launched;
    behind_.last = value;
    behind_.most = std::max(behind_.most, value);
    if (!behind_.least || value < *behind_.least) {
      behind_.least = value;
      behind_.count = rank ? 1 : number;
      behind_.names.clear();
    }
  }
  if (!rank || behind_.last != behind_.least || behind_.names.size() > kMaxRasBytes) return;
  Member member = member_of(line);
  member.rank = number;
  member.size = size_;
  behind_.names += base::concat({behind_.names.empty() ? "" : ", ", name_of(member)});
}

void Reader::say_behind() {
  const Behind behind = std::exchange(behind_, {});
  if (!behind.least || behind.most == *behind.least) return;
  std::string text = behind.names.empty() ? count_text(behind.count) : behind.names;
  text += base::concat({behind.count == 1 ? " has" : " have", " launched ",
                        std::to_string(*behind.least), " ", behind.operation,
                        " operations, others ", std::to_string(behind.most)});
  say(text);
}

void Reader::say_missing(bool dead) {
  std::string names;
  std::size_t count = 0;
  for (const Member& member : missing_) {
    if (member.dead != dead || ++count > kMaxNamed) continue;
    names += base::concat({names.empty() ? "" : ", ", name_of(member)});
  }
  if (count == 0) return;
  if (count > kMaxNamed)
    names += base::concat({" and ", std::to_string(count - kMaxNamed), " more"});
  names += dead ? ": dead, for NCCL" : count == 1 ? " does not answer" : " do not answer";
  say(names);
}

std::string Reader::name_of(const Member& member) const {
  for (const SeenRank& rank : job_.ranks) {
    for (const SeenProcess& process : rank.processes) {
      if (job_.whole && process.pid == member.pid) return rank.name;
    }
  }
  std::string text;
  if (member.rank >= 0) text += base::concat({"rank ", std::to_string(member.rank)});
  if (member.rank >= 0 && member.size > 0 && member.size != world_size_) {
    text += base::concat({" of a communicator of ", std::to_string(member.size)});
  }
  if (member.pid < 0) return text;
  const bool alone = text.empty();
  text += base::concat({alone ? "" : " (", "process ", std::to_string(member.pid), " on ",
                        member.node, alone ? "" : ")"});
  return text;
}

std::string Reader::count_text(int count) const {
  std::string text = std::to_string(count);
  if (size_ > 0) text += base::concat({" of ", std::to_string(size_)});
  text += " ranks";
  return text;
}

}  // namespace

std::string ras_text(std::string_view answer, int world_size, const SeenJob& job) {
  return Reader(world_size, job).read(answer);
}

}  // namespace envgen
