// A catalogue and a log, each of anybody: what is shown is bounded, one line, and of the log.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "envgen/failure/find_cause.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(failure) {
  static const envgen::FailureCatalog shipped = envgen::FailureCatalog::shipped();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cause = envgen::find_cause(text, shipped);
  if (cause && (cause->line.size() > 400 || cause->line.find('\n') != std::string::npos ||
                cause->traceback.size() > 30)) {
    std::abort();
  }
  envgen::FailureCatalog catalog;
  catalog.add(text, "fuzz");
  (void)envgen::find_cause(text, catalog);
  if (cause) (void)envgen::cause_key(cause->line);
  return 0;
}
