#pragma once
// TRAINIT_FUZZER(name) { ... return 0; } defines the function that reads one input, `data` of
// `size` bytes: libFuzzer's entry point in a build with TRAINIT_FUZZ; otherwise an entry in the
// list of short_run.cc.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace fuzz {

using Input = int (*)(const std::uint8_t* data, std::size_t size);

// Adds a fuzzer to the list of short_run.cc. `name` has to outlive the program.
bool add_fuzzer(const char* name, Input input);

}  // namespace fuzz

// Aborts if `holds` is false; libFuzzer then saves the input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

#ifdef TRAINIT_LIBFUZZER
#define TRAINIT_FUZZER(name)                                            \
  /* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */ \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#else
#define TRAINIT_FUZZER(name)                                                               \
  static int fuzz_##name(const std::uint8_t* data, std::size_t size);                      \
  [[maybe_unused]] static const bool added_##name = fuzz::add_fuzzer(#name, &fuzz_##name); \
  static int fuzz_##name(const std::uint8_t* data, std::size_t size)
#endif
