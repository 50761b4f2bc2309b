# Two commands: `make run` sees the whole job done, `make test` proves it. Both set up .venv first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: setup run test test-units test-tasks test-flows test-all mutants lint bench clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"Python 3.11 or newer is needed, this is {v[0]}.{v[1]}: make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $@

run: setup
	@$(BIN)/tagflow run

# side by side, each with compiled kernels of its own: numba's cache is not safe for two who build it at once. The tests
# of flows wait for servers half of their time, so that three share two cores well
test: setup
	@echo "running lint and the tests in three parts; each speaks when it is done (about 12 minutes on 2 cores)"
	@$(MAKE) --no-print-directory -j3 $(if $(filter output-sync,$(.FEATURES)),-O) test-units test-tasks test-flows lint

# each part also runs the examples in the docstrings of its packages, with kernels that its tests compile anyway
test-units: setup
	$(BIN)/python -m pytest -m "not slow" tests/tagcore tests/mutants tagcore

test-tasks: setup
	NUMBA_CACHE_DIR=$(CURDIR)/.numba/tasks $(BIN)/python -m pytest -m "not slow" tests/tasks tasks

test-flows: setup
	NUMBA_CACHE_DIR=$(CURDIR)/.numba/flows $(BIN)/python -m pytest -m "not slow" tests/flows tests/infra tests/docs flows infra

test-all: lint
	TAGFLOW_EXAMPLES=10 $(BIN)/python -m pytest

mutants: setup
	$(BIN)/python -m tests.mutants

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m tests.bench

clean:
	rm -rf $(VENV) .tagflow .numba .pytest_cache .mypy_cache .ruff_cache build *.egg-info
