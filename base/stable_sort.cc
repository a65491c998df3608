#include "base/stable_sort.h"

#include <algorithm>
#include <numeric>

namespace base {

std::vector<std::uint32_t> stable_order(std::size_t count, ComparesPlaces before,
                                        const void* context) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [before, context](std::uint32_t one, std::uint32_t other) {
    return before(context, one, other);
  });
  return order;
}

}  // namespace base
