#pragma once
// A plan's datasets as `trainit plan` shows them. What nobody chose is left out.

#include <string>
#include <vector>

#include "base/json.h"
#include "base/shown_lines.h"
#include "envgen/plan/dataset.h"

namespace envgen {

// The key "data" and its array, an object a dataset; without any it is empty.
void write_data(json::Writer& out, const std::vector<Dataset>& datasets,
                const DataRequest& request);
// Lines for a person.
ShownLines data_text(const std::vector<Dataset>& datasets, const DataRequest& request);

}  // namespace envgen
