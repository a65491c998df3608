// What launchers and their ranks print, and what @record writes.

#include <cstdint>
#include <cstdlib>

#include "envgen/failure/launcher_ranks.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(launcher_ranks) {
  static const envgen::FailureCatalog catalog = envgen::FailureCatalog::shipped();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto failures = envgen::told_failures(text);
  if (failures.empty() != envgen::told_text(failures, catalog).empty()) std::abort();
  envgen::RankFailure failure;
  if (envgen::read_error_file(text, failure)) failures.push_back(failure);
  const auto first = envgen::first_of(failures, catalog);
  if (first && failures.empty()) std::abort();
  envgen::rank_of_worker_log(text);
  return 0;
}
