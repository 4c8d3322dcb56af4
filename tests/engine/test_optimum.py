"""Test the reference optimum: its equations, and the result if there is none."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize

from gvibench import models, stages
from gvibench.datasets.build import build as build_data
from gvibench.engine.optimum import NoOptimumError, find_optimum, unknown_optimum
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.store.optima import read_optimum
from gvibench.store.prepared import read_prepared
from gvibench.study.defaults import complete_data
from problems import build, prepared, spec

SMALL_GAMMAS = (0.001, 0.01, 0.03, 0.1)
EXPECTATIONS = (
    {"expectation": "exact"},
    {"expectation": "piecewise", "pieces": 20},
    {"expectation": "piecewise", "pieces": 4},
    {"expectation": "gauss-hermite"},
)


def residuals(optimum, data, problem):
    """Recompute g and gamma V^-1 - H at the stored Gaussian, relative to their parts."""
    model = models.build(
        spec(**problem.to_dict() | {"data": data.spec}),
        build().backend,
        models.Rows(data.train_x, data.train_y),
        models.Rows(data.test_x, data.test_y),
    )
    factor = CovarianceFactor(model.backend, optimum.covariance_factor)
    oracle = model.full_oracle(optimum.mean, factor, "hessian")
    covariance = optimum.covariance_factor @ optimum.covariance_factor.T
    whitened = oracle.curvature @ covariance / problem.gamma
    terms = np.linalg.norm(oracle.gradient - problem.beta * optimum.mean)
    return (
        np.linalg.norm(oracle.gradient) / (1.0 + terms),
        np.abs(whitened - np.eye(len(whitened))).max(),
    )


@pytest.fixture(scope="module")
def wdbc(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "wdbc.zarr.zip"
    build_data(complete_data({"dataset": "wdbc"}), path)
    return read_prepared(path)


@pytest.mark.parametrize("gamma", SMALL_GAMMAS)
@pytest.mark.parametrize("expectation", EXPECTATIONS)
def test_small_temperatures_have_an_optimum(wdbc, expectation, gamma):
    problem = spec(data=wdbc.spec, beta=0.1, gamma=gamma, **expectation).problem()
    gradient, curvature = residuals(find_optimum(problem, wdbc), wdbc, problem)
    assert gradient < 1e-10
    assert curvature < 1e-8


def test_more_features_than_rows_at_a_small_temperature():
    data = prepared(n=20, d=50)
    problem = spec(beta=0.1, gamma=0.001).problem()
    assert find_optimum(problem, data).attrs["grad_norm"] < 1e-10


@settings(max_examples=40, deadline=None)
@given(
    st.floats(-4, 1.5),
    st.floats(-2, 1),
    st.integers(2, 6),
    st.integers(0, 1000),
    st.sampled_from(EXPECTATIONS[:3]),
)
def test_all_temperatures_and_priors_have_an_optimum(log_gamma, log_beta, d, seed, expectation):
    data = prepared(n=60, d=d, seed=seed)
    problem = spec(beta=10.0**log_beta, gamma=10.0**log_gamma, **expectation).problem()
    gradient, curvature = residuals(find_optimum(problem, data), data, problem)
    assert gradient < 1e-6
    assert curvature < 1e-5


@pytest.mark.parametrize("gamma", [0.003, 0.3, 1.0, 3.0])
def test_a_general_optimiser_finds_the_same_optimum(gamma):
    data = prepared(n=60, d=3)
    problem = spec(beta=0.2, gamma=gamma).problem()
    optimum = find_optimum(problem, data)
    model = build(
        train=models.Rows(data.train_x, data.train_y),
        test=models.Rows(data.test_x, data.test_y),
        **{k: v for k, v in problem.to_dict().items() if k != "data"},
    )
    below = np.tril_indices(3, -1)

    def unpack(values):
        lower = np.diag(np.exp(values[3:6]))
        lower[below] = values[6:]
        return values[:3], CovarianceFactor(model.backend, lower)

    def objective(values):
        mean, factor = unpack(values)
        oracle = model.full_oracle(mean, factor, "hessian")
        return float(model.objectives(mean, factor, oracle.value).objective)

    start = np.concatenate([np.zeros(3), np.full(3, math.log(0.1)), np.zeros(3)])
    minimum = optimize.minimize(objective, start, method="BFGS", options={"gtol": 1e-7})
    assert_allclose(optimum.attrs["objective"], minimum.fun, rtol=1e-9)
    assert optimum.attrs["objective"] <= minimum.fun + 1e-10
    mean, factor = unpack(minimum.x)
    assert_allclose(optimum.mean, mean, atol=1e-4)
    assert_allclose(optimum.covariance_factor, factor.lower, atol=1e-4)


def test_few_pieces_at_a_small_temperature_lead_to_a_low_minimum():
    # The bound has several minima there. The continuation of the minimum at gamma = 1 is low.
    data = prepared(n=60, d=3)
    problem = spec(beta=0.1, gamma=1e-3, expectation="piecewise", pieces=4).problem()
    best = find_optimum(problem, data).attrs["objective"]
    near = find_optimum(spec(beta=0.1, gamma=1e-3).problem(), data)
    model = build(
        train=models.Rows(data.train_x, data.train_y),
        test=models.Rows(data.test_x, data.test_y),
        **{k: v for k, v in problem.to_dict().items() if k != "data"},
    )
    factor = CovarianceFactor(model.backend, near.covariance_factor)
    value = model.full_oracle(near.mean, factor, "hessian").value
    assert best <= float(model.objectives(near.mean, factor, value).objective)


def without_optimum(data):
    """Return a problem without a stable solution, because its expectations are too coarse."""
    return spec(data=data, beta=1e-4, gamma=30.0, expectation="gauss-hermite", nodes=20).problem()


def test_the_message_suggests_only_changes(wdbc):
    with pytest.raises(NoOptimumError, match="use more nodes, or expectation 'exact'"):
        find_optimum(without_optimum(wdbc.spec), wdbc)
    equal_columns = prepared()
    equal_columns.train_x[:, 1] = equal_columns.train_x[:, 0]
    with pytest.raises(NoOptimumError, match="raise beta") as refused:
        find_optimum(spec(beta=1e-30).problem(), equal_columns)
    assert "'exact'" not in str(refused.value)


def test_the_stage_writes_a_file_if_no_optimum_was_found(tmp_path, capsys):
    build_data(complete_data({"dataset": "wdbc"}), tmp_path / "data.zarr.zip")
    problem = without_optimum(complete_data({"dataset": "wdbc"}))
    out = tmp_path / "optimum.zarr.zip"
    job = json.dumps({"spec": problem.to_dict(), "code_hash": "c0de"})
    words = ["optimum", "--job", job, "--data", str(tmp_path / "data.zarr.zip"), "--out", str(out)]
    assert stages.main(words) == 0
    assert "no optimum found" in capsys.readouterr().out
    optimum = read_optimum(out)
    assert optimum.error.startswith("no optimum found for 'wdbc'")
    assert math.isnan(optimum.attrs["objective"])
    assert math.isnan(optimum.attrs["smoothness"])
    assert optimum.covariance_factor is None


def test_only_an_unknown_optimum_has_an_error(tmp_path):
    data = prepared()
    assert find_optimum(spec().problem(), data).error == ""
    unknown = unknown_optimum(spec().problem(), data, NoOptimumError("no luck"))
    assert unknown.summary() == "no luck"
