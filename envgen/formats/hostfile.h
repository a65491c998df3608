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
  kMpich,      // "host:4", read by Hydra
  kIntelMpi,   // "host:4"
  kDeepSpeed,  // "host slots=4" and nothing else on the line
  kHorovod,    // "host slots=4", no blank lines, no comments
  kPlain,      // "host" alone: a machine file, Volcano's <task>.host
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

// Parses the text as the program of the dialect would. Always returns a hostfile; the problems are
// in its `findings`.
Hostfile parse_hostfile(std::string_view text, HostfileDialect dialect);

// Guesses the dialect: the one of kPlain, kOpenMpi, kMpich and kDeepSpeed that refuses the fewest
// lines. If each dialect refuses some line and the text has a '=', the guess is kOpenMpi.
HostfileDialect guess_dialect(std::string_view text);

// Writes one line per entry, each with its newline. Fails on entries that the dialect cannot
// express: an IPv6 address for Hydra, a duplicate host for DeepSpeed, an empty list.
base::Result<std::string> render_hostfile(const std::vector<HostfileEntry>& entries,
                                          HostfileDialect dialect);

// Returns an entry for each node that runs ranks. Fails if such a node has no host name.
base::Result<std::vector<HostfileEntry>> hostfile_of(const Cluster& cluster);

}  // namespace envgen
