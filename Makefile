# Needs Python 3.10 or later and make. Everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What bench passes on, for example: make bench BENCH_ARGS="--help"
BENCH_ARGS ?=
WORKERS ?= 2

.PHONY: demo test lint bench clean
.DEFAULT_GOAL := test

# A stamp a set of extras, so that nothing is installed twice and demo stays light.
$(VENV)/python.stamp:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/demo.stamp: EXTRAS := plots
$(VENV)/test.stamp: EXTRAS := test,plots
$(VENV)/lint.stamp: EXTRAS := dev
$(VENV)/bench.stamp: EXTRAS := bench
$(VENV)/%.stamp: pyproject.toml $(VENV)/python.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]"
	touch $@

demo: $(VENV)/demo.stamp
	$(BIN)/partwise demo

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n $(WORKERS)

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
