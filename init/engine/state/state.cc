#include "init/engine/state/state.h"

#include "base/json_fields.h"

namespace engine {
namespace {

constexpr std::int64_t kVersion = 1;

}  // namespace

std::string state_to_json(const JobReport& report) {
  base::json::Writer out;
  out.begin_object();
  out.key("version").integer(kVersion);
  base::JsonOut v(out);
  base::visit(v, report);
  out.end_object();
  return std::move(out).take();
}

base::Result<JobReport> state_from_json(std::string_view text, std::string_view where) {
  const auto document = base::json::Document::parse(text, where);
  if (!document) return std::unexpected(document.error().error);
  const auto version = document->root().find("version");
  if (!version || version->integer() != kVersion) {
    return base::fail("reading the state", std::string(where), "another version of the file",
                      "use the trainit that runs as the container's entrypoint");
  }
  JobReport report;
  base::JsonIn in(document->root());
  fields(in, report);
  return report;
}

}  // namespace engine
