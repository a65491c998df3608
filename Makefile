# The front door. Each habit is one command; .ci/run calls the same ones.

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
# Brief: of a program that fails, what is printed first is what failed.
CTEST := GTEST_BRIEF=1 ctest --output-on-failure --no-tests=error -j$(JOBS)

.PHONY: all demo test bench behaviour lint fuzz clean help release-tree deps-build test-builds
.DEFAULT_GOAL := all
.NOTPARALLEL:

all: release-tree
	@cmake --build build -j$(JOBS) --target trainit

help:
	@echo 'make          the static release binary, build/trainit'
	@echo 'make demo     an 8-device job from its rank table to its exit code, on this machine'
	@echo 'make test     all tests: unit, simulation and end to end, with sanitizers and without; containers'
	@echo 'make bench    start, memory, reaping, signals and exit against other inits; rank tables against Python'
	@echo 'make behaviour  how trainit and other inits answer 34 checks of a PID 1'
	@echo 'make lint     clang-format, clang-tidy, shellcheck, layering'
	@echo 'make fuzz     each fuzzer for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo 'make clean    removes build/'
	@echo 'As root on Debian 12, each installs the packages that it lacks.'

deps-build:
	@.ci/deps build

release-tree: deps-build
	@cmake --preset release --log-level=WARNING >/dev/null

demo: release-tree
	@cmake --build build -j$(JOBS) --target trainit payload
	@tests/demo/demo.sh build

test-builds: release-tree
	@.ci/deps test
	@cmake --preset dev --log-level=WARNING >/dev/null
	@cmake --build build/dev -j$(JOBS)
	@cmake --build build -j$(JOBS)

# The sanitizers' tree first, so that the release tree's summary of everything stands last.
test: test-builds
	@$(CTEST) --test-dir build/dev
	@$(CTEST) --test-dir build

bench: release-tree
	@.ci/deps bench
	@cmake --build build -j$(JOBS) --target trainit payload bench
	@build/tests/bench build/trainit build/tests/payload

behaviour: release-tree
	@.ci/deps test
	@cmake --build build -j$(JOBS) --target trainit payload behaviour
	@build/tests/behaviour

lint: release-tree
	@.ci/deps lint
	@cmake --build build -j$(JOBS) --target envgen lifecycle trainit
	@JOBS=$(JOBS) .ci/lint build

fuzz:
	@.ci/deps build fuzz
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@cmake --build build/fuzz -j$(JOBS)
	@.ci/fuzz build/fuzz $(FUZZ_SECONDS)

clean:
	@rm -rf build
