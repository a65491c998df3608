#include "base/shown_lines.h"

#include "base/printed_text.h"
#include "base/secrets/secrets.h"
#include "base/text.h"

namespace base {

void ShownLines::add(std::initializer_list<std::string_view> parts) {
  text_ += escaped_text(mask_secrets(concat(parts)));
  text_ += '\n';
}

}  // namespace base
