#include "lifecycle/node_names.h"

#include "base/text.h"

namespace lifecycle {

void cut_text(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  text.resize(most);
  text.shrink_to_fit();
}

std::string named_node(std::uint32_t node, const std::string& name) {
  std::string number = "node " + std::to_string(node);
  return name.empty() || name == number ? number : number + " (" + name + ")";
}

std::string node_text(std::uint32_t node, const std::vector<std::string>& names) {
  return named_node(node, node < names.size() ? names[node] : "");
}

std::string loss_message(const std::string& node, NodeFailure::Kind kind, TimeMs timeout_ms) {
  if (kind == NodeFailure::Kind::kSilent) {
    return node + " is lost: nothing was heard from it for " + base::seconds(timeout_ms);
  }
  return node +
         " is lost: its connection closed without a farewell, as when its container is killed "
         "or its machine is gone";
}

std::string cut_off_message(const std::string& node0, std::uint32_t others, TimeMs timeout_ms) {
  return node0 + " has lost all " + std::to_string(others) +
         " other nodes at once: nothing was heard from them for " + base::seconds(timeout_ms) +
         ", so its own network is the likelier place";
}

std::string difference_text(const std::string& node, const std::string& how) {
  const bool says_what_to_do =
      how.find(" --") != std::string::npos;  // `how` names an option; a node's name has no blank
  return node + " cannot take part: " + how +
         (says_what_to_do ? "" : ": give all nodes the same --slots, list of nodes and image");
}

}  // namespace lifecycle
