#pragma once
// XML documents as plain values: the output of nvidia-smi, NCCL's topology files and JUnit reports.
// External entities and document types are never fetched. Only XML's five own entities are
// expanded.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace base::xml {

struct Element {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes = {};
  std::string text = {};  // text directly in the element, trimmed
  std::vector<Element> children = {};

  // Returns "" if the attribute does not exist.
  [[nodiscard]] std::string_view attribute(std::string_view wanted) const;
  // Returns the first child with the name `wanted`, or nullptr.
  [[nodiscard]] const Element* child(std::string_view wanted) const;
  // Returns the text of the element at a path such as "pci/pci_bus_id", or "" if it does not exist.
  [[nodiscard]] std::string_view text_at(std::string_view path) const;

  bool operator==(const Element&) const = default;
};

inline constexpr std::size_t kMaxBytes = 16U << 20;  // limit for a document
inline constexpr std::size_t kMaxDepth = 64;         // limit for nested elements

// Returns the root element, or an error with the line. `where` names the document in errors.
Result<Element> parse(std::string_view document, std::string_view where);

// Returns the document of `root` with an XML declaration, indented by two spaces. A control
// character, which XML cannot contain, becomes '?'.
std::string write(const Element& root);

}  // namespace base::xml
