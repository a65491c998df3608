#pragma once
// /etc/hccn.conf and the output of hccn_tool: the NIC address of each Ascend device of this host.
// Lines "key_N=value", N the physical device id, in any order; address_N or IPv6address_N is the
// one that matters. Source: the driver's own file; FACTS: a last line may stop half way.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/formats/cluster.h"

namespace envgen {

// physical id -> address. Refuses an address that is none (placeholders), naming the line.
Result<std::map<int, std::string>> parse_hccn_conf(std::string_view text, std::string_view where);

// The address in the output of `hccn_tool -i N -ip -g` ("ipaddr:1.2.3.4\nnetmask:...").
Result<std::string> parse_hccn_tool(std::string_view output, std::string_view where);

// "0,1", "0-3,6", "[0,8)" (hccl_tools' half-open form): sorted unique ids, 0..63.
Result<std::vector<int>> parse_device_list(std::string_view text, std::string_view where);

// A template 1 of one server whose ranks follow the device ids, as hccl_tools.py writes it.
// A device without an address gets none (HCCL accepts that on a single server).
std::string generate_rank_table(const std::string& server_id, const std::vector<int>& devices,
                                const std::map<int, std::string>& addresses);

}  // namespace envgen
