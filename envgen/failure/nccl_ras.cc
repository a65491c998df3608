#include "envgen/failure/nccl_ras.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/text.h"

namespace envgen {
namespace {

constexpr std::size_t kMostBytes = 500;
constexpr std::size_t kMostMembers = 8;
constexpr std::size_t kMostFound = 64;

struct Member {
  int rank = -1;  // in its communicator; -1: not said
  int size = 0;   // of that; 0: not said
  int pid = -1;
  std::string node;
};

// Ranks of a communicator that say the same.
struct Group {
  std::string value;  // "RUNNING", "system error"; of operations their number
  int count = 0;
  std::vector<Member> members;  // where they are listed
};

struct Difference {
  enum class Kind : unsigned char { kOperations, kStatus, kError };
  Kind kind = Kind::kOperations;
  int size = 0;           // of the communicator
  std::string operation;  // "AllReduce"; "collective": of all kinds
  std::vector<Group> groups;
};

bool cut_front(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

// The number in front of what is left.
int take_int(std::string_view& rest) {
  std::size_t end = 0;
  while (end < rest.size() && rest[end] >= '0' && rest[end] <= '9') ++end;
  const auto number = parse_count<int>(rest.substr(0, end));
  rest.remove_prefix(end);
  return number.value_or(-1);
}

int int_behind(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return -1;
  text.remove_prefix(at + words.size());
  return take_int(text);
}

// "Process 483072 on node 172.16.64.210 ...", "... managed by process 483072 on node ..."
Member member_of(std::string_view text, int size) {
  Member member;
  member.size = size;
  member.pid = int_behind(text, text.starts_with("Process ") ? "Process " : " managed by process ");
  constexpr std::string_view kNode = " on node ";
  if (const std::size_t at = text.find(kNode); at != std::string_view::npos) {
    text.remove_prefix(at + kNode.size());
    member.node = take_word(text).substr(0, 64);
    std::ranges::replace_if(member.node, [](char c) { return c < ' ' || c > '~'; }, '?');
  }
  return member;
}

class Reader {
 public:
  explicit Reader(std::string_view answer) {
    while (!answer.empty() && differences_.size() + missing_.size() + dead_.size() < kMostFound) {
      take(take_line(answer));
    }
  }
  [[nodiscard]] std::string text(const RasJob& job) const;

 private:
  enum class Section : unsigned char {
    kNone,
    kMissingProcesses,
    kMissingRanks,
    kDead,
    kDifference,
  };

  void take(std::string_view line);
  bool take_heading(std::string_view line);
  void take_summary(std::string_view line);
  void take_missing(std::string_view line);
  void take_difference(std::string_view line);
  void add_missing(Member member);

  Section section_ = Section::kNone;
  bool totals_ = false;  // the next line has those of the job
  bool table_ = false;   // of groups of communicators
  int processes_ = 0;
  int size_ = 0;              // of the communicator that is spoken of
  std::map<int, int> sizes_;  // of communicators, by their group
  std::vector<Member> missing_;
  std::vector<Member> dead_;
  std::vector<Difference> differences_;
};

void Reader::take(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (take_heading(line)) return;
  take_summary(line);
  const std::string_view said = trimmed(line);
  if (said.empty()) return;
  switch (section_) {
    case Section::kNone:
      return;
    case Section::kMissingProcesses:
    case Section::kMissingRanks:
      return take_missing(said);
    case Section::kDead:
      if (said.starts_with("Process ")) dead_.push_back(member_of(said, 0));
      return;
    case Section::kDifference:
      return take_difference(said);
  }
}

// "INCOMPLETE", "DEAD", "#0-0 (cf264af53edbe986) MISMATCH"
bool Reader::take_heading(std::string_view line) {
  const bool communicator = line.starts_with('#');
  const std::string_view kind = communicator ? trimmed(line.substr(line.rfind(' ') + 1)) : line;
  Section section = Section::kNone;
  if (kind == "INCOMPLETE") {
    section = communicator ? Section::kMissingRanks : Section::kMissingProcesses;
  } else if (kind == "DEAD") {
    section = Section::kDead;
  } else if (communicator && (kind == "MISMATCH" || kind == "ERROR")) {
    section = Section::kDifference;
  } else if (kind != "TIMEOUT" && !communicator) {
    return false;
  }
  section_ = section;
  if (communicator) {
    line.remove_prefix(1);
    const auto known = sizes_.find(take_int(line));
    size_ = known == sizes_.end() ? 0 : known->second;
  }
  return true;
}

// The job's processes, and the ranks of each group of communicators.
void Reader::take_summary(std::string_view line) {
  const auto words = words_of(line);
  if (words.empty()) return;
  const auto number = [&](std::size_t index) { return parse_count<int>(words[index]).value_or(0); };
  if (totals_ && words.size() >= 2) processes_ = number(words.size() - 2);
  totals_ = words.size() >= 3 && words.back() == "(total)";
  if (table_ && words.size() == 8 && is_digits(words[0]) && sizes_.size() < kMostFound) {
    sizes_[number(0)] = number(4);
  }
  if (words[0] == "Group") table_ = true;
  if (words[0] == "Errors") table_ = false;
}

void Reader::add_missing(Member member) {
  for (Member& known : missing_) {
    if (member.pid >= 0 && known.pid == member.pid && known.node == member.node) {
      // The largest communicators come first.
      if (known.rank < 0) known = std::move(member);
      return;
    }
    if (member.pid < 0 && known.rank == member.rank && known.size == member.size) return;
  }
  for (const Member& dead : dead_) {
    if (member.pid >= 0 && dead.pid == member.pid && dead.node == member.node) return;
  }
  missing_.push_back(std::move(member));
}

void Reader::take_missing(std::string_view line) {
  if (line.starts_with("Process ")) return add_missing(member_of(line, 0));
  if (section_ != Section::kMissingRanks) return;
  if (cut_front(line, "Rank ")) {
    const int rank = take_int(line);
    Member member = member_of(line, size_);
    member.rank = rank;
    return add_missing(std::move(member));
  }
  if (!line.starts_with("The missing rank")) return;
  line.remove_prefix(std::min(line.find(':'), line.size() - 1) + 1);
  const auto parts = split(line, ',');
  // The only process that does not answer has the only rank.
  Member* only = missing_.size() == 1 && missing_[0].rank < 0 ? missing_.data() : nullptr;
  if (only == nullptr && missing_.empty() && dead_.size() == 1) only = dead_.data();
  for (const std::string_view part : parts) {
    const int rank = parse_count<int>(trimmed(part)).value_or(-1);
    if (rank < 0) continue;
    if (parts.size() == 1 && only != nullptr) {
      if (only->rank >= 0) continue;  // of a larger communicator
      only->rank = rank;
      only->size = size_;
    } else {
      add_missing({.rank = rank, .size = size_, .pid = -1, .node = ""});
    }
  }
}

// What ranks differ in, then those that say the same, then which these are.
void Reader::take_difference(std::string_view line) {
  using Kind = Difference::Kind;
  if (cut_front(line, "Communicator ranks have different ")) {
    const bool status = line == "status";
    differences_.emplace_back();
    differences_.back().kind = status ? Kind::kStatus : Kind::kOperations;
    differences_.back().size = size_;
    if (!status) differences_.back().operation = take_word(line).substr(0, 32);
    return;
  }
  if (line.starts_with("Initialization error") || line.starts_with("Asynchronous error")) {
    differences_.emplace_back();
    differences_.back().kind = Kind::kError;
    differences_.back().size = size_;
    return;
  }
  if (differences_.empty()) return;
  std::vector<Group>& groups = differences_.back().groups;
  std::optional<Member> member;
  int count = 1;
  if (cut_front(line, "Rank ")) {
    const int rank = take_int(line);
    member = member_of(line, size_);
    member->rank = rank;
    line = trimmed(line.substr(0, line.find("--")));
  } else {
    count = take_int(line);
    if (count < 0 || !cut_front(line, " ranks")) return;
    line = trimmed(line);
  }
  if (!line.empty()) {
    for (const std::string_view word : {"has ", "have ", "reported ", "status "}) {
      cut_front(line, word);
    }
    constexpr std::string_view kLaunched = "launched up to operation ";
    if (line == "not launched any operations") line = "0";
    cut_front(line, kLaunched);
    groups.push_back({.value = std::string(line.substr(0, 64)), .count = count, .members = {}});
    std::ranges::replace_if(groups.back().value, [](char c) { return c < ' ' || c > '~'; }, '?');
  }
  if (member && !groups.empty()) groups.back().members.push_back(*std::move(member));
}

std::string name_of(const Member& member, const RasJob& job) {
  if (const auto own = job.ranks.find(member.pid); own != job.ranks.end()) return own->second;
  const bool world = member.size > 0 && member.size == job.world_size;
  std::string text;
  if (member.rank >= 0) {
    text = "rank " + std::to_string(member.rank);
    if (!world && member.size > 0) {
      text += " of a communicator of " + std::to_string(member.size);
    }
  }
  if (member.pid >= 0) {
    const std::string process = "process " + std::to_string(member.pid) + " on " + member.node;
    text = text.empty() ? process : text + " (" + process + ")";
  }
  return text;
}

std::string names_of(const std::vector<Member>& members, const RasJob& job) {
  std::string text;
  for (std::size_t i = 0; i < members.size() && i < kMostMembers; ++i) {
    text += (i > 0 ? ", " : "") + name_of(members[i], job);
  }
  if (members.size() > kMostMembers) {
    text += " and " + std::to_string(members.size() - kMostMembers) + " more";
  }
  return text;
}

std::string who(const Group& group, const Difference& difference, const RasJob& job) {
  if (group.members.size() == static_cast<std::size_t>(group.count)) {
    return names_of(group.members, job);
  }
  std::string text = std::to_string(group.count);
  if (difference.size > 0) text += " of " + std::to_string(difference.size);
  return text + " ranks";
}

// Those that are behind, or the fewer ones.
std::string text_of(const Difference& difference, const RasJob& job) {
  using Kind = Difference::Kind;
  const std::vector<Group>& groups = difference.groups;
  if (groups.empty()) return "";
  if (difference.kind == Kind::kError) {
    const Group& group = groups.front();
    return who(group, difference, job) + " reported " + group.value;
  }
  if (groups.size() < 2) return "";
  const auto most = std::ranges::max_element(groups, {}, &Group::count);
  if (difference.kind == Kind::kStatus) {
    const auto least = std::ranges::min_element(groups, {}, &Group::count);
    return who(*least, difference, job) + ": " + least->value + ", others " + most->value;
  }
  const auto number = [](const Group& group) {
    return parse_count<std::uint64_t>(group.value).value_or(0);
  };
  const auto behind = std::ranges::min_element(groups, {}, number);
  const auto ahead = std::ranges::max_element(groups, {}, number);
  return who(*behind, difference, job) + (behind->count == 1 ? " has" : " have") + " launched " +
         behind->value + " " + difference.operation + " operations, others " + ahead->value;
}

std::string Reader::text(const RasJob& job) const {
  if (job.world_size > 0 && processes_ > job.world_size) return "";
  std::vector<std::string> said;
  if (!dead_.empty()) said.push_back(names_of(dead_, job) + ": dead, for NCCL");
  if (!missing_.empty()) {
    said.push_back(names_of(missing_, job) +
                   (missing_.size() == 1 ? " does not answer" : " do not answer"));
  }
  for (const Difference& difference : differences_) {
    std::string text = text_of(difference, job);
    if (!text.empty()) said.push_back(std::move(text));
  }
  std::string text;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (i > 0 && text.size() + said[i].size() + 2 > kMostBytes) {
      text += "; and more";
      break;
    }
    text += (i > 0 ? "; " : "") + said[i];
  }
  return text.substr(0, kMostBytes);  // ASCII
}

}  // namespace

std::string ras_text(std::string_view answer, const RasJob& job) {
  return Reader(answer).text(job);
}

}  // namespace envgen
