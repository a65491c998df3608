// hostfile check | convert: checks and converts hostfiles.

#include <algorithm>

#include "envgen/formats/hostfile.h"
#include "init/cli/commands.h"
#include "init/cli/files.h"
#include "init/cli/values/kinds.h"

namespace cli {
namespace {

using envgen::HostfileDialect;

constexpr int kRefused = 1;

// Returns the dialect of the option, otherwise the one that the text looks like.
HostfileDialect dialect_of(const Options& options, std::string_view text) {
  return options.from ? *options.from : envgen::guess_dialect(text);
}

int check_one(const std::string& path, const Options& options) {
  auto text = read_file(path, "checking the hostfile");
  if (!text) return complain(text.error());
  const HostfileDialect dialect = dialect_of(options, *text);
  const envgen::Hostfile hostfile = envgen::parse_hostfile(*text, dialect);
  base::ShownLines lines;
  for (const envgen::Finding& finding : hostfile.findings) {
    lines.add({path, ": ", to_line(finding)});
  }
  std::int64_t slots = 0;
  for (const envgen::HostfileEntry& entry : hostfile.entries) slots += entry.slots;
  const bool refused = std::ranges::any_of(hostfile.findings, envgen::is_refused);
  lines.add({path, ": ", envgen::dialect_name(dialect), ": ",
             refused ? "refused"
                     : "accepted: " + std::to_string(hostfile.entries.size()) + " hosts, " +
                           std::to_string(slots) + " slots"});
  const int printed = print(lines);
  return printed != 0 ? printed : (refused ? kRefused : 0);
}

int check(const Options& options) {
  if (options.operands.empty()) {
    return complain({"checking a hostfile", "", "no file", "name one or more files"});
  }
  int worst = 0;
  for (const std::string& path : options.operands) {
    worst = std::max(worst, check_one(path, options));
  }
  return worst;
}

int convert(const Options& options) {
  constexpr const char* kConverting = "converting the hostfile";
  const std::vector<std::string>& files = options.operands;
  if (!options.to) {
    return complain({"reading the options", "--to", "nothing", "give " + either(kDialect.words())});
  }
  if (files.size() != 1) {
    return complain({kConverting, "", std::to_string(files.size()) + " files", "name one"});
  }
  const std::string& path = files[0];
  auto text = read_file(path, kConverting);
  if (!text) return complain(text.error());
  const envgen::Hostfile hostfile = envgen::parse_hostfile(*text, dialect_of(options, *text));
  for (const envgen::Finding& finding : hostfile.findings) {
    if (!is_refused(finding)) continue;
    const std::string place = finding.place.empty() ? path : path + ": " + finding.place;
    return complain({kConverting, place, finding.found, finding.fix});
  }
  auto converted = envgen::render_hostfile(hostfile.entries, *options.to);
  if (!converted) return complain(converted.error());
  return put_out(options.out, *converted, "writing the hostfile");
}

}  // namespace

int hostfile_command(Call& call) {
  return call.options.command == kHostsCheck ? check(call.options) : convert(call.options);
}

}  // namespace cli
