#pragma once
// What a dataset's source is: with --data-link a link at its place leads to our own copy, and from
// there, by the record, back to what was copied, also where the copy has been removed.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/copy/publish/place.h"

namespace copy {

// find_source of place.h, but for such links.
envgen::Result<Source> locate_source(const std::string& path, std::int64_t deadline_ms,
                                     const envgen::Identity* job = nullptr);

}  // namespace copy
