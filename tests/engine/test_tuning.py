"""Test the tuning stage: trials on a grid, extensions of the grid, and choices."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from gvibench.engine import tuning
from gvibench.engine.execute import execute
from gvibench.engine.lockstep import run_trials
from gvibench.engine.tuning import Trials, next_grid, tune
from gvibench.engine.tuning_choice import choose
from gvibench.engine.tuning_grid import Grid, best_point, points, quasi_random_points
from gvibench.registry import SOLVERS
from gvibench.spec.run import RunSpec
from gvibench.spec.statuses import UNUSABLE
from gvibench.spec.tuning import MAX_EXTENSIONS
from gvibench.store.choices import read_choice, read_failure
from gvibench.store.trials import Trial, read_trials
from problems import go, prepared
from problems import spec as run_spec

SETTINGS = {"steps": {"start": 0.01, "stop": 1.0, "count": 3}, "init_scales": [1.0, 0.1]}


def settings(*seeds, rows=None, prefer="safe", **grid):
    return {
        "search": "grid",
        **SETTINGS,
        "seeds": list(seeds),
        "rows": rows,
        "prefer": prefer,
        **grid,
    }


def template(**changes):
    spec = go(iterations=1, **changes).spec
    return {**spec, "iterations": 40, "snapshots": 0, "step": None, "init_scale": None}


def try_grid(spec, given, grid, data=None):
    """Run one round on a grid."""
    return tuning.try_grid(Trials(spec, data or prepared(), given["rows"]), given, grid)


def count_runs(monkeypatch):
    """Return a list to which the keys of executed trials are added."""
    executed = []

    def count(specs, data):
        executed.extend((spec.step, spec.init_scale, spec.seed) for spec in specs)
        return run_trials(specs, data)

    monkeypatch.setattr(tuning, "run_trials", count)
    return executed


def made_trial(step, status, seed=5):
    return Trial(step, 1.0, seed, status, 0.1, np.array([0, 5]), np.array([9.0, 1.0 - step]))


def test_a_round_contains_all_trials():
    grid = Grid((0.1, 0.5), (0.3, 1.0))
    tried = try_grid(template(), settings(5, 6), grid)
    trials = [trial.key for trial in tried.trials]
    assert set(trials) >= {(a, b, c) for a in (0.1, 0.5) for b in (0.3, 1.0) for c in (5, 6)}
    direct = go(step=0.1, init_scale=0.3, seed=6, iterations=40, snapshots=0)
    same = tried.trials[trials.index((0.1, 0.3, 6))]
    assert np.array_equal(same.objective, direct.scalars["objective"])
    assert (same.iterations, same.status) == (40, direct.attrs["status"])


def test_a_converged_trial_ends_early_and_is_counted(tmp_path):
    tried = try_grid({**template(), "iterations": 200}, settings(5), Grid((0.5,), (1.0,)))
    (trial,) = tried.trials
    whole = go(step=0.5, seed=5, iterations=200, snapshots=0)
    assert trial.status == whole.attrs["status"] == "converged"
    assert trial.iterations < 200
    assert trial.objective[-1] == pytest.approx(whole.scalars["objective"][-1], abs=1e-11)
    before = whole.scalars["objective"][: len(trial.objective)]
    assert np.array_equal(trial.objective, before)
    choose([tried], tmp_path / "choice.json", "safe", iterations=200)
    assert json.loads((tmp_path / "choice.json").read_text())["ended_early"] == 1


@pytest.mark.parametrize(
    "steps", [(1e-5, 1e-4), (1e-5, 1e-4, 1e-3), (1e2, 1e3, 1e4)], ids=["below", "below 3", "above"]
)
def test_a_round_extends_its_grid_until_the_best_point_is_interior(tmp_path, steps):
    tried = try_grid(template(solver="bw-gd"), settings(5), Grid(steps, (1.0,)))
    best = best_point(points(tried.trials), "safe")
    assert best.step not in {*steps, tried.grid.steps[0], tried.grid.steps[-1]}
    assert tried.grid.scales == (1.0,)  # a side with one value is fixed
    assert 0 < tried.extensions["step"] <= 2 * MAX_EXTENSIONS
    assert tried.extensions["init_scale"] == 0
    ratios = np.divide(tried.grid.steps[1:], tried.grid.steps[:-1])
    assert_allclose(ratios, 10.0, rtol=1e-5)


def test_a_round_extends_its_initial_scales(tmp_path):
    grid = Grid((0.01,), (10.0, 100.0))
    tried = try_grid({**template(solver="gd-chol"), "iterations": 10}, settings(5), grid)
    assert tried.grid.steps == (0.01,)
    best = best_point(points(tried.trials), "safe")
    assert tried.grid.scales[0] < best.init_scale < tried.grid.scales[-1]


def test_each_trial_of_an_extended_grid_runs_once(monkeypatch):
    executed = count_runs(monkeypatch)
    grid = Grid((1e-4, 1e-3), (0.01, 0.1))
    tried = try_grid(template(solver="bw-gd"), settings(5, 6), grid)
    assert sorted(executed) == sorted(set(executed)) == sorted(trial.key for trial in tried.trials)
    assert len(executed) == 2 * len(tried.grid.steps) * len(tried.grid.scales)
    assert sum(tried.extensions.values()) > 0


def test_a_diverging_neighbour_makes_the_best_step_interior(tmp_path):
    steps = (0.01, 0.1, 1000.0)
    tried = try_grid(template(solver="bw-gd"), settings(5), Grid(steps, (1.0,)))
    trials = points(tried.trials)
    assert [point.objective is None for point in trials] == [False, False, True]
    assert best_point(trials, "safe").step == 0.1
    assert tried.grid.steps == steps


def test_extensions_have_a_limit_and_the_choice_notes_it(tmp_path):
    out = tmp_path / "choice.json"
    steps = (1e-12, 1e-11)
    tried = try_grid(template(solver="bw-gd"), settings(5), Grid(steps, (1.0,)))
    assert tried.grid.steps[-1] == pytest.approx(1e-11 * 10**MAX_EXTENSIONS)
    choice = choose([tried], out, "safe")
    assert choice.note == "step 1e-07 is the largest tried, after 4 extensions"
    assert choice.failed is None
    written = json.loads(out.read_text())
    assert written["edges"] == {"step": "largest"}
    assert written["extensions"] == {"step": MAX_EXTENSIONS, "init_scale": 0}
    assert len(written["points"]) == 2 + MAX_EXTENSIONS


def test_equally_quick_initial_scales_do_not_extend_the_grid_without_end(tmp_path):
    # VN forgets its initial scale at step 1, so all scales are equal and the middle one is chosen.
    grid = Grid((0.5, 1.0, 1000.0), (0.1, 1.0))
    tried = try_grid(template(solver="vn"), settings(5), grid)
    assert tried.extensions["init_scale"] <= 1
    assert choose([tried], tmp_path / "choice.json", "safe").note == ""


def test_the_next_grid_refines_around_the_best_point(tmp_path):
    three = settings(5, init_scales=[1.0])
    tried = try_grid(template(solver="vn"), three, Grid((0.01, 1.0, 100.0), (1.0,)))
    following = next_grid(tried, three)
    assert following.steps == (0.1, 1.0, 10.0)
    assert following.scales == (1.0,)
    five = settings(5, steps={"start": 0.01, "stop": 100.0, "count": 5}, init_scales=[1.0])
    assert next_grid(tried, five).steps == (0.01, 0.1, 1.0, 10.0, 100.0)


def test_if_no_step_works_the_next_grid_is_smaller_and_the_choice_has_failed(tmp_path):
    out = tmp_path / "choice.json"
    grid = Grid((1e10, 1e11), (1.0,))
    tried = try_grid(template(solver="gd"), settings(5), grid)
    assert tried.grid.steps == (1e6, 1e7, 1e8, 1e9, 1e10, 1e11)
    two = settings(5, steps={"start": 1e10, "stop": 1e11, "count": 2})
    assert next_grid(tried, two) == Grid((1e4, 1e5), (1.0,))
    choice = choose([tried], out, "safe")
    assert (choice.step, choice.init_scale, choice.objective) == (1e6, 1.0, None)
    assert choice.note == "no step worked"
    assert choice.failed.startswith("no step worked: with each step tried (1e+06 to 1e+11)")
    assert read_choice(out) == choice
    assert read_failure([out]) == choice.failed
    # A step that works leaves nothing to report.
    tried = try_grid(template(solver="vn"), settings(5), Grid((0.5,), (1.0,)))
    choose([tried], out, "safe")
    assert read_failure([out]) == ""


def test_a_trial_that_ended_above_its_start_is_never_chosen():
    tried = points([made_trial(1e-3, "completed"), made_trial(1e-2, "failed")])
    assert [point.objective is None for point in tried] == [False, True]
    assert best_point(tried, "safe").step == 1e-3


def test_runs_of_a_solver_without_a_step_fail_at_their_start():
    trace = execute(run_spec(iterations=20), prepared(), no_step="no step worked: none")
    assert trace.iteration.tolist() == [0]
    assert (trace.attrs["status"], trace.attrs["iterations_done"]) == ("failed", 0)
    assert trace.attrs["reason"] == "no step worked: none"
    assert trace.spec["iterations"] == 20
    assert np.isfinite(trace.scalars["objective"]).all()


def test_the_choice_is_the_lowest_objective_then_the_quickest(tmp_path):
    rounds = [
        try_grid(template(solver="vn"), settings(5, 6), Grid(steps, (1.0,)))
        for steps in [(0.01, 0.1), (0.5, 0.9)]
    ]
    choice = choose(rounds, tmp_path / "choice.json", "safe")
    assert read_choice(tmp_path / "choice.json") == choice
    table = json.loads((tmp_path / "choice.json").read_text())["points"]
    steps = [point["step"] for point in table]
    assert steps == sorted(steps)
    assert set(steps) >= {0.01, 0.1, 0.5, 0.9}
    assert choice.trials == len({trial.key for tried in rounds for trial in tried.trials})
    level = min(point["objective"] for point in table if point["objective"] is not None)
    [chosen] = [point for point in table if point["step"] == choice.step]
    assert chosen["objective"] == pytest.approx(level, rel=2e-6)
    assert chosen["effort"] == min(point["effort"] or math.inf for point in table)


def test_a_point_with_a_diverged_seed_is_never_chosen():
    good = [made_trial(1e-3, "completed", seed) for seed in (5, 6)]
    bad = [made_trial(1e-2, "completed", 5), made_trial(1e-2, "diverged", 6)]
    tried = points([*good, *bad])
    assert [point.objective is None for point in tried] == [False, True]
    assert best_point(tried, "safe").step == 1e-3


@pytest.mark.parametrize(
    "solver",
    [
        name
        for name in SOLVERS.built_in
        if SOLVERS.load(name).has_step and name not in {"sr-vn-rotated", "advi"}
    ],
)
def test_trials_on_half_of_the_rows_take_the_same_path_as_on_all_rows(solver):
    # If each row occurs twice, half of the rows with double weight is the same problem.
    once = prepared()
    rows = np.concatenate([once.train_x, once.train_x]), np.concatenate([once.train_y] * 2)
    twice = replace(once, train_x=rows[0], train_y=rows[1])
    spec = {**template(solver=solver), "iterations": 8}
    trials = Trials(spec, twice, rows=len(once.train_y))
    [trial] = trials.run(1e-3, [0.3], [5])
    assert (trial.key, trials.share) == ((1e-3, 0.3, 5), 0.5)
    whole = {"step": 1e-3, "init_scale": 0.3, "seed": 5, "snapshots": 9}
    on_all = execute(RunSpec.from_dict({**spec, **whole}), twice)
    on_half = execute(trials.spec(*trial.key).replace(snapshots=9), once)
    assert_allclose(on_all.mean, on_half.mean, rtol=1e-6, atol=1e-9)
    assert_allclose(
        on_all.factors["covariance_factor"], on_half.factors["covariance_factor"], rtol=1e-6
    )


def same_rounds(left, right):
    """Return whether two tunings have taken the same way to the same numbers."""
    described = [
        [(r.grid, r.extensions, [(t.key, t.objective.tolist()) for t in r.trials]) for r in rounds]
        for rounds in (left, right)
    ]
    return described[0] == described[1]


def test_another_number_of_rounds_continues_with_the_trials(tmp_path, monkeypatch):
    spec, kept = template(solver="sr-vn"), tmp_path / "trials.zarr.zip"
    executed = count_runs(monkeypatch)
    two = tune(Trials(spec, prepared(), path=kept), settings(5, 6, rounds=2))
    first = set(executed)
    executed.clear()
    three = tune(Trials(spec, prepared(), path=kept), settings(5, 6, rounds=3))
    assert not first & set(executed)
    assert len(executed) > 0
    assert same_rounds(two, three[:2])
    assert same_rounds(three, tune(Trials(spec, prepared()), settings(5, 6, rounds=3)))
    executed.clear()
    assert same_rounds(two, tune(Trials(spec, prepared(), path=kept), settings(5, 6, rounds=2)))
    tune(Trials(spec, prepared(), path=kept), settings(5, 6, rounds=3, prefer="quick"))
    assert not set(executed) & first


@pytest.mark.parametrize("changed", ["code", "data", "template"])
def test_trials_of_other_code_or_data_are_not_used(tmp_path, monkeypatch, changed):
    kept, given = tmp_path / "trials.zarr.zip", settings(5, rounds=1)
    tune(Trials(template(), prepared(), path=kept, code_hash="a"), given)
    executed = count_runs(monkeypatch)
    tune(Trials(template(), prepared(), path=kept, code_hash="a"), given)
    assert not executed
    tune(
        Trials(
            template() if changed != "template" else {**template(), "iterations": 41},
            replace(prepared(), content_hash="other" if changed == "data" else ""),
            path=kept,
            code_hash="b" if changed == "code" else "a",
        ),
        given,
    )
    assert executed


def test_a_tuning_that_was_stopped_runs_only_what_is_missing(tmp_path, monkeypatch):
    """Stop it in each batch of trials; damage the file once."""
    kept, given = tmp_path / "trials.zarr.zip", settings(5, rounds=2)
    monkeypatch.setattr(tuning, "SAVE_SECONDS", 0.0)
    expected = tune(Trials(template(), prepared()), given)
    executed = []

    def stops_after_one(specs, data):
        if executed and specs:
            raise KeyboardInterrupt
        executed.extend(specs)
        return run_trials(specs, data)

    monkeypatch.setattr(tuning, "run_trials", stops_after_one)
    rounds, starts, found = None, 0, -1
    while rounds is None:
        starts += 1
        executed.clear()
        try:
            rounds = tune(Trials(template(), prepared(), path=kept), given)
        except KeyboardInterrupt:
            assert len(read_trials(kept).trials) > found
            found = len(read_trials(kept).trials)
    assert starts > 4
    assert same_rounds(rounds, expected)
    kept.write_bytes(kept.read_bytes()[:-20])
    monkeypatch.setattr(tuning, "run_trials", run_trials)
    assert same_rounds(tune(Trials(template(), prepared(), path=kept), given), expected)
    assert len(read_trials(kept).trials) == len({t.key for r in expected for t in r.trials})


HALTON = {
    **{"search": "quasi-random", "trials": 8, "first_trial": 0, "init_scales": [0.1, 1.0]},
    "steps": {"start": 1e-4, "stop": 1.0, "count": 2},
}


def test_quasi_random_points_are_a_halton_sequence():
    expected = stats.qmc.Halton(2, scramble=False).random(9)[1:]
    found = np.array(quasi_random_points(HALTON))
    assert_allclose(np.log10(found[:, 0]), -4 + 4 * expected[:, 0], atol=1e-5)
    assert_allclose(np.log10(found[:, 1]), -1 + expected[:, 1], atol=1e-5)


def test_searches_of_other_trials_continue_the_sequence():
    all_points = quasi_random_points({**HALTON, "trials": 24})
    parts = [quasi_random_points({**HALTON, "first_trial": first}) for first in (0, 8, 16)]
    assert all_points == [point for part in parts for point in part]
    assert len(set(all_points)) == 24


def test_a_quasi_random_search_chooses_the_best_of_its_points(tmp_path):
    given = settings(5, 6, **{**HALTON, "init_scales": [0.3]})
    (tried,) = tune(Trials(template(), prepared()), given)
    assert len(tried.trials) == 16
    assert {trial.init_scale for trial in tried.trials} == {0.3}
    choice = choose([tried], tmp_path / "choice.json", "quick")
    finals = {}
    for trial in tried.trials:
        ended = trial.objective[-1] if trial.status not in UNUSABLE else np.inf
        finals.setdefault(trial.step, []).append(ended)
    assert choice.objective == pytest.approx(min(np.mean(values) for values in finals.values()))


def test_trials_on_held_out_rows_see_no_training_row():
    data = prepared()
    changed = replace(data, train_x=data.train_x + 1.0, train_y=-data.train_y)
    given = settings(5, rows="held-out", **HALTON)
    first, second = (tune(Trials(template(), each, "held-out"), given) for each in (data, changed))
    assert same_rounds(first, second)
    assert Trials(template(), data, "held-out").share == 25 / 40
