"""Outcomes of studies, from traces with known results."""

import dask
import numpy as np
import pytest

from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench.analysis.outcomes import outcomes_of
from gvibench.errors import UserError
from gvibench.store.aggregates import open_study

TARGETS = (1.0, 1e-2, 1e-4)
FAST, SLOW = (
    [10 + gap for gap in (5.0, 0.5, 1e-3, 1e-5)],
    [10 + gap for gap in (5.0, 4.0, 3.0, 0.5)],
)


def costs(outcomes, entry, instance):
    return outcomes["cost"].sel(entry=entry, instance=instance).values.tolist()


def test_costs_seconds_and_endings_of_a_study(tmp_path):
    dataset = make_dataset(tmp_path, study())
    found = outcomes_of(dataset, TARGETS, "iterations", None)
    assert dict(found.sizes) == {"entry": 3, "instance": 6, "target": 3}
    assert found["entry"].values.tolist() == ["VN", "SR-VN", "mine"]
    assert found["target"].values.tolist() == [1.0, 1e-2, 1e-4]
    assert found["problem"].values.tolist() == ["wdbc"] * 3 + ["digits_50%"] * 3
    assert found["setting"].values.tolist() == ["seed 0", "seed 1", "seed 2"] * 2
    # VN is shown at its best step, 0.5.
    for k in range(6):
        assert found["cost"].values[0, k].tolist() == [2, 2, 3]
        np.testing.assert_allclose(found["seconds"].values[0, k], [0.02, 0.02, 0.03])
    assert np.isinf(found["cost"].values[2]).all()
    assert found["status"].values[1].tolist() == ["completed", "completed", "diverged"] * 2
    assert found["reason"].values[1, 2] == "the objective has blown up"
    assert found["reason"].values[1, 0] == ""
    np.testing.assert_allclose(found["final_gap"].values[1, :2], [1.0, 1.1])
    assert np.isnan(found["final_gap"].values[1, 2])
    assert found.attrs == {"cost": "iterations", "budget": None}


def test_costs_are_those_of_the_first_record_that_reaches_the_target(tmp_path):
    passes, seconds = [0.5, 12.0, 30.0, 61.0], [0.0, 0.1, 0.3, 0.7]
    curve, optimum = [110.0, 12.0, 10.03, 10.00001], 10.0
    records = {"iteration": [0, 10, 20, 40], "scalars": {"data_passes": passes}}
    run = Run(curve, seconds=seconds, optimum=optimum, **records)
    dataset = make_dataset(tmp_path, [run], cost="data_passes")
    found = outcomes_of(dataset, TARGETS, "data_passes", None)
    for k, target in enumerate(TARGETS):
        first = next(j for j, value in enumerate(curve) if value - optimum <= target)
        assert found["cost"].values[0, 0, k] == passes[first]
        assert found["seconds"].values[0, 0, k] == seconds[first]


def test_targets_beyond_the_budget_are_not_reached(tmp_path):
    dataset = make_dataset(tmp_path, [Run(FAST)])
    found = outcomes_of(dataset, TARGETS, "iterations", 2.0)
    assert found["cost"].values[0, 0].tolist() == [1, 2, np.inf]
    np.testing.assert_allclose(found["seconds"].values[0, 0], [0.01, 0.02, np.inf])


def test_missing_runs_are_nan(tmp_path):
    runs = [Run(FAST), Run(FAST, seed=1), Run(SLOW, solver="gd")]
    found = outcomes_of(make_dataset(tmp_path, runs), TARGETS, "iterations", None)
    assert np.isnan(found["cost"].sel(entry="GD", instance="wdbc, seed 1").values).all()
    assert found["status"].sel(entry="GD", instance="wdbc, seed 1").item() == ""
    assert costs(found, "GD", "wdbc, seed 0") == [3, np.inf, np.inf]


def test_starts_and_problem_fields_define_instances(tmp_path):
    runs = [
        Run(FAST, solver=solver, seed=seed, init_scale=scale, spec={"mean_scale": mean} | spec)
        for solver in ("vn", "gd")
        for seed in (0, 1)
        for scale in (0.1, 1.0)
        for mean in (0.0, 2.0)
        for spec in ({}, {"beta": 0.5})
    ]
    found = outcomes_of(make_dataset(tmp_path, runs), TARGETS, "iterations", None)
    assert found["entry"].values.tolist() == ["VN", "GD"]
    assert found.sizes["instance"] == 16
    assert "beta 0.1, mean_scale 0, init_scale 0.1, seed 1" in found["setting"].values
    assert set(found["problem"].values) == {"wdbc"}
    assert np.isfinite(found["cost"].values).all()


def test_one_step_serves_all_starts(tmp_path):
    """Step 0.1 is best from the first start, but step 0.5 solves more seeds overall."""
    runs = []
    for seed in (0, 1):
        for step, scale, curve in (
            *((0.1, 0.1, FAST[:1] + FAST[2:]), (0.1, 1.0, SLOW)),
            *((0.5, 0.1, FAST), (0.5, 1.0, FAST)),
        ):
            runs.append(Run(curve, seed=seed, step=step, init_scale=scale))
    found = outcomes_of(make_dataset(tmp_path, runs), TARGETS, "iterations", None)
    assert found["entry"].values.tolist() == ["VN"]
    assert costs(found, "VN", "wdbc, init_scale 0.1, seed 0") == [1, 2, 3]
    assert costs(found, "VN", "wdbc, init_scale 1, seed 1") == [1, 2, 3]


def test_each_problem_has_its_own_step(tmp_path):
    runs = [
        Run(curve, dataset=name, step=step)
        for name, step, curve in (
            *(("wdbc", 0.1, FAST), ("wdbc", 0.5, SLOW)),
            *(("other", 0.1, SLOW), ("other", 0.5, FAST)),
        )
    ]
    found = outcomes_of(make_dataset(tmp_path, runs), TARGETS, "iterations", None)
    assert found["cost"].values[0].tolist() == [[1, 2, 3]] * 2


def test_a_start_with_one_value_per_solver_belongs_to_the_solver(tmp_path):
    runs = [Run(FAST, init_scale=0.1), Run(SLOW, solver="gd", init_scale=1.0)]
    found = outcomes_of(make_dataset(tmp_path, runs), TARGETS, "iterations", None)
    assert found["instance"].values.tolist() == ["wdbc, seed 0"]


def test_a_tuned_run_counts_for_all_initial_scales(tmp_path):
    tuning = {"trials": 3, "iterations": 9, "seconds": 1.0}
    runs = [
        *(Run(SLOW, solver="gd", init_scale=scale) for scale in (0.1, 1.0)),
        *(
            Run(FAST, init_scale=scale, step=step, tuning=tuning, spec={"mean_scale": mean})
            for scale, step, mean in ((0.7, 0.2, 1.0),)
        ),
    ]
    found = outcomes_of(make_dataset(tmp_path, runs), TARGETS, "iterations", None)
    assert found["setting"].values.tolist() == ["init_scale 0.1, seed 0", "init_scale 1, seed 0"]
    assert found["cost"].sel(entry="VN").values.tolist() == [[1, 2, 3]] * 2


def test_steps_that_were_tuned_for_each_start_are_one_entry(tmp_path):
    tuning = {"trials": 3, "iterations": 9, "seconds": 1.0}
    runs = [
        Run(FAST, init_scale=scale, step=step, tuning=tuning, spec={"mean_scale": mean})
        for scale, step, mean in ((0.7, 0.2, 1.0), (0.4, 0.3, 0.0))
    ]
    found = outcomes_of(make_dataset(tmp_path, runs), TARGETS, "iterations", None)
    assert found["setting"].values.tolist() == ["mean_scale 1, seed 0", "mean_scale 0, seed 0"]
    assert np.isfinite(found["cost"].values).all()


def test_tuned_runs_from_named_starts_keep_their_instances(tmp_path):
    tuning = {"trials": 3, "iterations": 9, "seconds": 1.0}
    runs = [
        Run(curve, init_scale=scale, step=step, tuning=tuning, tuned_fields=("step",))
        for curve, scale, step in ((FAST, 1.0, 0.2), (SLOW, 2.0, 0.3))
    ]
    found = outcomes_of(make_dataset(tmp_path, runs), TARGETS, "iterations", None)
    assert found["setting"].values.tolist() == ["init_scale 1, seed 0", "init_scale 2, seed 0"]
    assert costs(found, "VN", "wdbc, init_scale 1, seed 0") == [1, 2, 3]
    assert costs(found, "VN", "wdbc, init_scale 2, seed 0") != [1, 2, 3]
    # The trials had 9 iterations, and each counts like an iteration of the run.
    assert found["tuning_cost"].values.tolist() == [[9.0, 9.0]]


def test_settings_of_solvers_define_entries(tmp_path):
    runs = [Run(FAST, spec={"iterations": count}) for count in (5, 7)]
    found = outcomes_of(make_dataset(tmp_path, runs), TARGETS, "iterations", None)
    assert found["entry"].values.tolist() == ["VN, iterations 5", "VN, iterations 7"]


def test_a_replaced_solver_stays_one_entry(tmp_path):
    runs = [
        Run(FAST, solver="sr-vn"),
        Run(FAST, dataset="wide", solver="sr-vn", solver_id="sr-vn-rotated"),
    ]
    found = outcomes_of(make_dataset(tmp_path, runs), TARGETS, "iterations", None)
    assert found["entry"].values.tolist() == ["sr-vn"]
    assert np.isfinite(found["cost"].values).all()


def test_dask_gives_the_same_outcomes(tmp_path):
    path = write_aggregate(tmp_path, study())
    with open_study(path) as lazy, dask.config.set(scheduler="synchronous"):
        assert lazy["objective"].chunks
        chunked = outcomes_of(lazy, TARGETS, "iterations", 4.0)
        assert chunked.identical(outcomes_of(lazy.load(), TARGETS, "iterations", 4.0))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gap": "best-seen"}, "scores need the optimum of all problems, but 'wdbc' has none"),
        ({"targets": []}, "must be one or more positive numbers"),
        ({"targets": [1.0, -1.0]}, "must be one or more positive numbers"),
        ({"cost": "joules"}, "unknown cost 'joules'; available: evaluations, data_passes"),
    ],
)
def test_invalid_input_is_an_error(tmp_path, changes, words):
    dataset = make_dataset(tmp_path, [Run(FAST)], gap=changes.get("gap", "optimum"))
    targets, cost = changes.get("targets", TARGETS), changes.get("cost", "iterations")
    with pytest.raises(UserError, match=words):
        outcomes_of(dataset, targets, cost, None)


def test_an_unknown_optimum_is_an_error(tmp_path):
    dataset = make_dataset(tmp_path, [Run(FAST), Run(FAST, dataset="flat", optimum=None)])
    with pytest.raises(UserError, match="'flat' has none"):
        outcomes_of(dataset, TARGETS, "iterations", None)
