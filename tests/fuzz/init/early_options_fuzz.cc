// Whatever a variable holds: where the command is started before main() has read it, main() takes
// it as well, and finds nothing to resolve.

#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "envgen/resolve/resolve.h"
#include "init/cli/options.h"
#include "init/early/early_options.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(early_options) {
  constexpr const char* kNames[] = {"GRACE",     "STOP_SCOPE", "SECOND_TERM", "LOG_FORMAT",
                                    "LOG_LEVEL", "EXIT_CODES", "SIGNAL",      "ESCALATE"};
  std::string value(reinterpret_cast<const char*>(data), size);
  value.resize(std::min(value.find('\0'), value.size()));
  for (const char* name : kNames) {
    const std::string entry = "TRAINIT_" + std::string(name) + "=" + value;
    if (early::option_of(entry.c_str()) == early::Option::kNone) continue;
    const base::Environ env({entry});
    auto options = cli::parse_options(std::vector<std::string>{"--", "/bin/true"}, env);
    require(options && cli::check_options(*options, env));
    require(envgen::is_pass_through(env, options->request));
  }
  return 0;
}
