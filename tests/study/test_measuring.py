"""Test which Gaussians a study measures."""

import json

import pytest
from study_config import jobs

from gvibench.errors import UserError
from gvibench.study.expand import require_own_files
from gvibench.study.inventory import jobs_of

SOLVERS = ["vn", "laplace", "bam"]


def measured(**changes):
    plan = jobs(**{"solvers": SOLVERS, "step": None, "tables": ["quality"], **changes})
    return plan, list(plan.measures.values())


def test_only_studies_that_show_measures_compute_them():
    plan, found = measured(tables=["performance"], figures=["gap"])
    assert found == []
    assert "measures" not in json.loads(plan.manifest("s"))


@pytest.mark.parametrize(
    "changes",
    [{"tables": ["quality"]}, {"tables": ["truth"]}, {"tables": [], "figures": ["calibration"]}],
)
def test_the_optimum_and_solvers_with_another_limit_are_measured(changes):
    plan, found = measured(seeds=7, pack=5, **changes)
    names = sorted("/".join(job.path.split("/")[-3:-2]) for job in found)
    assert names == ["bam", "bam", "laplace", "laplace", "optimum"]
    (optimum,) = (job for job in found if job.run is None)
    assert optimum.optimum.path in plan.optima
    rows = json.loads(plan.manifest("s"))["measures"]
    assert {row["path"] for row in rows} == {job.path for job in found}
    listed = [job.path for job in jobs_of(plan, "s") if job.stage == "measure"]
    assert sorted(listed) == sorted(plan.measures)


def test_stochastic_runs_are_measured():
    _, found = measured(solvers={"vn": {}, "advi": {"step": 0.01}})
    assert sorted(job.run.solver for job in found if job.run) == ["advi"]
    assert {job.spec.expectation for job in found} == {"exact"}


def test_each_problem_has_its_own_optimum():
    _, found = measured(vary={"beta": [0.1, 1.0], "gamma": [0.0, 1.0]}, solvers=["vn"])
    assert sorted(job.spec.beta for job in found) == [0.1, 1.0]
    assert {job.spec.gamma for job in found} == {1.0}


def test_measures_are_exact_whatever_the_runs_use():
    _, found = measured(expectation="piecewise", pieces=5, solvers=["laplace"])
    assert {job.spec.expectation for job in found} == {"exact"}
    _, found = measured(
        expectation="piecewise", pieces=5, solvers=["laplace"], record=["objective_exact"]
    )
    assert {job.optimum.spec.expectation for job in found} == {"exact"}


def test_without_an_optimum_other_limits_are_measured_alone():
    _, found = measured(gap="best-seen")
    assert [job.optimum for job in found] == [None, None]
    assert all(job.run for job in found)


def test_a_tuned_beta_is_read_from_its_choice():
    _, found = measured(beta="tuned")
    assert all(job.beta is not None for job in found)
    assert json.loads(found[0].params)["spec"]["beta"] is None


def test_own_draws_are_tracked(tmp_path):
    own = {"wdbc": {"truth": f"{tmp_path}/x/../draws.npz"}}
    plan, found = measured(datasets=own, tables=["truth"], beta=0.7)
    assert {job.truth for job in found} == {f"{tmp_path}/draws.npz"}
    with pytest.raises(UserError, match=r"data set 'wdbc': .*draws.npz does not exist: correct 't"):
        require_own_files(plan)
    (tmp_path / "draws.npz").touch()
    require_own_files(plan)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tables": ["quality"]}, "truth has no effect: add 'truth' to the tables"),
        ({"vary": {"beta": [0.1, 1.0]}}, "draws belong to one problem"),
        ({"model": "non-convex", "solvers": ["vn"]}, "'non-convex' has no posterior"),
    ],
)
def test_draws_without_a_use_are_rejected(changes, message):
    with pytest.raises(UserError, match=message):
        measured(**{"datasets": {"wdbc": {"truth": "draws.nc"}}, "tables": ["truth"], **changes})


@pytest.mark.parametrize("path", ["draws.csv", "dr{a}ws.npz", ""])
def test_other_files_than_draws_are_rejected(path):
    with pytest.raises(UserError, match=r"wdbc.truth' should be the path of a file"):
        measured(datasets={"wdbc": {"truth": path}}, tables=["truth"])
