# make setup | bench | test | publish | preview | help
.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin

# The rows and benchmarks of `make bench`; see README.md.
ROWS ?=
BENCH ?=

# The file of `make check-workload`, and the interpreter to check it in (default: every built row).
FILE ?=
PYTHON ?=

.PHONY: help setup bench test test-fast test-gpu check-workload lint publish preview clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: ## create .venv and install the tools (seconds when nothing changed)
	@tools/setup.sh

bench: setup ## measure the starter rows, publish, say where the site is (ROWS="jax==0.10.2 …" BENCH="regex …")
	@$(BIN)/python -m bumps bench $(foreach row,$(ROWS),--row '$(row)') $(foreach regex,$(BENCH),--bench '$(regex)')

test: setup lint ## ruff and every test
	@$(BIN)/python -m pytest

test-fast: setup lint ## ruff and the tests that build no environment and start no browser
	@$(BIN)/python -m pytest -m 'not end_to_end and not browser and not gpu'

test-gpu: setup ## the self-test on an NVIDIA GPU
	@$(BIN)/python -m pytest -m gpu

check-workload: setup ## checks and audits of one file's workloads (FILE=benchmarks/normalise.py [PYTHON=/path/to/python])
	@$(BIN)/python tools/check_workload.py '$(FILE)' $(if $(PYTHON),--python '$(PYTHON)')

lint: setup
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

publish: setup ## write the site from the stored results
	@$(BIN)/asv publish

preview: setup ## serve the site on localhost
	@$(BIN)/asv preview

clean: ## remove environments, site and caches (results stay)
	rm -rf env html .cache .asv-cache node_modules .test-output
