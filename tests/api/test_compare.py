"""Test comparisons of solvers on the user's data."""

import numpy as np
import pytest

import gvibench as gvi
from gvibench.errors import UserError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 3))
Y = X[:, 0] + RNG.logistic(size=80) > 0


def test_runs_are_a_study_with_gaps_from_the_optimum():
    runs = gvi.compare(X, Y, solvers=["vn", "bw-gd"], seeds=3, iterations=10)
    assert runs["solver"].values.tolist() == ["vn"] * 3 + ["bw-gd"] * 3
    assert runs["seed"].values.tolist() == [0, 1, 2] * 2
    best = gvi.fit(X, Y, tolerance=1e-9).objective
    assert np.allclose(runs["optimum_objective"], best, rtol=1e-12)
    gaps = (runs["objective"] - runs["optimum_objective"]).min("record").values
    assert np.all(gaps[:3] < 1e-9)
    assert np.all(gaps[3:] > 1e-4)
    figure = gvi.plot_gap(runs)
    assert [line.get_label() for line in figure.axes[0].get_lines()] == ["VN", "BW-GD"]
    assert len(figure.axes[0].collections) == 2  # bands over the seeds
    assert "optimum" in figure.get_supylabel()


def test_runs_without_an_optimum_are_measured_from_the_best():
    runs = gvi.compare(X, Y, solvers=["vn"], seeds=1, model="non-convex", iterations=5)
    assert np.isnan(runs["optimum_objective"].values).all()
    assert gvi.plot_gap(runs).axes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solvers": "vn"}, "solvers should be a list"),
        ({"solvers": []}, "solvers should be a list"),
        ({"solvers": ["vm"]}, "unknown solver 'vm'"),
        ({"seeds": 0}, "seeds should be at least 1"),
        ({"seed": 3}, "unknown setting 'seed'"),
    ],
)
def test_invalid_settings_get_one_sentence(options, message):
    with pytest.raises(UserError, match=message):
        gvi.compare(X, Y, **options)
