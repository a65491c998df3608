#include "init/report/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/printed_text.h"
#include "base/text.h"

namespace report {
namespace {

using Row = std::vector<std::string>;

// Returns a table. Columns are separated by at least two blanks.
std::string table_of(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += " " + row[i] + std::string(widths[i] - row[i].size() + 1, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

void add_lines(std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) text += "    " + base::escaped_text(line) + "\n";
}

std::string failures_text(const Summary& summary) {
  std::string text;
  for (std::size_t i = 0; i < summary.failures.size(); ++i) {
    const Failure& failure = summary.failures[i];
    text += i == 0 ? "\nFirst failure\n" : "\nThen\n";
    text += "  " + utc_text(failure.at_ms) + ", reported by " + base::escaped_text(failure.nodes) +
            "\n";
    for (const std::string_view line : base::split(failure.cause, '\n')) {
      if (!line.empty()) text += "  " + base::escaped_text(line) + "\n";
    }
    text += "  " + base::escaped_text(failure.message) + "\n";
    add_lines(text, failure.lines);
    if (!failure.last_lines.empty()) text += "  its other last lines\n";
    add_lines(text, failure.last_lines);
  }
  return text;
}

std::string shares_text(const Summary& summary) {
  std::vector<Row> rows;
  Row head{"", "all"};
  for (std::size_t i = 0; i < kTimeShares; ++i) {
    head.emplace_back(share_name(static_cast<TimeShare>(i)));
  }
  rows.push_back(std::move(head));
  auto row = [&rows](std::string name, const TimeShares& shares) {
    Row columns{std::move(name), duration_text(whole_of(shares))};
    const auto percents = percent_texts(shares);
    for (std::size_t i = 0; i < kTimeShares; ++i) {
      columns.push_back(shares[i] == 0 ? "-" : duration_text(shares[i]) + " " + percents[i]);
    }
    rows.push_back(std::move(columns));
  };
  for (const NodeSummary& node : summary.nodes) {
    row(base::escaped_text(node_text(node.chart)), node.shares);
  }
  if (summary.nodes.size() > 1) row("all nodes", summary.shares);
  return "\nWhere the time went\n" + table_of(rows);
}

// Returns "  steps: rank-0 120, rank-1 100", with at most `kMax` ranks.
std::string rank_list(std::string_view title, const std::vector<NamedText>& ranks) {
  constexpr std::size_t kMax = 64;
  if (ranks.empty()) return "";
  std::string text = "  " + std::string(title) + ": ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMax); ++i) {
    text += (i == 0 ? "" : ", ") + base::escaped_text(ranks[i].name) + " " + ranks[i].text;
  }
  if (ranks.size() > kMax) text += " and " + std::to_string(ranks.size() - kMax) + " more";
  return text + "\n";
}

std::string step_list(const std::vector<engine::TaskReport>& tasks) {
  std::vector<NamedText> ranks;
  for (const engine::TaskReport& task : tasks) {
    if (task.step >= 0) ranks.push_back({task.name, std::to_string(task.step)});
  }
  return rank_list("steps", ranks);
}

std::string memory_list(const Resources& resources) {
  std::vector<NamedText> ranks;
  for (const RankUse& rank : resources.ranks) {
    const std::int64_t peak = peak_of(rank.memory_bytes);
    if (peak >= 0) ranks.push_back({rank.name, memory_text(peak)});
  }
  return rank_list("peak memory", ranks);
}

std::string node_details(const NodeSummary& node) {
  std::string text = "\n" + base::escaped_text(node_text(node.chart)) + ": " +
                     base::escaped_text(node.ended) + "\n";
  if (node.run->state) text += step_list(node.run->state->tasks);
  text += memory_list(node.chart.resources);
  for (const NamedText& output : node.run->outputs) {
    if (is_shown_with_failure(node, output.name)) continue;
    text += "  last lines of " + base::escaped_text(output.name) + "\n";
    std::string_view rest = output.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      text += "    " + base::escaped_text(rest.substr(0, end)) + "\n";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return text;
}

}  // namespace

std::string text_of(const Summary& summary) {
  std::string text = "The job " + summary.outcome + ".\n";
  std::vector<Row> facts;
  facts.reserve(summary.facts.size());
  for (const auto& [name, value] : summary.facts)
    facts.push_back({name, base::escaped_text(value)});
  text += table_of(facts);
  text += failures_text(summary);
  text += shares_text(summary);
  if (!summary.findings.empty()) {
    text += "\nFindings\n";
    for (const ReportNote& finding : summary.findings) {
      text += "  " + (finding.at_ms == 0 ? "" : utc_text(finding.at_ms) + "  ") +
              base::escaped_text(finding.node) + ": " + base::escaped_text(finding.text) + "\n";
    }
  }
  for (const NodeSummary& node : summary.nodes) text += node_details(node);
  return text;
}

}  // namespace report
