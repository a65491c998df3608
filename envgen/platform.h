#pragma once
// Platform profiles: which node am I, who are the others, how many devices. One file a profile, one
// table; detection prints its reason, --platform overrides it.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "envgen/cluster.h"
#include "envgen/inputs.h"
#include "envgen/result.h"

namespace envgen {

// What a profile says about this node beyond its cluster.
struct Site {
  std::string job_id;    // JOB_ID of the ranks; "" = none is known
  std::string work_dir;  // where device<i> directories lie
  std::string log_dir;
  std::string log_suffix = ".log";
  DeviceIds device_ids = DeviceIds::kPhysical;
};

struct Located {
  Cluster cluster;  // no nodes: one process without a cluster
  Self self;
  Site site;
  std::vector<Wait> waits;  // over
  std::vector<std::string> warnings;
};
struct NotYet {
  Wait wait;
};
struct NeedsPaths {};  // the snapshot lacks what Inputs::wants() names
using Location = std::variant<Located, NotYet, NeedsPaths, Error>;

struct PlatformProfile {
  std::string_view name;
  // Why this platform is here ("MA_VJ_NAME is set"), or nothing.
  std::optional<std::string> (*detect)(Inputs& inputs);
  Location (*locate)(Inputs& inputs);
};

// In the order of detection; the last one, local, always answers.
std::span<const PlatformProfile> platform_profiles();

// The profiles.
std::optional<std::string> detect_modelarts(Inputs& inputs);
Location locate_modelarts(Inputs& inputs);
std::optional<std::string> detect_bare(Inputs& inputs);
Location locate_bare(Inputs& inputs);
Location locate_local(Inputs& inputs);

// Shared by the profiles that read a rank table.

// What this container is called, by which variable; tried in this order against the table.
struct IdentityHints {
  struct Hint {
    std::string source;  // "MA_CURRENT_INSTANCE_NAME", "host name", "an interface address"
    std::string value;
    bool definite = false;  // the platform's own name of this pod: the table must have it
  };
  std::vector<Hint> pod_names;
  std::vector<Hint> container_ips;
  std::vector<Hint> host_ips;
  std::vector<Hint> server_ids;
};
// RANK_TABLE_FILE or --rank-table may name a file or a directory that holds the table. Nothing when
// the path is not in the snapshot yet.
std::optional<std::string> find_rank_table(Inputs& inputs, const std::string& named);

// Reads, checks and converts the table at `path`, and recognises this node in it.
Location locate_by_table(Inputs& inputs, const std::string& path, RankOrder default_order,
                         const IdentityHints& hints, Site site);

// The table's findings become the plan's warnings, the limits of the MindSpore document too; with
// --strict those are an error. `where` names the table.
Result<std::vector<std::string>> table_warnings(const ConvertedTable& table, const Request& request,
                                                const std::string& where);
// By --node-rank, RANK_START, pod name, container address, host address, server_id; never "the
// first" unless there is only one.
Result<Self> recognise_self(const std::vector<Node>& nodes, const Request& request,
                            const std::optional<int>& rank_start, const IdentityHints& hints);

}  // namespace envgen
