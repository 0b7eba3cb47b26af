# Everything runs in a virtual environment, which is created on first use.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready

.PHONY: demo quick test lint bench clean

demo: $(INSTALLED)
	$(BIN)/dualign demo

# The first case of every test: types, command line and translation on one core, the rest on the other.
quick: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	output=$$(mktemp); \
	{ $(BIN)/mypy && $(BIN)/python -m pytest -p no:cacheprovider --quick tests/cli tests/translate; } > $$output 2>&1 & other=$$!; \
	$(BIN)/python -m pytest --quick --ignore=tests/cli --ignore=tests/translate; status=$$?; \
	wait $$other || status=1; cat $$output; rm $$output; exit $$status

# The kernel tests run a second time, with bounds checks and a fresh cache, on the other core.
# Two processes for two cores: the one that checks bounds is done first, and takes over the later rooms.
LATER = tests/phrase tests/search tests/show tests/text tests/transfer tests/translate
test: lint
	cache=$$(mktemp -d); \
	{ NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$cache $(BIN)/python -m pytest -p no:cacheprovider -m kernel && \
		$(BIN)/python -m pytest -p no:cacheprovider $(LATER); } > $$cache/output 2>&1 & second=$$!; \
	$(BIN)/python -m pytest tests $(addprefix --ignore=,$(LATER)); status=$$?; \
	wait $$second || status=1; cat $$cache/output; rm -rf $$cache; exit $$status

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
