#pragma once
// Hostfiles: one host per line, in the dialect of the program that reads them. Sources: PRRTE's
// hostfile lexer, Hydra's args.c, DeepSpeed's launcher/runner.py, Horovod's common/util/hosts.py.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cluster.h"
#include "envgen/formats/finding.h"

namespace envgen {

enum class HostfileDialect : unsigned char {
  kOpenMpi,    // "host slots=4"
  kMpich,      // "host:4" (Hydra)
  kIntelMpi,   // "host:4"
  kDeepSpeed,  // "host slots=4", nothing else on the line
  kHorovod,    // "host slots=4", no blank lines, no comments
  kPlain,      // "host": a machine file, Volcano's <task>.host
};
inline constexpr std::array<std::string_view, 6> kHostfileDialects = {
    "openmpi", "mpich", "intel", "deepspeed", "horovod", "plain"};
std::string_view dialect_name(HostfileDialect dialect);
std::optional<HostfileDialect> dialect_by_name(std::string_view name);

struct HostfileEntry {
  std::string host;
  int slots = 1;

  bool operator==(const HostfileEntry&) const = default;
};

struct Hostfile {
  std::vector<HostfileEntry> entries;
  std::vector<Finding> findings;  // their places are lines, "line 3"
};

// Parses the text as the dialect's program does. Never fails; problems are in `findings`.
Hostfile parse_hostfile(std::string_view text, HostfileDialect dialect);

// Guesses the dialect in which the text has the fewest refusals, among kPlain, kOpenMpi,
// kMpich and kDeepSpeed. If no dialect fits and the text has a '=', the guess is kOpenMpi.
HostfileDialect guess_dialect(std::string_view text);

// Writes one line per entry, each with its newline. Fails on entries that the dialect cannot
// express: an IPv6 address for Hydra, a duplicate host for DeepSpeed, an empty list.
base::Result<std::string> render_hostfile(const std::vector<HostfileEntry>& entries,
                                          HostfileDialect dialect);

// Returns the nodes that run ranks. Fails if one has no host name.
base::Result<std::vector<HostfileEntry>> hostfile_of(const Cluster& cluster);

}  // namespace envgen
