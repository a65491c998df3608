#include "init/report/html.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "init/report/chart_svg.h"
#include "init/report/markup.h"
#include "init/report/resources_svg.h"
#include "init/report/steps_svg.h"

namespace report {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1d2129; --soft: #5b6472; --paper: #fff; --line: #d8dde5;
  --box: #f5f7fa; --bad: #c62f3b; --good: #3b8ea5; --run: #3f9142; --idle: #a9b4c4; --wait: #e0a03a;
  --hook: #8e6bbf; --data: #2f9c95; --ended: #b79a63; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ec; --soft: #9aa4b2; --paper: #14171c;
  --line: #343b46; --box: #1d2229; --bad: #ef6a6f; --good: #5fb3cc; --run: #62b866; --idle: #5c6675;
  --wait: #e0a94f; --hook: #a98bd6; --data: #4fbdb5; --ended: #c9ad78; } }
body { margin: 2em auto; max-width: 1200px; padding: 0 1em; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin: 2em 0 .6em; }
h1 .failed, h1 .ran { color: var(--bad); } h1 .ended { color: var(--run); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2em 1.5em; }
dt { color: var(--soft); } dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } .wide > svg { min-width: 640px; } .failure-box { overflow-wrap: anywhere; }
@media (max-width: 40em) { dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5em; } }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25em .6em; border-bottom: 1px solid var(--line); }
th, td { white-space: nowrap; } table.words td { white-space: normal; }
th { color: var(--soft); font-weight: normal; }
th:first-child, td:first-child, table.words td, table.words th { text-align: left; }
td.at { white-space: nowrap; color: var(--soft); }
pre { background: var(--box); border: 1px solid var(--line); border-radius: 4px; padding: .7em;
  overflow-x: auto; font: 13px/1.45 ui-monospace, monospace; }
.failure-box { border-left: 4px solid var(--bad); padding-left: 1em; }
.failure-box p { font-weight: 600; } .note { color: var(--soft); font-size: .9em; }
summary { cursor: pointer; padding: .2em 0; }
svg { width: 100%; height: auto; } svg text { font: 10px system-ui, sans-serif; fill: var(--ink); }
svg text.time { fill: var(--soft); font-size: 8px; text-anchor: middle; }
svg text.node { font-weight: 600; } svg text.lane { fill: var(--soft); }
svg .tick { stroke: var(--line); stroke-width: .5; }
svg rect { rx: 1.5px; fill: var(--idle); } svg .good { fill: var(--good); }
svg .failed, .share-0 { fill: var(--bad); } svg .ended { fill: var(--ended); }
svg .phase-running, svg .phase-checkpointing, .share-1 { fill: var(--run); }
svg .hook, .share-2 { fill: var(--hook); } svg .wait, .share-3 { fill: var(--wait); }
svg .data, .share-4 { fill: var(--data); } svg .stage { fill: var(--paper); opacity: .55; }
svg .phase-stopping, svg .phase-post-stop, svg .phase-on-failure, svg .phase-hold,
.share-6 { fill: var(--ended); }
svg .steps { fill: none; stroke: var(--run); stroke-width: 1.6; stroke-linecap: round;
  stroke-linejoin: round; opacity: .8; } svg text.step { fill: var(--soft); text-anchor: end; }
svg .hue-1 { stroke: var(--good); } svg .hue-2 { stroke: var(--hook); }
svg .hue-3 { stroke: var(--wait); } svg .hue-4 { stroke: var(--data); }
svg .hue-5 { stroke: var(--ended); }
svg .container { stroke: var(--ink); stroke-width: 2.2; }
svg .limit { stroke: var(--bad); stroke-width: 1.4; stroke-dasharray: 6 4; }
svg .lost, .key.lost { fill: var(--bad); background: var(--bad); opacity: .18; }
svg .saved { fill: var(--paper); stroke: var(--ink); stroke-width: 1.2; }
.key.dot { border: 1.5px solid var(--ink); border-radius: 50%; width: .5em; height: .5em; }
svg .moment path { stroke: var(--soft); stroke-width: 1; }
svg .failure path { stroke: var(--bad); stroke-width: 2.5; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
)";

constexpr std::array<std::string_view, kTimeShares> kShareColours{"bad",  "run",  "hook", "wait",
                                                                  "data", "idle", "ended"};

std::string element(std::string_view tag, std::string_view text) {
  return "<" + std::string(tag) + ">" + escaped(text) + "</" + std::string(tag) + ">";
}

std::string block(std::string_view text) { return "<pre>" + escaped(text) + "</pre>\n"; }

std::string details(std::string_view title, const std::string& content, bool open = false) {
  return "<details" + std::string(open ? " open" : "") + ">" + element("summary", title) + content +
         "</details>\n";
}

std::string head_of(const Summary& summary) {
  const std::string first_word = summary.outcome.substr(0, summary.outcome.find(' '));
  std::string html = "<h1>The job <span class=\"" + first_word + "\">" + escaped(summary.outcome) +
                     "</span></h1>\n<dl>";
  for (const auto& [name, value] : summary.facts)
    html += element("dt", name) + element("dd", value);
  return html + "</dl>\n";
}

std::string lines_block(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text.empty() ? "" : block(text);
}

std::string failures_of(const Summary& summary) {
  std::string html;
  for (std::size_t i = 0; i < summary.failures.size(); ++i) {
    const Failure& failure = summary.failures[i];
    html += i == 0 ? "<h2>First failure</h2>\n" : i == 1 ? "<h2>Failures after it</h2>\n" : "";
    html += "<div class=\"failure-box\">";
    const std::size_t cause_end = std::min(failure.cause.find('\n'), failure.cause.size());
    const std::string_view cause = failure.cause;
    if (!cause.empty()) html += element("p", cause.substr(0, cause_end));
    if (cause_end < cause.size()) html += element("div", cause.substr(cause_end + 1));
    html += (failure.cause.empty() ? "<p>" : "<div>") + escaped(failure.message) +
            (failure.cause.empty() ? "</p>" : "</div>");
    html += "<span class=\"note\">" + utc_text(failure.at_ms) + ", reported by " +
            escaped(failure.nodes) + "</span>\n";
    html += lines_block(failure.lines);
    if (!failure.last_lines.empty()) html += "<span class=\"note\">Its other last lines</span>\n";
    html += lines_block(failure.last_lines) + "</div>\n";
  }
  return html;
}

std::string key_of(std::size_t share) {
  return "<span class=\"key\" style=\"background: var(--" + std::string(kShareColours[share]) +
         ")\"></span>";
}

std::string shares_row(const std::string& name, const TimeShares& shares) {
  const auto percents = percent_texts(shares);
  std::string html = "<tr>" + element("td", name) + element("td", duration_text(whole_of(shares)));
  for (std::size_t i = 0; i < kTimeShares; ++i) {
    html += shares[i] == 0
                ? "<td>–</td>"
                : "<td title=\"" + duration_text(shares[i]) + "\">" + percents[i] + "</td>";
  }
  return html + "</tr>\n";
}

std::string shares_bar(const TimeShares& shares) {
  constexpr std::int64_t kLength = 10'000;  // length of the whole bar
  const std::int64_t whole_ms = whole_of(shares);
  std::string html =
      "<svg viewBox=\"0 0 10000 160\" preserveAspectRatio=\"none\" "
      "style=\"height: 1.4em\" role=\"img\" aria-label=\"shares of the time\">";
  std::int64_t before_ms = 0;
  for (std::size_t i = 0; i < kTimeShares && whole_ms > 0; ++i) {
    const std::int64_t x = before_ms * kLength / whole_ms;
    before_ms += shares[i];
    html += "<rect class=\"share-" + std::to_string(i) + "\" x=\"" + std::to_string(x) +
            "\" width=\"" + std::to_string(before_ms * kLength / whole_ms - x) +
            "\" height=\"160\"/>";
  }
  return html + "</svg>\n";
}

std::string shares_of(const Summary& summary) {
  std::string html = "<h2>Where the time went</h2>\n" + shares_bar(summary.shares);
  html += "<div class=\"wide\"><table><tr><th></th><th>all</th>";
  for (std::size_t i = 0; i < kTimeShares; ++i) {
    html += "<th>" + key_of(i) + escaped(share_name(static_cast<TimeShare>(i))) + "</th>";
  }
  html += "</tr>\n";
  for (const NodeSummary& node : summary.nodes)
    html += shares_row(node_text(node.chart), node.shares);
  if (summary.nodes.size() > 1) html += shares_row("all nodes", summary.shares);
  return html + "</table></div>\n";
}

std::string findings_of(const Summary& summary) {
  if (summary.findings.empty()) return "";
  std::string html = "<h2>Findings</h2>\n<div class=\"wide\"><table class=\"words\">";
  for (const ReportNote& finding : summary.findings) {
    html += "<tr><td class=\"at\">" + (finding.at_ms == 0 ? "" : utc_text(finding.at_ms)) +
            "</td>" + element("td", finding.node) + element("td", finding.text) + "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string ending_of(const engine::TaskReport& task) {
  if (!task.signal.empty()) return task.signal;
  if (task.exit_code >= 0) return "exit code " + std::to_string(task.exit_code);
  return task.state;
}

// Returns the highest memory of the task; "" if it is not known.
std::string peak_text(const Resources& resources, const std::string& task) {
  const auto rank = std::ranges::find(resources.ranks, task, &RankUse::name);
  const std::int64_t peak = rank == resources.ranks.end() ? -1 : peak_of(rank->memory_bytes);
  return peak < 0 ? "" : memory_text(peak);
}

std::string tasks_of(const engine::JobReport& state, const Resources& resources) {
  std::string html =
      "<div class=\"wide\"><table "
      "class=\"words\"><tr><th>task</th><th>kind</th><th>starts</th><th>step</th>"
      "<th>peak memory</th><th>ended with</th><th>began</th><th>output</th></tr>\n";
  for (const engine::TaskReport& task : state.tasks) {
    html += "<tr>" + element("td", task.name) + element("td", task.kind) +
            element("td", std::to_string(task.incarnation)) +
            element("td", task.step < 0 ? "" : std::to_string(task.step)) +
            element("td", peak_text(resources, task.name)) + element("td", ending_of(task)) +
            element("td", task.started_ms == 0 ? "" : utc_text(task.started_ms)) +
            element("td", task.log.empty() ? "stdout" : task.log) + "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string node_of(const NodeSummary& node) {
  std::string html;
  for (const NamedText& output : node.run->outputs) {
    if (is_shown_with_failure(node, output.name)) continue;
    html += details("Last lines of " + output.name, block(output.text));
  }
  for (const NamedText& stack : node.run->stacks) {
    html += details("Stacks: " + stack.name, block(stack.text));
  }
  if (node.run->state) html += details("Tasks", tasks_of(*node.run->state, node.chart.resources));
  if (!node.run->plan.empty()) html += details("Plan", block(node.run->plan));
  return "<h2>" + escaped(node_text(node.chart)) + "</h2>\n" + element("p", node.ended) + html;
}

// Returns a picture or a table that scrolls sideways on a narrow screen.
std::string wide(const std::string& content) {
  return "<div class=\"wide\">" + content + "</div>\n";
}

std::string colour_key(std::string_view colour, std::string_view text) {
  return "<span class=\"key\" style=\"background: var(--" + std::string(colour) + ")\"></span>" +
         std::string(text) + " &nbsp; ";
}

std::string steps_of(const Summary& summary) {
  const std::string picture = steps_svg_of(summary);
  if (picture.empty()) return "";
  std::string html = "<h2>Steps</h2>\n" + wide(picture) + "<p class=\"note\">";
  if (!summary.progress.saves.empty()) html += "<span class=\"key dot\"></span>saved step &nbsp; ";
  if (!summary.failures.empty()) html += colour_key("bad", "failure");
  if (!summary.progress.lost.empty()) html += "<span class=\"key lost\"></span>lost steps &nbsp; ";
  return html + "One line for each rank and start.</p>\n";
}

std::string resource_pictures(const Summary& summary) {
  std::string html;
  const std::string failure = summary.failures.empty() ? "" : colour_key("bad", "failure");
  const std::string memory = memory_svg_of(summary);
  if (!memory.empty()) {
    html += "<h2>Memory</h2>\n" + wide(memory) + "<p class=\"note\">" +
            colour_key("ink", "container, without inactive file caches") + failure +
            "Dashed: the container's limit. One line for each rank and start.</p>\n";
  }
  const std::string cpus = cpu_svg_of(summary);
  if (!cpus.empty()) {
    html += "<h2>CPUs in use</h2>\n" + wide(cpus) + "<p class=\"note\">" + failure +
            "One line for each rank and start.</p>\n";
  }
  return html;
}

std::string legend() {
  struct Entry {
    const char* colour;
    const char* text;
  };
  static constexpr auto kEntries = std::to_array(
      {Entry{"good", "rank that ran or ended well"}, Entry{"ended", "rank that was stopped"},
       Entry{"bad", "failed first"}, Entry{"run", "phase running"}, Entry{"hook", "hooks"},
       Entry{"wait", "waiting"}, Entry{"data", "data"}});
  std::string html = "<p class=\"note\">";
  for (const Entry& entry : kEntries) html += colour_key(entry.colour, entry.text);
  return html + "Point at a bar for its times and its end.</p>\n";
}

}  // namespace

std::string html_of(const Summary& summary) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'\">\n"
      "<title>trainit report: the job " +
      escaped(summary.outcome) + "</title>\n<style>" + std::string(kStyle) +
      "</style></head>\n<body>\n";
  html += head_of(summary) + failures_of(summary) + shares_of(summary);
  html += steps_of(summary) + resource_pictures(summary);
  html += "<h2>Time line</h2>\n" + wide(svg_of(summary));
  html += legend();
  html += findings_of(summary);
  for (const NodeSummary& node : summary.nodes) html += node_of(node);
  return html + "</body></html>\n";
}

}  // namespace report
