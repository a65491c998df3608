# The front door. Each habit is one command; .ci/run calls the same ones.

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
# Test slots: most tests wait for processes, so there are four for each core. PROCESSORS in
# tests/CMakeLists.txt gives some tests more than one.
TEST_JOBS ?= $(shell echo $$(($(JOBS) * 4)))
TESTS := -j$(TEST_JOBS) --output-on-failure
# On a terminal ninja shows its progress; otherwise only errors.
BUILD = cmake --build $(1) -j$(JOBS) $(if $(2),--target $(2)) -- $(or $(3),$$([ -t 1 ] || echo --quiet))

# Each other architecture has a tree of its own.
HOST_ARCH := $(or $(shell dpkg --print-architecture 2>/dev/null),amd64)
ARCH ?= $(HOST_ARCH)

.PHONY: all demo test test-all bench behaviour stacks failures hangs restarts lint fuzz images dist release clean help \
  release-tree dev-tree asan-tree deps-build quick-builds test-builds load-builds cross-tree both-builds release-check
.DEFAULT_GOAL := all
.NOTPARALLEL:

# All parts of the tests except quick, which `make test` runs; docs/testing.md describes them.
PARTS := sanitized copies filters peers containers clusters packages fuzz simulation arm64
PART ?= quick $(PARTS)

ifeq ($(ARCH),$(HOST_ARCH))
all: release-tree
	@$(call BUILD,build,trainit)

test: quick-builds
	@.ci/suites build/dev quick $(TESTS)

test-all: test-builds
	@.ci/suites build/dev '^($(subst $() ,|,$(strip $(PART))))$$' $(TESTS)
else
all: cross-tree
	@$(call BUILD,build/$(ARCH),trainit)

test: cross-tree
	@.ci/deps test
	@$(call BUILD,build/$(ARCH))
	@GTEST_BRIEF=1 ctest --test-dir build/$(ARCH) --no-tests=error $(TESTS)

test-all: test
endif

help:
	@echo 'make          the static release binary, build/trainit'
	@echo 'make ARCH=arm64 [test]  the same for arm64, build/arm64/trainit; its tests, below qemu-user'
	@echo 'make demo     an 8-device job from its rank table to its exit code, on this machine'
	@echo 'make test     runs the tests that a change can affect: units, the simulation, real processes, copies, attacks'
	@echo 'make test-all  runs all tests; PART="clusters fuzz" selects parts (docs/testing.md)'
	@echo 'make bench    start, memory, reaping, signals and exit against other inits; rank tables against Python'
	@echo 'make behaviour  how trainit and other inits answer 34 checks of a PID 1'
	@echo 'make stacks   newer PyTorch, MPI and Slurm, gVisor and a kubelet, for real; STACKS="slurm gvisor" are some of them'
	@echo 'make failures  what trainit says of failures that are played, in each way that ranks are started'
	@echo 'make hangs    whom it names where a job of the real PyTorch hangs'
	@echo 'make restarts  200 restarts of a training of the real PyTorch: whether warm ones change what comes out'
	@echo 'make lint     clang-format, clang-tidy, shellcheck, layering'
	@echo 'make fuzz     each fuzzer for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo 'make images   the image that installs trainit into a volume, for amd64 and arm64'
	@echo 'make dist     build/dist/: tarballs and Debian packages for amd64 and arm64, and their sums'
	@echo 'make release  build/release/: packages, images, SPDX documents and sums of the version of CMakeLists.txt'
	@echo 'make clean    removes build/'
	@echo 'As root on Debian 12 or 13, each installs the packages that it lacks.'

deps-build:
	@.ci/deps build

release-tree: deps-build
	@cmake --preset release --log-level=WARNING >/dev/null
	@# ninja shows the last step only by its name.
	@[ -e build/trainit ] || [ ! -t 1 ] || echo 'make: the last step of the first build, linking trainit, takes about a minute'

cross-tree:
	@.ci/deps build cross
	@cmake --preset $(ARCH) --log-level=WARNING >/dev/null

demo: release-tree
	@$(call BUILD,build,trainit payload)
	@tests/demo/demo.sh build

dev-tree:
	@.ci/deps build test
	@cmake --preset dev --log-level=WARNING >/dev/null

asan-tree:
	@.ci/deps build test
	@cmake --preset asan --log-level=WARNING >/dev/null

quick-builds: release-tree dev-tree asan-tree
	@# The link of trainit takes one core for a minute: the other trees are built beside it.
	@$(call BUILD,build,trainit payload,--quiet) & release=$$!; \
	 $(call BUILD,build/asan,base_test envgen_test lifecycle_test) && $(call BUILD,build/dev,part_quick); \
	 others=$$?; wait $$release && exit $$others

test-builds: quick-builds
	@.ci/deps test-all $(if $(filter arm64,$(PART)),cross)
	@$(call BUILD,build,$(if $(filter simulation,$(PART)),sim_test,trainit))
	@$(call BUILD,build/asan,$(if $(filter sanitized,$(PART)),init_test golden_test sim_test) $(if $(filter fuzz,$(PART)),fuzz_test) base_test)
	@$(call BUILD,build/dev,$(patsubst %,part_%,$(PART)))

bench: release-tree
	@.ci/deps bench
	@$(call BUILD,build,trainit payload bench)
	@build/tests/bench build/trainit build/tests/payload

behaviour: release-tree
	@.ci/deps test-all
	@$(call BUILD,build,trainit payload behaviour)
	@build/tests/behaviour

stacks: release-tree dev-tree
	@.ci/deps test-all
	@$(call BUILD,build,trainit payload)
	@$(call BUILD,build/dev,cluster_test)
	@tests/stacks/run.sh build $(STACKS)

load-builds: release-tree
	@.ci/deps load
	@$(call BUILD,build,trainit)

failures: load-builds
	@tests/load/failures_table.py build/trainit

hangs: load-builds
	@tests/load/hangs.py build/trainit

restarts: load-builds
	@tests/load/restarts.py build/trainit

lint: release-tree dev-tree
	@.ci/deps lint
	@$(call BUILD,build/dev,CMakeFiles/base.dir/cmake_pch.hxx.pch tests/CMakeFiles/base_test.dir/cmake_pch.hxx.pch)
	@JOBS=$(JOBS) .ci/lint build

fuzz:
	@.ci/deps build fuzz
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@$(call BUILD,build/fuzz)
	@.ci/fuzz build/fuzz $(FUZZ_SECONDS)

binaries := amd64=build/trainit arm64=build/arm64/trainit

both-builds:
	@[ $(HOST_ARCH) = amd64 ] || { echo 'make: both architectures are built on amd64' >&2; exit 1; }
	@$(MAKE) --no-print-directory ARCH=amd64 all
	@$(MAKE) --no-print-directory ARCH=arm64 all

images: both-builds
	@.ci/images build/images $(binaries)

dist: both-builds
	@cmake --build build --target dist

# Refused before minutes of builds.
release: release-check both-builds
	@cmake --build build --target release

release-check:
	@.ci/release check

clean:
	@rm -rf build
