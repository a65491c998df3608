#!/usr/bin/env bash
# .ci/layers must let a clean house pass and find each planted breach: layers_test.sh SOURCE_DIR CXX
set -eu

layers=$1/.ci/layers
cxx=$2
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
failures=0

build_house() {
  rm -rf "${house:?}"/*
  mkdir -p "$house"/{envgen,lifecycle,init/{sys,proc,engine,cli}}
  echo '#include <nlohmann/json.hpp>' >"$house/envgen/json.cc"
  printf '#include <string>\n#include "envgen/json.h"\n' >"$house/envgen/plan.h"
  echo '#include <spdlog/spdlog.h>' >"$house/init/sys/log.cc"
  echo '#include "lifecycle/machine.h"' >"$house/init/engine/loop.cc"
  early 'int once() { return 1; }'
  archive envgen 'int twice(int n) { return 2 * n; }'
  archive lifecycle 'int half(int n) { return n / 2; }'
}

early() { # code
  mkdir -p "$house/CMakeFiles/trainit.dir/init/early"
  echo "$1" | "$cxx" -x c++ -std=c++23 -O1 -c -o "$house/CMakeFiles/trainit.dir/init/early/early.cc.o" -
}

archive() { # library code
  echo "$2" | "$cxx" -x c++ -std=c++23 -O1 -c -o "$house/$1.o" -
  rm -f "$house/lib$1.a"
  ar rc "$house/lib$1.a" "$house/$1.o"
}

# With the house as it is now, the check must fail and say this.
finds() { # said
  local said
  if said=$("$layers" "$house" "$house" 2>&1); then
    echo "FAILED: a planted breach passed; expected: $1"
    failures=$((failures + 1))
  elif ! grep -qF -- "$1" <<<"$said"; then
    echo "FAILED: expected: $1; it said: $said"
    failures=$((failures + 1))
  fi
  build_house
}

build_house
"$layers" "$house" "$house" || { echo 'FAILED: a clean house did not pass'; failures=1; }

echo '#include "init/sys/fd.h"' >"$house/envgen/plan.cc"
finds 'envgen/plan.cc includes init/sys/fd.h'
echo '#include "envgen/plan.h"' >"$house/lifecycle/machine.cc"
finds 'lifecycle/machine.cc includes envgen/plan.h'
echo '  #  include "init/engine/loop.h"' >"$house/init/proc/reap.cc"
finds 'init/proc/reap.cc includes init/engine/loop.h'
echo '#include "init/cli/options.h"' >"$house/init/engine/loop.cc"
finds 'init/engine/loop.cc includes init/cli/options.h'
echo '#include <nlohmann/json.hpp>' >"$house/envgen/plan.h"
finds 'envgen/plan.h includes <nlohmann/json.hpp>: only envgen/json.cc may'
echo '#include <spdlog/spdlog.h>' >"$house/init/cli/run.cc"
finds 'init/cli/run.cc includes <spdlog/spdlog.h>: only init/sys/log.cc may'
echo '#include <fstream>' >"$house/lifecycle/machine.cc"
finds 'lifecycle/machine.cc includes <fstream>'
early '#include <string.h>
unsigned long size(const char* text) { return strlen(text); }'
finds 'init/early/ needs strlen'
archive envgen 'extern "C" char* getenv(const char*); char* home() { return getenv("HOME"); }'
finds 'envgen/ uses getenv'
archive lifecycle '#include <time.h>
  long now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec; }'
finds 'lifecycle/ uses clock_gettime'
archive lifecycle '#include <chrono>
  long now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }'
finds 'lifecycle/ uses _ZNSt6chrono'
archive envgen '#include <fstream>
  bool there() { return std::ifstream("/etc/hosts").good(); }'
finds 'envgen/ uses _ZNSt13basic_filebuf'
rm "$house/libenvgen.a"
finds 'libenvgen.a is not there'

[ "$failures" -eq 0 ] || exit 1
echo 'each planted breach was found'
