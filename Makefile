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
# On which versions of Kubernetes `make test-versions` tests: 1.33, 1.33-switched, …, oldest, newest, all.
KUBERNETES ?= all
# For how many seconds External Secrets refreshes every second in `make test-neighbours`.
REFRESH_SECONDS ?= 600
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

.PHONY: test-slow
test-slow: control-plane ## The tests that take long by nature: every kind and fault, kills, storms, releases
	pytest -n $(WORKERS) --dist worksteal -m slow $(ARGS)
	@echo "the slow tests ran"

.PHONY: test-node
test-node: control-plane ## The tests with pods that run, on a real node; needs Linux and root
	@reroll dev check || { echo "make: the tests on a real node did NOT run: see above" >&2; exit 1; }
	reroll dev build --node || { echo "make: the tests on a real node did NOT run: see above" >&2; exit 1; }
	pytest -n 2 --dist worksteal -m node $(ARGS)
	@echo "the tests on a real node ran"

.PHONY: test-prometheus
test-prometheus: control-plane ## The tests with a real Prometheus and Alertmanager, which it builds the first time
	reroll dev build --prometheus || { echo "make: the tests with a Prometheus did NOT run: see above" >&2; exit 1; }
	pytest -n 2 --dist worksteal -m prometheus tests/prometheus $(ARGS)
	@echo "the tests with a Prometheus ran"

.PHONY: test-neighbours
test-neighbours: control-plane ## The tests with Argo CD, Flux, cert-manager and others, which it builds the first time
	reroll dev build --neighbours all || { echo "make: the tests with neighbours did NOT run: see above" >&2; exit 1; }
	REFRESH_SECONDS=$(REFRESH_SECONDS) pytest -n 2 --dist worksteal -m neighbours tests/neighbours $(ARGS)
	@echo "the tests with neighbours ran"

.PHONY: test-versions
test-versions: control-plane ## The core of the tests on each version of Kubernetes (KUBERNETES="oldest newest")
	python -m tests.support.versions $(KUBERNETES) -- -n $(WORKERS) $(ARGS)

.PHONY: test-browser
test-browser: control-plane ## The dashboard in Chromium, on a real control plane
	pytest -n 0 -m browser tests/dashboard tests/scenarios/test_dashboard_browser.py $(ARGS)
	@echo "the tests in a browser ran"

.PHONY: pictures
pictures: setup ## Take the pictures of the dashboard in docs/images/dashboard; needs Chromium
	python -m tests.support.dashboard_pictures $(ARGS)

.PHONY: test-image
test-image: setup ## Build the Dockerfile with buildah, and compare with `make image` (about two minutes)
	@command -v buildah >/dev/null || { echo "make: the tests that build the Dockerfile did NOT run: buildah is missing; install it: apt-get install buildah" >&2; exit 1; }
	pytest -m builder tests/builder $(ARGS)
	@echo "the tests that build the Dockerfile ran"

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

.PHONY: simulate
simulate: setup ## Propagation in a model of a cluster: 1,000 stories, then what 10,000 workloads cost
	REROLL_SIMULATIONS=1000 pytest -n 2 --timeout 3600 tests/simulation tests/simulation/explore.py $(ARGS)
	python -m tests.simulation.measure

.PHONY: bench
bench: setup ## Speed and memory as ratios to the floor, on a control plane of its own
	python -m bench $(ARGS)

.PHONY: bench-failover
bench-failover: setup ## For how long nothing rolls when the leader goes (about 15 minutes)
	python -m bench.failover --late 5 --outage 90 $(ARGS)

.PHONY: bench-scale
bench-scale: setup ## 50,000 sources and 5,000 workloads, in steps (about 10 minutes)
	python -m bench.scale $(ARGS)

.PHONY: bench-spread
bench-spread: setup ## One ConfigMap of 5,000 workloads with max-parallel: doubling (about 10 minutes)
	python -m bench.spread $(ARGS)

.PHONY: bench-dashboard
bench-dashboard: setup ## The dashboard on 50,000 sources and 5,000 workloads, with 50 tabs (about 8 minutes)
	python -m bench.dashboard $(ARGS)

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
	zensical build --strict

.PHONY: docs-look
docs-look: docs ## Look at every page in Chromium, at 1280 and at 390 px: none may scroll sideways
	python -m tests.support.browser $(ARGS)

.PHONY: recording
recording: control-plane ## Record the demo as docs/images/demo.svg, on a real node; needs Linux and root
	@reroll dev check || { echo "make: nothing was recorded: see above" >&2; exit 1; }
	python -m tests.support.recording

.PHONY: chart
chart: control-plane ## Write what is generated of charts/ and deploy/ anew
	python -m tests.support.chart

.PHONY: lock
lock: setup ## Resolve the dependencies anew, a week behind the newest releases
	uv pip compile --universal --generate-hashes --no-header --upgrade \
		--exclude-newer "$$(date -u -d '7 days ago' +%Y-%m-%d)" \
		--python-version 3.11 --extra webhook --extra dashboard --group dev --no-emit-package reroll \
		pyproject.toml packages/reroll-dev/pyproject.toml -o requirements.lock
	$(MAKE) --no-print-directory image-lock

.PHONY: image-lock
image-lock: setup ## Take what the image and the kubectl plugin need out of requirements.lock
	uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--extra webhook --extra dashboard -c requirements.lock pyproject.toml -o deploy/image/requirements.lock
	uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		-c requirements.lock pyproject.toml -o deploy/release/requirements.lock

.PHONY: image
image: setup ## What an image holds, in dist/image, and as an OCI layout in dist/oci; without an engine
	rm -rf dist/image dist/oci
	python deploy/image/build.py dist/image --oci dist/oci $(ARGS)

# What a release is made with, and where it goes: `make release` alone is a dry run.
TAG ?=
IMAGE ?= reroll
CHARTS ?=
REPOSITORY ?= https://example.com/reroll
BASE ?=
BUILDER ?= own
RELEASE := dist/release
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/reroll/__init__.py)
IMAGE_TAR = $(RELEASE)/reroll-$(VERSION)-image.tar
# Written when the image was pushed.
DIGEST = dist/image.digest

.PHONY: release
release: setup ## What is published, in dist/release, and nothing is: a dry run (TAG= refuses what is not ready)
	reroll dev build helm
	python -m deploy.release $(RELEASE) --image $(IMAGE) --repository $(REPOSITORY) --builder $(BUILDER) \
		$(if $(TAG),--tag $(TAG)) $(if $(BASE),--base $(BASE)) $(ARGS)
	cd $(RELEASE) && sha256sum --quiet --check SHA256SUMS

.PHONY: release-push
release-push: ## Push image and chart of dist/release (IMAGE=registry/name CHARTS=registry/folder)
	skopeo copy --all --preserve-digests --digestfile $(DIGEST) oci-archive:$(IMAGE_TAR) docker://$(IMAGE):$(VERSION)
	@echo "digest=$$(cat $(DIGEST))" | tee -a "$${GITHUB_OUTPUT:-/dev/null}"
	$(if $(CHARTS),helm push $(RELEASE)/reroll-$(VERSION).tgz oci://$(CHARTS))

.PHONY: release-sign
release-sign: ## Sign the pushed image and SHA256SUMS with the identity of this run (cosign, keyless)
	cosign sign --yes $(IMAGE)@$$(cat $(DIGEST))
	cosign attest --yes --type cyclonedx --predicate $(RELEASE)/reroll-$(VERSION).cdx.json $(IMAGE)@$$(cat $(DIGEST))
	cosign sign-blob --yes --bundle $(RELEASE)/SHA256SUMS.sigstore.json $(RELEASE)/SHA256SUMS

.PHONY: release-publish
release-publish: setup ## Publish wheels and source archives (trusted publishing), and the release TAG with all files
	uv publish --trusted-publishing always $(RELEASE)/*.whl $(RELEASE)/reroll-$(VERSION).tar.gz $(RELEASE)/reroll_dev-$(VERSION).tar.gz
	gh release create $(TAG) --verify-tag --title "Reroll $(VERSION)" --notes-file $(RELEASE)/RELEASE-NOTES.md $(RELEASE)/*

.PHONY: clean
clean: ## Remove the virtual environment and everything made here (not the control plane's cache)
	rm -rf $(VENV) site .cache dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
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
