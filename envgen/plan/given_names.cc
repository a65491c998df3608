#include "envgen/plan/given_names.h"

#include <algorithm>

#include "base/constants/packed_texts.h"
#include "base/constants/platform_variables.h"

namespace envgen {
namespace {

constexpr base::PackedTable<kGivenRows, &GivenNames::platform, &GivenNames::count, &GivenNames::own,
                            &GivenNames::leader, &GivenNames::hosts, &GivenNames::slots,
                            &GivenNames::job>
    kNames;
// A platform that is used for every command must also be known to init/early.
static_assert(std::ranges::all_of(kGivenRows,
                                  [](const GivenNames& names) {
                                    return !names.always ||
                                           base::is_platform_variable(names.count.data(),
                                                                      names.count.size());
                                  }),
              "add the platform's prefix and its count to base/constants/platform_variables.h");

}  // namespace

GivenNames given_names(std::size_t row) { return kNames[row]; }

}  // namespace envgen
