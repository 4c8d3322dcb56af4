"""Slopes and surrogates of all solvers, against finite differences and the linear model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.registry import SOLVERS
from gvibench.solvers import create
from problems import build, random_gaussian, rows

UPDATES = [
    *((name, {}) for name in SOLVERS.built_in if SOLVERS.load(name).has_slope()),
    ("svgd-density", {"kernel": "centred"}),
    ("vn-pd", {"mean": "old"}),
    ("fr-kl", {"mean": "new"}),
    ("fr-r", {"mean": "new"}),
]


def objective(model, mean, factor):
    oracle = model.full_oracle(mean, factor, "hessian")
    return float(model.objectives(mean, factor, oracle.value).objective)


def state_at(solver, model, mean, lower):
    """Return the state of a solver at an arbitrary Gaussian."""
    memory = solver.init(model, mean, 2.0).memory
    if memory is not None:  # the covariance or the precision
        covariance = lower @ lower.T
        memory = covariance if memory[0, 0] == 4.0 else np.linalg.inv(covariance)
    return solver.evaluate(model, 0, mean, CovarianceFactor(model.backend, lower), memory=memory)


def test_the_solvers_with_a_slope():
    expected = {"vn", "vn-pd", "sr-vn", "sr-vn-rotated", "fr-kl", "fr-r", "bw-gd", "fb-gvi"}
    assert {name for name, _ in UPDATES} >= expected | {"gd", "gd-chol", "svgd-density"}


@pytest.mark.parametrize(("name", "options"), UPDATES)
@pytest.mark.parametrize("changes", [{}, {"gamma": 0.5}, {"model": "non-convex"}])
def test_slope_is_the_derivative_of_the_objective(name, options, changes):
    solver, model = create(name, options), build(**changes)
    state = state_at(solver, model, *random_gaussian(4))
    slope = float(solver.slope(state, model))

    def change(rho):
        proposal = solver.propose(state, model, rho)
        return objective(model, proposal.mean, proposal.factor)

    # Central differences at two distances, extrapolated to fourth order.
    h = 1e-3 / (1.0 + slope) ** 0.5
    wide, narrow = ((change(s * h) - change(-s * h)) / (2 * s * h) for s in (2, 1))
    assert_allclose(-(4 * narrow - wide) / 3, slope, rtol=1e-6)


@settings(max_examples=20, deadline=None)
@given(
    update=st.sampled_from(UPDATES),
    seed=st.integers(0, 10**6),
    rho=st.floats(1e-4, 0.05),
    gamma=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_surrogate_is_exact_on_the_linear_model(update, seed, rho, gamma):
    solver = create(*update)
    model = build(rows(30, 3, seed, real=True, scale=0.5), model="linear", gamma=gamma)
    state = state_at(solver, model, *random_gaussian(3, seed))
    proposal = solver.propose(state, model, rho)
    before = objective(model, state.mean, state.factor)
    after = objective(model, proposal.mean, proposal.factor)
    surrogate = float(solver.surrogate(state, model, proposal, rho))
    assert_allclose(surrogate, after - before, rtol=1e-12, atol=1e-12 * (1 + abs(before)))


@pytest.mark.parametrize(("name", "options"), UPDATES)
def test_surrogate_includes_the_penalty_of_the_non_convex_model(name, options):
    # With a step so small that the loss is quadratic, only the penalty could differ.
    solver, model = create(name, options), build(model="non-convex")
    state = state_at(solver, model, *random_gaussian(4))
    proposal = solver.propose(state, model, 1e-4)
    before = objective(model, state.mean, state.factor)
    change = objective(model, proposal.mean, proposal.factor) - before
    assert_allclose(float(solver.surrogate(state, model, proposal, 1e-4)), change, rtol=1e-3)


def is_reducible(name, options):
    solver = create(name, options)
    return solver.rotation_invariant or solver.rotated


@pytest.mark.parametrize(
    ("name", "options"), [update for update in UPDATES if is_reducible(*update)]
)
def test_the_last_coordinate_counts_as_often_as_it_occurs(name, options):
    # Three features without data, once in full and once as a single coordinate.
    solver = create(name, options)
    data = rows(20, 3)
    mean, lower = random_gaussian(3)

    def padded(count, multiplicity):
        train = data._replace(x=np.pad(data.x, ((0, 0), (0, count))))
        model = build(train, multiplicity=multiplicity)
        block = np.zeros((3 + count, 3 + count))
        block[:3, :3], block[3:, 3:] = lower, 0.7 * np.eye(count)
        state = state_at(solver, model, np.append(mean, np.zeros(count)), block)
        proposal = solver.propose(state, model, 0.01)
        surrogate = float(solver.surrogate(state, model, proposal, 0.01))
        return float(solver.slope(state, model)), surrogate

    assert_allclose(padded(1, 3), padded(3, 1), rtol=1e-10)


@pytest.mark.parametrize(("name", "options"), UPDATES)
def test_remembered_quantities_change_no_result(name, options):
    solver, model = create(name, options), build()
    state = state_at(solver, model, *random_gaussian(4))
    proposal = solver.propose(state, model, 0.01)
    before = solver.surrogate(state, model, proposal, 0.01)
    norm = model.fisher_norm(state.factor, state.oracle)
    solver.slope(state, model)  # remembers the norm, tr(HV) or the force
    again = solver.propose(state, model, 0.01)
    assert np.array_equal(again.mean, proposal.mean)
    assert np.array_equal(again.factor.lower, proposal.factor.lower)
    assert_allclose(solver.surrogate(state, model, again, 0.01), before, rtol=1e-10)
    assert model.fisher_norm(state.factor, state.oracle) == norm
    other = solver.evaluate(model, 1, proposal.mean, proposal.factor)
    assert model.fisher_norm(other.factor, other.oracle) != norm
