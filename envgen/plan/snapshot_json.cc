#include "base/json_fields.h"
#include "base/secrets/secrets.h"
#include "envgen/plan/snapshot.h"

namespace envgen {
namespace {

constexpr base::Rule kBytes{.base64 = true};
constexpr std::string_view kWhat = "reading a snapshot";

// Returns whether a path contains a credential. An argument that is a credential may have been
// looked up as a path.
bool holds_secret(std::string_view path, const std::vector<std::string>& arguments) {
  if (base::mask_secrets(path) != path) return true;
  const std::vector<std::string> masked = base::masked_arguments(arguments);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (masked[i] != arguments[i] && path.ends_with("/" + arguments[i])) return true;
  }
  return false;
}

}  // namespace

std::string to_json(const Snapshot& snapshot, bool masked) {
  base::json::Writer out;
  base::JsonOut v(out);
  out.begin_object();
  v.add("argv", masked ? base::masked_arguments(snapshot.argv) : snapshot.argv, kBytes);
  std::vector<std::string> environ = snapshot.env.entries();
  for (std::string& entry : environ) {
    if (masked) entry = base::masked_entry(entry);
  }
  v("environ", environ, kBytes);
  v.add("facts", snapshot.facts);
  out.key("paths").begin_object();
  for (const auto& [path, state] : snapshot.paths) {
    if (!masked) {
      v.add(path, state);
    } else if (!holds_secret(path, snapshot.argv)) {
      PathState shown = state;
      shown.content = base::mask_secrets(state.content);
      v(path, shown);
    }
  }
  out.end_object().end_object();
  return std::move(out).take();
}

base::Result<Snapshot> snapshot_from_json(std::string_view text, std::string_view where) {
  auto document = base::json::Document::parse(text, where);
  if (!document) {
    base::Error error = document.error().error;
    error.what = kWhat;
    return std::unexpected(std::move(error));
  }
  base::JsonIn in(document->root());
  Snapshot snapshot;
  std::vector<std::string> environ;
  in("argv", snapshot.argv, kBytes);
  in("environ", environ, kBytes);
  in("facts", snapshot.facts);
  in.map("paths", snapshot.paths);
  snapshot.env = base::Environ(std::move(environ));
  TRY(in.finish(kWhat, where, "use a file that `trainit snapshot` wrote"));
  return snapshot;
}

}  // namespace envgen
