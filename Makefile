# Needs Python 3.10 or later and make. Everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What bench passes on, for example: make bench BENCH_ARGS="--help"
BENCH_ARGS ?=
WORKERS ?= 2
# What check runs: whole files of tests, some of every package, none of which takes long. What is
# drawn or trained at length (every solver on every structure, hostile files, paths, memory) is left
# to test.
QUICK := tests/test_package.py tests/files tests/formats tests/metrics \
	$(addprefix tests/compiled/test_,exponential.py lanes.py) \
	$(addprefix tests/structures/test_,chain.py every_structure.py grammar.py graph.py \
		junction.py multiclass.py projective.py ranking.py segments.py structures.py trigram.py) \
	$(addprefix tests/problem/test_,design.py dual_point.py evaluation.py losses.py rows.py \
		storage.py subset.py) \
	$(addprefix tests/solvers/,eg/test_batch_eg.py test_automatic.py test_primal.py \
		test_registry.py test_solver_options.py) \
	$(addprefix tests/training/test_,certificate.py progress.py training.py) \
	$(addprefix tests/models/test_,fitting.py from_model.py model.py modelfile.py \
		own_structure.py vocabulary.py) \
	$(addprefix tests/tasks/,test_both_faces.py sequences/test_templates.py \
		constituency/test_constituency_parser.py dependency/test_dependency_parser.py graph \
		sequences/test_classifier.py sequences/test_constraints.py \
		sequences/test_segment_tagger.py sequences/test_tagger.py) \
	$(addprefix tests/cli/test_cli,.py _tasks.py _verbs.py)

.PHONY: demo check test lint bench docs dist clean
.DEFAULT_GOAL := test

# One stamp per set of extras, so that nothing is installed twice and demo stays light.
$(VENV)/python.stamp:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/demo.stamp: EXTRAS := plots,serve
$(VENV)/test.stamp: EXTRAS := test,plots
$(VENV)/lint.stamp: EXTRAS := dev
$(VENV)/bench.stamp: EXTRAS := bench
$(VENV)/docs.stamp: EXTRAS := docs
$(VENV)/dist.stamp: EXTRAS := dist
$(VENV)/%.stamp: pyproject.toml $(VENV)/python.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]"
	touch $@

demo: $(VENV)/demo.stamp
	$(BIN)/partwise demo

check: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n $(WORKERS) $(QUICK)

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n $(WORKERS)

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		echo $(BIN)/mypy && $(BIN)/mypy; \
	else \
		echo "left out: types; the last numpy for Python 3.10 describes its own otherwise than later ones"; \
	fi
	$(BIN)/lint-imports

bench: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

# Sphinx works in a copy, because pages are written beside those of docs/: the reference, the papers
# and the tutorials that were run. The copy keeps the times of the files, so that only what has
# changed is built again.
docs: $(VENV)/docs.stamp
	mkdir -p build/docs/source
	cp -Rp docs/. build/docs/source
	$(BIN)/python -m sphinx -W --keep-going --quiet -b html build/docs/source build/docs/html
	$(BIN)/python tools/site_links.py build/docs/html

# The archive of the sources, the wheel made from it, and checks of both.
dist: $(VENV)/dist.stamp
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/sdist_contents.py dist/*.tar.gz

clean:
	rm -rf $(VENV) .nox build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
