// Any text, as a variable, as a command's words and as a script: what is known to be secret is in
// no output.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/secrets/secrets.h"
#include "tests/fuzz/fuzzer.h"

namespace {

constexpr std::string_view kCanary = "canary-0f1e2d3c4b5a69788796a5b4";
// Long texts take the time of many short ones, and find no more.
constexpr std::size_t kMaxBytes = 1024;

}  // namespace

TRAINIT_FUZZER(secrets) {
  const std::string text(reinterpret_cast<const char*>(data), std::min(size, kMaxBytes));
  (void)base::mask_secrets(text);
  (void)base::mask_printed(text);
  (void)base::masked_entry(text);
  const std::string canary(kCanary);
  // On a line of its own, whatever stands before it: one form for each input.
  const std::vector<std::string> secrets = {"HF_TOKEN=" + canary, "sshpass -p " + canary,
                                            "http://bob:" + canary + "@h"};
  const std::string& secret = secrets[size % secrets.size()];
  require(!base::masked_value("X", text + "\n" + secret).contains(kCanary));
  require(!base::masked_arguments({text, "sh", "-c", secret})[3].contains(kCanary));
  require(base::masked_arguments({text, "--token", canary})[2] == "***");
  return 0;
}
