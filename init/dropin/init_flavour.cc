#include "init/dropin/init_flavour.h"

namespace dropin {

const char* variable(const Input& input, std::string_view name) {
  for (const char* const* entry = input.environment; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=') {
      return *entry + name.size() + 1;
    }
  }
  return nullptr;
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace dropin
