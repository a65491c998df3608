// Any text as a seccomp profile, on hosts that its conditions tell apart: an error that says
// something, or a filter that answers every call.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "init/sandbox/seccomp.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/init/sandbox/bpf.h"

namespace {

void check(std::string_view json, const sandbox::Host& host, bool strict) {
  const auto filter = sandbox::compile_profile(json, host, strict, "p");
  if (!filter) {
    require(!filter.error().found.empty() && !filter.error().what.empty());
    return;
  }
  require(!filter->program.empty() && filter->program.size() % sizeof(sock_filter) == 0);
  require(filter->program.size() / sizeof(sock_filter) <= sandbox::kMaxInstructions);
  for (const std::uint32_t arch : std::initializer_list<std::uint32_t>{
           AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, AUDIT_ARCH_I386}) {
    for (const int number : {-1, 0, 41, 59, 231, 0x4000'0000 + 1, 435, 10'000}) {
      for (const std::uint64_t argument : {0ULL, 40ULL, ~0ULL}) {
        require(bpf::run(filter->program, {arch, number, {argument, argument}}) != bpf::kBroken);
      }
    }
  }
}

}  // namespace

TRAINIT_FUZZER(profile) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  check(json, {.arch = "amd64", .kernel_major = 4, .kernel_minor = 7, .capabilities = 0}, false);
  check(json, {.arch = "arm64", .kernel_major = 6, .kernel_minor = 1, .capabilities = ~0ULL}, true);
  return 0;
}
