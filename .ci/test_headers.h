#pragma once
// The headers that most test files include, parsed once for all of them (tests/CMakeLists.txt).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include ".ci/standard_headers.h"
