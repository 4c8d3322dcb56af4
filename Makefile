# Everything sets itself up: a fresh clone needs Python 3.11+, make and the package registry.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Jobs of the workflow find the gvibench command here.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
# What `make paper-small` leaves out.
LARGE := mushrooms,mnist,covtype,covtype-50k,phishing,n-32000,d-512,d-1024
# Tests that need more than this machine and a few minutes have targets of their own.
ELSEWHERE := not paper and not browser and not cluster and not faults
.PHONY: help study paper paper-small gallery test test-all test-paper test-browser test-cluster test-faults lint docs bench clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "%-12s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("gvibench needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; say which with: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.study: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.study $(VENV)/.docs

# Chromium comes from the system; where it is missing and we may, it is installed.
$(VENV)/.browser: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser,docs]'
	@command -v chromium || test "$$(id -u)" != 0 || { apt-get update -qq && apt-get install -y -qq chromium; }
	@touch $@

$(VENV)/.cluster: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,slurm]'
	@touch $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

study: $(VENV)/.study  ## run the default study: results/ when it is done
	snakemake

paper: $(VENV)/.study  ## every experiment of the paper (80 minutes)
	snakemake --configfile config/paper.yaml

paper-small: $(VENV)/.study  ## the same without the large data sets (minutes)
	snakemake --configfile config/paper.yaml --config without='[$(LARGE)]'

gallery: paper  ## refresh docs/paper from a finished run of the paper
	gvibench gallery config/paper.yaml docs/paper

test: $(VENV)/.dev  ## the fast tests (minutes)
	pytest -n 2 --dist worksteal -m "not slow and $(ELSEWHERE)"

test-all: $(VENV)/.dev  ## the slow ones too
	pytest -n 2 --dist worksteal -m "$(ELSEWHERE)"

test-paper: $(VENV)/.dev  ## run the paper on its smaller data sets and compare with docs/paper
	pytest -m paper

test-browser: $(VENV)/.browser  ## the report page and the site in headless Chromium
	pytest -m browser

test-cluster: $(VENV)/.cluster  ## on a real Slurm, which it installs by apt: needs root
	pytest -m cluster tests/cluster

test-faults: $(VENV)/.dev  ## kills, damage, bad input, full disks (ten minutes)
	pytest -n 2 --dist worksteal -m faults
	python tests/faults/fuzz.py

lint: $(VENV)/.dev  ## formatting, style and types
	ruff check
	ruff format --check
	mypy
	snakefmt --check Snakefile rules
	bandit --quiet --recursive --configfile pyproject.toml src

docs: $(VENV)/.docs  ## these pages as a site that needs no network: open site/index.html
	@# Not --quiet: that keeps warnings, and with them broken links, from `strict`.
	NO_MKDOCS_2_WARNING=1 mkdocs build

bench: $(VENV)/.dev  ## measure speed, memory and overhead; writes docs/performance.md (minutes)
	python benchmarks/bench.py

clean:  ## remove the environment and everything a study made
	rm -rf $(VENV) .snakemake results/*/ site
