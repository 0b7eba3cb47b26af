# Everything runs in a virtual environment of its own, made on first use.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready

.PHONY: demo test lint bench clean

demo: $(INSTALLED)
	$(BIN)/dualign demo

# The kernels are run a second time, with bounds checks and a cache of their own, beside the other tests.
test: lint
	cache=$$(mktemp -d); \
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$cache $(BIN)/python -m pytest -p no:cacheprovider -m kernel \
		> $$cache/checked 2>&1 & checked=$$!; \
	$(BIN)/python -m pytest; status=$$?; \
	wait $$checked || status=1; cat $$cache/checked; rm -rf $$cache; exit $$status

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(INSTALLED)
	$(BIN)/pip install --quiet -e '.[bench]'
	$(BIN)/python -m benchmarks.peers

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -e .
	$(BIN)/python -m compileall -q src  # also where Python is told to keep no byte code: it starts sooner
	touch $@

$(READY): $(INSTALLED)
	$(BIN)/pip install --quiet -e '.[test]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build src/*.egg-info
