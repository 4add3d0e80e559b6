# Two commands do everything on a fresh machine with Python 3.11+: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test check lint types bench guard docs clean help

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/'

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

run: $(STAMP)  ## set up, then serve the demo scene and show it in the browser
	$(BIN)/diorama demo

test: $(STAMP)  ## set up, then run every test
	$(BIN)/python -m pytest -n 2 --dist loadfile --max-worker-restart=0

check: lint types test  ## what CI runs: format, lint, types, tests

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

bench: $(STAMP)  ## every speed claim, measured
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	$(BIN)/python benchmarks/run.py

guard: $(STAMP)  ## instructions counted by valgrind, against those stored
	$(BIN)/python benchmarks/guard.py

docs: $(STAMP)  ## the documentation as a site, in site/; warnings are errors
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,docs]'
	$(BIN)/python docs/modules.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict  # not --quiet: that hides warnings from --strict too

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
