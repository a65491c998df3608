// Reads the variables of an environment. First come the packages' etc/conda/env_vars.d/*, in the
// order of their names, then conda-meta/state, which `conda env config vars set` writes.

#include <algorithm>

#include "base/json.h"
#include "envgen/conda/conda.h"

namespace envgen::conda {
namespace {

constexpr std::string_view kUnset = "***unset***";
constexpr std::string_view kWhat = "reading the conda environment's variables";

std::unexpected<base::Error> refuse(std::string where, std::string found, std::string fix) {
  return base::fail(kWhat, std::move(where), std::move(found), std::move(fix));
}

// Converts a value to text as Python's str() does; null becomes nullopt.
base::Result<std::optional<std::string>> text_of(const base::json::Value& value,
                                                 const std::string& where) {
  switch (value.type()) {
    case base::json::Type::kNull:
      return std::nullopt;
    case base::json::Type::kBool:
      return value.text() == "true" ? "True" : "False";
    case base::json::Type::kInteger:
    case base::json::Type::kFloat:
      return std::string(value.text());
    case base::json::Type::kString:
      break;
    case base::json::Type::kArray:
    case base::json::Type::kObject:
      return refuse(where, std::string(base::json::type_name(value.type())),
                    "write it as a string");
  }
  std::string text(value.text());
  if (text.find('\0') == std::string::npos) return text;
  return refuse(where, "a NUL character, which no variable can hold", "remove it");
}

base::Status add_members(const base::json::Value& object, std::string_view where,
                         Variables& variables) {
  if (!object.is(base::json::Type::kObject)) {
    return refuse(std::string(where), std::string(base::json::type_name(object.type())),
                  R"(write an object of names and values: {"NAME": "value"})");
  }
  for (const base::json::Value member : object) {
    const std::string name(member.key());
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      return refuse(std::string(where), "the name \"" + name + '"', "no variable is called so");
    }
    TRY_ASSIGN(auto value, text_of(member, std::string(where) + ": " + name));
    variables.insert_or_assign(name, std::move(value));
  }
  return {};
}

base::Result<base::json::Document> parsed(std::string_view text, std::string_view where) {
  auto document = base::json::Document::parse(text, where);
  if (document) return std::move(*document);
  base::Error error = std::move(document.error().error);
  error.what = kWhat;
  return std::unexpected(std::move(error));
}

// Returns the text of a file, or nullptr if the file does not exist.
base::Result<const std::string*> text_in(const PathState& state, const std::string& path) {
  if (state.kind == PathState::Kind::kFile) return &state.content;
  if (state.kind == PathState::Kind::kAbsent) return nullptr;
  return refuse(path,
                state.kind == PathState::Kind::kDirectory
                    ? "a directory"
                    : "a file that cannot be read (errno " + std::to_string(state.error) + ")",
                "conda reads a file here: make it readable, or remove it");
}

}  // namespace

base::Status add_package_variables(std::string_view text, std::string_view where,
                                   Variables& variables) {
  TRY_ASSIGN(auto document, parsed(text, where));
  return add_members(document.root(), where, variables);
}

base::Status add_state_variables(std::string_view text, std::string_view where,
                                 Variables& variables) {
  TRY_ASSIGN(auto document, parsed(text, where));
  if (!document.root().is(base::json::Type::kObject)) {
    return refuse(std::string(where), std::string(base::json::type_name(document.root().type())),
                  R"(write an object: {"env_vars": {"NAME": "value"}})");
  }
  auto members = document.root().find("env_vars");
  if (!members) return {};
  return add_members(*members, std::string(where) + ": env_vars", variables);
}

base::Result<std::optional<Variables>> read_variables(Inputs& inputs, const std::string& prefix) {
  const std::string directory = prefix + "/etc/conda/env_vars.d";
  const std::string state_path = prefix + "/conda-meta/state";
  const PathState* packages = inputs.content(directory);
  const PathState* state = inputs.content(state_path);
  if (packages == nullptr || state == nullptr) return std::nullopt;

  bool complete = true;
  Variables variables;
  for (const std::string& name : packages->entries) {
    const std::string path = directory + "/" + name;
    const PathState* file = inputs.content(path);
    complete = complete && file != nullptr;
    if (file == nullptr) continue;
    TRY_ASSIGN(auto text, text_in(*file, path));
    if (text == nullptr) continue;
    TRY(add_package_variables(*text, path, variables));
  }
  if (!complete) return std::nullopt;
  TRY_ASSIGN(auto text, text_in(*state, state_path));
  if (text != nullptr) {
    TRY(add_state_variables(*text, state_path, variables));
  }
  std::erase_if(variables, [](const auto& variable) { return variable.second == kUnset; });
  return variables;
}

}  // namespace envgen::conda
