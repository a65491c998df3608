#pragma once
// The origin of a dataset: with --data-link a link in its source's stead leads to our own copy, and
// from there, by the record, back to what was copied, also where the copy has been removed.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/copy/publish/destination.h"

namespace copy {

// find_source of destination.h, but for such links.
base::Result<Source> locate_source(const std::string& path, const Options& options);

}  // namespace copy
