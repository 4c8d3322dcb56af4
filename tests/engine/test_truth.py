"""Test the comparison with true posteriors."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench import models
from gvibench.datasets.build import build as build_data
from gvibench.engine.importance import log_weights
from gvibench.engine.optimum import find_optimum
from gvibench.engine.quality import measure_optimum, measure_runs
from gvibench.engine.truth import analytic_truth, compare, fingerprint, from_draws
from gvibench.errors import UserError
from gvibench.models.protocols import Rows
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.spec.run import ProblemSpec
from gvibench.store.prepared import read_prepared
from gvibench.store.shipped_posteriors import shipped
from gvibench.store.truths import Truth, read_shipped
from gvibench.study.defaults import complete_spec
from problems import build, go, prepared, rows, spec


def chains(correlation, count, seed=0):
    """Return four chains of two autoregressive coordinates with sd 1 and 2."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((4, count, 2))
    values = np.empty_like(noise)
    values[:, 0] = noise[:, 0]
    for k in range(1, count):
        values[:, k] = correlation * values[:, k - 1]
        values[:, k] += math.sqrt(1 - correlation**2) * noise[:, k]
    return values * [1.0, 2.0] + [0.0, 5.0]


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_monte_carlo_errors_account_for_correlation(correlation):
    count = 10_000
    truth = from_draws(chains(correlation, count), "test")
    factor = (1 + correlation) / (1 - correlation)
    expected = np.sqrt(factor / (4 * count)) * np.array([1.0, 2.0])
    assert_allclose(truth.mean_error, expected, rtol=0.25)
    squared = (1 + correlation**2) / (1 - correlation**2)
    assert_allclose(
        truth.sd_error, math.sqrt(squared / (8 * count)) * np.array([1.0, 2.0]), rtol=0.25
    )
    assert_allclose(truth.sd, [1.0, 2.0], rtol=0.05)
    assert (np.abs(truth.mean - [0.0, 5.0]) < 5 * truth.mean_error).all()


def test_a_gaussian_is_compared_coordinate_by_coordinate():
    truth = Truth(np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.full(2, 0.01), np.zeros(2), "t")
    lower = np.array([[0.5, 0.0], [3.0, 4.0]])
    found = compare(truth, np.array([1.5, 5.0]), CovarianceFactor(build().backend, lower))
    assert found["mean_error_max"] == pytest.approx(1.5)
    assert found["mean_error_rms"] == pytest.approx(math.sqrt((0.25 + 2.25) / 2))
    assert found["mean_error_mc"] == pytest.approx(0.01)
    assert (found["sd_ratio_min"], found["sd_ratio_max"]) == (0.5, 2.5)
    assert found["sd_ratio_median"] == pytest.approx(1.5)
    assert found["worst"] == 1


def test_the_truth_of_linear_regression():
    model = build(model="linear", beta=0.5, sigma=0.7)
    x, y, _ = model.train
    covariance = np.linalg.inv(x.T @ x / 0.49 + 0.5 * np.eye(model.d))
    truth = analytic_truth(model)
    assert_allclose(truth.mean, covariance @ (x.T @ y) / 0.49, rtol=1e-12)
    assert_allclose(truth.sd, np.sqrt(np.diag(covariance)), rtol=1e-12)
    assert analytic_truth(build()) is None


def test_a_fingerprint_identifies_the_posterior():
    model = build()
    moved = rows()
    moved.x[3, 1] += 1e-3
    rounded = rows()
    rounded.x[3, 1] *= 1 + 1e-15
    assert fingerprint(build(rounded)) == fingerprint(model)
    assert fingerprint(build(gamma=0.5, test=moved)) == fingerprint(model)
    others = [
        build(moved),
        build(rows()._replace(y=-rows().y)),
        build(beta=0.6),
        build(rows(n=39)),
        build(model="linear"),
        build(model="linear", sigma=2.0),
    ]
    assert len({fingerprint(other) for other in (model, *others)}) == 7


def problem_of(entry, folder):
    options = {"options": entry["options"]} if entry["options"] else {}
    given = {"dataset": entry["dataset"], **options}
    problem = complete_spec(ProblemSpec, given, {"beta": entry["beta"]}, "test")
    build_data(problem.data, folder / "data.zarr.zip")
    return problem, read_prepared(folder / "data.zarr.zip")


@pytest.mark.parametrize("entry", shipped(), ids=lambda entry: entry["file"])
def test_shipped_posteriors_belong_to_the_bundled_data(tmp_path, entry):
    """Importance sampling from the optimum gives the same moments."""
    problem, data = problem_of(entry, tmp_path)
    model = models.build(
        spec(**problem.to_dict() | {"data": data.spec}),
        build().backend,
        Rows(data.train_x, data.train_y),
        Rows(data.test_x, data.test_y),
    )
    truth = read_shipped(fingerprint(model))
    optimum = find_optimum(problem, data)
    factor = CovarianceFactor(model.backend, optimum.covariance_factor)
    draws = 4000
    noise = np.random.default_rng([0, 3]).standard_normal((draws, model.d))
    theta = optimum.mean + noise @ optimum.covariance_factor.T
    weights = log_weights(model, optimum.mean, factor, seed=0, draws=draws)
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    error = np.sqrt(np.sum((weights[:, None] * (theta - truth.mean)) ** 2, axis=0)) / truth.sd
    difference = np.abs(weights @ theta - truth.mean) / truth.sd
    # With few effective draws, errors are underestimated.
    assert (difference < 5 * error + 0.1).all()
    found = compare(truth, optimum.mean, factor)
    assert found["mean_error_max"] < 0.2
    # Rare pixels of the digits have a skewed posterior, whose sd a Gaussian underestimates.
    assert 0.55 < found["sd_ratio_min"] < found["sd_ratio_max"] < 1.1


def test_own_draws_come_first(tmp_path):
    data = prepared()
    draws = np.random.default_rng(1).standard_normal((500, 4))
    np.savez(tmp_path / "draws.npz", draws=draws)
    problem = spec().problem()
    optimum = find_optimum(problem, data)
    (found,) = measure_optimum(problem, data, optimum, tmp_path / "draws.npz")
    assert found["truth"] == "500 draws of draws.npz"
    expected = np.abs(optimum.mean - draws.mean(axis=0)) / draws.std(axis=0)
    assert found["mean_error_max"] == pytest.approx(expected.max())
    assert found["worst"] == f"x{expected.argmax() + 1}"
    np.savez(tmp_path / "draws.npz", draws=draws[:, :3])
    with pytest.raises(UserError, match="3 features, but the problem has 4"):
        measure_optimum(problem, data, optimum, tmp_path / "draws.npz")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"snapshots": 0}, "did not store its covariance"),
        ({"step": 1e9, "solver": "gd"}, "the run diverged"),
        ({"form": "reduced"}, "more features than rows"),
    ],
)
def test_runs_without_a_gaussian_have_a_reason(changes, reason):
    data = prepared(n=10, d=20)
    (found,) = measure_runs(spec().problem(), data, [go(data, **changes)], None)
    assert reason in found["notes"]["pred_nll"]
    assert math.isnan(found["k_hat"])
    assert found["seed"] == 0


def test_a_missing_optimum_has_a_reason():
    data = prepared(n=10, d=20)
    (found,) = measure_optimum(spec().problem(), data, find_optimum(spec().problem(), data))
    assert "more features than rows" in found["notes"]["kl"]


def test_a_run_is_compared_with_the_optimum():
    data = prepared()
    problem = spec().problem()
    trace = go(data, solver="laplace", step=1.0, step_rule="none", seed=4)
    (found,) = measure_runs(problem, data, [trace], find_optimum(problem, data))
    assert found["seed"] == 4
    assert 0 < found["kl"] < 1
    assert found["notes"]["mean_error_max"].startswith("no true posterior is known")
