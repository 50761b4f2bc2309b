# Two commands: `make run` sees the whole job done, `make test` proves it. Both set up .venv first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
MODELS := tests/tagcore/models tests/tagcore/baselines tests/tagcore/readers  # and readers, so that both parts of tagcore take as long
QUICK  := not slow and not data

# tests start some hundred processes: each would compile every module anew where nobody keeps what was compiled
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup run test test-units test-models test-tasks test-flows test-all mutants lint bench clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"Python 3.11 or newer is needed, this is {v[0]}.{v[1]}: make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $@

run: setup
	@$(BIN)/tagflow run

# all side by side, as much of it is waiting for servers; lint gives way to the rest. Each part finds the kernels that
# the others compiled.
test: setup
	@echo "running the tests in four parts, and lint; each speaks when it is done (five to fifteen minutes on 2 cores)"
	@$(MAKE) --no-print-directory -j5 $(if $(filter output-sync,$(.FEATURES)),-O) test-models test-units test-flows test-tasks lint

# each part also runs the examples in the docstrings of its packages, with kernels that its tests compile anyway
test-units: setup
	$(BIN)/python -m pytest -m "$(QUICK)" tests/tagcore tests/mutants tagcore $(MODELS:%=--ignore=%)

test-models: setup
	$(BIN)/python -m pytest -m "$(QUICK)" $(MODELS)

test-tasks: setup
	$(BIN)/python -m pytest -m "$(QUICK)" tests/tasks tasks

test-flows: setup
	$(BIN)/python -m pytest -m "$(QUICK)" tests/infra tests/flows tests/docs flows infra

# also what takes minutes, and what reads the real data sets where they are: `make test` says the same without them
test-all: lint
	TAGFLOW_EXAMPLES=10 $(BIN)/python -m pytest

mutants: setup
	$(BIN)/python -m tests.mutants

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	nice $(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m tests.bench

clean:
	rm -rf $(VENV) .tagflow .pytest_cache .mypy_cache .ruff_cache build *.egg-info
