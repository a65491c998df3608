#include "base/fields.h"

namespace base {

// Items are added one at a time, so that a large count without items takes no memory.
void FieldVisitor::list(std::string_view name, void* items, std::size_t size, const Rule& rule,
                        Item item) {
  const auto count = begin_list(name, size, rule);
  if (!count) return;
  for (std::size_t i = 0; i < *count && !failed(); ++i) item(*this, items, i, rule);
  end_list();
}

}  // namespace base
