#pragma once
// How the nodes of a job are spoken of. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lifecycle/node_messages.h"

namespace lifecycle {

// At most so many bytes, and no half character at the end.
void cut_text(std::string& text, std::size_t most);

// "node 1 (b)"; "node 1" where its name is "" or that.
std::string named_node(std::uint32_t node, const std::string& name);
// The same of the names by rank, of which there may be fewer.
std::string node_text(std::uint32_t node, const std::vector<std::string>& names);

// Of a node_text(): that it is lost, and by what that is seen, kClosed or kSilent.
std::string loss_message(const std::string& node, NodeFailure::Kind kind, TimeMs timeout_ms);

// Says of a node_text() that it cannot take part, and how its plan and node 0's differ.
std::string difference_text(const std::string& node, const std::string& how);

// Says that node 0, as node_text() has it, has lost all `others`.
std::string cut_off_message(const std::string& node0, std::uint32_t others, TimeMs timeout_ms);

}  // namespace lifecycle
