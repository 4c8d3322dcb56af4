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
# Paper, browser, cluster and fault tests have separate targets.
DEFAULT_TESTS := not paper and not browser and not cluster and not faults
.PHONY: help study paper paper-small gallery test test-all test-paper test-browser test-cluster test-faults lint docs bench clean

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
	@touch $@ $(VENV)/.study $(VENV)/.docs

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

paper: $(VENV)/.study  ## run every experiment of the paper (80 minutes)
	@gvibench study config/paper.yaml

paper-small: $(VENV)/.study  ## run the paper without the large data sets (minutes)
	snakemake --configfile config/paper.yaml --config without='[$(LARGE)]'

gallery: paper  ## run the paper and replace docs/paper by its results
	gvibench gallery config/paper.yaml docs/paper

test: $(VENV)/.dev  ## run the fast tests (minutes)
	pytest -n 2 --dist worksteal -m "not slow and $(DEFAULT_TESTS)"

test-all: $(VENV)/.dev  ## run the fast and the slow tests
	pytest -n 2 --dist worksteal -m "$(DEFAULT_TESTS)"

test-paper: $(VENV)/.dev  ## run the paper on its smaller data sets and compare with docs/paper
	pytest -m paper

test-browser: $(VENV)/.browser  ## test the report page and the documentation in headless Chromium
	pytest -m browser

test-cluster: $(VENV)/.cluster  ## test on a real Slurm, installed with apt (needs root)
	pytest -m cluster tests/cluster

test-faults: $(VENV)/.dev  ## test kills, damaged files, invalid input and full disks (ten minutes)
	pytest -n 2 --dist worksteal -m faults
	python tests/faults/fuzz.py

lint: $(VENV)/.dev  ## check formatting, style, types and layers
	ruff check
	ruff format --check
	mypy
	lint-imports --no-cache
	snakefmt --check Snakefile rules
	bandit --quiet --recursive --configfile pyproject.toml src

docs: $(VENV)/.docs  ## build the documentation for offline reading in site/index.html
	@# With --quiet, `strict` would not see warnings about broken links.
	NO_MKDOCS_2_WARNING=1 mkdocs build

bench: $(VENV)/.dev  ## measure speed, memory and overhead; writes docs/performance.md (minutes)
	python benchmarks/bench.py

clean:  ## remove the environment and all results
	rm -rf $(VENV) .snakemake results/*/ site
