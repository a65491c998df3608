#include "init/doctor/check_result.h"

#include <algorithm>
#include <array>

#include "base/json_fields.h"
#include "base/printed_text.h"
#include "base/wire.h"
#include "base/xml.h"

namespace doctor {
namespace {

constexpr std::array<std::string_view, 4> kColours = {"\033[32m", "\033[2m", "\033[33m",
                                                      "\033[31m"};
constexpr std::string_view kPlain = "\033[0m";
constexpr std::size_t kMinTextColumns = 24;

std::size_t index_of(CheckStatus verdict) { return static_cast<std::size_t>(verdict); }

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

// Returns the number of UTF-8 characters. A wide character counts as one, which only makes the
// right edge of the table uneven.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !continues(c); }));
}

std::string padded(std::string_view text, std::size_t columns) {
  std::string result(text);
  const std::size_t width = width_of(text);
  if (width < columns) result.append(columns - width, ' ');
  return result;
}

// Removes at most `columns` characters from the front of `text` and returns them. Cuts at a blank
// if possible.
std::string_view take_columns(std::string_view& text, std::size_t columns) {
  std::size_t end = 0;
  std::size_t blank = 0;
  for (std::size_t width = 0; end < text.size(); ++end) {
    if (!continues(text[end]) && width++ == columns) break;
    if (text[end] == ' ' && end > 0) blank = end;
  }
  if (end < text.size() && text[end] != ' ' && blank > 0) end = blank;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end);
  while (text.starts_with(' ')) text.remove_prefix(1);
  return line;
}

void add_wrapped(std::string& out, std::string_view text, std::size_t indent, int columns) {
  const bool wraps = columns > 0 && static_cast<std::size_t>(columns) > indent + kMinTextColumns;
  if (!wraps) {
    out += text;
    out += '\n';
    return;
  }
  const std::size_t room = static_cast<std::size_t>(columns) - indent;
  for (bool first = true; first || !text.empty(); first = false) {
    if (!first) out.append(indent, ' ');
    out += take_columns(text, room);
    out += '\n';
  }
}

std::string text_of(const CheckResult& result) {
  return result.place.empty() ? result.found : result.place + ": " + result.found;
}

base::xml::Element junit_case(const CheckResult& result) {
  base::xml::Element element{
      .name = "testcase",
      .attributes = {
          {"classname", "trainit.doctor"},
          {"name", result.place.empty() ? result.check : result.check + " " + result.place}}};
  auto add = [&element](std::string name, std::string message, std::string text) {
    base::xml::Element child{.name = std::move(name)};
    if (!message.empty()) child.attributes.emplace_back("message", std::move(message));
    child.text = std::move(text);
    element.children.push_back(std::move(child));
  };
  if (result.verdict == CheckStatus::kFailed) add("failure", result.found, result.fix);
  if (result.verdict == CheckStatus::kSkipped) add("skipped", result.found, "");
  if (result.verdict == CheckStatus::kWarning) {
    add("system-out", "", "warning: " + result.found + "; " + result.fix);
  }
  if (result.verdict == CheckStatus::kOk && !result.found.empty())
    add("system-out", "", result.found);
  return element;
}

}  // namespace

std::string_view verdict_name(CheckStatus verdict) { return kVerdictNames[index_of(verdict)]; }

std::string to_line(const CheckResult& result) {
  std::string line = result.check + ": " + text_of(result);
  if (!result.fix.empty()) line += "; " + result.fix;
  return line;
}

CheckCounts count_results(std::span<const CheckResult> results) {
  CheckCounts counts;
  for (const CheckResult& result : results) {
    std::array<int*, kVerdictNames.size()> places = {&counts.ok, &counts.skipped, &counts.warnings,
                                                     &counts.failed};
    ++*places[index_of(result.verdict)];
  }
  return counts;
}

std::string counts_to_text(const CheckCounts& counts) {
  return std::to_string(counts.ok) + " ok, " + std::to_string(counts.warnings) +
         (counts.warnings == 1 ? " warning, " : " warnings, ") + std::to_string(counts.failed) +
         " failed, " + std::to_string(counts.skipped) + " skipped";
}

std::string results_to_text(std::span<const CheckResult> results, bool colour, int columns) {
  constexpr std::size_t kVerdictColumns = 9;
  std::size_t check_columns = 0;
  for (const CheckResult& result : results) {
    check_columns = std::max(check_columns, width_of(result.check) + 2);
  }
  const std::size_t indent = check_columns + kVerdictColumns;
  std::string out;
  for (const CheckResult& result : results) {
    out += padded(base::escaped_text(result.check), check_columns);
    const std::string verdict = padded(verdict_name(result.verdict), kVerdictColumns);
    if (colour) out += kColours[index_of(result.verdict)];
    out += verdict;
    if (colour) out += kPlain;
    add_wrapped(out, base::escaped_text(text_of(result)), indent, columns);
    if (result.fix.empty()) continue;
    out.append(indent, ' ');
    add_wrapped(out, "-> " + base::escaped_text(result.fix), indent, columns);
  }
  return out + counts_to_text(count_results(results)) + "\n";
}

std::string results_to_json(std::span<const CheckResult> results) {
  const CheckCounts counts = count_results(results);
  base::json::Writer out;
  out.begin_object();
  out.key("ok").integer(counts.ok);
  out.key("warnings").integer(counts.warnings);
  out.key("failed").integer(counts.failed);
  out.key("skipped").integer(counts.skipped);
  out.key("results").begin_array();
  for (const CheckResult& result : results) base::write_json(out, result);
  out.end_array().end_object();
  return std::move(out).take();
}

std::string results_to_junit(std::span<const CheckResult> results, std::string_view host) {
  const CheckCounts counts = count_results(results);
  base::xml::Element suite{.name = "testsuite",
                           .attributes = {{"name", "trainit doctor"},
                                          {"tests", std::to_string(results.size())},
                                          {"failures", std::to_string(counts.failed)},
                                          {"errors", "0"},
                                          {"skipped", std::to_string(counts.skipped)},
                                          {"hostname", std::string(host)}}};
  suite.children.reserve(results.size());
  for (const CheckResult& result : results) suite.children.push_back(junit_case(result));
  base::xml::Element root{.name = "testsuites"};
  root.children.push_back(std::move(suite));
  return base::xml::write(root);
}

std::string encode_results(std::span<const CheckResult> results) {
  std::vector<CheckResult> sent(results.begin(), results.end());
  for (CheckResult& result : sent) {
    for (std::string* text : {&result.check, &result.place, &result.found, &result.fix}) {
      *text = base::escaped_text(*text);
    }
  }
  return base::to_wire(sent);
}

base::Result<std::vector<CheckResult>> decode_results(std::string_view bytes) {
  if (bytes.empty()) return {};
  auto results = base::from_wire<std::vector<CheckResult>>(bytes);
  if (!results) return base::fail("reading a check's results", "", "a damaged message", "");
  return std::move(*results);
}

}  // namespace doctor
