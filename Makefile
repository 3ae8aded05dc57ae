# Two commands for newcomers: `make demo` and `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types tests wheel results clean
.DEFAULT_GOAL := demo

# Reinstalled only when what is to be installed has changed. torch first and pinned: a looser
# requirement would fetch a build for a graphics card that may not be there.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt --group dev -e ".[all]"
	@touch $(READY)

demo: $(READY)
	$(BIN)/fieldconv demo

test: lint types tests

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

tests: $(READY)
	$(BIN)/python -m pytest -n auto --maxprocesses 8

# A wheel must run where nothing else of this checkout is.
wheel: $(READY)
	$(BIN)/python tests/check_wheel.py

# The numbers in the README, from what is kept of the runs that gave them.
results: $(READY)
	$(BIN)/python benchmarks/results.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
