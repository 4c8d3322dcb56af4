"""Test runs in the basis of the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench.engine.run import initial_mean
from gvibench.errors import UserError
from gvibench.models.protocols import Rows
from gvibench.numerics.gaussian import CovarianceFactor
from problems import build, go, prepared, spec


@pytest.mark.parametrize("expectation", ["exact", "piecewise"])
@pytest.mark.parametrize(
    ("solver", "options", "step"),
    [
        ("vn", {}, 0.2),
        ("bw-gd", {}, 2e-3),
        ("gd", {}, 2e-3),
        ("fb-gvi", {}, 2e-3),
        ("svgd-density", {"kernel": "linear"}, 1e-5),
        ("svgd-density", {"kernel": "centred"}, 1e-4),
        ("ng-flow", {"parametrisation": "covariance"}, 1e-2),
    ],
)
def test_reduced_and_dense_runs_agree(solver, options, step, expectation):
    data = prepared(n=30, d=60)
    changes = {
        "solver": solver,
        "solver_options": options,
        "step": step,
        "iterations": 15 if solver != "ng-flow" else 4,
        "expectation": expectation,
        "record": ("factor_norm",),
    }
    dense, reduced = go(data, form="dense", **changes), go(data, **changes)
    assert (dense.attrs["solver_form"], reduced.attrs["solver_form"]) == ("dense", "reduced")
    tolerance = 1e-9 if solver != "ng-flow" else 1e-6  # the integrator takes other steps
    for name in dense.scalars:
        if name != "seconds":
            assert_allclose(
                reduced.scalars[name], dense.scalars[name], rtol=tolerance, err_msg=name
            )
    assert_allclose(reduced.mean, dense.mean, rtol=tolerance, atol=tolerance)
    assert reduced.factors["reduced_factor"].shape == (32, 32)


def test_reduced_and_dense_runs_agree_on_a_larger_problem():
    data = prepared(n=30, d=300)
    for solver, step in (("vn", 0.1), ("bw-gd", 1e-3)):
        dense, reduced = (
            go(data, solver=solver, step=step, form=form, iterations=10)
            for form in ("dense", "reduced")
        )
        for name in ("objective", "neg_elbo", "test_nll", "test_accuracy", "grad_norm"):
            assert_allclose(reduced.scalars[name], dense.scalars[name], rtol=1e-9)
        assert_allclose(reduced.mean, dense.mean, rtol=1e-9, atol=1e-9)


def test_sr_vn_rotated_is_sr_vn_in_a_basis_of_the_rows():
    data = prepared(n=12, d=30)
    rotated = go(data, solver="sr-vn-rotated", step=1e-3)
    mean = initial_mean(spec(), 30)
    basis = np.linalg.qr(np.column_stack([data.train_x.T, mean, np.eye(30)]))[0][:, :30]
    # SR-VN on the rotated data, computed with the printed update.
    model = build(Rows(data.train_x @ basis, data.train_y), Rows(data.test_x @ basis, data.test_y))
    m, c = basis.T @ mean, np.eye(30)
    for k in range(21):
        factor = CovarianceFactor(model.backend, c)
        oracle = model.full_oracle(m, factor, "hessian")
        value = model.objectives(m, factor, oracle.value).objective
        assert_allclose(rotated.scalars["objective"][k], value, rtol=1e-10)
        residual = c.T @ oracle.curvature @ c - np.eye(30)
        m, c = (
            m - 1e-3 * c @ c.T @ oracle.gradient,
            c - 1e-3 * c @ model.backend.half_lower(residual),
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"solver": "sr-vn", "form": "reduced"},
        {"solver": "gd-chol", "form": "reduced"},
        {"solver": "vn", "form": "reduced", "model": "non-convex"},
        {"solver": "vn", "form": "reduced", "expectation": "stochastic"},
        {"solver": "sr-vn-rotated", "form": "dense"},
    ],
)
def test_impossible_forms_are_an_error(changes):
    with pytest.raises(UserError, match="cannot work in the basis of the rows"):
        go(**changes)


def test_a_reduced_run_cannot_record_factors():
    with pytest.raises(UserError, match="use form 'dense'"):
        go(prepared(n=10, d=20), record=("covariance_factor_path",))
