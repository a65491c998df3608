# The front door. Each habit is one command; .ci/run calls the same ones.

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
# Brief: of a program that fails, what is printed first is what failed.
CTEST := GTEST_BRIEF=1 ctest --output-on-failure --no-tests=error -j$(JOBS)

# Each other architecture has a tree of its own.
HOST_ARCH := $(or $(shell dpkg --print-architecture 2>/dev/null),amd64)
ARCH ?= $(HOST_ARCH)

.PHONY: all demo test bench behaviour stacks failures hangs restarts lint fuzz images dist release clean help \
  release-tree deps-build test-builds load-builds cross-tree both-builds release-check
.DEFAULT_GOAL := all
.NOTPARALLEL:

ifeq ($(ARCH),$(HOST_ARCH))
all: release-tree
	@cmake --build build -j$(JOBS) --target trainit

# The sanitizers' tree first, so that the release tree's summary of everything stands last.
test: test-builds
	@$(CTEST) --test-dir build/dev
	@$(CTEST) --test-dir build
else
all: cross-tree
	@cmake --build build/$(ARCH) -j$(JOBS) --target trainit

test: cross-tree
	@.ci/deps test
	@cmake --build build/$(ARCH) -j$(JOBS)
	@$(CTEST) --test-dir build/$(ARCH)
endif

help:
	@echo 'make          the static release binary, build/trainit'
	@echo 'make ARCH=arm64 [test]  the same for arm64, build/arm64/trainit; its tests, below qemu-user'
	@echo 'make demo     an 8-device job from its rank table to its exit code, on this machine'
	@echo 'make test     all tests: unit, simulation and end to end, with sanitizers and without; containers'
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
	@echo 'As root on Debian 12, each installs the packages that it lacks.'

deps-build:
	@.ci/deps build

release-tree: deps-build
	@cmake --preset release --log-level=WARNING >/dev/null

cross-tree:
	@.ci/deps build cross
	@cmake --preset $(ARCH) --log-level=WARNING >/dev/null

demo: release-tree
	@cmake --build build -j$(JOBS) --target trainit payload
	@tests/demo/demo.sh build

test-builds: release-tree
	@.ci/deps test
	@cmake --preset dev --log-level=WARNING >/dev/null
	@cmake --build build/dev -j$(JOBS)
	@cmake --build build -j$(JOBS)

bench: release-tree
	@.ci/deps bench
	@cmake --build build -j$(JOBS) --target trainit payload bench
	@build/tests/bench build/trainit build/tests/payload

behaviour: release-tree
	@.ci/deps test
	@cmake --build build -j$(JOBS) --target trainit payload behaviour
	@build/tests/behaviour

stacks: release-tree
	@.ci/deps test
	@cmake --build build -j$(JOBS) --target trainit payload cluster_test
	@tests/stacks/run.sh build $(STACKS)

load-builds: release-tree
	@.ci/deps load
	@cmake --build build -j$(JOBS) --target trainit

failures: load-builds
	@tests/load/failures_table.py build/trainit

hangs: load-builds
	@tests/load/hangs.py build/trainit

restarts: load-builds
	@tests/load/restarts.py build/trainit

lint: release-tree
	@.ci/deps lint
	@cmake --preset dev --log-level=WARNING >/dev/null
	@cmake --build build -j$(JOBS) --target base envgen lifecycle trainit
	@JOBS=$(JOBS) .ci/lint build

fuzz:
	@.ci/deps build fuzz
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@cmake --build build/fuzz -j$(JOBS)
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
