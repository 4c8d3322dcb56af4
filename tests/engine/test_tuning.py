"""Test the tuning stage: trials on a grid, extensions of the grid, and choices."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench.engine import tuning
from gvibench.engine.execute import execute
from gvibench.engine.lockstep import execute_lockstep
from gvibench.engine.tuning import next_grid, try_grid
from gvibench.engine.tuning_choice import choose
from gvibench.engine.tuning_grid import Grid, best_point, points
from gvibench.registry import SOLVERS
from gvibench.spec.run import RunSpec
from gvibench.spec.tuning import MAX_EXTENSIONS
from gvibench.store.choices import read_choice, read_failure
from gvibench.store.tuning_rounds import read_round
from problems import go, prepared
from problems import spec as run_spec

SETTINGS = {"steps": {"start": 0.01, "stop": 1.0, "count": 3}, "init_scales": [1.0, 0.1]}


def settings(*seeds, rows=None, prefer="safe", **grid):
    return {**SETTINGS, "seeds": list(seeds), "rows": rows, "prefer": prefer, **grid}


def template(**changes):
    spec = go(iterations=1, **changes).spec
    return {**spec, "iterations": 40, "snapshots": 0, "step": None, "init_scale": None}


def trials_in(path):
    """Return step, initial scale and seed of each trial in a round."""
    specs = [trace.spec for trace in read_round(path).traces]
    return [(spec["step"], spec["init_scale"], spec["seed"]) for spec in specs]


def test_a_round_contains_all_trials(tmp_path):
    path = tmp_path / "round.zarr.zip"
    grid = Grid((0.1, 0.5), (0.3, 1.0))
    try_grid(template(), settings(5, 6), grid, prepared(), path)
    tried = read_round(path)
    assert tried.share == 1.0
    trials = trials_in(path)
    assert set(trials) >= {(a, b, c) for a in (0.1, 0.5) for b in (0.3, 1.0) for c in (5, 6)}
    direct = go(step=0.5, init_scale=0.3, seed=6, iterations=40, snapshots=0)
    same = tried.traces[trials.index((0.5, 0.3, 6))]
    assert np.array_equal(same.scalars["objective"], direct.scalars["objective"])


@pytest.mark.parametrize(
    "steps", [(1e-5, 1e-4), (1e-5, 1e-4, 1e-3), (1e2, 1e3, 1e4)], ids=["below", "below 3", "above"]
)
def test_a_round_extends_its_grid_until_the_best_point_is_interior(tmp_path, steps):
    path = tmp_path / "round.zarr.zip"
    try_grid(template(solver="bw-gd"), settings(5), Grid(steps, (1.0,)), prepared(), path)
    tried = read_round(path)
    best = best_point(points(tried.traces), "safe")
    assert best.step not in {*steps, tried.steps[0], tried.steps[-1]}
    assert tried.scales == (1.0,)  # a side with one value is fixed
    assert 0 < tried.extensions["step"] <= 2 * MAX_EXTENSIONS
    assert tried.extensions["init_scale"] == 0
    ratios = np.divide(tried.steps[1:], tried.steps[:-1])
    assert_allclose(ratios, 10.0, rtol=1e-5)


def test_a_round_extends_its_initial_scales(tmp_path):
    path = tmp_path / "round.zarr.zip"
    grid = Grid((0.01,), (10.0, 100.0))
    try_grid({**template(solver="gd-chol"), "iterations": 10}, settings(5), grid, prepared(), path)
    tried = read_round(path)
    assert tried.steps == (0.01,)
    best = best_point(points(tried.traces), "safe")
    assert tried.scales[0] < best.init_scale < tried.scales[-1]


def test_each_trial_of_an_extended_grid_runs_once(tmp_path, monkeypatch):
    executed = []

    def count(specs, data, **options):
        executed.extend((spec.step, spec.init_scale, spec.seed) for spec in specs)
        return execute_lockstep(specs, data, **options)

    monkeypatch.setattr(tuning, "execute_lockstep", count)
    path = tmp_path / "round.zarr.zip"
    grid = Grid((1e-4, 1e-3), (0.01, 0.1))
    try_grid(template(solver="bw-gd"), settings(5, 6), grid, prepared(), path)
    tried = read_round(path)
    assert sorted(executed) == sorted(set(executed)) == sorted(trials_in(path))
    assert len(executed) == 2 * len(tried.steps) * len(tried.scales)
    assert sum(tried.extensions.values()) > 0


def test_a_diverging_neighbour_makes_the_best_step_interior(tmp_path):
    path = tmp_path / "round.zarr.zip"
    steps = (0.01, 0.1, 1000.0)
    try_grid(template(solver="bw-gd"), settings(5), Grid(steps, (1.0,)), prepared(), path)
    trials = points(read_round(path).traces)
    assert [point.objective is None for point in trials] == [False, False, True]
    assert best_point(trials, "safe").step == 0.1
    assert read_round(path).steps == steps


def test_extensions_have_a_limit_and_the_choice_notes_it(tmp_path):
    path, out = tmp_path / "round.zarr.zip", tmp_path / "choice.json"
    steps = (1e-12, 1e-11)
    try_grid(template(solver="bw-gd"), settings(5), Grid(steps, (1.0,)), prepared(), path)
    assert read_round(path).steps[-1] == pytest.approx(1e-11 * 10**MAX_EXTENSIONS)
    choice = choose([path], out, "safe")
    assert choice.note == "step 1e-07 is the largest tried, after 4 extensions"
    assert choice.failed is None
    written = json.loads(out.read_text())
    assert written["edges"] == {"step": "largest"}
    assert written["extensions"] == {"step": MAX_EXTENSIONS, "init_scale": 0}
    assert len(written["points"]) == 2 + MAX_EXTENSIONS


def test_equally_quick_initial_scales_do_not_extend_the_grid_without_end(tmp_path):
    # VN forgets its initial scale at step 1, so all scales are equal and the middle one is chosen.
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


def test_if_no_step_works_the_next_grid_is_smaller_and_the_choice_has_failed(tmp_path):
    path, out = tmp_path / "round.zarr.zip", tmp_path / "choice.json"
    grid = Grid((1e10, 1e11), (1.0,))
    try_grid(template(solver="gd"), settings(5), grid, prepared(), path)
    assert read_round(path).steps == (1e6, 1e7, 1e8, 1e9, 1e10, 1e11)
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


def test_runs_of_a_solver_without_a_step_fail_at_their_start():
    specs = [run_spec(seed=seed, iterations=20) for seed in (0, 1)]
    alone = execute(specs[0], prepared(), no_step="no step worked: none")
    lockstep = execute_lockstep(specs, prepared(), no_step="no step worked: none")
    for trace in (alone, *lockstep):
        assert trace.iteration.tolist() == [0]
        assert (trace.attrs["status"], trace.attrs["iterations_done"]) == ("failed", 0)
        assert trace.attrs["reason"] == "no step worked: none"
        assert trace.spec["iterations"] == 20
        assert np.isfinite(trace.scalars["objective"]).all()


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
    assert choice.trials == sum(len(trials_in(path)) for path in rounds)
    level = min(point["objective"] for point in table if point["objective"] is not None)
    [chosen] = [point for point in table if point["step"] == choice.step]
    assert chosen["objective"] == pytest.approx(level, rel=2e-6)
    assert chosen["effort"] == min(point["effort"] or math.inf for point in table)


def test_a_point_with_a_diverged_seed_is_never_chosen():
    good, bad = go(step=1e-3, iterations=5), go(solver="gd", step=100.0, iterations=5)
    tried = points([good, bad])
    assert [point.objective is None for point in tried] == [False, True]
    assert best_point(tried, "safe").step == 1e-3


@pytest.mark.parametrize("solver", [name for name in SOLVERS.built_in if name != "sr-vn-rotated"])
def test_trials_on_half_of_the_rows_take_the_same_path_as_on_all_rows(tmp_path, solver):
    # If each row occurs twice, half of the rows with double weight is the same problem.
    once = prepared()
    rows = np.concatenate([once.train_x, once.train_x]), np.concatenate([once.train_y] * 2)
    twice = replace(once, train_x=rows[0], train_y=rows[1])
    spec = {**template(solver=solver), "iterations": 8}
    path = tmp_path / "round.zarr.zip"
    try_grid(spec, settings(5, rows=len(once.train_y)), Grid((1e-3,), (0.3,)), twice, path)
    tried = read_round(path)
    [trial] = tried.traces
    assert (tried.steps, tried.share) == ((1e-3,), 0.5)
    choice = choose([path], tmp_path / "choice.json", "safe")
    assert (choice.step, choice.init_scale) == (1e-3, 0.3)
    whole = {"step": choice.step, "init_scale": choice.init_scale, "seed": 5, "snapshots": 9}
    half = {**trial.spec, "snapshots": 9}
    on_all = execute(RunSpec.from_dict({**spec, **whole}), twice)
    on_half = execute(RunSpec.from_dict(half), once)
    assert_allclose(on_all.mean, on_half.mean, rtol=1e-6, atol=1e-9)
    assert_allclose(
        on_all.factors["covariance_factor"], on_half.factors["covariance_factor"], rtol=1e-6
    )
