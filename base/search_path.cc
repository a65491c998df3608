#include "base/search_path.h"

#include "base/constants/default_path.h"
#include "base/text.h"

namespace base {

std::string_view search_path_of(const Environ& env) { return env.get_or("PATH", kDefaultPath); }

std::string server_path_of(const Environ& env) {
  constexpr std::string_view kServerDirectories = "/usr/sbin:/usr/local/sbin:/sbin:/usr/bin";
  std::string path;
  for (const std::string_view element : split(search_path_of(env), ':')) {
    if (element.starts_with('/')) path += concat({element, ":"});
  }
  return path.append(kServerDirectories);
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

std::vector<std::string> absolute_places_of_program(std::string_view search_path,
                                                    std::string_view name) {
  std::vector<std::string> places = places_of_program(search_path, name);
  std::erase_if(places, [](const std::string& place) { return !place.starts_with('/'); });
  return places;
}

}  // namespace base
