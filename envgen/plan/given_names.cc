#include "envgen/plan/given_names.h"

#include "base/constants/packed_texts.h"

namespace envgen {
namespace {

constexpr PackedTable<kGivenRows, &GivenNames::platform, &GivenNames::count, &GivenNames::own,
                      &GivenNames::leader, &GivenNames::hosts, &GivenNames::slots, &GivenNames::job>
    kNames;

}  // namespace

GivenNames given_names(std::size_t row) { return kNames[row]; }

}  // namespace envgen
