// Any text as a Slurm node list, as its counts, and as a host list: no crash, no more than the
// limit, no empty host; a host that was read is read again as itself.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "envgen/formats/hosts.h"
#include "envgen/formats/nodelist.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(nodelist) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto hosts = envgen::expand_nodelist(text, "fuzz")) {
    require(!hosts->empty() && hosts->size() <= envgen::kMaxHosts);
    for (const std::string& host : *hosts) require(!host.empty());
  }
  if (auto counts = envgen::expand_counts(text, "fuzz")) {
    require(!counts->empty() && counts->size() <= envgen::kMaxHosts);
    for (int count : *counts) require(count >= 0);
  }
  if (auto hosts = envgen::parse_host_list(text, "fuzz")) {
    for (const envgen::HostPort& host : *hosts) {
      require(!host.host.empty() && host.port >= 0 && host.port <= 65535);
      auto again = envgen::parse_host_port(envgen::to_text(host));
      require(again && *again == host);
    }
  }
  return 0;
}
