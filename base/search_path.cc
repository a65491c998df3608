#include "base/search_path.h"

#include "base/constants/default_path.h"
#include "base/text.h"

namespace base {

std::string_view search_path_of(const Environ& env) { return env.get_or("PATH", kDefaultPath); }

std::string server_path_of(const Environ& env) {
  constexpr std::string_view kServerDirectories = "/usr/sbin:/usr/local/sbin:/sbin:/usr/bin";
  return absolute_elements(concat({search_path_of(env), ":", kServerDirectories}));
}

std::string absolute_elements(std::string_view search_path) {
  std::string absolute;
  for (const std::string_view element : split(search_path, ':')) {
    if (!element.starts_with('/')) continue;
    if (!absolute.empty()) absolute += ':';
    absolute += element;
  }
  return absolute;
}

std::vector<std::string> places_of_program(std::string_view search_path, std::string_view name) {
  if (name.empty()) return {};
  if (name.contains('/')) return {std::string(name)};
  std::vector<std::string> places;
  for (const std::string_view element : split(search_path, ':')) {
    const std::string_view directory = element.empty() ? "." : element;
    places.push_back(concat({directory, directory.ends_with('/') ? "" : "/", name}));
  }
  return places;
}

}  // namespace base
