// Any text as an XML document; what is read is written, and read again as the same. (Text that
// stands in pieces around elements, or has white space to lose, is not written as it was.)

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/xml.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check_depth(const base::xml::Element& element, std::size_t depth) {
  require(depth <= base::xml::kMaxDepth && !element.name.empty());
  for (const auto& child : element.children) check_depth(child, depth + 1);
}

}  // namespace

TRAINIT_FUZZER(xml) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto root = base::xml::parse(text, "fuzz");
  if (!root) {
    require(!root.error().found.empty());
    return 0;
  }
  check_depth(*root, 1);
  const auto again = base::xml::parse(base::xml::write(*root), "fuzz");
  if (again) require(again->name == root->name && again->children.size() == root->children.size());
  return 0;
}
