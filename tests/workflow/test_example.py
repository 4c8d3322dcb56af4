"""Test that an installed package adds a solver, a data set and a figure."""

import os
import shutil
import subprocess
import sys

import pytest
import xarray as xr
from project import Project

from gvibench.cli.main import main
from gvibench.spec.statuses import UNUSABLE

pytestmark = pytest.mark.slow


class ProjectWithPlugin(Project):
    """A project with the package that `gvibench new` creates, installed in a separate folder."""

    @property
    def package(self):
        return self.folder / "my_solver"

    @property
    def installed(self):
        return self.folder / "installed"

    def environment(self):
        environment = super().environment()
        path = f"{environment['PYTHONPATH']}{os.pathsep}{self.installed}"
        return environment | {"PYTHONPATH": path}

    def install(self):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
        pip += ["--no-build-isolation", "--target", str(self.installed), str(self.package)]
        subprocess.run(pip, check=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = ProjectWithPlugin.create(tmp_path_factory.mktemp("example") / "project", {})
    assert main(["new", "solver", "my-solver", "--into", str(project.folder)]) == 0
    shutil.copy(project.package / "config.yaml", project.folder / "config/config.yaml")
    project.install()
    project.snakemake()
    return project


def test_a_study_uses_the_plugin(project):
    assert len((project.package / "config.yaml").read_text().splitlines()) == 10
    study = project.folder / "results/my-solver"
    assert {path.suffix for path in study.glob("figures/my-solver-gradient.*")} == {
        ".pdf",
        ".svg",
        ".png",
        ".csv",
        ".json",
    }
    assert "MySolver" in (study / "figures/my-solver-gradient.svg").read_text()
    with xr.open_dataset(study / "aggregate.zarr.zip") as dataset:
        assert set(dataset["dataset"].values) == {"my-solver-moons", "wdbc"}
        mine = dataset["solver"].values == "my-solver"
        is_last = dataset["iteration"] == dataset["iterations_done"]
        gaps = dataset["objective"].where(is_last).max("record") - dataset["optimum_objective"]
        assert not set(dataset["status"].values) & set(UNUSABLE)
        assert abs(gaps.values[mine]).max() < 1e-6


def test_the_plugin_is_listed_and_conforms(project):
    assert "my-solver " in project.gvibench("solvers").stdout
    assert "my-solver-moons" in project.gvibench("datasets").stdout
    done = project.gvibench("check", "solver", "my-solver")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "my-solver conforms"


ENDS = [
    *("aggregate.zarr.zip", "manifest.json", "config.yaml"),
    *(f"tables/performance.{end}" for end in ("csv", "md", "tex")),
    *(f"figures/gap.{end}" for end in ("pdf", "svg", "png", "csv", "json")),
    *(f"figures/my-solver-gradient.{end}" for end in ("pdf", "svg", "png", "csv", "json")),
    "summary.md",
    "report/index.html",
]


def edit(project, name):
    path = project.installed / "my_solver" / name
    path.write_text(path.read_text() + "\n\nEDITED = True\n")


def test_edits_of_the_plugin_rerun_the_jobs_that_depend_on_it(project):
    everything = set(project.outputs())
    downstream = {f"results/my-solver/{name}" for name in ENDS}
    edit(project, "figure.py")
    words = ("my-solver-gradient", "summary", "report")
    figure_outputs = {name for name in downstream if any(word in name for word in words)}
    assert project.executed() == figure_outputs
    edit(project, "solver.py")
    runs = {name for name in everything if "/runs/" in name and "/my-solver/step" in name}
    assert len(runs) == 2
    assert project.executed() == runs | downstream
    edit(project, "dataset.py")
    of_moons = {name for name in everything if "moons" in name}
    assert len(of_moons) == 4  # data, optimum, one job of each of two solvers
    assert project.executed() == of_moons | downstream
