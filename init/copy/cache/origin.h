#pragma once
// Finds the original source of a dataset. With --data-link, a symlink to trainit's copy replaces
// the source. The copy's record then leads back to what was copied, even if the copy has been
// deleted.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/copy/publish/destination.h"

namespace copy {

// Does what find_source() of destination.h does, but follows a link to a copy in the cache to the
// original source.
base::Result<Source> locate_source(const std::string& path, const Options& options);

}  // namespace copy
