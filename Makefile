# Everything runs in a virtual environment, which is created on first use.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready

.PHONY: demo quick test fuzz golden lint docs picture bench dist wheel-test clean

demo: $(INSTALLED)
	$(BIN)/dualign demo

# The first case of every test: types and some rooms on one core, the other rooms on the other.
BESIDE = tests/commands tests/translate tests/text
quick: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	output=$$(mktemp); \
	{ $(BIN)/mypy && $(BIN)/python -m pytest -p no:cacheprovider --quick $(BESIDE); } > $$output 2>&1 & other=$$!; \
	$(BIN)/python -m pytest --quick $(addprefix --ignore=,$(BESIDE)); status=$$?; \
	wait $$other || status=1; cat $$output; rm $$output; exit $$status

# The kernel tests run a second time, with bounds checks and a fresh cache, on the other core.
# Two processes for two cores: the one that checks bounds is done first, and takes over the later rooms.
LATER = tests/engines/dask tests/phrase tests/_search tests/show tests/text tests/transfer tests/translate
test: lint
	cache=$$(mktemp -d); \
	{ NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$cache $(BIN)/python -m pytest -p no:cacheprovider -m kernel && \
		$(BIN)/python -m pytest -p no:cacheprovider $(LATER); } > $$cache/output 2>&1 & second=$$!; \
	$(BIN)/python -m pytest tests $(addprefix --ignore=,$(LATER)); status=$$?; \
	wait $$second || status=1; cat $$cache/output; rm -rf $$cache; exit $$status

# Commands whose files, options or surroundings are disturbed, within an hour on two cores.
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --cases 20000 --workers 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What the golden commands write, compared with what they wrote in the release, which is installed under build/ from
# its commit, with the same versions of all libraries. RELEASED=…: an interpreter that has the release already.
RELEASE = 4fe69c5
RELEASED = build/golden-$(RELEASE)/.venv/bin/python
golden: $(READY) $(RELEASED)
	$(BIN)/python -m tests.golden.compare $(RELEASED)

build/golden-$(RELEASE)/.venv/bin/python: | $(READY)
	rm -rf build/golden-$(RELEASE) && mkdir -p build/golden-$(RELEASE)
	git archive $(RELEASE) | tar -x -C build/golden-$(RELEASE)
	cd build/golden-$(RELEASE) && ../../$(BIN)/pip freeze --exclude dualign > versions.txt && \
		../../$(BIN)/python -m venv .venv && .venv/bin/pip install --quiet -c versions.txt '.[test,xlsx]' && \
		.venv/bin/python -m dualign compile --all || { rm -rf .venv; exit 1; }

# The documentation as a web site, build/docs/index.html; a warning is an error.
docs: $(INSTALLED)
	$(BIN)/pip install --quiet -e '.[docs]'
	$(BIN)/python -m sphinx -b html -c docs --fail-on-warning --quiet . build/docs

# The picture of the README: the viewer with the sample, as Chromium draws it.
CHROMIUM ?= $(shell command -v chromium || command -v google-chrome)
picture: $(INSTALLED)
	place=$$(mktemp -d) && bin=$$(realpath $(BIN)) && picture=$$PWD/docs/viewer.png && cd $$place && \
	$$bin/dualign demo --files . -q && \
	$$bin/dualign align sample.de sample.en -o links.txt --probabilities probabilities.txt --save model -q && \
	$$bin/dualign view sample.de sample.en --links links.txt --probabilities probabilities.txt --gold sample.gold \
		--first --model model --html page.html -q && \
	$(CHROMIUM) --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1180,620 \
		--virtual-time-budget=5000 --screenshot=$$picture "file://$$place/page.html#9" && rm -r $$place

bench: $(INSTALLED)
	$(BIN)/pip install --quiet -e '.[bench]'
	$(BIN)/python -m benchmarks.peers

# An archive of the sources and a wheel, in dist/.
dist: $(INSTALLED)
	$(BIN)/pip install --quiet build
	rm -rf dist build/lib build/bdist.*
	$(BIN)/python -m build --quiet

# The wheel in an empty environment of each of the PYTHONS, and a part of the tests against it: src/ is not on the path.
PYTHONS ?= $(PYTHON)
WHEEL_TESTS = tests/commands/test_align.py tests/commands/test_train.py tests/commands/test_convert.py tests/commands/test_evaluate.py \
	tests/commands/test_figure.py tests/measure tests/show tests/text
wheel-test: dist
	for python in $(PYTHONS); do \
		place=$$(mktemp -d) && $$python -m venv $$place/venv && \
		$$place/venv/bin/pip install --quiet dist/dualign-*.whl pytest hypothesis matplotlib && \
		$$place/venv/bin/python -I -c "import dualign; assert dualign.__file__.startswith('$$place')" && \
		$$place/venv/bin/dualign demo > $$place/demo && \
		NUMBA_CACHE_DIR=$$place/cache $$place/venv/bin/python -m pytest --quick -p no:cacheprovider $(WHEEL_TESTS) || exit 1; \
		rm -r $$place; \
	done

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -e .
	$(BIN)/python -m compileall -q src  # also where Python is told to keep no byte code: it starts sooner
	touch $@

$(READY): $(INSTALLED)
	$(BIN)/pip install --quiet -e '.[test]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist src/*.egg-info
