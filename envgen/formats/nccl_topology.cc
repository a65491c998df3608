#include "envgen/formats/nccl_topology.h"

#include "base/text.h"
#include "base/xml.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading the NCCL topology";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kDisplayClass = "0x03";  // PCI base class of GPUs, with or without VGA

void add_gpus(const base::xml::Element& element, std::vector<std::string>& gpus) {
  for (const base::xml::Element& child : element.children) {
    if (child.name == "pci" && child.attribute("class").starts_with(kDisplayClass)) {
      if (auto id = normal_bus_id(child.attribute("busid"))) gpus.push_back(std::move(*id));
    }
    add_gpus(child, gpus);
  }
}

base::Result<TopologyNode> node_of(const base::xml::Element& cpu, std::string_view where) {
  const std::string_view id = cpu.attribute("numaid");
  auto refuse = [&](std::string_view name, std::string fix) {
    return base::fail(kReading, std::string(where) + ": cpu " + std::string(id),
                      std::string(name) + "=\"" + std::string(cpu.attribute(name)) + '"',
                      std::move(fix));
  };
  TopologyNode node;
  const auto number = base::parse_count<int>(id);
  if (!number) {
    return refuse("numaid", "give the number of a NUMA node: NCCL takes any text without an error");
  }
  node.numa_node = *number;
  auto cpus = parse_cpu_mask(cpu.attribute("affinity"));
  if (!cpus || cpus->empty()) {
    return refuse("affinity",
                  "give hexadecimal words of eight digits, the highest first, such as "
                  "\"000000ff,ffff0000\": NCCL makes other CPUs of it without an error");
  }
  node.cpus = std::move(*cpus);
  add_gpus(cpu, node.gpus);
  return node;
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

base::Result<std::vector<TopologyNode>> parse_nccl_topology(std::string_view document,
                                                            std::string_view where) {
  auto root = base::xml::parse(document, where);
  if (!root) {
    root.error().what = kReading;
    return std::unexpected(root.error());
  }
  if (root->name != "system") {
    return base::fail(kReading, std::string(where), "<" + root->name + ">",
                      "name a file with <system>; a file with <graphs> is for NCCL_GRAPH_FILE");
  }
  if (root->attribute("version") != kVersion) {
    return base::fail(kReading, std::string(where),
                      "version=\"" + std::string(root->attribute("version")) + '"',
                      "NCCL reads version 1 alone");
  }
  std::vector<TopologyNode> nodes;
  for (const base::xml::Element& child : root->children) {
    if (child.name != "cpu") continue;
    TRY_ASSIGN(auto node, node_of(child, where));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::optional<std::string> normal_bus_id(std::string_view text) {
  constexpr std::string_view kRest = ":0a:00.0";  // the part after the domain
  constexpr std::size_t kDomainDigits = 4;
  if (text.size() < kDomainDigits + kRest.size()) return std::nullopt;
  std::string_view domain = text.substr(0, text.size() - kRest.size());
  const std::string_view rest = text.substr(domain.size());
  if (domain.size() > 2 * kDomainDigits || !is_hex(domain)) return std::nullopt;
  for (std::size_t i = 0; i < kRest.size(); ++i) {
    const bool mark = kRest[i] == ':' || kRest[i] == '.';
    if (mark ? rest[i] != kRest[i] : !is_hex(rest.substr(i, 1))) return std::nullopt;
  }
  while (domain.size() > kDomainDigits && domain.starts_with('0')) domain.remove_prefix(1);
  return base::lowercased(std::string(domain) + std::string(rest));
}

}  // namespace envgen
