# Everything that is done with a checkout. `make` alone lists it.
#
# PYTHON names the interpreter that .venv is made with (`make clean` before changing it), ARGS goes to the command:
#   make run PYTHON=python3.12 ARGS="--data /tmp/tasks"
#   make test ARGS="tests/unit -k registry"

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/installed-run
DEV := $(VENV)/installed-dev
PACKAGE := pyproject.toml src/gorge_worker/_version.py
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-annotate --no-header --no-config

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test test-phorge lint format bench lock wheel clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: $(RUN) ## start the worker with an embedded queue (ARGS: options of `gorge-worker standalone`)
	@$(BIN)/gorge-worker standalone $(ARGS)

test: $(DEV) ## run every test that this machine can run (REQUIRE_ALL=1: what it can't run is a failure)
	@$(BIN)/pytest --numprocesses auto --maxprocesses 8 --dist loadgroup $(ARGS)

test-phorge: $(DEV) ## run the tests against a real Phorge (PHORGE_ROOT and PHORGE_DATABASE: see docs/testing.md)
	@test -n "$(PHORGE_ROOT)" -a -n "$(PHORGE_DATABASE)" || { \
		echo "Say which Phorge is copied and which server gets its databases:" >&2; \
		echo "  make $@ PHORGE_ROOT=/path/to/phorge PHORGE_DATABASE=mysql://root@127.0.0.1:3306/" >&2; exit 1; }
	@PHORGE_ROOT="$(PHORGE_ROOT)" PHORGE_DATABASE="$(PHORGE_DATABASE)" $(BIN)/pytest tests/phorge $(ARGS)

lint: $(DEV) ## check style, formatting, types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(DEV) ## repair what can be repaired by itself
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(RUN) ## run the benchmarks, one after the other
	@for one in benchmarks/*.py; do echo "== $$one"; $(BIN)/python "$$one" || exit 1; done

lock: $(DEV) ## pin the dependencies of pyproject.toml anew (ARGS=--upgrade: to the newest versions)
	@$(COMPILE) $(ARGS) pyproject.toml -o requirements/run.lock
	@$(COMPILE) $(ARGS) --group build -c requirements/run.lock -o requirements/build.lock
	@$(COMPILE) $(ARGS) pyproject.toml --group dev -c requirements/run.lock -c requirements/build.lock \
		-o requirements/dev.lock

wheel: $(RUN) ## build the wheel into dist/, without network
	@$(BIN)/python -m hatchling build --target wheel --directory dist

clean: ## remove the environment and all that was built; tasks in data/ stay
	@rm -rf $(VENV) dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests examples benchmarks scripts -name __pycache__ -prune -exec rm -rf {} +

# Stamps, written last: what was cut short is done again, what has not changed is not. An environment whose Python has
# gone, by an upgrade of the system's, is made anew.
$(VENV)/made: $(if $(realpath $(BIN)/python),,FORCE)
	@command -v $(PYTHON) >/dev/null || \
		{ echo "No $(PYTHON) here: install Python 3.11 or later, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is $$($(PYTHON) --version 2>&1), Python 3.11 or later is needed: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) can't make environments; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

.PHONY: FORCE
FORCE:

$(RUN): $(VENV)/made requirements/run.lock requirements/build.lock $(PACKAGE)
	@echo "Installing gorge-worker into $(VENV)"
	@$(PIP) install --require-hashes -r requirements/run.lock -r requirements/build.lock
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

$(DEV): $(VENV)/made requirements/dev.lock $(PACKAGE)
	@echo "Installing gorge-worker and its development tools into $(VENV)"
	@$(PIP) install --require-hashes -r requirements/dev.lock
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@
