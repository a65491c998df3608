#pragma once
// Readers for /etc/hccn.conf and the output of hccn_tool: the NIC address of each Ascend device of
// this host. A line is "key_N=value" with the physical device id N, in any order. Only address_N
// and IPv6address_N are read. Source: the driver's own file. FACTS: the last line may be
// incomplete.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cluster.h"

namespace envgen {

// Returns the address of each device, by physical id. Refuses a text that is no address (a
// placeholder); the error names the line.
base::Result<std::map<int, std::string>> parse_hccn_conf(std::string_view text,
                                                         std::string_view where);

// Returns the address in the output of `hccn_tool -i N -ip -g` ("ipaddr:1.2.3.4\nnetmask:...").
base::Result<std::string> parse_hccn_tool(std::string_view output, std::string_view where);

// Reads "0,1", "0-3,6" or "[0,8)" (hccl_tools' half-open form). Returns sorted unique ids, 0..63.
base::Result<std::vector<int>> parse_device_list(std::string_view text, std::string_view where);

// Returns a rank table in the format template 1, with one server. The ranks are in the order of the
// device ids, as hccl_tools.py writes them. A device that has no address in `addresses` gets none,
// which HCCL accepts on a single server.
std::string generate_rank_table(const std::string& server_id, const std::vector<int>& devices,
                                const std::map<int, std::string>& addresses);

}  // namespace envgen
