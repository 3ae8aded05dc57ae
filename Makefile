# Two commands for newcomers: `make demo` and `make test`. Both set up .venv by themselves.
VENV := .venv
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := $(VENV)/Scripts
else
PYTHON ?= python3
BIN := $(VENV)/bin
endif
CONSTRAINTS := constraints.txt
READY := $(VENV)/.ready

.PHONY: demo test lint types tests torture portable compat lowest newest wheel docs results bodies clean
.DEFAULT_GOAL := demo

# Reinstalled only when what is to be installed has changed. torch first and pinned: a looser
# requirement would fetch a build for a graphics card that may not be there.
$(READY): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet -c $(CONSTRAINTS) torch
	$(BIN)/python -m pip install --quiet $(UPGRADE) -c $(CONSTRAINTS) --group dev -e ".[all]"
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

# Damaged files, odd meshes, kills, full disks, many times over: `make torture MINUTES=60` for longer.
MINUTES := 20
torture: $(READY)
	$(BIN)/python tests/torture.py --minutes $(MINUTES)

# Layers, networks, tasks and training in plain torch; then datasets and training with workers that begin as on
# Windows and macOS.
portable: $(READY)
	FIELDCONV_BACKEND=torch $(BIN)/python -m pytest -n auto --maxprocesses 8 tests/nn tests/networks tests/tasks tests/training
	FIELDCONV_TEST_START=spawn $(BIN)/python -m pytest -n auto --maxprocesses 8 tests/datasets tests/training

# The tests with the lowest versions that pyproject.toml admits, then with the newest, each in an environment of
# its own. torch is the one of constraints.txt in both. The lowest versions exist for Python 3.10 and 3.11 only.
compat: lowest newest

.venv-lowest.txt: pyproject.toml constraints.txt tools/lowest.py
	$(PYTHON) tools/lowest.py > $@

lowest: .venv-lowest.txt
	$(MAKE) tests VENV=.venv-lowest CONSTRAINTS=.venv-lowest.txt

newest:
	rm -f .venv-newest/.ready
	$(MAKE) tests VENV=.venv-newest UPGRADE="--upgrade --upgrade-strategy eager"

# A wheel must run where nothing else of this checkout is.
wheel: $(READY)
	$(BIN)/python tests/check_wheel.py

# The documentation, into site/: reads nothing from the network, runs the tutorials, takes warnings for errors, and
# looks at every link.
DOCS_READY := $(VENV)/.docs-ready
$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet -c $(CONSTRAINTS) --group docs
	@touch $(DOCS_READY)

docs: $(DOCS_READY)
	rm -rf site .cache/mkdocs-jupyter
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	$(BIN)/python tests/check_site.py

# The numbers in the README, from what is kept of the runs that gave them.
results: $(READY)
	$(BIN)/python benchmarks/results.py

# The network for bodies that ships with the package, from code and seeds: about two hours on one core. Everything
# is kept in build/bodies, and goes on where it was. To try the way: make bodies BODIES=build/few COUNT=40 EPOCHS=1
BODIES := build/bodies
COUNT := 1300
EPOCHS := 12
bodies: $(READY)
	$(BIN)/python -m pip install --quiet -c $(CONSTRAINTS) --group bodies
	$(BIN)/python -m recipes.bodies.make $(BODIES) --bodies $(COUNT) --vertices 700 8000
	$(BIN)/python -m recipes.bodies.train $(BODIES) --out $(BODIES)/run --bodies $(COUNT) --epochs $(EPOCHS) --resume
	$(BIN)/python -m recipes.bodies.ship $(BODIES)/run $(BODIES) --bodies $(COUNT)

clean:
	rm -rf .venv* build dist site .cache .pytest_cache .mypy_cache .ruff_cache
