# Two commands work on a fresh machine with Python >= 3.10 and g++: `make demo` and `make test`.

# The first interpreter that is there, works (a pyenv shim may not) and is new enough.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.10 python3; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then echo $$python; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
EXAMPLE := examples/receipt_scanner.py
REPORT ?= build/demo-report
TESTS ?=
LINTED := reporter anonymizer templates collectors tests bench examples docs tools

.PHONY: demo test test-unit test-live test-e2e test-slow test-matrix test-releases test-models test-onnx test-triton \
	test-gpu test-faults test-lowest fuzz coverage mutants lint docs bench dist-check licenses clean

# The installation is repeated only when the declared dependencies change.
$(VENV)/installed: pyproject.toml
	@test -x $(BIN)/python || test -n "$(PYTHON)" || { echo "no Python >= 3.10 found; set PYTHON=/path/to/python"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(VENV)/installed
	@mkdir -p $(dir $(REPORT))
	$(BIN)/bugreport create --no-input --python $(BIN)/python --output $(REPORT) --force $(EXAMPLE)
	@echo "The report lies in $(REPORT): start with issue.md, then run repro.py."

# What has to pass before a change is accepted, on all cores.
test: $(VENV)/installed
	$(BIN)/python -m pytest $(TESTS)

test-unit: $(VENV)/installed
	$(BIN)/python -m pytest $(or $(TESTS),tests/unit)

test-live: $(VENV)/installed
	$(BIN)/python -m pytest $(or $(TESTS),tests/live)

test-e2e: $(VENV)/installed
	$(BIN)/python -m pytest $(or $(TESTS),tests/e2e)

# The rest takes longer, or needs what not every machine has (see CONTRIBUTING.md).
test-slow: $(VENV)/installed
	$(BIN)/python -m pytest -m slow $(TESTS)

test-matrix: $(VENV)/installed
	$(BIN)/python -m pytest -m matrix $(or $(TESTS),tests/live)

test-releases: $(VENV)/installed
	$(BIN)/python -m pytest -m releases $(or $(TESTS),tests/releases)

test-models: $(VENV)/installed
	$(BIN)/python -m pytest -m models $(or $(TESTS),tests/models)

test-onnx: $(VENV)/installed
	$(BIN)/python -m pytest -m onnx $(TESTS)

# Triton in a folder of its own: other tests hold what is said without one.
test-triton: $(VENV)/installed
	test -d build/triton || $(BIN)/pip install --quiet --target build/triton 'triton>=3'
	PYTHONPATH=build/triton $(BIN)/python -m pytest -m triton $(TESTS)

test-gpu: $(VENV)/installed
	$(BIN)/python -m pytest -m gpu $(TESTS)

# Lines and branches of the host side that the default tests run.
coverage: $(VENV)/installed
	$(BIN)/python -m pytest --cov --cov-report=term $(TESTS)

# A fixed sample of small faults in the product: how many of them the tests find.
mutants: $(VENV)/installed
	$(BIN)/pip install --quiet --editable '.[mutants]'
	$(BIN)/python -m tests.mutation $(AREAS)

lint: $(VENV)/installed
	$(BIN)/ruff check $(LINTED)
	$(BIN)/black --check $(LINTED)
	$(BIN)/mypy --strict
	$(BIN)/mypy --strict $(wildcard bench/*.py)
	$(BIN)/lint-imports

$(VENV)/docs-installed: $(VENV)/installed
	$(BIN)/pip install --quiet --editable '.[docs]'
	@touch $@

# The site, in build/docs; a broken link or a page outside of the navigation is an error.
docs: $(VENV)/docs-installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# These ask for an interpreter and a folder of programs, or for a package of torch's tests.
ASKING := bench/strangers.py bench/repros.py bench/verdicts.py bench/operators.py

bench: $(VENV)/installed
	@for script in $(filter-out $(ASKING),$(wildcard bench/*.py)); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# The wheel and the sdist, built twice: the same bytes, with their sums in dist/SHA256SUMS.
dist-check: $(VENV)/installed
	$(BIN)/python tools/dist.py dist

# Name, version and license of everything that an installation brings with it.
licenses: $(VENV)/installed
	@$(BIN)/python tools/licenses.py

# The unit tests with the oldest releases that pyproject.toml allows, in an environment of their own.
test-lowest: $(VENV)/installed
	test -x build/lowest/bin/python || $(BIN)/python -m venv --without-pip build/lowest
	$(BIN)/uv pip install --quiet --python build/lowest/bin/python --resolution lowest-direct .
	$(BIN)/uv pip install --quiet --python build/lowest/bin/python pytest pytest-xdist hypothesis jsonschema openapi-core PyYAML
	build/lowest/bin/python -m pytest -m unit $(or $(TESTS),tests/unit)

# Who is ended at which stage of a run, and what the run after it comes to: a sample of the points,
# or POINTS=all (hours); the same for commands that ask a tracker or go through many repros. Then
# what a run says on a machine that lacks something.
test-faults: $(VENV)/installed
	$(BIN)/python -m tests.faults $(POINTS)
	$(BIN)/python -m pytest -m e2e -k "kill or ctrl_c or two_ or store" tests/e2e/filing tests/e2e/test_triage.py \
		tests/e2e/test_check_interrupted.py tests/e2e/test_check_issue.py
	$(BIN)/python -m pytest -m "e2e or slow" tests/e2e/test_release_environments.py
	$(BIN)/python -m tests.faults.machine

# Parsers of what others wrote, under Hypothesis, for ten minutes.
fuzz: $(VENV)/installed
	$(BIN)/python -m tests.fuzz $(or $(SECONDS),600)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
