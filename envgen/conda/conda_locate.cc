// Finds an environment in conda's order: CONDA_ENVS_DIRS, the .condarc files, the installation's
// envs/, ~/.conda/envs. Then it searches micromamba's root and ~/.conda/environments.txt.

#include <algorithm>
#include <set>

#include "base/text.h"
#include "envgen/conda/conda.h"
#include "envgen/plan/command.h"

namespace envgen::conda {
namespace {

constexpr std::string_view kWhat = "finding the conda environment";
// Maximum number of names that are looked at in a directory: each costs a system call, and a home
// directory can contain anything.
constexpr std::size_t kMaxNames = 200;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Returns the value of a plain or quoted scalar without its comment.
std::string scalar(std::string_view text) {
  text = base::trimmed(text);
  if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
    const std::size_t end = text.find(text.front(), 1);
    return std::string(text.substr(1, end == std::string_view::npos ? end : end - 1));
  }
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1)) {
    if (at == 0 || is_blank(text[at - 1])) {
      text = text.substr(0, at);
      break;
    }
  }
  return std::string(base::trimmed(text));
}

// Returns the text after "envs_dirs:", or nullopt for a line with another key.
std::optional<std::string_view> envs_dirs_value(std::string_view line) {
  for (const std::string_view key : {"envs_dirs:", "envs_path:"}) {
    if (line.starts_with(key)) return base::trimmed(line.substr(key.size()));
  }
  return std::nullopt;
}

void add_flow_list(std::string_view text, std::vector<std::string>& dirs) {
  text.remove_prefix(1);
  char quote = 0;
  bool started = false;  // within a plain scalar a quote is an ordinary character
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ']';
    if (quote != 0 && at < text.size()) {
      if (c == quote) quote = 0;
    } else if (c == ',' || c == ']') {
      std::string dir = scalar(text.substr(begin, at - begin));
      if (!dir.empty()) dirs.push_back(std::move(dir));
      if (c == ']') return;
      begin = at + 1;
      started = false;
    } else if (!is_blank(c)) {
      if (!started && (c == '"' || c == '\'')) quote = c;
      started = true;
    }
  }
}

bool is_name_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Expands ~, $NAME and ${NAME}. A variable that is not set stays unchanged.
std::string expanded(const Inputs& inputs, std::string_view text) {
  std::string result;
  const std::string_view home = inputs.variable("HOME");
  if (!home.empty() && (text == "~" || text.starts_with("~/"))) {
    result = home;
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const std::size_t dollar = text.find('$');
    result += text.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar);
    const bool braces = text.starts_with("${");
    const std::size_t start = braces ? 2 : 1;
    std::size_t end = start;
    while (end < text.size() && is_name_character(text[end])) ++end;
    const std::string_view name = text.substr(start, end - start);
    const bool closed = !braces || (end < text.size() && text[end] == '}');
    const auto value = name.empty() || !closed ? std::nullopt : inputs.env().get(name);
    const std::size_t size = value && braces ? end + 1 : std::max<std::size_t>(end, 1);
    result += value ? *value : text.substr(0, size);
    text.remove_prefix(size);
  }
  return result;
}

std::string absolute(const Inputs& inputs, std::string_view path) {
  return normal_path(join_path(inputs.facts().cwd, expanded(inputs, path)));
}

bool is_directory(Inputs& inputs, const std::string& path) {
  const PathState* state = inputs.kind(path);
  return state != nullptr && state->kind == PathState::Kind::kDirectory;
}

bool is_environment(Inputs& inputs, const std::string& prefix) {
  return is_directory(inputs, prefix + "/conda-meta");
}

// Returns true if `root` contains environments or is one. Requests the directory with its entries
// at once, because a path that was requested without them is not requested again.
bool is_root(Inputs& inputs, const std::string& root) {
  const bool meta = is_environment(inputs, root);
  const PathState* envs = inputs.content(root + "/envs");
  return meta || (envs != nullptr && envs->kind == PathState::Kind::kDirectory);
}

// Returns the first candidate that is a root. Checks all candidates first, so that all their paths
// are requested in one round.
std::string first_root(Inputs& inputs, const std::vector<std::string>& candidates) {
  std::string first;
  for (const std::string& candidate : candidates) {
    if (is_root(inputs, candidate) && first.empty()) first = candidate;
  }
  return first;
}

std::string root_of_program(std::string_view program) {
  return std::string(parent_path(parent_path(program)));
}

std::string root_of(Inputs& inputs, const Wish& wish) {
  const Request& request = inputs.request();
  const std::string_view envs = parent_path(wish.environment);
  const bool owned = base_name(envs) == "envs";
  if (wish.inferred && owned && is_root(inputs, std::string(parent_path(envs)))) {
    return std::string(parent_path(envs));
  }
  if (!request.conda_dir.empty()) return absolute(inputs, request.conda_dir);
  std::vector<std::string> candidates;
  if (wish.program.starts_with('/')) candidates.push_back(root_of_program(wish.program));
  const std::string_view given = inputs.variable("ANACONDA_DIR");
  if (!given.empty()) candidates.push_back(absolute(inputs, given));
  const std::string_view exe = inputs.variable("CONDA_EXE");
  if (exe.starts_with('/')) candidates.push_back(root_of_program(exe));
  const std::string_view mamba = inputs.variable("MAMBA_ROOT_PREFIX");
  if (!mamba.empty()) candidates.push_back(absolute(inputs, mamba));
  if (wish.environment.starts_with('/')) {
    if (owned) candidates.emplace_back(parent_path(envs));
    // The requested environment may itself be a root.
    if (is_directory(inputs, wish.environment + "/condabin"))
      candidates.push_back(wish.environment);
  }
  // No program is searched: the directories in PATH show where conda is installed.
  for (const std::string_view element : base::split(inputs.variable("PATH"), ':')) {
    const bool bin = element.starts_with('/') && element.ends_with("/bin");
    if (!bin && !element.ends_with("/condabin")) continue;
    std::string root(parent_path(element));
    if (is_directory(inputs, root + "/condabin")) candidates.push_back(std::move(root));
  }
  std::string found = first_root(inputs, candidates);
  // If nothing was found, returns ANACONDA_DIR nevertheless, so that the error names it.
  return found.empty() && !given.empty() ? absolute(inputs, given) : found;
}

const std::string* text_at(Inputs& inputs, const std::string& path) {
  const PathState* state = inputs.content(path);
  return state != nullptr && state->kind == PathState::Kind::kFile ? &state->content : nullptr;
}

void add(std::vector<std::string>& list, std::string path) {
  if (std::ranges::find(list, path) == list.end()) list.push_back(std::move(path));
}

std::vector<std::string> envs_dirs(Inputs& inputs, const std::string& root) {
  const std::string home(inputs.variable("HOME"));
  std::vector<std::string> files;
  if (const auto file = inputs.variable("CONDARC"); !file.empty()) files.emplace_back(file);
  if (!home.empty()) {
    files.push_back(home + "/.condarc");
    files.push_back(home + "/.conda/.condarc");
  }
  if (!root.empty()) files.push_back(root + "/.condarc");
  files.emplace_back("/etc/conda/.condarc");

  std::vector<std::string> dirs;
  for (const char* name : {"CONDA_ENVS_DIRS", "CONDA_ENVS_PATH"}) {
    for (const std::string_view dir : base::split(inputs.variable(name), ':')) {
      if (!dir.empty()) add(dirs, absolute(inputs, dir));
    }
  }
  for (const std::string& file : files) {
    const std::string* text = text_at(inputs, absolute(inputs, file));
    if (text == nullptr) continue;
    for (const std::string& dir : condarc_envs_dirs(*text)) add(dirs, absolute(inputs, dir));
  }
  if (!root.empty()) add(dirs, normal_path(root + "/envs"));
  if (!home.empty()) add(dirs, home + "/.conda/envs");
  const std::string_view mamba = inputs.variable("MAMBA_ROOT_PREFIX");
  if (!mamba.empty()) add(dirs, absolute(inputs, mamba) + "/envs");
  return dirs;
}

// Reads ~/.conda/environments.txt: one prefix per line, including roots.
std::vector<std::string> registered(Inputs& inputs) {
  std::vector<std::string> prefixes;
  const std::string_view home = inputs.variable("HOME");
  if (home.empty()) return prefixes;
  const std::string* text = text_at(inputs, std::string(home) + "/.conda/environments.txt");
  if (text == nullptr) return prefixes;
  for (const std::string_view line : base::split(*text, '\n')) {
    const std::string_view path = base::trimmed(line);
    if (path.starts_with('/') && prefixes.size() < kMaxNames) prefixes.push_back(normal_path(path));
  }
  return prefixes;
}

// Returns the names of the existing environments: "base" if the root is one, those in `dirs`, and
// the registered ones.
std::set<std::string> existing(Inputs& inputs, const std::string& root,
                               const std::vector<std::string>& dirs) {
  std::set<std::string> names;
  if (!root.empty() && is_environment(inputs, root)) names.insert("base");
  for (const std::string& dir : dirs) {
    const PathState* state = inputs.content(dir);
    if (state == nullptr) continue;
    for (const std::string& entry : state->entries) {
      if (names.size() >= kMaxNames) break;
      if (is_environment(inputs, dir + "/" + entry)) names.insert(entry);
    }
  }
  for (const std::string& prefix : registered(inputs)) {
    const bool listed = std::ranges::find(dirs, parent_path(prefix)) != dirs.end();
    if (prefix != root && !listed && is_environment(inputs, prefix)) names.insert(prefix);
  }
  return names;
}

std::string list_of(const auto& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::unexpected<base::Error> not_found(Inputs& inputs, const Wish& wish, const std::string& root,
                                       const std::vector<std::string>& dirs) {
  const std::set<std::string> names = existing(inputs, root, dirs);
  const bool prefix = wish.environment.find('/') != std::string::npos;
  std::string found =
      prefix ? "no conda environment there (it has no conda-meta directory)"
             : "no environment of that name in " +
                   (dirs.empty() ? "any place, for no conda installation is known" : list_of(dirs));
  return base::fail(kWhat, wish.source + " " + wish.environment, std::move(found),
                    names.empty() ? "say where conda is installed with --conda-dir or ANACONDA_DIR"
                                  : "these exist: " + list_of(names));
}

std::vector<std::string> candidates(Inputs& inputs, const Wish& wish, const std::string& root,
                                    const std::vector<std::string>& dirs) {
  const std::string& name = wish.environment;
  if (name.find('/') != std::string::npos || name.starts_with('~')) {
    return {absolute(inputs, name)};
  }
  std::vector<std::string> result;
  if (name == "base" || name == "root") {
    if (!root.empty()) result.push_back(root);
    return result;
  }
  if (name == "." || name == "..") return result;
  for (const std::string& dir : dirs) result.push_back(dir + "/" + name);
  for (std::string& prefix : registered(inputs)) {
    if (base_name(prefix) == name) result.push_back(std::move(prefix));
  }
  return result;
}

}  // namespace

std::vector<std::string> condarc_envs_dirs(std::string_view text) {
  std::vector<std::string> dirs;
  bool inside = false;
  for (const std::string_view whole : base::split(text, '\n')) {
    std::string_view line = base::trimmed(whole);
    if (line.empty() || line.starts_with('#')) continue;
    const bool indented = is_blank(whole.front());
    if (auto value = indented ? std::nullopt : envs_dirs_value(line)) {
      if (value->starts_with('[')) {
        add_flow_list(*value, dirs);
      } else if (std::string dir = scalar(*value); !dir.empty()) {
        dirs.push_back(std::move(dir));
      }
      inside = true;
    } else if (inside && (line == "-" || line.starts_with("- "))) {
      std::string dir = scalar(line.substr(1));
      if (!dir.empty()) dirs.push_back(std::move(dir));
    } else {
      inside = false;
    }
  }
  return dirs;
}

base::Result<std::optional<CondaEnvironment>> locate(Inputs& inputs, const Wish& wish) {
  const std::size_t wanted = inputs.wants().size();
  const auto looking = [&inputs, wanted] { return inputs.wants().size() > wanted; };
  if (wish.inferred) {
    const bool known = inputs.kind(wish.environment + "/conda-meta") != nullptr;
    if (!known || !is_environment(inputs, wish.environment)) return std::nullopt;
  }
  const std::string root = root_of(inputs, wish);
  const std::vector<std::string> dirs = envs_dirs(inputs, root);
  registered(inputs);
  if (looking()) return std::nullopt;

  CondaEnvironment environment;
  environment.root = root;
  for (std::string& prefix : candidates(inputs, wish, root, dirs)) {
    if (is_environment(inputs, prefix) && environment.prefix.empty())
      environment.prefix = std::move(prefix);
  }
  if (!root.empty()) {
    const PathState* conda = inputs.kind(root + "/bin/conda");
    environment.root_has_conda = conda != nullptr && conda->kind == PathState::Kind::kFile;
  }
  if (looking()) return std::nullopt;
  if (environment.prefix.find(':') != std::string::npos) {
    if (wish.inferred) return std::nullopt;
    return base::fail(kWhat, wish.source + " " + wish.environment,
                      environment.prefix + ", and a directory with a colon cannot stand in PATH",
                      "rename the environment; conda refuses such a name too");
  }
  if (!environment.prefix.empty()) return environment;
  auto error = not_found(inputs, wish, root, dirs);
  if (looking()) return std::nullopt;
  return error;
}

}  // namespace envgen::conda
