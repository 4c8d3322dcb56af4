"""Times per iteration and operation counts."""

import numpy as np
import pytest

from figures.made_aggregate import Run, make_dataset, timed_run
from gvibench.analysis.scaling import OURS, PAPER, exponent, measure


def test_times_are_per_iteration_and_pooled_over_runs(tmp_path):
    runs = [
        timed_run(16, 0.8),
        timed_run(8, 0.4),
        timed_run(8, 0.8, seed=1),
        timed_run(8, 1.2, step=0.2),
        timed_run(8, 99.0, seed=2, status="diverged"),
        timed_run(8, 4.0, solver="gd"),
    ]
    small, other, large = measure(make_dataset(tmp_path, runs))
    assert (small.line, small.rows, small.features, small.runs) == ("VN", 40, 8, 3)
    assert (small.mean, small.low, small.high) == pytest.approx((0.2, 0.1, 0.3))
    assert (other.line, other.mean) == ("GD", 1.0)
    assert (large.features, large.mean, large.runs) == (16, 0.2, 1)


def test_runs_without_a_step_or_that_diverged_have_no_time(tmp_path):
    runs = [Run([15.0]), Run([15.0, 14.0], seed=1, status="diverged")]
    assert measure(make_dataset(tmp_path, runs)) == []


def test_counts_of_operations():
    d = 10
    assert PAPER["vn"](7, d) == d**3 + 4 * d**2
    assert PAPER["sr-vn"](7, d) == 3 * d**3 + 4.5 * d**2 + d / 2
    assert PAPER["bw-gd"](7, d) == 3 * d**3 + 5 * d**2
    assert OURS["vn"](7, d) == pytest.approx(2 * 7 * d**2 + 2 / 3 * d**3)


def test_exponent_is_fitted_to_the_larger_half(tmp_path):
    runs = [timed_run(2, 5.0), timed_run(4, 5.0), *(timed_run(d, 4.0 * d**3) for d in (8, 16, 32))]
    points = measure(make_dataset(tmp_path, runs))
    assert exponent(points, lambda point: point.mean) == pytest.approx(3.0)
    assert exponent(points[:2], lambda point: point.mean) == pytest.approx(0.0)
    assert np.isnan(exponent(points[:1], lambda point: point.mean))
