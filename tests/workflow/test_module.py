"""Test the workflow as a module of another repository, and where it finds the package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from project import ROOT, STUDY, Project

SNAKEFILE = """
configfile: "settings.yaml"


module gvibench:
    snakefile:
        "../gvibench/Snakefile"
    config:
        config["benchmark"]


use rule * from gvibench as gvibench_*


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
    """Another repository that uses the workflow as a module."""
    workflow, other = tmp_path / "gvibench", tmp_path / "other"
    for name in ("rules", "envs"):
        shutil.copytree(ROOT / name, workflow / name)
    shutil.copy(ROOT / "Snakefile", workflow)
    # The package that the environment provides is used, not these.
    for folder in (workflow, other):
        (folder / "src/gvibench").mkdir(parents=True)
        (folder / "src/gvibench/__init__.py").write_text(BROKEN)
    (other / "Snakefile").write_text(SNAKEFILE)
    smoke = yaml.safe_load((ROOT / "config/smoke.yaml").read_text())
    (other / "settings.yaml").write_text(yaml.safe_dump({"benchmark": smoke, "other": 1}))
    return other


def snakemake(folder, *words, **variables):
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2", *words],
        cwd=folder,
        env={**os.environ, "GVIBENCH_DATA": "", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
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


@pytest.mark.slow
def test_the_sources_of_the_repository_are_used_if_the_package_is_not_installed(tmp_path):
    project = Project.create(tmp_path / "project", STUDY)
    shim = tmp_path / "shim"
    shim.mkdir()
    (shim / "sitecustomize.py").write_text(NOT_INSTALLED)
    code = "import gvibench"
    missing = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(shim)}, cwd=tmp_path
    )
    assert missing.returncode == 1
    snakemake(project.folder, "--until", "prepare_data", PYTHONPATH=str(shim))
    assert len(list(Path(project.folder, "results/data").glob("*.zarr.zip"))) == 2
