#pragma once
// XML documents as plain values: what nvidia-smi prints, NCCL's topology files, JUnit reports.
// External entities and document types are never fetched; entities beyond XML's own five are not
// expanded.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace envgen::xml {

struct Element {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes = {};
  std::string text = {};  // directly inside, without the white space around it
  std::vector<Element> children = {};

  // "" when there is none.
  [[nodiscard]] std::string_view attribute(std::string_view wanted) const;
  // The first child of that name, nullptr when there is none.
  [[nodiscard]] const Element* child(std::string_view wanted) const;
  // The text of the element at a path such as "pci/pci_bus_id", "" when there is none.
  [[nodiscard]] std::string_view text_at(std::string_view path) const;

  bool operator==(const Element&) const = default;
};

inline constexpr std::size_t kMaxBytes = 16U << 20;  // of a document
inline constexpr std::size_t kMaxDepth = 64;         // of elements in each other

// The root element. `where` names the document in errors, which tell the line.
Result<Element> parse(std::string_view document, std::string_view where);

// A document with a declaration, indented by two spaces. A control character, which XML cannot
// have, becomes '?'.
std::string write(const Element& root);

}  // namespace envgen::xml
