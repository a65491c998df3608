#include "envgen/formats/hostfile.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/text.h"

namespace envgen {
namespace {

constexpr std::string_view kBlanks = " \t\v\f\r";
// Maximum length of a line for Hydra (HYD_TMP_STRLEN), which reads the rest of a longer line as the
// next line.
constexpr std::size_t kHydraLineBytes = 1024;
constexpr std::size_t kMaxShownBytes = 60;

bool all_of(std::string_view text, std::string_view marks) {
  return std::ranges::all_of(text, [marks](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           marks.find(c) != std::string_view::npos;
  });
}

bool is_ipv6(std::string_view host) {
  if (std::ranges::count(host, ':') < 2) return false;
  return std::ranges::all_of(host, [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.';
  });
}

// Returns true for a destination of ssh: a name or an address, with an optional user in front.
bool is_host(std::string_view text) {
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    if (at == 0 || text[0] == '-' || !all_of(text.substr(0, at), "-_.")) return false;
    text.remove_prefix(at + 1);
  }
  constexpr std::size_t kMaxName = 253;  // limit of the resolver
  if (text.empty() || text[0] == '-' || text.size() > kMaxName) return false;
  return all_of(text, "-_.") || is_ipv6(text);
}

struct Line {
  int number = 0;
  std::string_view text;  // newline excluded
  bool has_newline = true;
};

class Reader {
 public:
  Reader(std::string_view text, HostfileDialect dialect) : text_(text), dialect_(dialect) {}
  Hostfile read();

 private:
  struct Place {
    std::size_t entry = 0;
    int line = 0;
  };

  void split_lines();
  void add_outside_comments(Line line, bool& in_comment);
  void read_line(const Line& line);
  void read_openmpi(const Line& line);
  void read_hydra(const Line& line);
  void read_deepspeed(const Line& line);
  void read_horovod(const Line& line);
  void read_plain(const Line& line);
  // Reads one "name = value" of OpenMPI at words[at]. Returns false if the rest of the line is
  // skipped.
  bool read_openmpi_option(const Line& line, const std::vector<std::string_view>& words,
                           std::size_t& at, std::optional<int>& slots, std::optional<int>& most);

  void refuse(int line, std::string found, std::string fix) {
    add_finding(Finding::Severity::kRefused, line, std::move(found), std::move(fix));
  }
  void warn(int line, std::string found, std::string fix) {
    add_finding(Finding::Severity::kWarning, line, std::move(found), std::move(fix));
  }
  // Adds a finding. `line` 0 means the whole file.
  void add_finding(Finding::Severity severity, int line, std::string found, std::string fix) {
    hostfile_.findings.push_back({.severity = severity,
                                  .place = line > 0 ? "line " + std::to_string(line) : "",
                                  .found = std::move(found),
                                  .fix = std::move(fix)});
  }
  void warn_of_name(const Line& line, std::string_view host);
  bool host_is_good(const Line& line, std::string_view host);
  void add(const Line& line, std::string_view host, std::optional<int> slots);

  std::string_view text_;
  HostfileDialect dialect_;
  std::vector<Line> lines_;
  Hostfile hostfile_;
  std::unordered_map<std::string_view, Place> seen_;
};

void Reader::split_lines() {
  int number = 1;
  bool in_comment = false;
  for (std::string_view rest = text_; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const Line line{number, rest.substr(0, end), end != std::string_view::npos};
    if (dialect_ == HostfileDialect::kOpenMpi) {
      add_outside_comments(line, in_comment);
    } else {
      lines_.push_back(line);
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (in_comment) refuse(0, "a /* without its */", "close the comment");
}

// Adds the parts of a line outside of block comments. For OpenMPI a block comment ends a line, and
// the text after it is the next line.
void Reader::add_outside_comments(Line line, bool& in_comment) {
  while (true) {
    const std::size_t end = in_comment ? line.text.find("*/") : line.text.find("/*");
    const std::size_t rest_of_line = std::min(line.text.find('#'), line.text.find("//"));
    if (end == std::string_view::npos || (!in_comment && rest_of_line < end)) {
      if (in_comment) line.text = "";
      return lines_.push_back(line);
    }
    if (!in_comment) lines_.push_back({line.number, line.text.substr(0, end), true});
    line.text.remove_prefix(end + 2);
    in_comment = !in_comment;
  }
}

bool Reader::host_is_good(const Line& line, std::string_view host) {
  if (is_host(host)) return true;
  const std::size_t colon = host.find(':');
  if (colon != std::string_view::npos && base::parse_count<int>(host.substr(colon + 1))) {
    refuse(line.number, base::quoted(host) + ", which this reader takes for a host of that name",
           dialect_ == HostfileDialect::kPlain
               ? "write the host alone"
               : "write \"" + std::string(host.substr(0, colon)) +
                     " slots=" + std::string(host.substr(colon + 1)) + "\"");
  } else {
    refuse(line.number, base::quoted(host) + " as the host",
           "write a host name or an address; a masked or invented one cannot be reached");
  }
  return false;
}

void Reader::add(const Line& line, std::string_view host, std::optional<int> slots) {
  if (!host_is_good(line, host)) return;
  if (slots && *slots == 0) {
    refuse(line.number, "0 slots", "leave the line out: the host would run nothing");
    return;
  }
  auto [found, is_new] = seen_.try_emplace(host, Place{hostfile_.entries.size(), line.number});
  if (is_new) {
    hostfile_.entries.push_back({std::string(host), slots.value_or(1)});
    return;
  }
  const Place& before = found->second;
  const std::string twice =
      base::quoted(host) + " again, after line " + std::to_string(before.line);
  const char* const one_line = "give each host one line, with all its slots";
  HostfileEntry& entry = hostfile_.entries[before.entry];
  const bool counts_add_up =
      dialect_ == HostfileDialect::kMpich || dialect_ == HostfileDialect::kIntelMpi;
  if (dialect_ == HostfileDialect::kDeepSpeed) {
    refuse(line.number, twice + ", which DeepSpeed refuses", one_line);
  } else if (dialect_ == HostfileDialect::kHorovod) {
    refuse(line.number, twice + ", so that two ranks get each device", one_line);
  } else if (dialect_ == HostfileDialect::kOpenMpi && slots) {
    refuse(line.number, twice + ", which OpenMPI refuses together with a number of slots",
           one_line);
  } else if (entry.slots > 1'000'000) {
    refuse(line.number, twice + ", with too many slots", one_line);
  } else {
    if (counts_add_up) warn(line.number, twice + ": its slots add up", one_line);
    entry.slots += std::min(slots.value_or(1), 1'000'000);
  }
}

constexpr std::array<std::string_view, 3> kSlotsNames = {"slots", "cpu", "count"};
constexpr std::array<std::string_view, 8> kMaxSlotsNames = {
    "slots-max", "slots_max", "max-slots", "max_slots", "cpu-max", "max-cpu", "cpu_max", "max_cpu"};
constexpr std::array<std::string_view, 9> kOtherNames = {
    "username", "user-name",        "user_name",        "port", "boards", "sockets_per_board",
    "sockets",  "cores_per_socket", "sockets-per-board"};

bool is_one_of(std::span<const std::string_view> names, std::string_view word) {
  return std::ranges::find(names, word) != names.end();
}

bool is_openmpi_keyword(std::string_view word) {
  return is_one_of(kSlotsNames, word) || is_one_of(kMaxSlotsNames, word) ||
         is_one_of(kOtherNames, word) || word == "slot" || word == "rank";
}

// Splits a line into words. OpenMPI's lexer ignores blanks around '=', so '=' becomes a word.
std::vector<std::string_view> openmpi_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::string_view word : base::words_of(text)) {
    while (!word.empty()) {
      const std::size_t equals = word[0] == '=' ? 1 : std::min(word.find('='), word.size());
      words.push_back(word.substr(0, equals));
      word.remove_prefix(equals);
    }
  }
  return words;
}

bool Reader::read_openmpi_option(const Line& line, const std::vector<std::string_view>& words,
                                 std::size_t& at, std::optional<int>& slots,
                                 std::optional<int>& most) {
  const std::string_view name = words[at];
  const bool has_value = at + 2 < words.size() && words[at + 1] == "=";
  const std::string_view value = has_value ? words[at + 2] : "";
  if (name == "slot") {
    refuse(line.number, "\"slot\", which OpenMPI takes for a rankfile's word",
           "write slots=" + (has_value ? std::string(value) : "N"));
    return false;
  }
  if (!is_openmpi_keyword(name)) {
    if (is_host(name) && !(at + 1 < words.size() && words[at + 1] == "=")) {
      refuse(line.number, "a second host, " + base::quoted(name), "write one host per line");
    } else {
      refuse(line.number, base::quoted(name), "write \"host slots=N\"");
    }
    return false;
  }
  auto count = base::parse_count<int>(value);
  const bool is_slots = is_one_of(kSlotsNames, name);
  const bool is_most = is_one_of(kMaxSlotsNames, name);
  if (!has_value || ((is_slots || is_most) && !count)) {
    refuse(line.number,
           base::quoted(name) + (has_value ? " = " + base::quoted(value) : " without a value"),
           "write " + std::string(name) + "=N with a number");
    return false;
  }
  if (is_slots && slots) {
    refuse(line.number, "a second number of slots", "give one");
    return false;
  }
  if (is_slots) slots = count;
  if (is_most) most = count;
  at += 3;
  return true;
}

void Reader::read_openmpi(const Line& line) {
  std::string_view text = line.text;
  if (const std::size_t comment = std::min(text.find('#'), text.find("//"));
      comment != std::string_view::npos) {
    text = text.substr(0, comment);
    if (!line.has_newline) {
      refuse(line.number, "a comment in a last line without a newline, which OpenMPI cannot read",
             "end the line");
    }
  }
  if (text.find('\r') != std::string_view::npos) {
    refuse(line.number, "a carriage return", "write Unix line ends (\\n)");
    return;
  }
  const std::vector<std::string_view> words = openmpi_words(text);
  if (words.empty()) return;
  if (words[0] == "=" || (words.size() > 1 && words[1] == "=")) {
    refuse(line.number, base::quoted(base::trimmed(text)) + " without a host",
           "write \"host slots=N\"");
    return;
  }
  if (words[0].starts_with('^') || words[0].starts_with('+')) {
    refuse(line.number, base::quoted(words[0]) + ", which depends on another list of hosts",
           "write the hosts that run ranks");
    return;
  }
  std::optional<int> slots;
  std::optional<int> most;
  for (std::size_t at = 1; at < words.size();) {
    if (!read_openmpi_option(line, words, at, slots, most)) return;
  }
  if (most && slots && *most < *slots) {
    refuse(line.number,
           "at most " + std::to_string(*most) + " slots, but slots=" + std::to_string(*slots),
           "make the limit larger, or leave it out");
    return;
  }
  warn_of_name(line, words[0].substr(words[0].find('@') + 1));
  add(line, words[0], slots ? slots : most);
}

// Warns about hosts that OpenMPI accepts but cannot always use.
void Reader::warn_of_name(const Line& line, std::string_view host) {
  if (!host.starts_with('[') && is_ipv6(host)) {
    warn(line.number,
         base::quoted(host) +
             ", an IPv6 address, which OpenMPI uses only if it was built "
             "with --enable-ipv6",
         "write a name that stands for the address");
  } else if (host.find('_') != std::string_view::npos && is_host(host)) {
    warn(line.number,
         base::quoted(host) +
             ", with a \"_\", which no host name has (RFC 1123): "
             "resolvers and ssh may refuse it",
         "write a name with \"-\" instead, or the address");
  }
}

void Reader::read_hydra(const Line& line) {
  if (line.text.size() + 1 >= kHydraLineBytes) {
    refuse(line.number, "a line of " + std::to_string(line.text.size()) + " bytes",
           "Hydra cuts lines at 1023 bytes: shorten it");
    return;
  }
  const std::vector<std::string_view> words = base::words_of(line.text);
  if (words.empty() || words[0].starts_with('#')) return;
  std::string_view host = words[0];
  std::optional<int> slots;
  if (is_ipv6(host)) {
    refuse(line.number, base::quoted(host) + ", which Hydra cuts at its first colon",
           "write a name that stands for the address");
    return;
  }
  for (const std::string_view word : std::span(words).subspan(1)) {
    if (word.starts_with("binding=") || word.starts_with("user=")) continue;
    if (word.starts_with('#')) {
      warn(line.number, "a comment behind the host, which not every Hydra reads",
           "give it a line of its own");
      break;
    }
    const std::string_view value = word.substr(std::min(word.find('='), word.size() - 1) + 1);
    const bool is_slots = (word.starts_with("slots=") || word.starts_with("slot=")) &&
                          is_host(host) && base::parse_count<int>(value);
    refuse(line.number, base::quoted(word) + ", which Hydra does not support",
           is_slots
               ? "write " + std::string(host) + ":" + std::string(word.substr(word.find('=') + 1))
               : "write \"host:N\" and nothing else");
    return;
  }
  if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    slots = base::parse_count<int>(host.substr(colon + 1));
    if (!slots) {
      refuse(line.number, base::quoted(host.substr(colon + 1)) + " as the number of processes",
             "write \"host:N\" with a number");
      return;
    }
    host = host.substr(0, colon);
  }
  add(line, host, slots);
}

void Reader::read_deepspeed(const Line& line) {
  const std::string_view text = base::trimmed(line.text);
  if (text.empty() || text.starts_with('#')) return;
  const std::size_t host_end = std::min(text.find_first_of(kBlanks), text.size());
  const std::string_view host = text.substr(0, host_end);
  std::string_view rest = base::trimmed(text.substr(host_end));
  constexpr std::string_view kSlots = "slots=";
  const std::string_view after = rest.starts_with(kSlots) ? rest.substr(kSlots.size()) : "";
  const std::size_t digits = std::min(after.find_first_not_of("0123456789"), after.size());
  auto slots = base::parse_count<int>(after.substr(0, digits));
  if (!slots) {
    refuse(line.number, base::quoted(text),
           "write \"host slots=N\": DeepSpeed refuses another form");
    return;
  }
  if (const std::string_view ignored = base::trimmed(after.substr(digits));
      ignored.starts_with('#')) {
    warn(line.number, "a comment behind the slots", "give it a line of its own");
  } else if (!ignored.empty()) {
    refuse(line.number,
           base::quoted(ignored) + " behind the slots, which DeepSpeed ignores silently",
           "write one host per line and nothing behind its slots");
  }
  add(line, host, slots);
}

void Reader::read_horovod(const Line& line) {
  const std::vector<std::string_view> words = base::words_of(line.text);
  if (words.empty() || words[0].starts_with('#')) {
    refuse(line.number, words.empty() ? "a blank line" : "a comment",
           "remove it: horovodrun ends with an IndexError");
    return;
  }
  // horovodrun takes the text after the first '=', whatever precedes it.
  const std::string_view text = line.text.substr(0, line.text.find_last_not_of(kBlanks) + 1);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    refuse(line.number, base::quoted(text) + " without slots=", "write \"host slots=N\"");
    return;
  }
  const std::string_view value = text.substr(equals + 1);
  auto slots = base::parse_count<int>(value);
  if (!slots) {
    refuse(line.number, base::quoted(value) + " as the slots",
           "write \"host slots=N\" and nothing else");
    return;
  }
  if (words.size() < 2 || !words[1].starts_with("slots")) {
    warn(line.number, base::quoted(text),
         "write slots=: only horovodrun takes another word for it");
  }
  const std::string_view host = words[0];
  if (is_ipv6(host) || host.find('@') != std::string_view::npos) {
    refuse(line.number, base::quoted(host) + ", which horovodrun does not take as a host",
           "write a name that stands for it");
    return;
  }
  add(line, host, slots);
}

void Reader::read_plain(const Line& line) {
  const std::vector<std::string_view> words = base::words_of(line.text);
  if (words.empty() || words[0].starts_with('#')) return;
  if (words.size() > 1) {
    refuse(line.number, base::quoted(words[1]) + " behind the host", "write the host alone");
    return;
  }
  add(line, words[0], std::nullopt);
}

void Reader::read_line(const Line& line) {
  switch (dialect_) {
    case HostfileDialect::kOpenMpi:
      return read_openmpi(line);
    case HostfileDialect::kMpich:
    case HostfileDialect::kIntelMpi:
      return read_hydra(line);
    case HostfileDialect::kDeepSpeed:
      return read_deepspeed(line);
    case HostfileDialect::kHorovod:
      return read_horovod(line);
    case HostfileDialect::kPlain:
      return read_plain(line);
  }
}

Hostfile Reader::read() {
  split_lines();
  if (const std::size_t nul = text_.find('\0'); nul != std::string_view::npos) {
    refuse(0, "a NUL byte", "write text");
    return std::move(hostfile_);
  }
  if (text_.starts_with("\xEF\xBB\xBF")) {
    refuse(1, "a byte order mark", "save it as UTF-8 without one: it becomes a part of the host");
    return std::move(hostfile_);
  }
  for (const Line& line : lines_) read_line(line);
  const bool refused = std::ranges::any_of(hostfile_.findings, is_refused);
  if (hostfile_.entries.empty() && !refused) refuse(0, "no host", "write one host per line");
  // Volcano writes machine files without the last newline.
  const bool unended = !lines_.empty() && !lines_.back().has_newline;
  if (unended && dialect_ != HostfileDialect::kPlain) {
    warn(lines_.back().number, "no newline at its end",
         "end the last line: a shell's read loop would leave its host out");
  }
  return std::move(hostfile_);
}

std::size_t refusal_count(const Hostfile& hostfile) {
  return static_cast<std::size_t>(std::ranges::count_if(hostfile.findings, is_refused));
}

base::Status can_say(const HostfileEntry& entry, HostfileDialect dialect) {
  constexpr const char* kWriting = "writing a hostfile";
  const bool hydra = dialect == HostfileDialect::kMpich || dialect == HostfileDialect::kIntelMpi;
  const bool horovod = dialect == HostfileDialect::kHorovod;
  if (!is_host(entry.host) ||
      (dialect == HostfileDialect::kOpenMpi && is_openmpi_keyword(entry.host))) {
    return base::fail(kWriting, std::string(dialect_name(dialect)),
                      base::quoted(entry.host) + " as a host",
                      "give the node a host name or an address");
  }
  if ((hydra || horovod) && is_ipv6(entry.host)) {
    return base::fail(kWriting, std::string(dialect_name(dialect)),
                      "the IPv6 address " + entry.host + ", which the format cannot say",
                      "use a name that stands for the address");
  }
  if ((hydra || horovod) && entry.host.find('@') != std::string::npos) {
    return base::fail(kWriting, std::string(dialect_name(dialect)),
                      base::quoted(entry.host) + " with a user", "leave the user out");
  }
  if (entry.slots < 1) {
    return base::fail(kWriting, entry.host, std::to_string(entry.slots) + " slots",
                      "leave hosts without ranks out");
  }
  return {};
}

std::string line_of(const HostfileEntry& entry, HostfileDialect dialect) {
  switch (dialect) {
    case HostfileDialect::kMpich:
    case HostfileDialect::kIntelMpi:
      return entry.host + ":" + std::to_string(entry.slots) + "\n";
    case HostfileDialect::kPlain: {
      // A machine file lists a host once for each slot.
      std::string lines;
      for (int slot = 0; slot < entry.slots; ++slot) lines += entry.host + "\n";
      return lines;
    }
    case HostfileDialect::kOpenMpi:
    case HostfileDialect::kDeepSpeed:
    case HostfileDialect::kHorovod:
      break;
  }
  return entry.host + " slots=" + std::to_string(entry.slots) + "\n";
}

}  // namespace

std::string_view dialect_name(HostfileDialect dialect) {
  return kHostfileDialects.at(static_cast<std::size_t>(dialect));
}

std::optional<HostfileDialect> dialect_by_name(std::string_view name) {
  const auto* found = std::ranges::find(kHostfileDialects, name);
  if (found == kHostfileDialects.end()) return std::nullopt;
  return static_cast<HostfileDialect>(found - kHostfileDialects.begin());
}

Hostfile parse_hostfile(std::string_view text, HostfileDialect dialect) {
  return Reader(text, dialect).read();
}

HostfileDialect guess_dialect(std::string_view text) {
  // Horovod is never guessed: a file that only Horovod accepts is a typing error in all other
  // dialects.
  constexpr std::array kInOrder = {HostfileDialect::kPlain, HostfileDialect::kOpenMpi,
                                   HostfileDialect::kMpich, HostfileDialect::kDeepSpeed};
  HostfileDialect best = kInOrder[0];
  std::size_t fewest = refusal_count(parse_hostfile(text, best));
  for (const HostfileDialect dialect : kInOrder) {
    const std::size_t count = refusal_count(parse_hostfile(text, dialect));
    if (count < fewest) best = dialect;
    fewest = std::min(fewest, count);
  }
  // If no dialect accepts the text, a '=' shows that it is meant for OpenMPI.
  if (fewest > 0 && text.find('=') != std::string_view::npos) return HostfileDialect::kOpenMpi;
  return best;
}

base::Result<std::string> render_hostfile(const std::vector<HostfileEntry>& entries,
                                          HostfileDialect dialect) {
  constexpr const char* kWriting = "writing a hostfile";
  if (entries.empty()) {
    return base::fail(kWriting, std::string(dialect_name(dialect)), "no host",
                      "name at least one node with ranks");
  }
  std::string text;
  std::set<std::string_view> seen;
  for (const HostfileEntry& entry : entries) {
    TRY(can_say(entry, dialect));
    if (!seen.insert(entry.host).second) {
      return base::fail(kWriting, std::string(dialect_name(dialect)),
                        "the host " + base::quoted(entry.host) + " twice",
                        "give each node its own host name");
    }
    text += line_of(entry, dialect);
  }
  return text;
}

base::Result<std::vector<HostfileEntry>> hostfile_of(const Cluster& cluster) {
  std::vector<HostfileEntry> entries;
  entries.reserve(cluster.nodes.size());
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const Node& node = cluster.nodes[i];
    if (node.slots == 0) continue;
    if (node.host.empty()) {
      return base::fail("listing the hosts of the job", "node " + std::to_string(i),
                        "no host name: the platform did not tell it",
                        "name all nodes, in node-rank order, with --hosts a:8,b:8");
    }
    entries.push_back({node.host, node.slots});
  }
  return entries;
}

}  // namespace envgen
