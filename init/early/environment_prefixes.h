#pragma once
// Prefixes of all variables that may make it necessary to resolve something, for code without libc,
// which can only compare prefixes. They cover all variables that envgen reads, and some others. The
// prefixes of platforms and launchers are in base/constants/platform_variables.h.
// tests/init/early/early_prefixes_test.cc compares all of them with envgen.

#include "base/constants/platform_variables.h"

namespace early {

// Prefixes of variables that are not a platform's: those of trainit itself, of conda, of Ascend's
// libraries, of socket activation. "CONDA" matches each variable whose name begins with it.
inline constexpr char kOtherPrefixes[][16] = {
    "ANACONDA", "ATB_",    "CONDA", "DEFAULT_CONDA", "DEVICE_",
    "HCCL",     "LISTEN_", "MAMBA", "SERVER_ID",     "TRAINIT_",
};

// Parts of a program's path that mean conda: "/opt/conda/envs/a/bin/python", "micromamba".
inline constexpr char kProgramPrefixes[][8] = {"conda", "mamba", "envs"};

// The directory of hooks: if it exists, there may be hooks. Same as envgen::kHooksDirectory.
inline constexpr char kHooksDirectory[] = "/etc/trainit/hooks";

using base::begins_with;

constexpr bool equal(const char* text, const char* other) {
  while (*text != '\0' && *text == *other) {
    ++text;
    ++other;
  }
  return *text == *other;
}

// Returns true if the name in `entry` ("NAME=VALUE") begins with one of the prefixes.
constexpr bool has_known_prefix(const char* entry) {
  for (const auto& known : base::kPlatformPrefixes.text) {
    if (begins_with(entry, known)) return true;
  }
  for (const auto& known : kOtherPrefixes) {
    if (begins_with(entry, known)) return true;
  }
  return false;
}

constexpr bool may_be_conda(const char* program) {
  for (; *program != '\0'; ++program) {
    for (const auto& known : kProgramPrefixes) {
      if (begins_with(program, known)) return true;
    }
  }
  return false;
}

}  // namespace early
