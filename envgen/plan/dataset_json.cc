#include "envgen/plan/dataset_json.h"

#include "envgen/plan/policy_json.h"

namespace envgen {
namespace {

void write_texts(json::Writer& out, const char* name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  out.key(name).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

void write_text(json::Writer& out, const char* name, const std::string& text) {
  if (!text.empty()) out.key(name).string(text);
}

void write_dataset(json::Writer& out, const Dataset& dataset, const DataRequest& request) {
  out.begin_object();
  out.key("name").string(dataset.name);
  out.key("variable").string(dataset.variable);
  out.key("source").string(dataset.source);
  if (dataset.destination.empty()) {
    out.key("root");
    if (request.root.empty()) {
      out.null();  // the first that is large enough
    } else {
      out.string(request.root);
    }
  } else {
    out.key("destination").string(dataset.destination);
  }
  write_text(out, "version", request.version);
  write_texts(out, "include", request.include);
  write_texts(out, "exclude", request.exclude);
  out.key("verify").boolean(request.verify);
  out.key("durable").boolean(request.durable);
  out.key("link").boolean(request.link);
  const bool fails = request.on_failure == OnDataFailure::kFail;
  out.key("on_failure").string(fails ? "fail" : "source");
  out.key("timeout_ms").integer(request.timeout_ms);
  out.end_object();
}

}  // namespace

void write_data(json::Writer& out, const std::vector<Dataset>& datasets,
                const DataRequest& request) {
  out.key("data").begin_array();
  for (const Dataset& dataset : datasets) write_dataset(out, dataset, request);
  out.end_array();
}

std::string data_text(const std::vector<Dataset>& datasets, const DataRequest& request) {
  std::string text;
  for (const Dataset& dataset : datasets) {
    text += "copies " + dataset.source + " to ";
    if (!dataset.destination.empty()) {
      text += dataset.destination;
    } else {
      text += "the node's cache";
      if (!request.root.empty()) text += " below " + request.root;
    }
    if (request.timeout_ms > 0) text += ", at most " + seconds(request.timeout_ms);
    text += ": " + dataset.variable + "; when that fails, the job ";
    text += request.on_failure == OnDataFailure::kFail ? "ends" : "reads the source";
    text += "\n";
  }
  return text;
}

}  // namespace envgen
