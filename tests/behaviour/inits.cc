#include "tests/behaviour/inits.h"

#include <unistd.h>

#include <array>

#include "tests/rules/isolation.h"

namespace behaviour {
namespace {

struct Variant {
  Kind kind;
  const char* name;
  const char* option;  // "" = none
};

constexpr std::array kVariants{
    Variant{Kind::kTini, "tini", ""},           Variant{Kind::kTini, "tini", "-g"},
    Variant{Kind::kDumbInit, "dumb-init", ""},  Variant{Kind::kDumbInit, "dumb-init", "-c"},
    Variant{Kind::kCatatonit, "catatonit", ""}, Variant{Kind::kCatatonit, "catatonit", "-g"},
};

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

}  // namespace

Words command_line(const Init& init, const Words& command, const Words& more) {
  Words line = {init.program};
  append(line, init.options);
  append(line, more);
  line.emplace_back("--");
  append(line, command);
  return line;
}

Init trainit() { return {"trainit", Kind::kTrainit, rules::trainit()}; }

std::optional<std::string> installed(const std::string& name) {
  for (const char* folder : {"/usr/bin/", "/usr/local/bin/", "/bin/", "/sbin/", "/usr/sbin/"}) {
    std::string path = folder + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

std::vector<Pair> pairs(const std::string& directory) {
  std::vector<Pair> list;
  for (const Variant& variant : kVariants) {
    const std::string link = directory + "/" + variant.name;
    // A second variant finds it there.
    if (!directory.empty()) ::symlink(rules::trainit().c_str(), link.c_str());
    const Words options = *variant.option != '\0' ? Words{variant.option} : Words{};
    const std::string title =
        variant.name + (options.empty() ? std::string() : " " + options.front());
    Pair pair{{"as " + title, variant.kind, link, options}, std::nullopt};
    if (const auto path = installed(variant.name)) {
      pair.peer = Init{title, variant.kind, *path, options};
    }
    list.push_back(std::move(pair));
  }
  return list;
}

}  // namespace behaviour
