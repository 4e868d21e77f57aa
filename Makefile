# Every command of the project. Each target does its own set-up: Python 3.11 or newer and make are enough.
# `make` alone lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,\
	$(shell $(p) -c 'import sys; sys.version_info >= (3, 11) and print("$(p)")' 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.7
# Where a program keeps its own certificates, the system's are the ones an administrator set up.
export UV_SYSTEM_CERTS := 1
# Tests start hundreds of programs: each is faster where its bytecode is kept.
export UV_COMPILE_BYTECODE := 1
unexport PYTHONDONTWRITEBYTECODE
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Tests spread over this many processes; one control plane serves them all.
WORKERS ?= 4
# For how long to fuzz.
MINUTES ?= 10

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}'

.PHONY: demo
demo: setup ## Show the main job on a real control plane (ARGS=--keep leaves it running)
	@reroll demo $(ARGS)

.PHONY: test
test: lint types control-plane ## Lint, types, import contracts, and all tests
	pytest -n $(WORKERS) --dist worksteal $(ARGS)

.PHONY: test-fast
test-fast: setup ## The tests that need no control plane, in seconds
	pytest -n 2 -m "not cluster" $(ARGS)

.PHONY: test-node
test-node: control-plane ## The tests with pods that run, on a real node; needs Linux and root
	@reroll dev check || { echo "make: the tests on a real node did NOT run: see above" >&2; exit 1; }
	reroll dev build --node
	pytest -n 2 --dist worksteal -m node $(ARGS)
	@echo "the tests on a real node ran"

.PHONY: test-image
test-image: setup ## Build the Dockerfile with buildah, and compare with `make image` (about two minutes)
	@command -v buildah >/dev/null || { echo "make: buildah is not on PATH; install it: apt-get install buildah" >&2; exit 1; }
	pytest -m builder tests/builder $(ARGS)

.PHONY: lint
lint: setup ## Format check, lint, spelling, import contracts
	ruff format --check
	ruff check
	codespell
	lint-imports
	hadolint Dockerfile

.PHONY: types
types: setup ## mypy --strict
	mypy

.PHONY: fmt
fmt: setup ## Format and fix what can be fixed
	ruff format
	ruff check --fix

.PHONY: control-plane
control-plane: setup ## Build what is missing of the control plane (minutes the first time)
	reroll dev build --all

.PHONY: bench
bench: setup ## Speed and memory as ratios to the floor, on a control plane of its own
	python -m bench $(ARGS)

.PHONY: bench-failover
bench-failover: setup ## For how long nothing rolls when the leader goes (about 15 minutes)
	python -m bench.failover --late 5 --outage 90 $(ARGS)

.PHONY: bench-scale
bench-scale: setup ## 50,000 sources and 5,000 workloads, in steps (about 10 minutes)
	python -m bench.scale $(ARGS)

.PHONY: bench-hostile
bench-hostile: setup ## What a quiet namespace feels of a hostile one (about 8 minutes)
	python -m bench.hostile $(ARGS)

.PHONY: soak
soak: setup ## Ten minutes of random changes, faults and kills, and then the invariants
	python -m bench.soak $(ARGS)

.PHONY: fuzz
fuzz: setup ## Feed random malformed objects to every decoder and handler (MINUTES=10)
	end=$$(( $$(date +%s) + 60 * $(MINUTES) )); \
	while [ "$$(date +%s)" -lt "$$end" ]; do REROLL_FUZZ_EXAMPLES=300 pytest -q -n 2 tests/fuzz $(ARGS); done

.PHONY: docs
docs: setup ## Build the documentation into site/; warnings are errors
	mkdocs build --strict

.PHONY: chart
chart: control-plane ## Write what is generated of charts/ and deploy/ anew
	python -m tests.support.chart

.PHONY: lock
lock: setup ## Resolve the dependencies anew, a week behind the newest releases
	uv pip compile --universal --generate-hashes --no-header --upgrade \
		--exclude-newer "$$(date -u -d '7 days ago' +%Y-%m-%d)" \
		--python-version 3.11 --extra webhook --group dev --no-emit-package reroll \
		pyproject.toml packages/reroll-dev/pyproject.toml -o requirements.lock
	$(MAKE) --no-print-directory image-lock

.PHONY: image-lock
image-lock: setup ## Take what the image needs out of requirements.lock
	uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--extra webhook -c requirements.lock pyproject.toml -o deploy/image/requirements.lock

.PHONY: image
image: setup ## What an image holds, in dist/image, and as an OCI layout in dist/oci; without an engine
	rm -rf dist/image dist/oci
	python deploy/image/build.py dist/image --oci dist/oci $(ARGS)

.PHONY: clean
clean: ## Remove the virtual environment and everything made here (not the control plane's cache)
	rm -rf $(VENV) site dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src packages tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: setup
setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml packages/reroll-dev/pyproject.toml requirements.lock Makefile
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or newer found; install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "setting up $(VENV) with $$($(PYTHON) --version) (a minute the first time)"
	@$(PYTHON) -m venv $(VENV) || { echo "make: $(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv==$(UV_VERSION)"
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . --editable packages/reroll-dev
	@touch $@
