#include "envgen/formats/finding.h"

namespace envgen {
namespace {

const char* severity_name(Finding::Severity severity) {
  switch (severity) {
    case Finding::Severity::kRefused:
      return "refused";
    case Finding::Severity::kRepaired:
      return "repaired";
    case Finding::Severity::kWarning:
      return "warning";
  }
  return "refused";
}

}  // namespace

std::string to_line(const Finding& finding) {
  std::string line = severity_name(finding.severity);
  if (!finding.rule.empty()) line += " [" + finding.rule + "]";
  line += ": ";
  if (!finding.place.empty()) line += finding.place + ": ";
  line += finding.found;
  if (!finding.fix.empty()) line += "; " + finding.fix;
  return line;
}

}  // namespace envgen
