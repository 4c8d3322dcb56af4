# Each target installs what it needs. A fresh clone requires Python 3.11+, make and access to PyPI.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Pip prints errors, but no warnings.
INSTALL = @echo "installing gvibench into $(VENV)" && $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -c constraints.txt
# Jobs of the workflow use the commands of this environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
# Data sets that `make paper-small` leaves out.
LARGE := mushrooms,mnist,covtype,covtype-50k,phishing,n-32000,d-512,d-1024
EXAMPLES := $(patsubst examples/%/config.yaml,%,$(wildcard examples/*/config.yaml))
# These tests have separate targets.
DEFAULT_TESTS := not paper and not browser and not cluster and not faults and not adapters
.PHONY: help study paper paper-small gallery published examples test test-all test-paper test-browser test-cluster test-faults test-adapters lint dist hooks docs bench container clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "%-12s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("gvibench needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; choose another one with: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.study: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.study $(VENV)/.data $(VENV)/.docs

$(VENV)/.data: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[data]'
	@touch $@ $(VENV)/.study

# Use the system's Chromium; install it with apt if it is missing and we are root.
$(VENV)/.browser: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[browser,docs]'
	@command -v chromium || test "$$(id -u)" != 0 || { apt-get update -qq && apt-get install -y -qq chromium; }
	@touch $@

$(VENV)/.cluster: $(VENV)/.dev
	$(INSTALL) -e '.[dev,slurm]'
	@touch $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[docs]'
	@touch $@

study: $(VENV)/.study  ## run the default study and write results/default
	@gvibench study

paper: $(VENV)/.data  ## run every experiment of the paper (40 to 80 minutes)
	@gvibench study config/paper.yaml

paper-small: $(VENV)/.data  ## run the paper without the large data sets (minutes)
	snakemake --configfile config/paper.yaml --config without='[$(LARGE)]'

gallery: paper  ## run the paper and replace docs/paper by its results
	gvibench gallery config/paper.yaml docs/paper

published: $(VENV)/.study  ## run the studies that docs/ shows and replace their figures (minutes)
	gvibench study config/config.yaml
	gvibench study config/geometry-or-estimator.yaml
	cp results/default/figures/gap.png results/default/tables/performance.csv docs/default-study/
	cp results/geometry-or-estimator/figures/gap.png results/geometry-or-estimator/tables/performance.csv docs/geometry-or-estimator/

examples: $(VENV)/.study  ## run the small studies in examples/ and replace their figures (minutes)
	set -e; for name in $(EXAMPLES); do \
	  snakemake --configfile examples/$$name/config.yaml; \
	  cp results/examples/$$name/figures/*.png results/examples/$$name/figures/*.csv examples/$$name/; \
	done

test: $(VENV)/.dev  ## run the fast tests (minutes)
	pytest -n 2 --dist worksteal -m "not slow and $(DEFAULT_TESTS)"

test-all: $(VENV)/.dev  ## run the fast and the slow tests
	pytest -n 2 --dist worksteal -m "$(DEFAULT_TESTS)"

test-paper: $(VENV)/.dev  ## run the paper on its smaller data sets and compare with docs/paper
	pytest -m paper

test-browser: $(VENV)/.browser  ## test the report page and the documentation in headless Chromium
	pytest -n 2 --dist loadfile -m browser

test-cluster: $(VENV)/.cluster  ## test on a real Slurm, installed with apt (needs root)
	pytest -m cluster tests/cluster

test-faults: $(VENV)/.dev  ## test kills, damaged files, invalid input and full disks (ten minutes)
	pytest -n 2 --dist worksteal -m faults
	python tests/faults/fuzz.py

$(VENV)/adapters/.done: examples/adapters/requirements.txt | $(BIN)/python
	@echo "installing the libraries of the adapters into $(VENV)/adapters"
	@$(PYTHON) -m venv $(VENV)/adapters
	@$(VENV)/adapters/bin/python -m pip install --quiet --quiet --disable-pip-version-check -r $<
	@touch $@

test-adapters: $(VENV)/.dev $(VENV)/adapters/.done  ## test the adapters for BlackJAX, NumPyro and gsmvi
	pytest -m adapters

lint: dist  ## check formatting, spelling, style, types, layers and the built package
	ruff check
	ruff format --check
	mypy
	lint-imports --no-cache
	snakefmt --check Snakefile rules
	bandit --quiet --recursive --configfile pyproject.toml src
	codespell

dist: $(VENV)/.dev  ## build the package in dist/ and check it
	rm -rf dist
	@# The build backend is installed, so that a separate environment, and a network for it, are not needed.
	python -m build --quiet --no-isolation .
	twine check --strict dist/*

hooks: $(VENV)/.dev  ## run ruff, snakefmt and codespell before each commit
	pre-commit install

docs: $(VENV)/.docs  ## build the documentation for offline reading in site/index.html
	python docs/site/build.py site

bench: $(VENV)/.dev  ## measure speed, memory and overhead; writes docs/performance.md (minutes)
	python benchmarks/bench.py

container:  ## build the container image and run a small study in it (needs Docker)
	docker build --tag gvibench .
	docker run --rm gvibench snakemake --configfile config/smoke.yaml

clean:  ## remove the environment and all results
	rm -rf $(VENV) .snakemake results/*/ site dist
