// The command line, an argument a line. What is accepted and written out again means the same.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "init/cli/options.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(options) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> arguments;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  std::vector<std::string> entries;
  for (const std::string& argument : arguments) entries.push_back("TRAINIT_GRACE=" + argument);
  const base::Environ env(entries);
  auto options = cli::parse_options(arguments, env);
  // What is found to agree agrees still without the variables that were dropped.
  if (options && cli::check_options(*options, env) && !cli::check_options(*options, env)) {
    std::abort();
  }
  const auto without = cli::parse_options(arguments, {});
  static_cast<void>(without);
  return 0;
}
