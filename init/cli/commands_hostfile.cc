// hostfile check | convert: hostfiles as files.

#include <algorithm>
#include <array>
#include <optional>

#include "envgen/formats/hostfile.h"
#include "init/cli/commands.h"
#include "init/cli/files.h"

namespace cli {
namespace {

using envgen::HostfileDialect;
using envgen::Result;

constexpr int kRefused = 1;

constexpr std::string_view kUsage =
    "trainit hostfile check [--for DIALECT] FILE...\n"
    "    does the program that reads it accept it? 0 yes, 1 no; a line for each finding\n"
    "trainit hostfile convert --to DIALECT [--from DIALECT] FILE [-o OUT]\n"
    "    the same hosts and slots for another program, on stdout or in OUT\n"
    "DIALECT: openmpi, mpich, intel, deepspeed, horovod or plain (a host a line);\n"
    "    where none is named, the one whose form the file has\n";

// What follows `hostfile check|convert`: flags with a value, and files.
struct Line {
  std::vector<std::string> files;
  std::string output;
  std::string dialect;  // --for, --from
  std::string to;
};

Result<Line> parse_line(Arguments arguments, std::string_view dialect_flag) {
  Line line;
  const std::array<std::pair<std::string_view, std::string*>, 4> flags = {
      {{"-o", &line.output},
       {"--output", &line.output},
       {dialect_flag, &line.dialect},
       {"--to", &line.to}}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with('-') || argument == "-") {
      line.files.push_back(argument);
      continue;
    }
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    const auto* flag =
        std::ranges::find(flags, name, &std::pair<std::string_view, std::string*>::first);
    const bool only_convert = dialect_flag == "--for" && flag != &flags[2];
    if (flag == flags.end() || only_convert) {
      return envgen::fail("reading the options", std::string(name), "no such option",
                          "see trainit hostfile --help");
    }
    if (name.size() < argument.size()) {
      *flag->second = argument.substr(name.size() + 1);
    } else if (i + 1 < arguments.size()) {
      *flag->second = arguments[++i];
    } else {
      return envgen::fail("reading the options", argument, "no value",
                          "see trainit hostfile --help");
    }
  }
  return line;
}

Result<HostfileDialect> dialect_of(const std::string& name, const char* flag) {
  if (auto dialect = envgen::dialect_by_name(name)) return *dialect;
  return envgen::fail("reading the options", flag, name.empty() ? "nothing" : '"' + name + '"',
                      "give openmpi, mpich, intel, deepspeed, horovod or plain");
}

// The one that is named, else the one whose form the text has.
Result<HostfileDialect> dialect_or_guess(const std::string& name, const char* flag,
                                         std::string_view text) {
  if (name.empty()) return envgen::guess_dialect(text);
  return dialect_of(name, flag);
}

bool is_refused(const envgen::Hostfile& hostfile) {
  return std::ranges::any_of(hostfile.findings, &envgen::HostfileFinding::fatal);
}

int check_one(const std::string& path, const std::string& dialect_name) {
  auto text = read_file(path, "checking the hostfile");
  if (!text) return complain(text.error());
  auto dialect = dialect_or_guess(dialect_name, "--for", *text);
  if (!dialect) return complain(dialect.error());
  const envgen::Hostfile hostfile = envgen::parse_hostfile(*text, *dialect);
  std::string lines;
  for (const envgen::HostfileFinding& finding : hostfile.findings) {
    lines += path + ": " + to_line(finding) + "\n";
  }
  std::int64_t slots = 0;
  for (const envgen::HostfileEntry& entry : hostfile.entries) slots += entry.slots;
  const bool refused = is_refused(hostfile);
  lines += path + ": " + envgen::dialect_name(*dialect) + ": ";
  lines += refused ? "refused\n"
                   : "accepted: " + std::to_string(hostfile.entries.size()) + " hosts, " +
                         std::to_string(slots) + " slots\n";
  const int printed = print(lines);
  return printed != 0 ? printed : (refused ? kRefused : 0);
}

int check(Arguments arguments) {
  auto line = parse_line(arguments, "--for");
  if (!line) return complain(line.error());
  if (line->files.empty()) {
    return complain({"checking a hostfile", "", "no file", "name one or more files"});
  }
  int worst = 0;
  for (const std::string& path : line->files)
    worst = std::max(worst, check_one(path, line->dialect));
  return worst;
}

int convert(Arguments arguments) {
  constexpr const char* kConverting = "converting the hostfile";
  auto line = parse_line(arguments, "--from");
  if (!line) return complain(line.error());
  auto to = dialect_of(line->to, "--to");
  if (!to) return complain(to.error());
  if (line->files.size() != 1) {
    return complain({kConverting, "", std::to_string(line->files.size()) + " files", "name one"});
  }
  const std::string& path = line->files[0];
  auto text = read_file(path, kConverting);
  if (!text) return complain(text.error());
  auto from = dialect_or_guess(line->dialect, "--from", *text);
  if (!from) return complain(from.error());
  const envgen::Hostfile hostfile = envgen::parse_hostfile(*text, *from);
  for (const envgen::HostfileFinding& finding : hostfile.findings) {
    const std::string place =
        finding.line > 0 ? path + ": line " + std::to_string(finding.line) : path;
    if (finding.fatal) return complain({kConverting, place, finding.found, finding.fix});
  }
  auto converted = envgen::render_hostfile(hostfile.entries, *to);
  if (!converted) return complain(converted.error());
  if (line->output.empty() || line->output == "-") return print(*converted);
  auto status = write_output(line->output, *converted, "writing the hostfile");
  return status ? 0 : complain(status.error());
}

}  // namespace

int hostfile_command(Arguments arguments, const envgen::Environ& /*env*/) {
  const std::string_view action = arguments.empty() ? "" : std::string_view(arguments[0]);
  if (action == "--help" || action == "-h") return print(kUsage);
  if (action == "check") return check(arguments.subspan(1));
  if (action == "convert") return convert(arguments.subspan(1));
  return complain({"reading the command line", "hostfile",
                   action.empty() ? "no action" : '"' + std::string(action) + '"',
                   "use check or convert"});
}

}  // namespace cli
