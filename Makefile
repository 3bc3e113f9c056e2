# The commands of this repository. What a clean machine lacks is installed by tools/setup, which each of them calls.
SHELL := /bin/bash
export CARGO_TARGET_DIR ?= $(CURDIR)/target

.PHONY: help setup demo test lint format build bench

help:
	@echo 'make demo     contenders in every language over one store: who held when, which stale write was refused'
	@echo 'make test     lint and every test; the last line is N passed, N failed'
	@echo 'make lint     formatters and linters only'
	@echo 'make build    the workspace in the release profile'
	@echo 'make bench    everything that has a target, beside its peers in one run; writes docs/benchmarks.md'
	@echo 'make format   lets the formatters write'

setup:
	@tools/setup

demo: setup
	@exec bash examples/nightly/demo.sh

build: setup
	@cargo build --workspace --release

test: setup
	@exec bash tests/run.sh

lint: setup
	@exec bash tests/lint.sh

format: setup
	@cargo fmt --all
	@git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | grep -vE '^include/fencehold\.h$$|_arginfo\.h$$' | xargs -r clang-format -i
	@git ls-files '*.py' '*.pyi' | xargs -r target/tools-venv/bin/ruff format --quiet --line-length 120

bench: setup
	@exec bash bench/run.sh
