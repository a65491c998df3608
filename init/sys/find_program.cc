#include "init/sys/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/search_path.h"

namespace sys {

bool is_program(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::string find_program(std::string_view search_path, std::string_view name) {
  for (std::string& place : base::places_of_program(search_path, name)) {
    if (is_program(place)) return std::move(place);
  }
  return {};
}

}  // namespace sys
