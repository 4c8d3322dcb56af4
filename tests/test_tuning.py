"""The tuning stage: grids and their extension, the rule that chooses, and what is written."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench.engine import tuning
from gvibench.engine.execute import execute, execute_lockstep
from gvibench.engine.tuning import choose, choose_beta, next_grid, points, read_round, try_grid
from gvibench.engine.tuning_grid import EXTENSIONS, Grid, Point, best_point, first_grid
from gvibench.errors import UserError
from gvibench.solvers import MODULES
from gvibench.spec.run import RunSpec
from gvibench.store.choices import read_beta_note, read_choice, read_failure
from problems import spec as run_spec
from test_run import go, prepared

SETTINGS = {"steps": {"start": 0.01, "stop": 1.0, "count": 3}, "init_scales": [1.0, 0.1]}


def settings(*seeds, rows=None, prefer="safe", **grid):
    return {**SETTINGS, "seeds": list(seeds), "rows": rows, "prefer": prefer, **grid}


def template(**changes):
    spec = go(iterations=1, **changes).spec
    return {**spec, "iterations": 40, "snapshots": 0, "step": None, "init_scale": None}


def test_first_grid():
    assert first_grid(SETTINGS) == Grid((0.01, 0.1, 1.0), (0.1, 1.0))


def tried_in(path):
    """Return the steps and the scales of the trials in a round, each pair as often as it ran."""
    return [(trace.spec["step"], trace.spec["init_scale"]) for trace in read_round(path).traces]


def test_a_round_keeps_every_trial(tmp_path):
    path = tmp_path / "round.zarr.zip"
    grid = Grid((0.1, 0.5), (0.3, 1.0))
    try_grid(template(), settings(5, 6), grid, prepared(), path)
    found = read_round(path)
    assert found.share == 1.0
    tried = {(t.spec["step"], t.spec["init_scale"], t.spec["seed"]) for t in found.traces}
    assert tried >= {(a, b, c) for a in (0.1, 0.5) for b in (0.3, 1.0) for c in (5, 6)}
    direct = go(step=0.5, init_scale=0.3, seed=6, iterations=40, snapshots=0)
    same = next(
        t
        for t in found.traces
        if (t.spec["step"], t.spec["init_scale"], t.spec["seed"]) == (0.5, 0.3, 6)
    )
    assert np.array_equal(same.scalars["objective"], direct.scalars["objective"])


@pytest.mark.parametrize(
    "steps", [(1e-5, 1e-4), (1e-5, 1e-4, 1e-3), (1e2, 1e3, 1e4)], ids=["below", "below 3", "above"]
)
def test_a_round_extends_its_grid_until_the_best_point_is_interior(tmp_path, steps):
    path = tmp_path / "round.zarr.zip"
    try_grid(template(solver="bw-gd"), settings(5), Grid(steps, (1.0,)), prepared(), path)
    found = read_round(path)
    best = best_point(points(found.traces), "safe")
    assert best.step not in {*steps, found.grid.steps[0], found.grid.steps[-1]}
    assert found.grid.scales == (1.0,)  # one value stays alone
    assert 0 < found.extensions["step"] <= 2 * EXTENSIONS
    assert found.extensions["init_scale"] == 0
    ratios = np.divide(found.grid.steps[1:], found.grid.steps[:-1])
    assert_allclose(ratios, 10.0, rtol=1e-5)


def test_initial_scales_are_extended_too(tmp_path):
    path = tmp_path / "round.zarr.zip"
    grid = Grid((0.01,), (10.0, 100.0))
    try_grid({**template(solver="gd-chol"), "iterations": 10}, settings(5), grid, prepared(), path)
    found = read_round(path)
    assert found.grid.steps == (0.01,)
    best = best_point(points(found.traces), "safe")
    assert found.grid.scales[0] < best.init_scale < found.grid.scales[-1]


def test_no_pair_is_run_twice(tmp_path, monkeypatch):
    asked = []

    def counted(specs, data, **options):
        asked.extend((spec.step, spec.init_scale, spec.seed) for spec in specs)
        return execute_lockstep(specs, data, **options)

    monkeypatch.setattr(tuning, "execute_lockstep", counted)
    path = tmp_path / "round.zarr.zip"
    grid = Grid((1e-4, 1e-3), (0.01, 0.1))
    try_grid(template(solver="bw-gd"), settings(5, 6), grid, prepared(), path)
    assert len(asked) == len(set(asked)) == len(tried_in(path))
    found = read_round(path)
    assert len(asked) == 2 * len(found.grid.steps) * len(found.grid.scales)
    assert sum(found.extensions.values()) > 0


def test_a_diverging_neighbour_makes_the_best_step_interior(tmp_path):
    path = tmp_path / "round.zarr.zip"
    steps = (0.01, 0.1, 1000.0)
    try_grid(template(solver="bw-gd"), settings(5), Grid(steps, (1.0,)), prepared(), path)
    tried = points(read_round(path).traces)
    assert [point.objective is None for point in tried] == [False, False, True]
    assert best_point(tried, "safe").step == 0.1
    assert read_round(path).grid.steps == steps


def test_the_limit_of_extensions_is_kept_and_noted(tmp_path):
    path, out = tmp_path / "round.zarr.zip", tmp_path / "choice.json"
    steps = (1e-12, 1e-11)
    try_grid(template(solver="bw-gd"), settings(5), Grid(steps, (1.0,)), prepared(), path)
    assert read_round(path).grid.steps[-1] == pytest.approx(1e-11 * 10**EXTENSIONS)
    choice = choose([path], out, "safe")
    assert choice.note == "step 1e-07 is the largest tried, after 4 extensions"
    assert choice.failed is None
    written = json.loads(out.read_text())
    assert written["edges"] == {"step": "largest"}
    assert written["extensions"] == {"step": EXTENSIONS, "init_scale": 0}
    assert len(written["points"]) == 2 + EXTENSIONS


def test_initial_scales_that_are_as_quick_do_not_extend_the_grid_for_ever(tmp_path):
    # VN forgets its initial scale at step 1: all are alike, and the middle one is taken.
    path = tmp_path / "round.zarr.zip"
    grid = Grid((0.5, 1.0, 1000.0), (0.1, 1.0))
    try_grid(template(solver="vn"), settings(5), grid, prepared(), path)
    assert read_round(path).extensions["init_scale"] <= 1
    assert choose([path], tmp_path / "choice.json", "safe").note == ""


def test_the_next_grid_refines_around_the_best_point(tmp_path):
    path = tmp_path / "round.zarr.zip"
    three = settings(5, init_scales=[1.0])
    try_grid(template(solver="vn"), three, Grid((0.01, 1.0, 100.0), (1.0,)), prepared(), path)
    following = next_grid(path, three)
    assert following.steps == (0.1, 1.0, 10.0)
    assert following.scales == (1.0,)
    five = settings(5, steps={"start": 0.01, "stop": 100.0, "count": 5}, init_scales=[1.0])
    assert next_grid(path, five).steps == (0.01, 0.1, 1.0, 10.0, 100.0)


def test_when_no_step_works_the_next_grid_is_smaller_and_the_choice_says_so(tmp_path):
    path, out = tmp_path / "round.zarr.zip", tmp_path / "choice.json"
    grid = Grid((1e10, 1e11), (1.0,))
    try_grid(template(solver="gd"), settings(5), grid, prepared(), path)
    assert read_round(path).grid.steps == (1e6, 1e7, 1e8, 1e9, 1e10, 1e11)
    two = settings(5, steps={"start": 1e10, "stop": 1e11, "count": 2})
    assert next_grid(path, two) == Grid((1e4, 1e5), (1.0,))
    choice = choose([path], out, "safe")
    assert (choice.step, choice.init_scale, choice.objective) == (1e6, 1.0, None)
    assert choice.note == "no step worked"
    assert choice.failed.startswith("no step worked: with each step tried (1e+06 to 1e+11)")
    assert read_choice(out) == choice
    assert read_failure([out]) == choice.failed
    # A step that works leaves nothing to report.
    try_grid(template(solver="vn"), settings(5), Grid((0.5,), (1.0,)), prepared(), path)
    choose([path], out, "safe")
    assert read_failure([out]) == ""


def test_a_trial_that_ended_above_its_start_is_never_chosen():
    good, bad = go(step=1e-3, iterations=5), go(step=1e-2, iterations=5)
    bad.attrs["status"] = "failed"
    tried = points([good, bad])
    assert [point.objective is None for point in tried] == [False, True]
    assert best_point(tried, "safe").step == 1e-3


def test_runs_of_a_solver_without_a_step_fail_at_once():
    specs = [run_spec(seed=seed, iterations=20) for seed in (0, 1)]
    alone = execute(specs[0], prepared(), no_step="no step worked: none")
    together = execute_lockstep(specs, prepared(), no_step="no step worked: none")
    for trace in (alone, *together):
        assert trace.iteration.tolist() == [0]
        assert (trace.attrs["status"], trace.attrs["iterations_done"]) == ("failed", 0)
        assert trace.attrs["reason"] == "no step worked: none"
        assert trace.spec["iterations"] == 20
        assert np.isfinite(trace.scalars["objective"]).all()


@pytest.mark.parametrize(
    ("betas", "edge"),
    [
        ([0.5], None),
        ([0.01, 1.0], "largest"),
        ([100.0, 1.0], "smallest"),
        ([0.01, 1.0, 100.0], None),
    ],
)
def test_a_beta_at_the_end_of_its_candidates_is_reported(tmp_path, betas, edge):
    problem = run_spec().problem().model_dump(mode="json")
    out = tmp_path / "beta.json"
    best = choose_beta(problem, betas, prepared(seed=1), out)
    found = json.loads(out.read_text())
    assert (found["beta"], found["edge"]) == (best, edge)
    assert read_beta_note(out) == (f"beta {best:g} is the {edge} candidate" if edge else "")


def test_a_beta_without_an_optimum_is_passed_over(tmp_path):
    data = prepared(n=200)
    data.train_x[:, 1] = data.train_x[:, 0]
    problem = run_spec().problem().model_dump(mode="json")
    out = tmp_path / "beta.json"
    assert choose_beta(problem, [1e-30, 1.0], data, out) == 1.0
    assert "no optimum found" in json.loads(out.read_text())["tried"][0]["error"]
    with pytest.raises(UserError, match="no candidate has an optimum"):
        choose_beta(problem, [1e-30], data, out)


def test_the_choice_is_the_lowest_objective_then_the_quickest(tmp_path):
    rounds = [tmp_path / "0.zarr.zip", tmp_path / "1.zarr.zip"]
    for path, steps in zip(rounds, [(0.01, 0.1), (0.5, 0.9)], strict=True):
        try_grid(template(solver="vn"), settings(5, 6), Grid(steps, (1.0,)), prepared(), path)
    choice = choose(rounds, tmp_path / "choice.json", "safe")
    assert read_choice(tmp_path / "choice.json") == choice
    table = json.loads((tmp_path / "choice.json").read_text())["points"]
    steps = [point["step"] for point in table]
    assert steps == sorted(steps)
    assert set(steps) >= {0.01, 0.1, 0.5, 0.9}
    assert choice.trials == sum(len(tried_in(path)) for path in rounds)
    level = min(point["objective"] for point in table if point["objective"] is not None)
    [chosen] = [point for point in table if point["step"] == choice.step]
    assert chosen["objective"] == pytest.approx(level, rel=2e-6)
    assert chosen["effort"] == min(point["effort"] or math.inf for point in table)


def test_a_point_with_a_diverged_seed_is_never_chosen():
    good, bad = go(step=1e-3, iterations=5), go(solver="gd", step=100.0, iterations=5)
    tried = points([good, bad])
    assert [point.objective is None for point in tried] == [False, True]
    assert best_point(tried, "safe").step == 1e-3


def test_a_damaged_choice_is_one_sentence(tmp_path):
    (tmp_path / "choice.json").write_text("{}")
    with pytest.raises(UserError, match="is not a choice"):
        read_choice(tmp_path / "choice.json")


def point(step, scale, objective, effort, start=50.0):
    return Point(step, scale, objective, effort, start)


def test_a_safe_step_is_preferred_to_a_lucky_one():
    lucky, failed = point(1.0, 1.0, 5.0, 6.0), point(1.0, 0.1, 9.0, math.inf)
    safe = [point(0.3, 1.0, 5.0, 20.0), point(0.3, 0.1, 5.0, 25.0)]
    assert best_point([lucky, failed, *safe], "safe") == safe[0]
    slow = [point(0.01, 1.0, 5.0, 600.0), point(0.01, 0.1, 5.0, 700.0)]
    assert best_point([lucky, failed, *slow], "safe") == lucky
    assert best_point([lucky, failed, *safe], "quick") == lucky


def test_steps_that_get_nowhere_are_not_alike():
    tried = [point(1e-9, 1.0, 49.9999999, 0.0), point(1e-8, 1.0, 49.999999, 0.0)]
    assert best_point(tried, "safe") == tried[1]


@pytest.mark.parametrize("prefer", ["safe", "quick"])
def test_between_scales_that_are_as_quick_the_middle_one_is_taken(prefer):
    tried = [point(0.3, scale, 5.0, 20.0 + scale) for scale in (0.01, 0.1, 1.0)]
    assert best_point(tried, prefer) == tried[1]
    tried = [point(0.3, scale, 5.0, 20.0 * scale) for scale in (0.01, 0.1, 1.0)]
    assert best_point(tried, prefer) == tried[0]


@pytest.mark.parametrize("solver", [name for name in MODULES if name != "sr-vn-rotated"])
def test_trials_on_half_of_the_rows_take_the_path_of_the_whole(tmp_path, solver):
    # Of rows that all occur twice, half is the same problem, each row counting for two.
    once = prepared()
    rows = np.concatenate([once.train_x, once.train_x]), np.concatenate([once.train_y] * 2)
    twice = replace(once, train_x=rows[0], train_y=rows[1])
    spec = {**template(solver=solver), "iterations": 8}
    path = tmp_path / "round.zarr.zip"
    try_grid(spec, settings(5, rows=len(once.train_y)), Grid((1e-3,), (0.3,)), twice, path)
    grid, share, _, [trial] = read_round(path)
    assert (grid.steps, share) == ((1e-3,), 0.5)
    choice = choose([path], tmp_path / "choice.json", "safe")
    assert (choice.step, choice.init_scale) == (1e-3, 0.3)
    whole = {"step": choice.step, "init_scale": choice.init_scale, "seed": 5, "snapshots": 9}
    half = {**trial.spec, "snapshots": 9}
    of_whole = execute(RunSpec(**{**spec, **whole}), twice)
    of_half = execute(RunSpec(**half), once)
    assert_allclose(of_whole.mean, of_half.mean, rtol=1e-6, atol=1e-9)
    assert_allclose(
        of_whole.factors["covariance_factor"], of_half.factors["covariance_factor"], rtol=1e-6
    )
