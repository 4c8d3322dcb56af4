import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench.errors import UserError
from gvibench.loop import execute
from gvibench.solvers import MODULES
from gvibench.spec import RunSpec
from gvibench.tuning import (
    Grid,
    Point,
    best_point,
    choose,
    first_grid,
    next_grid,
    points,
    read_choice,
    read_round,
    try_grid,
)
from test_run import go, prepared

SETTINGS = {"steps": {"start": 0.01, "stop": 1.0, "count": 3}, "init_scales": [1.0, 0.1]}


def settings(*seeds, rows=None):
    return {"seeds": list(seeds), "rows": rows}


def template(**changes):
    spec = go(iterations=1, **changes).spec
    return {**spec, "iterations": 40, "snapshots": 0, "step": None, "init_scale": None}


def test_first_grid():
    assert first_grid(SETTINGS) == Grid((0.01, 0.1, 1.0), (0.1, 1.0))


def test_a_round_keeps_every_trial(tmp_path):
    path = tmp_path / "round.zarr.zip"
    grid = Grid((0.1, 0.5), (0.3, 1.0))
    try_grid(template(), settings(5, 6), grid, prepared(), path)
    found, share, traces = read_round(path)
    assert (found, share) == (grid, 1.0)
    tried = {(t.spec["step"], t.spec["init_scale"], t.spec["seed"]) for t in traces}
    assert tried == {(a, b, c) for a in (0.1, 0.5) for b in (0.3, 1.0) for c in (5, 6)}
    direct = go(step=0.5, init_scale=0.3, seed=6, iterations=40, snapshots=0)
    same = next(t for t in traces if (t.spec["step"], t.spec["seed"]) == (0.5, 6))
    assert np.array_equal(same.scalars["objective"], direct.scalars["objective"])


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # VN on this problem likes steps near one: an inner best refines, one at the edge moves.
        ((0.01, 1.0, 100.0), lambda new: new[0] == 0.01 and new[-1] == 100.0),
        ((0.001, 0.01, 0.1), lambda new: new[0] == 0.01 and new[-1] == 1.0),
    ],
)
def test_the_next_grid_refines_or_moves(tmp_path, steps, expected):
    path = tmp_path / "round.zarr.zip"
    try_grid(template(solver="vn"), settings(5), Grid(steps, (1.0,)), prepared(), path)
    following = next_grid(path, "safe")
    assert expected(following.steps)
    assert len(following.steps) == len(steps)
    assert following.scales == (1.0,)


def test_when_everything_diverges_the_next_grid_is_smaller(tmp_path):
    path = tmp_path / "round.zarr.zip"
    try_grid(template(solver="gd"), settings(5), Grid((50.0, 100.0), (1.0,)), prepared(), path)
    assert max(next_grid(path, "safe").steps) < 100.0
    assert next_grid(path, "safe").scales == (0.1,)
    with pytest.raises(UserError, match="every step tried diverged"):
        choose([path], tmp_path / "choice.json", "safe", "gd on test")
    assert not (tmp_path / "choice.json").exists()


def test_the_choice_is_the_lowest_objective_then_the_quickest(tmp_path):
    rounds = [tmp_path / "0.zarr.zip", tmp_path / "1.zarr.zip"]
    for path, steps in zip(rounds, [(0.01, 0.1), (0.5, 0.9)], strict=True):
        try_grid(template(solver="vn"), settings(5, 6), Grid(steps, (1.0,)), prepared(), path)
    choice = choose(rounds, tmp_path / "choice.json", "safe", "vn on test")
    assert read_choice(tmp_path / "choice.json") == choice
    assert choice.step == 0.9
    assert choice.trials == 8
    assert choice.iterations == 8 * 40
    table = json.loads((tmp_path / "choice.json").read_text())["points"]
    assert [point["step"] for point in table] == [0.01, 0.1, 0.5, 0.9]


def test_a_point_with_a_diverged_seed_is_never_chosen():
    good, bad = go(step=1e-3, iterations=5), go(solver="gd", step=100.0, iterations=5)
    tried = points([good, bad])
    assert [point.objective is None for point in tried] == [False, True]
    assert best_point(tried, "safe").step == 1e-3


def test_a_damaged_choice_is_one_sentence(tmp_path):
    (tmp_path / "choice.json").write_text("{}")
    with pytest.raises(UserError, match="is not a choice"):
        read_choice(tmp_path / "choice.json")


def test_a_safe_step_is_preferred_to_a_lucky_one():
    lucky, failed = Point(1.0, 1.0, 5.0, 6.0), Point(1.0, 0.1, 9.0, math.inf)
    safe = [Point(0.3, 1.0, 5.0, 20.0), Point(0.3, 0.1, 5.0, 25.0)]
    assert best_point([lucky, failed, *safe], "safe") == safe[0]
    slow = [Point(0.01, 1.0, 5.0, 600.0), Point(0.01, 0.1, 5.0, 700.0)]
    assert best_point([lucky, failed, *slow], "safe") == lucky
    assert best_point([lucky, failed, *safe], "quick") == lucky


@pytest.mark.parametrize("solver", [name for name in MODULES if name != "sr-vn-rotated"])
def test_trials_on_half_of_the_rows_take_the_path_of_the_whole(tmp_path, solver):
    # Of rows that all occur twice, half is the same problem, each row counting for two.
    once = prepared()
    rows = np.concatenate([once.train_x, once.train_x]), np.concatenate([once.train_y] * 2)
    twice = replace(once, train_x=rows[0], train_y=rows[1])
    spec = {**template(solver=solver), "iterations": 8}
    path = tmp_path / "round.zarr.zip"
    try_grid(spec, settings(5, rows=len(once.train_y)), Grid((1e-3,), (0.3,)), twice, path)
    grid, share, [trial] = read_round(path)
    assert (grid.steps, share) == ((1e-3,), 0.5)
    choice = choose([path], tmp_path / "choice.json", "safe", "test")
    assert (choice.step, choice.init_scale) == (1e-3, 0.3)
    whole = {"step": choice.step, "init_scale": choice.init_scale, "seed": 5, "snapshots": 9}
    half = {**trial.spec, "snapshots": 9}
    of_whole = execute(RunSpec(**{**spec, **whole}), twice)
    of_half = execute(RunSpec(**half), once)
    assert_allclose(of_whole.mean, of_half.mean, rtol=1e-6, atol=1e-9)
    assert_allclose(
        of_whole.factors["covariance_factor"], of_half.factors["covariance_factor"], rtol=1e-6
    )
