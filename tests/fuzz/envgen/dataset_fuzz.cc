// Any lines as datasets: those that are accepted have names, variables and places of their own.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "envgen/plan/dataset.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(dataset) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  envgen::DataRequest request;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    request.specs.emplace_back(line);
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  }
  const auto datasets = envgen::datasets_of(request);
  if (!datasets) return 0;
  require(datasets->size() == request.specs.size());
  for (const envgen::Dataset& one : *datasets) {
    require(one.source.starts_with('/') && one.source.size() > 1 && !one.name.empty());
    for (const envgen::Dataset& other : *datasets) {
      if (&one == &other) continue;
      require(one.name != other.name && one.variable != other.variable);
      require(one.destination.empty() || one.destination != other.destination);
    }
  }
  return 0;
}
