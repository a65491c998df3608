#!/usr/bin/env bash
# .ci/layers must let a clean house pass and find each planted breach: layers_test.sh SOURCE_DIR CXX
set -eu

layers=$1/.ci/layers
cxx=$2
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
failures=0

# A file of the house: its path, then a line each.
file() {
  local path=$house/$1
  shift
  mkdir -p "${path%/*}"
  printf '%s\n' "$@" >"$path"
}

build_house() {
  rm -rf "${house:?}"/*
  file base/json.h '#include <string>'
  file base/json.cc '#include "base/json.h"' '#include <nlohmann/json.hpp>'
  file envgen/formats/hosts.h '#include "base/json.h"'
  file envgen/plan/plan.h '#include <string>' '#include "base/json.h"' '#include "envgen/formats/hosts.h"'
  file envgen/plan/plan_json.cc '#include "envgen/plan/plan.h"'
  file envgen/ranktable/ranktable.h
  file envgen/ranktable/ranktable_impl.h '#include "envgen/ranktable/ranktable.h"'
  file envgen/ranktable/ranktable.cc '#include "envgen/ranktable/ranktable_impl.h"'
  file envgen/platform/platform.h '#include "envgen/plan/plan.h"'
  file envgen/framework/framework.h '#include "envgen/plan/plan.h"'
  file envgen/resolve/resolve.h '#include "envgen/framework/framework.h"' '#include "envgen/platform/platform.h"'
  file lifecycle/machine.h '#include <vector>'
  file lifecycle/machine.cc '#include "lifecycle/machine.h"'
  file init/main.cc '#include "init/cli/options.h"'
  file init/sys/log.h
  file init/sys/log.cc '#include "init/sys/log.h"' '#include <spdlog/spdlog.h>'
  file init/proc/reap.h '#include "init/sys/log.h"'
  file init/copy/tree/worker.h
  file init/copy/cache/cache.h '#include "init/copy/tree/worker.h"'
  file init/engine/tasks/job.h '#include "lifecycle/machine.h"'
  file init/engine/loop.h
  file init/engine/loop.cc '#include "init/engine/loop.h"' '#include "init/engine/tasks/job.h"'
  file init/cli/options.h '#include "init/engine/loop.h"'
  early 'int once() { return 1; }'
  archive base 'int thrice(int n) { return 3 * n; }'
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
  rm -rf "${house:?}"/*
  cp -a "$clean"/. "$house"
}

build_house
clean=$(mktemp -d)
trap 'rm -rf "$house" "$clean"' EXIT
cp -a "$house"/. "$clean"
"$layers" "$house" "$house" || { echo 'FAILED: a clean house did not pass'; failures=1; }

# Between the houses.
file envgen/plan/plan.cc '#include "init/sys/fd.h"'
finds 'envgen/plan/plan.cc includes init/sys/fd.h'
file lifecycle/machine.cc '#include "envgen/plan/plan.h"'
finds 'lifecycle/machine.cc includes envgen/plan/plan.h'
file init/proc/reap.cc '  #  include "init/engine/loop.h"'
finds 'init/proc/reap.cc includes init/engine/loop.h'
file init/engine/loop.cc '#include "init/cli/options.h"'
finds 'init/engine/loop.cc includes init/cli/options.h'
file base/json.h '#include "envgen/plan/plan.h"'
finds 'base/json.h includes envgen/plan/plan.h'

# Between the folders of one.
file envgen/plan/plan.h '#include "envgen/resolve/resolve.h"'
finds 'envgen/plan/plan.h includes envgen/resolve/resolve.h'
file envgen/formats/hosts.h '#include "envgen/plan/plan.h"'
finds 'envgen/formats/hosts.h includes envgen/plan/plan.h'
file envgen/framework/framework.h '#include "envgen/platform/platform.h"'
finds 'envgen/framework/framework.h includes envgen/platform/platform.h'
file envgen/platform/platform.h '#include "envgen/framework/framework.h"'
finds 'envgen/platform/platform.h includes envgen/framework/framework.h'
file init/copy/tree/worker.h '#include "init/copy/cache/cache.h"'
finds 'init/copy/tree/worker.h includes init/copy/cache/cache.h'
file init/engine/tasks/job.h '#include "init/engine/loop.h"'
finds 'init/engine/tasks/job.h includes init/engine/loop.h'
file envgen/odd/odd.h '#include <string>'
finds 'envgen/odd/ is not known here'

# Rings: of two headers, of a header and the .cc of another one, by a .cc of a longer name.
file init/sys/fd.h '#include "init/sys/files.h"'
file init/sys/files.h '#include "init/sys/fd.h"'
finds 'a ring of includes: init/sys/f'
file init/sys/fd.h '#include "init/sys/log.h"'
file init/sys/log.cc '#include "init/sys/log.h"' '#include "init/sys/fd.h"'
finds 'a ring of includes: init/sys/'
file envgen/plan/inputs.h '#include "envgen/plan/plan.h"'
file envgen/plan/plan_json.cc '#include "envgen/plan/inputs.h"'
finds 'a ring of includes: envgen/plan/'
file init/sys/a.h '#include "init/sys/b.h"'
file init/sys/b.h '#include "init/sys/c.h"'
file init/sys/c.cc '#include "init/sys/a.h"'
file init/sys/c.h
finds 'a ring of includes: init/sys/'

# Names and sizes.
file init/sys/machine.cc '#include "init/sys/log.h"'
finds 'init/sys/machine.cc belongs to no header'
for number in {1..25}; do file "init/sys/more_$number.h"; done
finds 'init/sys/ holds 26 units'
for number in {1..26}; do file "tests/envgen/plan/more_${number}_test.cc"; done
finds 'tests/envgen/plan/ holds 26 units'

file tests/envgen/odd/odd_test.cc
finds 'tests/envgen/odd/ mirrors no folder'

# What only one file, or no file of a house, may use.
file envgen/plan/plan.h '#include <nlohmann/json.hpp>'
finds 'envgen/plan/plan.h includes <nlohmann/json.hpp>: only base/json.cc may'
file init/cli/options.cc '#include <spdlog/spdlog.h>'
finds 'init/cli/options.cc includes <spdlog/spdlog.h>: only init/sys/log.cc may'
file lifecycle/machine.cc '#include <fstream>'
finds 'lifecycle/machine.cc includes <fstream>'
file base/json.cc '#include <sys/stat.h>'
finds 'base/json.cc includes <sys/stat.h>'
file envgen/resolve/resolve.cc '#include <unistd.h>'
finds 'envgen/resolve/resolve.cc includes <unistd.h>'
file init/proc/reap.cc 'int end() { return ::execv("/bin/true", nullptr); }'
finds 'init/proc/reap.cc starts a program: only init/proc/exec.cc init/dropin/loop.cc may'
file init/engine/loop.cc '#include "init/engine/loop.h"' 'auto pid = proc::spawn(spec, saved);'
finds 'init/engine/loop.cc starts a program'
early '#include <string.h>
unsigned long size(const char* text) { return strlen(text); }'
finds 'init/early/ needs strlen'
archive base 'extern "C" int getpid(); int self() { return getpid(); }'
finds 'base/ uses getpid'
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

# A table whose own order is wrong.
sed 's#^envgen/formats: base#envgen/formats: base lifecycle#' "$layers" >"$house/layers"
chmod +x "$house/layers"
if said=$("$house/layers" "$house" "$house" 2>&1); then
  echo 'FAILED: a table in disorder passed'
  failures=$((failures + 1))
elif ! grep -qF 'envgen/formats/ may include lifecycle/' <<<"$said"; then
  echo "FAILED: of a table in disorder it said: $said"
  failures=$((failures + 1))
fi

[ "$failures" -eq 0 ] || exit 1
echo 'each planted breach was found'
