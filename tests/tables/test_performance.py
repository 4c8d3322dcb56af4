"""Table `performance`."""

import numpy as np
import pytest

from figures.made_aggregate import Run, make_dataset
from gvibench.tables import performance


def test_overlapping_bands_are_marked(tmp_path):
    runs = [
        Run([15.0, 11.0], seed=0),
        Run([15.0, 13.0], seed=1),
        Run([15.0, 12.9], "wdbc", "sr-vn", seed=0),
        Run([15.0, 11.3], "wdbc", "sr-vn", seed=1),
        Run([15.0, 14.0], "wdbc", "gd", seed=0),
        Run([15.0, 14.0], "wdbc", "gd", seed=1),
    ]
    values = performance.values_of(make_dataset(tmp_path, runs))
    assert values["is_best"].tolist() == [True, False, False]
    assert values["bands_overlap_best"].tolist() == [True, True, False]
    # Pairs: 12.9 - 11 and 11.3 - 13.
    sr_vn = values.iloc[1]
    assert sr_vn["difference_to_best_min"] == pytest.approx(-1.7)
    assert sr_vn["difference_to_best_max"] == pytest.approx(1.9)
    block = performance.compact(values).cells
    assert block["behind the best, seed by seed"].tolist() == [
        "best",
        "(0.1 [-1.7, 1.9])",
        "2 [1, 3]",
    ]


def test_a_solver_without_a_common_seed_is_marked(tmp_path):
    runs = [
        Run([15.0, 10.0], seed=0),
        Run([15.0, 10.0], seed=1, status="diverged"),
        Run([15.0, 11.0], "wdbc", "gd", seed=0, status="diverged"),
        Run([15.0, 11.0], "wdbc", "gd", seed=1),
    ]
    values = performance.values_of(make_dataset(tmp_path, runs))
    assert values["difference_to_best_mean"].tolist() == [0.0, "no common seed"]


def test_regression_has_no_accuracy(tmp_path):
    scalars = {"test_accuracy": [np.nan, np.nan]}
    run = Run([15.0, 11.0], scalars=scalars, spec={"model": "linear"})
    table = performance.build(make_dataset(tmp_path, [run]))
    assert table.values["test_accuracy_mean"].tolist() == ["undefined"]
    assert table.blocks[0].cells["test accuracy"].tolist() == ["undefined"]


def test_tuned_runs_are_marked_with_the_cost_of_tuning(tmp_path):
    cost = {"trials": 40, "iterations": 12000, "seconds": 2.5}
    runs = [Run([15.0, 11.0], seed=seed, tuning=cost) for seed in range(2)]
    table = performance.build(make_dataset(tmp_path, runs))
    assert table.values["tuning_iterations"].tolist() == [12000]
    row = table.blocks[2].cells.iloc[0]
    assert row["step"] == "0.1 (tuned)"
    assert row[["tuning trials", "tuning iterations", "tuning seconds"]].tolist() == [
        "40",
        "12000",
        "2.5",
    ]


def test_varied_fields_get_columns(tmp_path):
    runs = [Run([15.0, 11.0], spec={"gamma": gamma}) for gamma in (0.5, 1.0)]
    values = performance.values_of(make_dataset(tmp_path, runs))
    assert values["gamma"].tolist() == ["0.5", "1.0"]
    assert values["problem"].tolist() == ["wdbc, gamma 0.5", "wdbc, gamma 1"]


def test_failed_runs_are_counted_but_excluded_from_statistics(tmp_path):
    """A run whose objective grew from 609 to 3,028,244 must not enter the gaps."""
    runs = [Run([609.0, 11.0], seed=0), Run([609.0, 3_028_244.0], seed=1, status="failed")]
    (row,) = performance.values_of(make_dataset(tmp_path, runs)).to_dict("records")
    assert (row["failed"], row["completed"], row["seeds"]) == (1, 1, 2)
    assert row["gap_max"] == row["gap_median"] == pytest.approx(1.0)
    assert row["objective_max"] == pytest.approx(11.0)


def test_bands_of_rounding_errors_overlap_and_the_tolerance_is_stated(tmp_path):
    ends = {"vn": (3.6e-9, 1.45e-8), "sr-vn": (1e-10, 1e-10), "gd": (5e-8, 6e-8)}
    runs = [
        Run([20.0, 10.0 + gap], "wdbc", solver, seed=seed)
        for solver, gaps in ends.items()
        for seed, gap in enumerate(gaps)
    ]
    dataset = make_dataset(tmp_path, runs)
    rows = {row["solver"]: row for row in performance.values_of(dataset).to_dict("records")}
    assert rows["vn"]["bands_overlap_best"]
    assert not rows["gd"]["bands_overlap_best"]
    assert all("1e-08" in block.caption for block in performance.build(dataset).blocks[2:])


def test_differences_to_the_best_use_the_exact_objective(tmp_path):
    """A difference of 0.0012 must not become 7.35 because the bounds differ."""
    recorded = {"record": ("objective_exact",), "expectation": "piecewise"}
    runs = [
        Run([30.0, own], scalars={"objective_exact": [29.0, exact]}, spec={"pieces": k, **recorded})
        for k, own, exact in ((4, 17.35, 10.0012), (20, 10.0, 10.0))
    ]
    rows = performance.values_of(make_dataset(tmp_path, runs, gap="best-seen"))
    behind = dict(zip(rows["pieces"], rows["difference_to_best_median"], strict=True))
    assert behind == pytest.approx({"4": 0.0012, "20": 0.0})
    assert rows["is_best"].tolist() == [False, True]


def test_a_gap_that_grows_again_was_reached_but_has_not_settled(tmp_path):
    runs = [Run([20.0, 10.001, 10.5, 10.4])]
    (row,) = performance.values_of(make_dataset(tmp_path, runs)).to_dict("records")
    assert (row["reached_first_0.01"], row["iterations_first_0.01_median"]) == (1, 1.0)
    assert (row["reached_settled_0.01"], row["iterations_settled_0.01_median"]) == (0, "never")


def test_a_solver_without_a_working_step_has_a_row(tmp_path):
    cost = {"trials": 9, "iterations": 90, "seconds": 1.0}
    note = {"note": "no step worked", "failed": "no step worked: with each step tried"}
    runs = [
        Run([20.0, 10.0], "wdbc", "vn"),
        Run([20.0], "wdbc", "gd", status="failed", tuning={**cost, **note}),
    ]
    rows = performance.values_of(make_dataset(tmp_path, runs)).to_dict("records")
    (row,) = [row for row in rows if row["solver"] == "gd"]
    assert row["objective_median"] == row["gap_median"] == "no step worked"
    assert row["tuning_note"] == "no step worked"
