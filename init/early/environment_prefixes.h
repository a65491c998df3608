#pragma once
// Prefixes of variables that can require resolving: a superset of the variables that envgen reads.
// Code without libc can compare prefixes. Those of platforms and launchers are the prefixes of
// base/constants/platform_variables.h. tests/init/early/early_prefixes_test.cc compares all with
// envgen.

#include "base/constants/platform_variables.h"

namespace early {

// Prefixes that no platform's variable has: of trainit itself, of conda, of Ascend's libraries, of
// socket activation. "CONDA" matches each variable whose name begins with it.
inline constexpr char kOtherPrefixes[][16] = {
    "ANACONDA", "ATB_",    "CONDA", "DEFAULT_CONDA", "DEVICE_",
    "HCCL",     "LISTEN_", "MAMBA", "SERVER_ID",     "TRAINIT_",
};

// Names in a program's path that belong to conda: "/opt/conda/envs/a/bin/python", "micromamba".
inline constexpr char kProgramPrefixes[][8] = {"conda", "mamba", "envs"};

// If this directory exists, there may be hooks. Same as envgen::kHooksDirectory.
inline constexpr char kHooksDirectory[] = "/etc/trainit/hooks";

using base::begins_with;

constexpr bool equal(const char* text, const char* other) {
  while (*text != '\0' && *text == *other) {
    ++text;
    ++other;
  }
  return *text == *other;
}

// Checks the name in `entry` ("NAME=VALUE").
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
