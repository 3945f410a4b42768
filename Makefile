# Every target makes what it needs. The environment is .venv, built from a Python >= 3.12 found on the machine
# (PYTHON=/path chooses one) and from PyPI by pip; stamp files in it keep a second run fast.

VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check
MOLREC := packages/molrec
MACE   := packages/mace-core

# Tests run in parallel; more than four processes gain nothing here. PYTEST_ARGS adds to the command line.
JOBS        ?= auto
PYTEST      := $(PY) -m pytest
PYTEST_ARGS ?=

export PYTHON

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help venv engines chromium torch demo test test-engines test-torch test-robustness coverage lint format bench \
	docs clean FORCE

help: ## list the targets
	@echo "usage: make TARGET"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) \
		| while IFS='|' read -r name text; do printf '  %-14s%s\n' "$$name" "$$text"; done

# --- environment ------------------------------------------------------------------------------------------------------

DEV     := $(VENV)/.stamp-dev
BENCH   := $(VENV)/.stamp-bench
ENGINES := $(VENV)/.stamp-engines
TORCH   := $(VENV)/.stamp-torch

# An environment made by hand, or for another checkout, has not been set up for this one.
ifneq ($(shell cat $(VENV)/.checkout 2>/dev/null),$(shell pwd -P))
$(DEV): FORCE
endif

$(DEV): requirements-dev.txt $(MOLREC)/pyproject.toml $(MACE)/pyproject.toml
	@sh scripts/make_venv.sh $(VENV)
	@echo "Installing the packages and their tools into $(VENV)"
	@$(PIP) install --quiet -r requirements-dev.txt -e "$(MOLREC)[test]" -e "$(MACE)[test]"
	@pwd -P >$(VENV)/.checkout
	@touch $@

$(BENCH): $(DEV)
	@echo "Installing the benchmarks' peers into $(VENV)"
	@$(PIP) install --quiet -c requirements-dev.txt -c requirements-engines.txt -e "$(MOLREC)[bench]"
	@touch $@

$(ENGINES): $(DEV) requirements-engines.txt
	@echo "Installing the foreign engines into $(VENV) (large)"
	@$(PIP) install --quiet -c requirements-dev.txt -c requirements-engines.txt -e "$(MOLREC)[formats,openmm,engines]"
	@touch $@

$(TORCH): $(DEV) requirements-engines.txt
	@echo "Installing PyTorch into $(VENV) (5.5 GB)"
	@$(PIP) install --quiet -c requirements-dev.txt -c requirements-engines.txt -e "$(MOLREC)[torch]"
	@touch $@

venv: $(DEV) ## build .venv with both packages, editable, and the pinned tools

engines: $(ENGINES) chromium ## install the foreign engines into .venv, and a browser where it is missing (large)

chromium:
	@sh scripts/install_chromium.sh

torch: $(TORCH) ## install PyTorch into .venv (5.5 GB)

# --- running ----------------------------------------------------------------------------------------------------------

demo: $(DEV) ## a short molecular dynamics run, streamed into a record
	$(PY) examples/demo.py

test: $(DEV) ## tests of both packages, except those that need a foreign engine
	$(PYTEST) -m "not engines and not exhaustive" -n $(JOBS) --maxprocesses 4 $(PYTEST_ARGS)

test-engines: $(ENGINES) chromium ## the tests that need LAMMPS, OpenMM, MDAnalysis, a browser and the like
	$(PYTEST) -m engines $(PYTEST_ARGS)

test-torch: $(TORCH) ## the tests that need PyTorch
	$(PYTEST) -m engines packages/molrec/tests/test_interop_torch.py $(PYTEST_ARGS)

test-robustness: $(DEV) ## every failing call, kill, tear and power loss; some minutes
	$(PYTEST) packages/molrec/tests/robustness -n $(JOBS) --maxprocesses 4 $(PYTEST_ARGS)

coverage: $(DEV) ## tests with a coverage report (build/coverage)
	$(PYTEST) -m "not engines and not exhaustive" -n $(JOBS) --maxprocesses 4 \
		--cov --cov-report=term:skip-covered --cov-report=html:build/coverage $(PYTEST_ARGS)

lint: $(DEV) ## ruff, formatting, types and the rooms' import contracts
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

format: $(DEV) ## apply ruff's fixes and formatting
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: $(BENCH) ## the formats side by side, one table
	$(PY) benchmarks/run.py

docs: $(DEV) ## the documentation site, into build/site
	$(PY) -m scripts.measured_table
	$(PY) -m scripts.make_tour
	$(PY) -m scripts.make_reference
	$(VENV)/bin/zensical build --clean --strict

clean: ## remove what was built and all caches; .venv stays
	rm -rf build htmlcov .cache .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find docs/reference -name '*.md' ! -name index.md -delete
	rm -rf packages/*/build packages/*/dist packages/*/.hypothesis packages/*/.pytest_cache
	find packages benchmarks examples scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
