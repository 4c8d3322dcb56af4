"""Edits of the code re-run exactly the jobs that depend on them: each case is a real dry run."""

import importlib.util
import re
from pathlib import Path

import pytest
from project import ROOT

from gvibench.registry import DATASETS, FIGURES, MODELS, SOLVERS, TABLES

AGGREGATE = {"results/s/aggregate.zarr.zip", "results/s/manifest.json"}
TABLE = {f"results/s/tables/performance.{end}" for end in ("csv", "md", "tex")}
FIGURE = {f"results/s/figures/gap.{end}" for end in ("pdf", "svg", "png", "csv", "json")}
REPORT = {"results/s/summary.md", "results/s/report/index.html"}
DOWNSTREAM = AGGREGATE | TABLE | FIGURE | REPORT | {"results/s/config.yaml"}


@pytest.fixture(scope="module")
def project(finished, tmp_path_factory):
    return finished.copy(tmp_path_factory.mktemp("edits") / "project")


def module_file(name: str) -> Path:
    """Return the path of a module relative to the project."""
    return Path(importlib.util.find_spec(name).origin).relative_to(ROOT)


def planned(project) -> set[str]:
    """Return the outputs of all jobs that a dry run lists."""
    lines = re.findall(r"^\s+output: (.*)$", project.dry_run(), re.MULTILINE)
    return {path for line in lines for path in line.split(", ")}


def code(module):
    """Add a statement."""
    return module, lambda text: f"{text}\n\nEDITED = True\n"


def replaced(module, old, new):
    def edit(text):
        assert old in text
        return text.replace(old, new, 1)

    return module, edit


def first_docstring(module):
    return module, lambda text: re.sub(r'"""', '"""Edited. ', text, count=1)


NOTHING = {
    "docstring": first_docstring(SOLVERS.module_of("vn")),
    "comment": (SOLVERS.module_of("vn"), lambda text: f"# a comment\n{text}"),
    "error message": replaced("gvibench.engine.run", "prepare the data again", "do it again"),
    "progress text": code("gvibench.engine.progress"),
    "another solver": code(SOLVERS.module_of("bw-gd")),
    "another model": code(MODELS.module_of("linear")),
    "another data set": replaced(DATASETS.module_of("wdbc"), "n=569", "n=570"),
    "loader of another data set": code("gvibench.datasets.mnist"),
    "another figure": code(FIGURES.module_of("bias")),
    "another table": code(TABLES.module_of("runtime")),
    "CUDA code": code("gvibench.numerics.cuda_backend"),
    "command line": code("gvibench.cli.main"),
    "planning": code("gvibench.study.resources"),
    "names": code("gvibench.registry"),
}
OWN = {
    "solver": (
        code(SOLVERS.module_of("vn")),
        lambda plan: {path for path, job in plan.runs.items() if job.solver == "vn"} | DOWNSTREAM,
    ),
    "model": (
        code(MODELS.module_of("logistic")),
        lambda plan: {*plan.runs, *plan.optima} | DOWNSTREAM,
    ),
    "loader of the data set": (
        code("gvibench.datasets.synthetic"),
        lambda plan: {*plan.data, *plan.runs, *plan.optima} | DOWNSTREAM,
    ),
    "figure": (code(FIGURES.module_of("gap")), lambda plan: FIGURE | REPORT),
    "table": (code(TABLES.module_of("performance")), lambda plan: TABLE | REPORT),
    "trace format": (code("gvibench.store.traces"), lambda plan: {*plan.runs} | DOWNSTREAM),
    "engine": (code("gvibench.engine.recorder"), lambda plan: {*plan.runs} | DOWNSTREAM),
    "stage that merges tuned choices": (
        replaced("gvibench.stages", '{**job["spec"], **chosen, ', '{**chosen, **job["spec"], '),
        lambda plan: {*plan.runs} | DOWNSTREAM,
    ),
    "aggregation": (code("gvibench.study.aggregate"), lambda plan: DOWNSTREAM),
    "page": (code("gvibench.report.page.document"), lambda plan: {"results/s/report/index.html"}),
}
FAST = {"error message", "solver"}


def cases(edits):
    return [
        pytest.param(*edits[name], id=name, marks=[] if name in FAST else pytest.mark.slow)
        for name in edits
    ]


def dry_run_after(project, module, edit):
    path = project.folder / module_file(module)
    text = path.read_text()
    path.write_text(edit(text))
    try:
        return planned(project)
    finally:
        path.write_text(text)


@pytest.mark.parametrize(("module", "edit"), cases(NOTHING))
def test_edits_that_re_run_nothing(project, module, edit):
    assert dry_run_after(project, module, edit) == set()


@pytest.mark.parametrize(("edit", "expected"), cases(OWN))
def test_edits_that_re_run_their_own_jobs(project, edit, expected):
    assert dry_run_after(project, *edit) == expected(project.plan())
