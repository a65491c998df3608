#pragma once
// The rows of `trainit status --cluster`: what node 0 knows about each node, as lines of JSON.

#include <cstdint>

#include "init/engine/cluster/link_settings.h"
#include "init/engine/cluster/link_wire.h"
#include "lifecycle/coordinator.h"

namespace engine {

// Returns the rows of the nodes from rank `from` on, as many as fit into a frame.
LinkRows rows_of_nodes(const LinkSettings& settings, const lifecycle::Coordinator& coordinator,
                       std::uint32_t from, std::int64_t now_ms);

}  // namespace engine
