"""Test the workflow as a module of another repository, and where it finds the package."""

import os
import shutil
import subprocess
import sys

import pytest
import yaml
from project import ROOT, STUDY, Project

from reader import section

OWN_RULE = """

rule count_rows:
    default_target: True
    input:
        rules.gvibench_all.input,
        table="results/smoke/tables/performance.csv",
    output:
        "rows.txt",
    shell:
        "wc -l < {input.table} > {output}"
"""
BROKEN = "raise ImportError('not the installed package')"
NOT_INSTALLED = """
import os, sys
given = os.environ["PYTHONPATH"].split(os.pathsep)
sys.path[:] = [p for p in sys.path if p in given or not os.path.isdir(p + "/gvibench")]
sys.meta_path[:] = [f for f in sys.meta_path if "__editable__" not in str(f)]
"""
"""Content of a `sitecustomize` that removes an installed gvibench from the import path."""


@pytest.fixture
def other(tmp_path):
    """Another repository that uses the workflow as docs/extend.md describes."""
    other = tmp_path / "other"
    workflow = other / "gvibench"
    for name in ("rules", "envs"):
        shutil.copytree(ROOT / name, workflow / name)
    shutil.copy(ROOT / "Snakefile", workflow)
    # The package that the environment provides is used, not these.
    for folder in (workflow, other):
        (folder / "src/gvibench").mkdir(parents=True)
        (folder / "src/gvibench/__init__.py").write_text(BROKEN)
    [block] = section(ROOT / "docs/extend.md", "The workflow as a module")
    (other / "Snakefile").write_text(block.text + OWN_RULE)
    smoke = yaml.safe_load((ROOT / "config/smoke.yaml").read_text())
    (other / "config.yaml").write_text(yaml.safe_dump({"gvibench": smoke, "other": 1}))
    return other


def snakemake(folder, *words, code=0, **variables):
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2", *words],
        cwd=folder,
        env={**os.environ, "GVIBENCH_DATA": "", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout + done.stderr


@pytest.mark.slow
def test_another_repository_runs_the_workflow_as_a_module(other):
    package = str(ROOT / "src")
    snakemake(other, PYTHONPATH=package)
    results = other / "results/smoke"
    for name in ("summary.md", "report/index.html", "figures/gap.svg"):
        assert (results / name).stat().st_size > 0
    rows = (results / "tables/performance.csv").read_text().count("\n")
    assert (other / "rows.txt").read_text() == f"{rows}\n"
    assert "Nothing to be done" in snakemake(other, PYTHONPATH=package)
    snakemake(other, "--report", "report.html", PYTHONPATH=package)
    assert "medians over seeds" in (other / "report.html").read_text()


@pytest.fixture
def not_installed(tmp_path):
    """A folder for PYTHONPATH that makes an installed gvibench invisible."""
    folder = tmp_path / "shim"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(NOT_INSTALLED)
    return str(folder)


@pytest.mark.slow
def test_the_sources_of_the_repository_are_used_if_the_package_is_not_installed(
    tmp_path, not_installed
):
    project = Project.create(tmp_path / "project", STUDY)
    (project.folder / "gvibench").mkdir()  # a folder of that name is not the package
    snakemake(project.folder, "--until", "prepare_data", PYTHONPATH=not_installed)
    assert len(list((project.folder / "results/data").glob("*.zarr.zip"))) == 2
    shutil.rmtree(project.folder / "src")
    text = snakemake(project.folder, "--dry-run", code=1, PYTHONPATH=not_installed)
    assert "gvibench is not installed" in text
