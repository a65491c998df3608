#pragma once
// The rows of `trainit status --cluster`: what node 0 knows about each node, as lines of JSON.

#include <cstdint>
#include <functional>

#include "init/engine/cluster/link_settings.h"
#include "init/engine/cluster/link_wire.h"
#include "lifecycle/coordinator.h"

namespace engine {

// Returns how long this node's ranks have printed nothing; -1: not known.
std::int64_t silent_ms(const LinkSettings& settings);

// Returns NodeRow::silent_ms of a node.
using SilentMs = std::function<std::int64_t(std::uint32_t node)>;
// Returns the rows of the nodes from rank `from` on, as many as fit into a frame.
LinkRows rows_of_nodes(const LinkSettings& settings, const lifecycle::Coordinator& coordinator,
                       const SilentMs& silent_ms, std::uint32_t from, std::int64_t now_ms);

}  // namespace engine
