// Any text as TF_CONFIG: no crash, and what is accepted is the same when it is written and read.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "envgen/formats/tfconfig.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(tfconfig) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto config = envgen::parse_tf_config(text, "fuzz");
  if (!config) {
    if (to_line(config.error()).empty()) std::abort();
    return 0;
  }
  auto again = envgen::parse_tf_config(envgen::render_tf_config(*config), "again");
  if (!again || !(*again == *config)) std::abort();
  return 0;
}
