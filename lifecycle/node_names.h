#pragma once
// Texts about the nodes of a job: their names, and messages about their failures. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lifecycle/node_messages.h"

namespace lifecycle {

// Cuts `text` to at most `most` bytes. A UTF-8 character that would be cut is left out.
void cut_text(std::string& text, std::size_t most);

// Returns "node 1 (b)", or "node 1" if `name` is "" or "node 1".
std::string named_node(std::uint32_t node, const std::string& name);
// Returns named_node() with the node's name from `names`, which is ordered by rank. If `names` is
// too short, the name is "".
std::string node_text(std::uint32_t node, const std::vector<std::string>& names);

// Returns the message that `node`, a node_text(), is lost. `kind` is how the loss was noticed:
// kClosed or kSilent.
std::string loss_message(const std::string& node, NodeFailure::Kind kind, TimeMs timeout_ms);

// Returns the message that `node`, a node_text(), cannot take part. `how` is the difference between
// its plan and node 0's.
std::string difference_text(const std::string& node, const std::string& how);

// Returns the message that node 0 has lost all other nodes, `others` in number. `node0` is its
// node_text().
std::string cut_off_message(const std::string& node0, std::uint32_t others, TimeMs timeout_ms);

}  // namespace lifecycle
