// report: shows the history of a job from the files that its nodes have left.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "init/cli/commands.h"
#include "init/cli/control.h"
#include "init/cli/files.h"
#include "init/report/html.h"
#include "init/report/run_files.h"
#include "init/report/summary.h"
#include "init/report/text.h"
#include "init/report/trace.h"

namespace cli {
namespace {

constexpr const char* kMaking = "making a report";

ReportFormat format_of(const Options& options) {
  if (options.report_format) return *options.report_format;
  if (options.out.ends_with(".html")) return ReportFormat::kHtml;
  return options.out.ends_with(".json") ? ReportFormat::kTrace : ReportFormat::kText;
}

std::string made(const std::vector<report::NodeRun>& runs, ReportFormat format) {
  const report::Summary summary = report::summary_of(runs);
  if (format == ReportFormat::kHtml) return report::html_of(summary);
  if (format == ReportFormat::kText) return report::text_of(summary);
  std::vector<report::Chart> charts;
  charts.reserve(summary.nodes.size());
  for (const report::NodeSummary& node : summary.nodes) charts.push_back(node.chart);
  return report::trace_of(charts);
}

}  // namespace

int report_command(Call& call) {
  std::vector<std::string> directories = call.options.operands;
  std::optional<sys::AsUser> rights;
  if (directories.empty()) {
    auto asked = asked_run_dir(call.options, call.env, rights);
    if (!asked) return complain(asked.error());
    directories.push_back(*std::move(asked));
  }
  if (directories[0].empty()) return no_instance(kMaking, directories[0]);
  std::vector<report::NodeRun> runs;
  for (const std::string& directory : directories) {
    auto found = report::read_runs(directory);
    if (!found) return complain(found.error());
    std::ranges::move(*found, std::back_inserter(runs));
  }
  rights.reset();  // the output is written with the caller's rights
  return put_out(call.options.out, made(runs, format_of(call.options)), kMaking);
}

}  // namespace cli
