# Two commands: `make run` sees the whole job done, `make test` proves it. Both set up .venv first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: setup run test test-units test-flows test-all mutants lint bench clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"Python 3.11 or newer is needed, this is {v[0]}.{v[1]}: make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $@

run: setup
	@$(BIN)/tagflow run

# two halves side by side, so that what waits for a server does not wait alone; each finds the kernels that the other compiled
test: setup
	@echo "running the tests in two halves, and lint; each speaks when it is done (about 11 minutes on 2 cores)"
	@$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),-O) test-flows test-units lint

# each half also runs the examples in the docstrings of its packages, with kernels that its tests compile anyway
test-units: setup
	$(BIN)/python -m pytest -m "not slow" tests/tagcore tests/mutants tagcore

test-flows: setup
	$(BIN)/python -m pytest -m "not slow" tests/tasks tests/flows tests/infra tests/docs tasks flows infra

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
	rm -rf $(VENV) .tagflow .pytest_cache .mypy_cache .ruff_cache build *.egg-info
