"""Solvers that use draws or the mode: reference values, and posteriors that are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from anchors import diabetes, wdbc
from gvibench import solvers
from gvibench.errors import Stopped
from gvibench.models.sampling import Sampling
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.solvers.advi import Advi
from problems import build, go, prepared, rows


class Sequential(Sampling):
    """Draws of one generator, one block after the other."""

    def draw(self, n, d, iteration):
        block = np.random.default_rng(0).standard_normal((iteration + 1, self.samples, d))
        return np.arange(n), block[iteration]


def after_steps(model, name, count, rho=1.0, sampling=None, **options):
    """Return the last state from m0 = 0, C0 = 0.3, and its exact objectives."""
    solver = solvers.create(name, options)
    model.sampling = sampling
    state = solver.init(model, np.zeros(model.d), 0.3)
    for _ in range(count):
        state = solver.step(state, model, rho)
    model.sampling = None
    oracle = model.full_oracle(state.mean, state.factor, "hessian")
    return state, model.objectives(state.mean, state.factor, oracle.value)


def test_advi_reference_values(libsvm_data):
    model = diabetes(libsvm_data)
    _, exact = after_steps(model, "advi", 50, 3e-3, average=False)
    assert exact.objective == pytest.approx(310.8524607216, abs=1e-9)
    _, drawn = after_steps(model, "advi", 50, 3e-3, Sequential("all", 8, 0), average=False)
    assert drawn.objective == pytest.approx(311.0317081711, abs=1e-9)


@pytest.mark.parametrize(("name", "expected"), [("bam", 301.13643879), ("gsm", 301.15802923)])
def test_score_matching_reference_values(libsvm_data, name, expected):
    model = diabetes(libsvm_data)
    _, after = after_steps(model, name, 50, sampling=Sequential("all", 32, 0))
    assert after.objective == pytest.approx(expected, abs=1e-7)


def test_laplace_reference_values(libsvm_data):
    state, after = after_steps(diabetes(libsvm_data), "laplace", 1)
    assert after.neg_elbo == pytest.approx(315.5817808149, abs=1e-9)
    assert state.memory[0] == pytest.approx(315.589, abs=5e-4)
    state, after = after_steps(wdbc(), "laplace", 1)
    assert after.neg_elbo == pytest.approx(56.9954882720, abs=1e-9)
    assert state.memory[0] == pytest.approx(55.6319705866, abs=1e-9)


def linear_posterior(model):
    x, y, _ = model.train
    precision = x.T @ x + model.beta * np.eye(model.d)
    return np.linalg.solve(precision, x.T @ y), np.linalg.inv(precision)


def divergence(state, mean, covariance):
    """Return KL(q || posterior)."""
    own = state.factor.root() @ state.factor.root().T
    precision = np.linalg.inv(covariance)
    offset = state.mean - mean
    trace = np.trace(precision @ own) + offset @ precision @ offset - len(mean)
    return 0.5 * (trace - np.linalg.slogdet(precision @ own)[1])


def test_laplace_is_exact_on_the_linear_model_and_stops():
    model = build(rows(30, 3, real=True), model="linear")
    solver = solvers.create("laplace", {})
    state = solver.step(solver.init(model, np.ones(3), 1.0), model, 1.0)
    mean, covariance = linear_posterior(model)
    assert divergence(state, mean, covariance) < 1e-12
    with pytest.raises(Stopped):
        solver.step(state, model, 1.0)
    # The Laplace evidence of a Gaussian model is the evidence.
    x, y, _ = model.train
    marginal = x @ x.T / model.beta + np.eye(len(y))
    exact = 0.5 * (y @ np.linalg.solve(marginal, y) + np.linalg.slogdet(2 * np.pi * marginal)[1])
    assert solver.results(state)["laplace_evidence"] == pytest.approx(exact, rel=1e-12)


def test_laplace_is_one_record_after_the_start_with_its_evaluations():
    trace = go(solver="laplace", step_rule="none", iterations=500)
    assert trace.iteration.tolist() == [0, 1]
    assert trace.scalars["evaluations"][1] > 4
    assert trace.attrs["reason"].startswith("the Laplace approximation is complete")
    assert np.isfinite(trace.attrs["results"]["laplace_evidence"])


@pytest.mark.parametrize("form", ["dense", "reduced"])
def test_laplace_of_more_features_than_rows(form):
    from gvibench.engine.execute import execute
    from problems import spec

    run = spec(solver="laplace", step_rule="none", form=form, iterations=3)
    trace = execute(run, prepared(n=6, d=15))
    values = [trace.scalars["neg_elbo"][-1], trace.attrs["results"]["laplace_evidence"]]
    dense = execute(run.replace(form="dense"), prepared(n=6, d=15))
    expected = [dense.scalars["neg_elbo"][-1], dense.attrs["results"]["laplace_evidence"]]
    assert_allclose(values, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "draws", "steps", "most"),
    [("bam", 32, 10, 1e-12), ("bam", 8, 10, 1e-5), ("gsm", 8, 150, 1e-4)],
)
def test_score_matching_finds_gaussian_posteriors(name, draws, steps, most):
    model = build(rows(40, 3, real=True), model="linear")
    state, _ = after_steps(model, name, steps, sampling=Sampling("all", draws, 0))
    assert divergence(state, *linear_posterior(model)) < most


@pytest.mark.parametrize("name", ["bam", "gsm"])
def test_temperature_scales_the_scores(name):
    # At gamma = 2 the posterior of the linear model is wider by a factor 2.
    model = build(rows(40, 3, real=True), model="linear", gamma=2.0)
    state, _ = after_steps(model, name, 150, sampling=Sampling("all", 16, 0))
    mean, covariance = linear_posterior(model)
    assert divergence(state, mean, 2.0 * covariance) < 1e-4


def test_bam_solves_its_quadratic_equation():
    model = build(rows(40, 3))
    model.sampling = Sampling("all", 5, 0)
    solver = solvers.create("bam", {})
    state = solver.init(model, np.ones(3), 0.7)
    after = solver.propose(state, model, 1.0)
    theta, gradients = state.oracle.curvature
    scores, lam = -gradients, 5 * 3 / 1.0
    share = lam / (1 + lam)
    score, centre = scores.mean(axis=0), theta.mean(axis=0)
    u = lam * np.cov(scores.T, bias=True) + share * np.outer(score, score)
    offset = state.mean - centre
    w = 0.49 * np.eye(3) + lam * np.cov(theta.T, bias=True) + share * np.outer(offset, offset)
    new = after.factor.lower @ after.factor.lower.T
    assert_allclose(new @ u @ new + new, w, rtol=1e-9, atol=1e-9)
    assert_allclose(after.mean, state.mean / (1 + lam) + share * (new @ score + centre), rtol=1e-9)


@pytest.mark.parametrize("update", ["proximal", "adam"])
@pytest.mark.parametrize("estimator", ["price", "reparam", "stl"])
def test_advi_approaches_the_optimum(update, estimator):
    step = 3e-3 if update == "proximal" else 1e-2
    options = {"update": update}
    chosen = {"expectation": "stochastic", "batch": "all", "samples": 16, "estimator": estimator}
    trace = go(solver="advi", solver_options=options, step=step, iterations=2000, **chosen)
    reference = go(solver="vn", step=1.0, iterations=30, step_rule="auto")
    gap = trace.scalars["objective"][-1] - reference.scalars["objective"][-1]
    assert 0 < gap < 0.02


def test_the_proximal_step_keeps_scales_positive_for_any_gradient():
    model = build()
    solver = Advi(average=False)
    state = solver.init(model, np.zeros(model.d), 1.0)
    wild = state._replace(oracle=state.oracle._replace(curvature=1e6 * np.ones((4, 4))))
    lower = solver.propose(wild, model, 1.0).factor.lower
    assert (np.diagonal(lower) > 0).all()


def test_averages_cover_at_least_half_of_the_iterates():
    model = build(expectation="stochastic", batch=10)
    single, averaged = Advi(average=False), Advi()
    states = [single.init(model, np.zeros(model.d), 1.0)]
    shown = averaged.init(model, np.zeros(model.d), 1.0)
    for count in range(1, 40):
        states.append(single.step(states[-1], model, 1e-3))
        shown = averaged.step(shown, model, 1e-3)
        first = 1 if count < 2 else 2 ** (int(np.log2(count)) - 1)
        means = np.mean([state.mean for state in states[first:]], axis=0)
        assert_allclose(shown.mean, means, rtol=1e-10)
        assert 2 * (count + 1 - first) >= count


def test_advi_evaluates_gradients_at_the_current_iterate():
    model = build(expectation="stochastic", batch=10)
    solver = Advi()
    state = solver.init(model, np.ones(model.d), 1.0)
    for _ in range(6):
        state = solver.step(state, model, 1e-2)
    mean, lower = state.memory[:2]
    assert not np.allclose(mean, state.mean)
    expected = model.oracle(mean, CovarianceFactor(model.backend, lower), "factor", 6)
    assert_allclose(state.oracle.gradient, expected.gradient)
