"""Test that a change re-runs exactly the jobs it affects, with real runs of snakemake."""

import copy
import json
import os
import re
import signal
import subprocess
import time

import pandas as pd
import pytest
import yaml
from project import STUDY, Project, damage


@pytest.fixture
def project(finished, tmp_path):
    return finished.copy(tmp_path / "project")


@pytest.fixture
def scratch(tmp_path):
    """Return a function that runs a study from scratch and returns its numbers."""

    def run(study) -> dict[str, bytes]:
        other = Project.create(tmp_path / "scratch", study)
        other.snakemake("--", "results/s/aggregate.zarr.zip")
        return other.numbers()

    return run


def samples(cases, *fast):
    """Return cases as parameters, and mark all except the `fast` ones as slow and exhaustive."""
    marks = [pytest.mark.slow, pytest.mark.exhaustive]
    return [case if case in fast else pytest.param(case, marks=marks) for case in cases]


def changed(**changes):
    study = copy.deepcopy(STUDY)
    study.update(changes)
    return study


NOTHING_TO_DO = "Nothing to be done"
AGGREGATE = {"results/s/aggregate.zarr.zip", "results/s/manifest.json"}
CONFIG = {"results/s/config.yaml"}
TABLES = {f"results/s/tables/performance.{end}" for end in ("csv", "md", "tex")}
FIGURES = {f"results/s/figures/gap.{end}" for end in ("pdf", "svg", "png", "csv", "json")}
SUMMARY = {"results/s/summary.md"}
PAGE = {"results/s/report/index.html"}
DOWNSTREAM = AGGREGATE | CONFIG | TABLES | FIGURES | SUMMARY | PAGE


def runs(plan, **wanted):
    """Return the paths of runs whose job has the given attributes."""
    return {
        path
        for path, job in plan.runs.items()
        if all(getattr(job, name) == value for name, value in wanted.items())
    }


def test_finished_study_has_all_files(finished):
    plan = finished.plan()
    assert set(finished.outputs()) == {*plan.runs, *plan.data, *plan.optima} | DOWNSTREAM


def test_nothing_changed(project):
    assert project.executed() == set()
    assert NOTHING_TO_DO in project.dry_run()


def test_comments_and_order_changed(project):
    # Only settings change places. The order of data sets and solvers is that of the figures.
    settings = yaml.safe_load(yaml.safe_dump(STUDY))
    text = yaml.safe_dump({"studies": {"s": dict(reversed(settings.items()))}}, sort_keys=False)
    project.write_config("# another comment\n" + text)
    assert project.executed() == set()


@pytest.mark.slow
def test_order_of_data_sets_and_solvers(project, finished):
    """Nothing is re-run, and what is drawn for another reason has the new order."""
    study = changed()
    for kind in ("datasets", "solvers"):
        study[kind] = dict(sorted(study[kind].items(), reverse=True))
    project.write_config(yaml.safe_dump({"studies": {"s": study}}, sort_keys=False))
    assert NOTHING_TO_DO in project.dry_run()
    assert orders(project) == orders(finished)
    shown = project.executed("--forcerun", "draw_figure", "write_table")
    assert shown == TABLES | FIGURES | SUMMARY | PAGE
    for new, old in zip(orders(project), orders(finished), strict=True):
        assert new == old[::-1]
        assert len(new) == 2


def orders(project):
    """Return the data sets and solvers of a figure and a table, in the order shown."""
    names = {"figures/gap.csv": ("panel", "line"), "tables/performance.csv": ("problem", "method")}
    return [
        pd.read_csv(project.folder / "results/s" / path)[column].unique().tolist()
        for path, columns in names.items()
        for column in columns
    ]


DASK = {
    "local": {"workers": 2, "memory": "2GB"},
    "runs_per_task": 4,
    "retries": 1,
    "dashboard": True,
}


@pytest.mark.slow
def test_dask_workers(project, finished):
    project.configure(STUDY, dask=DASK)
    assert NOTHING_TO_DO in project.dry_run()
    assert project.executed("--forcerun", "aggregate_runs") == DOWNSTREAM
    log = (project.folder / "results/s/logs/aggregate.log").read_text()
    assert re.search(r"^Dask dashboard: http://127\.0\.0\.1:\d+/status$", log, re.MULTILINE)
    assert log.splitlines()[-1] == "2 of 2 shards (100 %)"
    assert project.numbers() == finished.numbers()
    for path in ("tables/performance.csv", "figures/gap.csv"):  # of the same traces
        new, old = (one.folder / "results/s" / path for one in (project, finished))
        assert new.read_bytes() == old.read_bytes()
    project.configure(STUDY)
    assert NOTHING_TO_DO in project.dry_run()


def test_files_touched(project):
    for path in ("config/config.yaml", "Snakefile", "rules/runs.smk"):
        (project.folder / path).touch()
    assert project.executed() == set()


ADDITIONS = {
    "seed": ({"seeds": 3}, runs),  # a block of two seeds has room for three more
    "sixth seed": (
        {"seeds": [0, 1, 5]},
        lambda plan: {path for path in plan.runs if "seeds-1" in path},
    ),
    "step": ({"step": [0.001, 0.002]}, lambda plan: {p for p in plan.runs if "step-0.002" in p}),
    "scale": ({"init_scale": [1.0, 0.5]}, lambda plan: {p for p in plan.runs if "scale-0.5" in p}),
    "solver": (
        {"solvers": {**STUDY["solvers"], "sr-vn": {}}},
        lambda plan: runs(plan, solver="sr-vn"),
    ),
    "data set": (
        {"datasets": {**STUDY["datasets"], "wdbc": {}}},
        lambda plan: (
            runs(plan, dataset="wdbc")
            | {path for path in {*plan.data, *plan.optima} if "wdbc" in path}
        ),
    ),
}


@pytest.mark.parametrize("case", samples(ADDITIONS))
def test_added(project, scratch, case):
    change, expected = ADDITIONS[case]
    project.configure(changed(**change))
    assert project.executed() == expected(project.plan()) | DOWNSTREAM
    assert project.numbers() == scratch(changed(**change))


REMOVALS = {
    "seed": {"seeds": 1},
    "solver": {"solvers": {"vn": {}}},
    "data set": {"datasets": {"first": STUDY["datasets"]["first"]}},
}


@pytest.mark.parametrize("case", samples(REMOVALS))
def test_removed(project, scratch, case):
    project.configure(changed(**REMOVALS[case]))
    blocks = runs(project.plan()) if case == "seed" else set()
    assert project.executed() == blocks | DOWNSTREAM
    assert project.numbers() == scratch(changed(**REMOVALS[case]))
    listed = project.gvibench("clean", "--orphans", "--dry-run").stdout.splitlines()[:-1]
    assert bool(listed) == (case != "seed")  # the file of a block has other seeds now
    project.gvibench("clean", "--orphans")
    assert not set(listed) & set(project.outputs())
    assert project.executed() == set()


@pytest.mark.slow
def test_beta_of_one_data_set(project, scratch):
    study = changed()
    study["datasets"]["first"]["beta"] = 0.25
    project.configure(study)
    plan = project.plan()
    optimum = {path for path in plan.optima if "first" in path}
    assert project.executed() == runs(plan, dataset="first") | optimum | DOWNSTREAM
    assert project.numbers() == scratch(study)


@pytest.mark.slow
def test_option_of_one_solver(project, scratch):
    study = changed()
    study["solvers"]["svgd-density"]["options"]["kernel"] = "linear"
    project.configure(study)
    assert project.executed() == runs(project.plan(), solver="svgd-density") | DOWNSTREAM
    assert project.numbers() == scratch(study)


@pytest.mark.slow
def test_two_values_swapped(project, scratch):
    study = changed(beta=1.0, gamma=0.5)
    project.configure(study)
    plan = project.plan()
    assert project.executed() == {*plan.runs, *plan.optima} | DOWNSTREAM
    assert project.numbers() == scratch(study)


@pytest.mark.slow
def test_more_iterations(project, scratch):
    study = changed(iterations=30)
    project.configure(study)
    assert project.executed() == set(project.plan().runs) | DOWNSTREAM
    assert project.numbers() == scratch(study)


def test_figure_style(project):
    project.configure(STUDY, style={"font_size": 9.0})
    assert project.executed() == CONFIG | FIGURES | SUMMARY | PAGE


@pytest.mark.slow
def test_title(project):
    project.configure(changed(title="Another"))
    assert project.executed() == DOWNSTREAM
    assert (
        json.loads((project.folder / "results/s/manifest.json").read_text())["title"] == "Another"
    )
    saved = yaml.safe_load((project.folder / "results/s/config.yaml").read_text())
    assert saved["studies"]["s"]["title"] == "Another"


def test_explicit_default(project):
    project.configure(changed(gap="optimum"))
    assert project.executed() == CONFIG


FLAGS = ["-n", "--lint", "--summary", "--unlock", "--list-rules"]


@pytest.mark.parametrize("flag", samples(FLAGS, "-n"))
def test_inspecting_another_config_changes_no_outputs(project, flag):
    before = project.outputs()
    project.configure(changed(title="Another", seeds=3))
    project.snakemake(flag, check=False)
    assert project.outputs() == before


def test_trace_deleted(project, finished):
    path = sorted(project.plan().runs)[0]
    (project.folder / path).unlink()
    assert project.executed() == {path} | DOWNSTREAM
    assert project.numbers() == finished.numbers()


def truncate(path):
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize("damage_file", samples([truncate, damage]))
def test_trace_damaged(project, finished, damage_file):
    path = sorted(project.plan().runs)[3]
    damage_file(project.folder / path)
    done = project.snakemake(check=False)
    assert done.returncode != 0
    assert path in done.stdout + done.stderr
    assert "gvibench repair" in done.stdout + done.stderr
    repaired = project.gvibench("repair")
    assert repaired.returncode == 0
    assert repaired.stdout.startswith(f"removed {path}:")
    assert "1 bad files removed" in repaired.stdout
    assert project.executed() == {path} | DOWNSTREAM
    assert project.numbers() == finished.numbers()


@pytest.mark.slow
def test_trace_of_another_run(project, finished):
    first, second = sorted(project.plan().runs)[:2]
    content = (project.folder / second).read_bytes()
    (project.folder / first).write_bytes(content)
    done = project.snakemake(check=False)
    assert f"{first} seed-0 does not match the settings of this run" in done.stdout + done.stderr
    project.gvibench("repair")
    assert project.executed() == {first} | DOWNSTREAM
    assert project.numbers() == finished.numbers()


@pytest.mark.parametrize("name", samples(["page.js", "page.css", "page.html"], "page.js"))
def test_page_edited(project, name):
    path = project.folder / "src/gvibench/report/page/assets" / name
    path.write_text(path.read_text() + "\n")
    assert project.executed() == PAGE


@pytest.mark.slow
def test_killed(finished, tmp_path):
    """Kill all processes during a study, unlock, start again, and compare the results."""
    project = Project.create(tmp_path / "project", STUDY)
    process = subprocess.Popen(
        project.command(),
        cwd=project.folder,
        env=project.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while len(list(project.folder.glob("results/s/runs/**/*.zarr.zip"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    project.snakemake("--unlock")
    project.snakemake()
    assert project.numbers() == finished.numbers()
    assert project.executed() == set()
