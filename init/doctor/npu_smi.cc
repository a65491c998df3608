#include "init/doctor/npu_smi.h"

#include <optional>

#include "base/text.h"

namespace doctor {
namespace {

constexpr std::size_t kMaxRows = 4096;

// Returns the cells of a row: a, b, c for "| a | b | c |".
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  line.remove_prefix(1);
  while (line.contains('|')) cells.push_back(base::trimmed(base::take_part(line, '|')));
  return cells;
}

class Reader {
 public:
  explicit Reader(std::string_view where) : where_(where) {}

  base::Status take(std::string_view line, std::size_t number) {
    line_ = number;
    line = base::trimmed(line);
    if (line.starts_with('+')) return {};
    if (!line.starts_with('|')) return {};  // a message outside of the table
    const auto cells = cells_of(line);
    if (cells.empty()) return refuse("half a line of the table");
    if (cells.size() == 1) return take_title(cells[0]);
    if (cells[0].starts_with("NPU")) return take_header(cells);
    if (cells[0].starts_with("Chip")) return {};
    if (section_ == Section::kNone) return refuse("a line above the table's header");
    if (report_.chips.size() + report_.processes.size() >= kMaxRows) return refuse("too many rows");
    return section_ == Section::kChips ? take_chip(cells) : take_process(cells);
  }

  base::Result<NpuReport> finish() {
    if (!seen_header_) return std::unexpected(refuse("no table of chips").error());
    if (half_) return std::unexpected(refuse("the first half of a chip alone").error());
    if (report_.chips.empty()) return std::unexpected(refuse("no chip").error());
    return std::move(report_);
  }

 private:
  enum class Section : unsigned char { kNone, kChips, kProcesses };

  [[nodiscard]] base::Status refuse(std::string found) const {
    return base::fail("reading what npu-smi says", where_ + ": line " + std::to_string(line_),
                      std::move(found), "see whether `npu-smi info` works on the host");
  }

  base::Status take_title(std::string_view cell) {
    constexpr std::string_view kVersion = "Version:";
    const std::size_t at = cell.find(kVersion);
    if (at != std::string_view::npos) {
      cell.remove_prefix(at + kVersion.size());
      report_.version = base::take_word(cell);
    }
    return {};  // the title of no known table, such as "No running processes found in NPU 2"
  }

  base::Status take_header(const std::vector<std::string_view>& cells) {
    if (half_) return refuse("the first half of a chip alone");
    section_ = cells[1].starts_with("Health") ? Section::kChips : Section::kProcesses;
    seen_header_ = seen_header_ || section_ == Section::kChips;
    return {};
  }

  base::Status take_chip(const std::vector<std::string_view>& cells) {
    std::string_view rest = cells[0];
    const auto number = base::parse_count<int>(base::take_word(rest));
    if (!number || cells.size() != 3) return refuse("no line of a chip");
    rest = base::trimmed(rest);
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
    half_->device = base::parse_count<int>(rest).value_or(half_->npu);
    half_->bus_id = cells[1].contains(':') ? base::lowercased(cells[1]) : "";
    report_.chips.push_back(std::move(*half_));
    half_.reset();
    return {};
  }

  base::Status take_process(const std::vector<std::string_view>& cells) {
    std::string_view rest = cells[0];
    const auto npu = base::parse_count<int>(base::take_word(rest));
    const auto chip = base::parse_count<int>(base::trimmed(rest));
    const auto pid = base::parse_count<int>(cells[1]);
    if (!npu || !chip || !pid || cells.size() < 3) return refuse("no line of a process");
    report_.processes.push_back(
        {.npu = *npu, .chip = *chip, .pid = *pid, .name = std::string(cells[2])});
    return {};
  }

  std::string where_;
  std::size_t line_ = 0;
  Section section_ = Section::kNone;
  bool seen_header_ = false;
  std::optional<NpuChip> half_;  // a chip of which only the first line was read
  NpuReport report_;
};

}  // namespace

base::Result<NpuReport> parse_npu_smi(std::string_view output, std::string_view where) {
  Reader reader(where);
  for (std::size_t number = 1; !output.empty(); ++number) {
    const std::string_view line = base::take_line(output);
    TRY(reader.take(line, number));
  }
  return reader.finish();
}

}  // namespace doctor
