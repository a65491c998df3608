#include "envgen/plan/dataset_json.h"

#include "base/json_fields.h"
#include "base/text.h"
#include "envgen/plan/policy_json.h"

namespace envgen {
namespace {

void write_dataset(base::json::Writer& out, const Dataset& dataset, const DataRequest& request) {
  constexpr base::Rule kOmit{.omit = true};
  base::JsonOut v(out);
  out.begin_object();
  v.add("name", dataset.name);
  v.add("variable", dataset.variable);
  v.add("source", dataset.source);
  if (!dataset.destination.empty()) {
    v.add("destination", dataset.destination);
  } else if (request.root.empty()) {
    out.key("root").null();  // null: the first usual directory with enough space
  } else {
    v.add("root", request.root);
  }
  v.add("version", request.version, kOmit);
  v.add("include", request.include, kOmit);
  v.add("exclude", request.exclude, kOmit);
  v.add("verify", request.verify);
  v.add("durable", request.durable);
  v.add("link", request.link);
  const bool fails = request.on_failure == OnDataFailure::kFail;
  out.key("on_failure").string(fails ? "fail" : "source");
  v.add("timeout_ms", request.timeout_ms);
  out.end_object();
}

}  // namespace

void write_data(base::json::Writer& out, const std::vector<Dataset>& datasets,
                const DataRequest& request) {
  out.key("data").begin_array();
  for (const Dataset& dataset : datasets) write_dataset(out, dataset, request);
  out.end_array();
}

base::ShownLines data_text(const std::vector<Dataset>& datasets, const DataRequest& request) {
  base::ShownLines lines;
  for (const Dataset& dataset : datasets) {
    std::string text = "copies " + dataset.source + " to ";
    if (!dataset.destination.empty()) {
      text += dataset.destination;
    } else {
      text += "the node's cache";
      if (!request.root.empty()) text += " below " + request.root;
    }
    if (request.timeout_ms > 0) text += ", at most " + base::seconds(request.timeout_ms);
    text += ": " + dataset.variable + "; when that fails, the job ";
    text += request.on_failure == OnDataFailure::kFail ? "ends" : "reads the source";
    lines.add({text});
  }
  return lines;
}

}  // namespace envgen
