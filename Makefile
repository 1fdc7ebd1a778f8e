# Every target makes what it needs in .venv and works again the second time.
PYTHON ?= python3
VENV ?= .venv
CASES ?= 20000
BIN := $(VENV)/bin
export JAX_PLATFORMS ?= cpu

.PHONY: help demo test test-long test-upstream fuzz lint types docs bench clean

help:  ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	@echo "making a private environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "installing tpufft and what the demo needs (a few minutes the first time)"
	$(BIN)/python -m pip install --quiet -e '.[demo]'
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	@echo "installing tpufft and what the tests need (a few minutes the first time)"
	$(BIN)/python -m pip install --quiet -e '.[test]'
	@touch $@ $(VENV)/.demo

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	@echo "installing tpufft and its rivals"
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	@touch $@

demo: $(VENV)/.demo  ## transform a real MR volume on eight devices; leaves demo/spectrum.png
	@mkdir -p demo
	$(BIN)/python tools/demo_data.py demo/volume.npy
	$(BIN)/tpufft transform demo/volume.npy demo/spectrum.npy --axes 0,1,2 --devices 8 --plot demo/spectrum.png
	@echo "the spectrum is in demo/spectrum.npy, its picture in demo/spectrum.png"

test: $(VENV)/.test  ## run the tests
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-long: $(VENV)/.test  ## run the whole of every matrix of tests, about half an hour
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "long or not long"

test-upstream: $(VENV)/.test  ## run numpy's and scipy's own suites on 1, 2, 3 and 8 devices, about an hour
	$(BIN)/python -m tests.upstream

fuzz: $(VENV)/.test  ## hold random calls against the O(N^2) definition, CASES of them; goes on where it was stopped
	$(BIN)/python -m tests.fuzz --cases $(CASES) --database .fuzz

lint: $(VENV)/.test  ## ruff
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.test  ## pyright
	$(BIN)/pyright --pythonpath $(BIN)/python

docs: $(VENV)/.docs  ## build the documentation into site/
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.bench  ## race the rivals, about 45 minutes on a quiet machine; raw data into benchmarks/results/
	$(BIN)/python -m benchmarks all

clean:  ## remove what the other targets made
	rm -rf $(VENV) demo site build dist
