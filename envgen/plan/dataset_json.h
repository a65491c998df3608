#pragma once
// A plan's datasets as `trainit plan` shows them. An empty version or pattern list is left out.

#include <string>
#include <vector>

#include "base/json.h"
#include "base/shown_lines.h"
#include "envgen/plan/dataset.h"

namespace envgen {

// Writes the key "data" and an array with an object for each dataset.
void write_data(base::json::Writer& out, const std::vector<Dataset>& datasets,
                const DataRequest& request);
// Returns the lines about the datasets for the text output of `trainit plan`.
base::ShownLines data_text(const std::vector<Dataset>& datasets, const DataRequest& request);

}  // namespace envgen
