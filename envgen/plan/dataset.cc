#include "envgen/plan/dataset.h"

#include <algorithm>

#include "base/text.h"

namespace envgen {
namespace {

constexpr const char* kWhat = "reading the datasets";

std::unexpected<base::Error> refuse(const std::string& spec, std::string found, std::string fix) {
  return base::fail(kWhat, "--data " + spec, std::move(found), std::move(fix));
}

// Normalises a path: "/a//b/./c/" becomes "/a/b/c". ".." stays, because its meaning depends on
// symlinks.
std::string plain(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::string_view part = base::take_part(path, '/');
    if (!part.empty() && part != ".") result.append("/").append(part);
  }
  return result.empty() ? "/" : result;
}

bool is_inside(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

bool overlap(std::string_view a, std::string_view b) {
  return a == b || is_inside(a, b) || is_inside(b, a);
}

std::string variable_of(std::string_view name) {
  std::string variable = "TRAINIT_DATASET_";
  variable.reserve(variable.size() + name.size());
  for (const char c : name) {
    const bool lower = c >= 'a' && c <= 'z';
    const bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    variable += lower ? static_cast<char>(c - 'a' + 'A') : kept ? c : '_';
  }
  return variable;
}

base::Result<std::string> checked(const std::string& spec, std::string_view path) {
  constexpr std::size_t kMaxBytes = 4095;  // PATH_MAX
  if (!path.starts_with('/')) {
    return refuse(spec, path.empty() ? "no path" : "a relative path",
                  "give SRC, or SRC=DST, as absolute paths");
  }
  if (path.size() > kMaxBytes || path.contains('\0')) {
    return refuse(spec, "no path that can exist", "give SRC, or SRC=DST, as absolute paths");
  }
  std::string result = plain(path);
  if (result == "/") return refuse(spec, "the root directory", "name a directory below it");
  if (result.ends_with("/..") || result.contains("/../")) {
    return refuse(spec, "a path with ..", "write it without");
  }
  return result;
}

base::Result<Dataset> dataset_of(const std::string& spec) {
  const std::size_t split = spec.find("=/");
  TRY_ASSIGN(auto source, checked(spec, std::string_view(spec).substr(0, split)));
  Dataset dataset;
  dataset.name = source.substr(source.rfind('/') + 1);
  dataset.source = std::move(source);
  if (split == std::string::npos) return dataset;
  TRY_ASSIGN(dataset.destination, checked(spec, std::string_view(spec).substr(split + 1)));
  return dataset;
}

// Sets the dataset's name and variable, different from those of `others`.
void name_apart(Dataset& dataset, const std::vector<Dataset>& others) {
  const std::string name = dataset.name;
  const std::string variable = variable_of(name);
  dataset.variable = variable;
  const auto taken = [&dataset](const Dataset& other) {
    return other.name == dataset.name || other.variable == dataset.variable;
  };
  for (int number = 2; std::ranges::any_of(others, taken); ++number) {
    dataset.name = name + "-" + std::to_string(number);
    dataset.variable = variable + "_" + std::to_string(number);
  }
}

// Refuses overlapping places. A copy is published as a whole, so no other dataset may be inside its
// destination, and the destination may not be inside a source.
base::Status check_places(const DataRequest& request, const std::vector<Dataset>& datasets) {
  for (std::size_t at = 0; at < datasets.size(); ++at) {
    const std::string& place = datasets[at].destination;
    if (place.empty()) continue;
    for (std::size_t other = 0; other < datasets.size(); ++other) {
      if (overlap(place, datasets[other].source)) {
        return refuse(request.specs[at], "a place that overlaps " + datasets[other].source,
                      "copy to a place apart from what is copied");
      }
      const std::string& second = datasets[other].destination;
      if (other > at && !second.empty() && overlap(place, second)) {
        return refuse(request.specs[other],
                      place == second ? "the same place twice" : "a place that overlaps " + place,
                      "give each dataset a place of its own");
      }
    }
  }
  return {};
}

}  // namespace

base::Result<std::vector<Dataset>> datasets_of(const DataRequest& request) {
  constexpr std::size_t kMax = 256;
  if (request.specs.size() > kMax) {
    return base::fail(kWhat, "--data", std::to_string(request.specs.size()) + " of them",
                      "copy at most 256, or a directory that holds several");
  }
  std::vector<Dataset> datasets;
  datasets.reserve(request.specs.size());
  for (const std::string& spec : request.specs) {
    TRY_ASSIGN(auto dataset, dataset_of(spec));
    name_apart(dataset, datasets);
    datasets.push_back(std::move(dataset));
  }
  TRY(check_places(request, datasets));
  return datasets;
}

}  // namespace envgen
