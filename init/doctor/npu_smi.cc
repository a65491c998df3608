#include "init/doctor/npu_smi.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace envgen {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::size_t kMostRows = 4096;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view first_word(std::string_view text) {
  text = trimmed(text);
  return text.substr(0, text.find_first_of(kBlanks));
}

std::string_view behind_first_word(std::string_view text) {
  text = trimmed(text);
  return trimmed(text.substr(first_word(text).size()));
}

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && stop == text.data() + text.size();
  if (!whole || number < 0) return std::nullopt;
  return number;
}

// "| a | b | c |" -> a, b, c.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  line.remove_prefix(1);
  while (!line.empty()) {
    const std::size_t bar = line.find('|');
    if (bar == std::string_view::npos) break;
    cells.push_back(trimmed(line.substr(0, bar)));
    line.remove_prefix(bar + 1);
  }
  return cells;
}

std::string sysfs_bus_id(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return {};
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

class Reader {
 public:
  explicit Reader(std::string_view where) : where_(where) {}

  Status take(std::string_view line, std::size_t number) {
    line_ = number;
    line = trimmed(line);
    if (line.starts_with('+')) return {};
    if (!line.starts_with('|')) return {};  // a message around the table
    const auto cells = cells_of(line);
    if (cells.empty()) return refuse("half a line of the table");
    if (cells.size() == 1) return take_title(cells[0]);
    if (cells[0].starts_with("NPU")) return take_header(cells);
    if (cells[0].starts_with("Chip")) return {};
    if (section_ == Section::kNone) return refuse("a line above the table's header");
    if (report_.chips.size() + report_.processes.size() >= kMostRows)
      return refuse("too many rows");
    return section_ == Section::kChips ? take_chip(cells) : take_process(cells);
  }

  Result<NpuReport> finish() {
    if (!seen_header_) return std::unexpected(refuse("no table of chips").error());
    if (half_) return std::unexpected(refuse("the first half of a chip alone").error());
    if (report_.chips.empty()) return std::unexpected(refuse("no chip").error());
    return std::move(report_);
  }

 private:
  enum class Section : unsigned char { kNone, kChips, kProcesses };

  [[nodiscard]] Status refuse(std::string found) const {
    return fail("reading what npu-smi says", where_ + ": line " + std::to_string(line_),
                std::move(found), "see whether `npu-smi info` works on the host");
  }

  Status take_title(std::string_view cell) {
    constexpr std::string_view kVersion = "Version:";
    const std::size_t at = cell.find(kVersion);
    if (at != std::string_view::npos) {
      report_.version = first_word(cell.substr(at + kVersion.size()));
    }
    return {};  // or "No running processes found in NPU 2"
  }

  Status take_header(const std::vector<std::string_view>& cells) {
    if (half_) return refuse("the first half of a chip alone");
    section_ = cells[1].starts_with("Health") ? Section::kChips : Section::kProcesses;
    seen_header_ = seen_header_ || section_ == Section::kChips;
    return {};
  }

  Status take_chip(const std::vector<std::string_view>& cells) {
    const auto number = number_of(first_word(cells[0]));
    if (!number || cells.size() != 3) return refuse("no line of a chip");
    const std::string_view rest = behind_first_word(cells[0]);
    if (!half_) {
      half_ = NpuChip{.npu = *number,
                      .chip = 0,
                      .device = *number,
                      .name = std::string(rest),
                      .health = std::string(cells[1]),
                      .bus_id = {}};
      if (rest.empty() || cells[1].empty()) return refuse("a chip without a name or health");
      return {};
    }
    half_->chip = *number;
    half_->device = number_of(rest).value_or(half_->npu);
    half_->bus_id = sysfs_bus_id(cells[1]);
    report_.chips.push_back(std::move(*half_));
    half_.reset();
    return {};
  }

  Status take_process(const std::vector<std::string_view>& cells) {
    const auto npu = number_of(first_word(cells[0]));
    const auto chip = number_of(behind_first_word(cells[0]));
    const auto pid = number_of(cells[1]);
    if (!npu || !chip || !pid || cells.size() < 3) return refuse("no line of a process");
    report_.processes.push_back(
        {.npu = *npu, .chip = *chip, .pid = *pid, .name = std::string(cells[2])});
    return {};
  }

  std::string where_;
  std::size_t line_ = 0;
  Section section_ = Section::kNone;
  bool seen_header_ = false;
  std::optional<NpuChip> half_;  // its first line
  NpuReport report_;
};

}  // namespace

Result<NpuReport> parse_npu_smi(std::string_view output, std::string_view where) {
  Reader reader(where);
  for (std::size_t number = 1; !output.empty(); ++number) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(line.size() + 1, output.size()));
    if (auto status = reader.take(line, number); !status) return std::unexpected(status.error());
  }
  return reader.finish();
}

}  // namespace envgen
