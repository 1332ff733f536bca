# The two commands of the README are `make up` and `make test`; `make help` lists the rest.
SHELL := /bin/bash
export PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help up down setup test check bench clean system-packages lock stubs pages casts

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

up: setup ## install what is missing, then bring a cluster up on this machine and look at it
	@bash scripts/up

down: ## take the cluster of `make up` down
	@test ! -x $(BIN)/tortie || $(BIN)/tortie lab down

setup: $(STAMP) ## Debian packages and .venv, nothing else

system-packages:
	@bash scripts/system-packages

$(STAMP): requirements/dev.txt pyproject.toml scripts/hatch_build.py src/tortie/cni/shim.c | system-packages
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Tortie needs Python 3.11 or later; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setup: installing locked requirements into $(VENV)" >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src/tortie  # an editable install is not compiled; a third of a command's time
	@touch $@

test: setup ## every test, with real etcd and real processes
	@bash scripts/test

check: setup ## lint, format, types, import tiers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py

bench: setup ## the figures of docs/reference/performance.md, as ratios
	@for bench in benchmarks/bench_*.py; do $(BIN)/python $$bench || exit 1; done

lock: ## refresh the locked requirements (needs uv)
	@for name in runtime dev; do uv pip compile -q --generate-hashes --no-header --no-emit-index-url --no-annotate \
	  --python-version 3.11 requirements/$$name.in -o requirements/$$name.txt; done

stubs: setup ## regenerate the etcd message classes from their .proto
	$(BIN)/python -m grpc_tools.protoc -Isrc --python_out=src --pyi_out=src tortie/store/etcd/rpc.proto

pages: setup ## write docs/causes from what the doctor knows, and docs/reference/effects.md
	$(BIN)/python scripts/cause_pages.py
	$(BIN)/python scripts/effects_page.py

casts: setup ## play the eight incidents in both languages and record them for docs/incidents
	@bash scripts/casts

clean: ## remove what the other targets made here
	rm -rf src/tortie/cni/shim-* $(VENV) .tortie .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
