// Any text as a hostfile of each dialect: no crash, and what has no fatal finding is rendered and
// read again as the same hosts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "envgen/formats/hostfile.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check(std::string_view text, envgen::HostfileDialect dialect) {
  envgen::Hostfile hostfile = envgen::parse_hostfile(text, dialect);
  bool fatal = false;
  for (const envgen::Finding& finding : hostfile.findings) {
    require(!finding.found.empty() && !to_line(finding).empty());
    fatal = fatal || is_refused(finding);
  }
  for (const envgen::HostfileEntry& entry : hostfile.entries) require(!entry.host.empty());
  auto rendered = envgen::render_hostfile(hostfile.entries, dialect);
  if (fatal || !rendered) return;
  envgen::Hostfile again = envgen::parse_hostfile(*rendered, dialect);
  require(again.entries == hostfile.entries);
  auto twice = envgen::render_hostfile(again.entries, dialect);
  require(twice && *twice == *rendered);
}

}  // namespace

TRAINIT_FUZZER(hostfile) {
  using enum envgen::HostfileDialect;
  constexpr std::size_t kMaxBytes = 512;  // each input is read about twenty times
  std::string_view text(reinterpret_cast<const char*>(data), std::min(size, kMaxBytes));
  for (auto dialect : {kOpenMpi, kMpich, kIntelMpi, kDeepSpeed, kHorovod, kPlain}) {
    check(text, dialect);
  }
  check(text, envgen::guess_dialect(text));
  return 0;
}
