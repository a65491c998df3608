#pragma once
// File systems that a test mounts where nobody else sees them.

#include <functional>
#include <string>
#include <vector>

namespace mounts {

// 128 + n for a signal, 127 where there is no such program.
int run_program(std::vector<std::string> words);

// Returns whether this process may mount and tests/lying_fs was built (needs libfuse).
bool may_lie();
// Mounts tests/lying_fs over `backing` at `point`; `lies` as in its source.
bool lie(const std::string& lies, const std::string& backing, const std::string& point);
// Mounts an image of `size` bytes, which is made at `image` by `mkfs` and its options.
bool mount_image(std::vector<std::string> mkfs, const std::string& image, long size,
                 const std::string& point);

// Runs `body` in a process whose mounts end with it; its failures are the test's. `mount`: false
// skips the test.
void with(const std::function<bool()>& mount, const std::function<void()>& body);

}  // namespace mounts
