import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench.engine.optimum import find_optimum
from gvibench.engine.run import initial_gaussian
from gvibench.errors import UserError
from gvibench.models.basis import basis_of
from gvibench.spec.prior import PriorSettings
from gvibench.spec.run import RunSpec
from problems import go, prepared, prepared_for, spec

EQUIVARIANT = ("vn", "vn-pd", "fr-kl", "fr-r")
OTHERS = ("sr-vn", "bw-gd", "gd", "gd-chol", "fb-gvi", "svgd-density")
CONDITION = 1000.0


def test_the_map_has_its_condition_number_and_determinant_one():
    basis = basis_of(spec(basis_condition=CONDITION), 7)
    assert_allclose(np.linalg.cond(basis.map), CONDITION, rtol=1e-9)
    assert_allclose(abs(np.linalg.det(basis.map)), 1.0, rtol=1e-9)
    assert_allclose(basis.map @ basis.inverse, np.eye(7), atol=1e-10)


def test_no_map_is_the_default():
    assert basis_of(spec(), 7) is None
    assert basis_of(spec(basis_condition=CONDITION), 1) is None


def test_the_start_is_the_same_gaussian():
    run = spec(basis_condition=CONDITION, init_scale=0.3)
    basis = basis_of(run, 5)
    mean, lower = initial_gaussian(run, 5)
    assert_allclose(basis.map @ mean, initial_gaussian(spec(), 5)[0], rtol=1e-9)
    root = basis.map @ lower
    assert_allclose(root @ root.T, 0.09 * np.eye(5), atol=1e-9)
    assert np.array_equal(lower, np.tril(lower))
    assert (np.diag(lower) > 0).all()


@pytest.mark.parametrize("model", ["logistic", "probit", "poisson", "linear"])
@pytest.mark.parametrize("solver", EQUIVARIANT)
def test_equivariant_solvers_take_the_same_path(solver, model):
    settings = {"solver": solver, "model": model, "init_scale": 0.3, "mean_scale": 0.2}
    settings |= {"step_rule": "auto", "step": 1.0, "iterations": 4}
    data = prepared_for(model)
    plain, mapped = (go(data, **settings, basis_condition=k) for k in (1.0, CONDITION))
    # A run may end before the other one at rounding level.
    shared = min(len(trace.iteration) for trace in (plain, mapped))
    assert shared > 1
    for name in ("objective", "neg_elbo", "test_nll", "grad_norm"):
        first, second = (trace.scalars[name][:shared] for trace in (plain, mapped))
        assert_allclose(second, first, rtol=1e-7, atol=1e-7)
    basis = basis_of(RunSpec(**vars(spec(**settings)) | {"basis_condition": CONDITION}), 4)
    assert_allclose(basis.map @ mapped.mean[-1], plain.mean[-1], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("solver", OTHERS)
def test_other_solvers_take_another_path_from_the_same_start(solver):
    # SR-VN differs from VN, which is equivariant, only in the second order of the step.
    step = 0.05 if solver == "sr-vn" else 1e-4
    settings = {"solver": solver, "init_scale": 0.3, "step": step, "iterations": 5}
    plain, mapped = (go(**settings, basis_condition=k) for k in (1.0, CONDITION))
    first, last = (trace.scalars["objective"] for trace in (plain, mapped))
    assert_allclose(last[0], first[0], rtol=1e-10)
    assert abs(last[-1] / first[-1] - 1) > 1e-6


@pytest.mark.parametrize(
    "prior", [None, PriorSettings(precision=[0.5, 2.0, 1.0, 3.0], mean=[0.1, 0.2, -0.3, 0.0])]
)
def test_the_optimum_has_the_same_value(prior):
    problem = spec(prior=prior).problem()
    plain = find_optimum(problem, prepared())
    mapped = find_optimum(problem.replace(basis_condition=CONDITION), prepared())
    for name in ("objective", "neg_elbo", "test_nll"):
        assert_allclose(mapped.attrs[name], plain.attrs[name], rtol=1e-9)
    basis = basis_of(spec(basis_condition=CONDITION), 4)
    root = basis.map @ mapped.covariance_factor
    assert_allclose(basis.map @ mapped.mean, plain.mean, rtol=1e-6, atol=1e-8)
    expected = plain.covariance_factor @ plain.covariance_factor.T
    assert_allclose(root @ root.T, expected, rtol=1e-6, atol=1e-8)


def test_wide_problems_are_not_reduced_in_other_coordinates():
    trace = go(prepared(6, 9), basis_condition=10.0, iterations=3)
    assert trace.attrs["solver_form"] == "dense"
    with pytest.raises(UserError, match="the setting 'basis_condition'"):
        go(prepared(6, 9), basis_condition=10.0, form="reduced")
