"""Every snippet of the documentation runs, from the first to the last, and does what it says."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from figures.made_aggregate import study, write_aggregate
from gvibench import expectations
from gvibench.cli import main

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder with a finished study, as the documentation assumes."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results/mine"
    folder.mkdir(parents=True)
    write_aggregate(folder, study())
    return tmp_path


def executed(name):
    """Run the snippets of a page in one namespace, which is returned."""
    space = {}
    for language, code in re.findall(r"```(\w+)\n(.*?)```", (DOCS / name).read_text(), re.S):
        if language == "python":
            exec(compile(code, name, "exec"), space)
        else:
            assert language == "sh", language
            for line in code.splitlines():
                program, *words = shlex.split(line, comments=True)
                assert program == "gvibench"
                assert main(words) == 0
    return space


def test_notebooks(results):
    space = executed("api.md")
    assert space["trace"].attrs["status"] == "completed"
    assert len(space["runs"]) == 6
    assert (results / "gap.pdf").stat().st_size > 0
    assert space["study"].sizes["run"] == 24


def test_extending(results, capsys):
    space = executed("extend.md")
    assert (results / "grand_vn/pyproject.toml").is_file()
    assert "vn conforms" in capsys.readouterr().out

    state, model = space["state"], space["model"]
    start = space["solver"].init(model, np.zeros(3), 0.5)
    before = model.objectives(start.mean, start.factor, start.oracle.value).objective
    assert state.iteration == 20
    assert space["objective"] < before
    assert space["loaded"].table.x.shape == (30, 2)
    assert len(space["figure"].axes[0].patches) == len(space["shown"])

    poisson = space["poisson"]
    oracle = poisson.full_oracle(np.zeros(3), start.factor, "hessian")
    nudge = 1e-6 * np.eye(3)
    slopes = [
        (
            poisson.full_oracle(+step, start.factor, "hessian").value
            - poisson.full_oracle(-step, start.factor, "hessian").value
        )
        / 2e-6
        for step in nudge
    ]
    np.testing.assert_allclose(oracle.gradient, slopes, rtol=1e-5)

    exact = [float(values) for values in expectations.build("exact")(0.5, 0.2)]
    found = [float(space[name]) for name in ("f0", "f1", "f2")]
    np.testing.assert_allclose(found, exact, atol=1e-3)
