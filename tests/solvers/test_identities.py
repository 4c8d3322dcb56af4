"""Test solvers against closed forms, against each other and against their continuous limit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench import solvers
from gvibench.errors import Diverged
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.registry import SOLVERS
from problems import build, random_gaussian, rows

DETERMINISTIC = ["vn", "sr-vn", "bw-gd", "gd", "gd-chol", "svgd-density", "ng-flow", "fb-gvi"]
NEVER_INDEFINITE = ["sr-vn", "gd-chol", "bw-gd", "svgd-density", "fb-gvi"]


def start(solver, model, mean=None, scale=1.0):
    mean = np.random.default_rng(7).standard_normal(model.d) if mean is None else mean
    return solver.init(model, mean, scale)


def covariance(state):
    lower = state.factor.covariance_lower()
    return lower @ lower.T


def at(solver, model, mean, lower):
    """Return the state of a solver at a given Gaussian."""
    state = solver.evaluate(model, 0, mean, CovarianceFactor(model.backend, lower))
    v = lower @ lower.T
    return state._replace(memory={"vn": np.linalg.inv(v), "gd": v}.get(solver.id))


def test_vn_with_unit_step_solves_the_linear_model_in_one_step():
    train = rows(n=30, d=5, real=True)
    model = build(train, model="linear", sigma=0.8, beta=0.3)
    precision = train.x.T @ train.x / 0.8**2 + 0.3 * np.eye(5)
    posterior_mean = np.linalg.solve(precision, train.x.T @ train.y / 0.8**2)
    vn = solvers.create("vn", {})
    for scale in (0.1, 1.0, 30.0):
        state = vn.step(start(vn, model, scale=scale), model, 1.0)
        assert_allclose(state.mean, posterior_mean, rtol=1e-10)
        assert_allclose(covariance(state), np.linalg.inv(precision), rtol=1e-10)


def test_vn_is_newton_when_expectations_are_taken_at_the_mean():
    train = rows(n=30, d=4)
    model = build(train, beta=0.3)
    vn = solvers.create("vn", {})
    mean = 0.3 * np.ones(4)
    # This covariance is so small that the expectation equals the value at the mean.
    state = at(vn, model, mean, 1e-9 * np.eye(4))
    probability = 1 / (1 + np.exp(train.y * (train.x @ mean)))
    gradient = -train.x.T @ (train.y * probability) + 0.3 * mean
    weight = probability * (1 - probability)
    hessian = (train.x * weight[:, None]).T @ train.x + 0.3 * np.eye(4)
    newton = mean - np.linalg.solve(hessian, gradient)
    assert_allclose(vn.step(state, model, 1.0).mean, newton, rtol=1e-9)


def test_vn_and_sr_vn_differ_by_the_square_of_the_step():
    model = build()
    mean, lower = random_gaussian(4)
    vn, sr_vn = solvers.create("vn", {}), solvers.create("sr-vn", {})
    gaps = []
    for rho in (1e-2, 1e-3, 1e-4):
        vn_state = vn.step(at(vn, model, mean, lower), model, rho)
        sr_vn_state = sr_vn.step(at(sr_vn, model, mean, lower), model, rho)
        gaps.append(np.linalg.norm(covariance(vn_state) - covariance(sr_vn_state)))
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.2)
    assert gaps[1] / gaps[2] == pytest.approx(100, rel=0.05)


def plain_update(name, m, v, g, h, rho, gamma):
    """Return the update of a solver, computed with the printed formulas and explicit inverses."""
    s, eye = np.linalg.inv(v), np.eye(len(m))
    if name == "vn":
        s_new = (1 - gamma * rho) * s + rho * h
        return m - rho * np.linalg.solve(s_new, g), np.linalg.inv(s_new)
    if name in {"sr-vn", "gd-chol"}:
        c = np.linalg.cholesky(v)
        if name == "sr-vn":
            k = c.T @ h @ c - gamma * eye
            half = np.tril(k, -1) + 0.5 * np.diag(np.diag(k))
            c_new = c - rho * c @ half
            return m - rho * v @ g, c_new @ c_new.T
        c_new = c - rho * np.tril(h @ c - gamma * np.linalg.inv(c).T)
        return m - rho * g, c_new @ c_new.T
    if name == "bw-gd":
        big = eye - rho * (h - gamma * s)
        return m - rho * g, big @ v @ big
    if name == "gd":
        return m - rho * g, v - rho / 2 * (h - gamma * s)
    if name == "svgd-density":
        big = eye + rho * (gamma * eye - h @ v - np.outer(g, m))
        return m + rho * ((gamma * eye - h @ v) @ m - (1 + m @ m) * g), big @ v @ big.T
    if name == "svgd-centred":
        big = eye + rho * (gamma * eye - h @ v)
        return m - rho * g, big @ v @ big.T
    assert name == "fb-gvi"
    w = (eye - rho * h) @ v @ (eye - rho * h)
    values, vectors = np.linalg.eig(w @ (w + 4 * rho * gamma * eye))
    root = (vectors * np.sqrt(values)) @ np.linalg.inv(vectors)
    return m - rho * g, 0.5 * (w + 2 * rho * gamma * eye + root)


@pytest.mark.parametrize("gamma", [1.0, 0.3])
@pytest.mark.parametrize(
    "name", ["vn", "sr-vn", "gd-chol", "bw-gd", "gd", "svgd-density", "svgd-centred", "fb-gvi"]
)
def test_a_step_equals_the_printed_update(name, gamma):
    model = build(gamma=gamma)
    mean, lower = random_gaussian(4)
    factor = CovarianceFactor(model.backend, lower)
    oracle = model.full_oracle(mean, factor, "hessian")
    options = {"kernel": "centred"} if name == "svgd-centred" else {}
    solver = solvers.create(name.replace("svgd-centred", "svgd-density"), options)
    state = solver.step(at(solver, model, mean, lower), model, 0.03)
    m, v = plain_update(name, mean, lower @ lower.T, oracle.gradient, oracle.curvature, 0.03, gamma)
    assert_allclose(state.mean, m, rtol=1e-11)
    assert_allclose(covariance(state), v, rtol=1e-10, atol=1e-12)
    assert state.iteration == 1
    assert state.flow_time == pytest.approx(0.03)


def test_bw_gd_is_gradient_descent_on_a_full_root_and_svgd_with_the_affine_kernel():
    model = build()
    mean, lower = random_gaussian(4)
    oracle = model.full_oracle(mean, CovarianceFactor(model.backend, lower), "hessian")
    g, h, v = oracle.gradient, oracle.curvature, lower @ lower.T
    a = 0.02
    bw_gd = solvers.create("bw-gd", {})
    state = bw_gd.step(at(bw_gd, model, mean, lower), model, a)
    # Gradient descent on L(m, C C') over all square C, from a root that is not triangular.
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    root = lower @ rotation
    root = root - a * (h - np.linalg.inv(v)) @ root
    assert_allclose(covariance(state), root @ root.T, rtol=1e-11)
    # SVGD with kernel (x - m)'V^{-1}(y - m) + 1: x moves by a (V^{-1} - H)(x - m) - a g
    move = np.eye(4) + a * (np.linalg.inv(v) - h)
    assert_allclose(covariance(state), move @ v @ move.T, rtol=1e-11)
    assert_allclose(state.mean, mean - a * g, rtol=1e-13)


def test_both_parametrisations_of_the_flow_follow_the_same_path():
    model = build()
    ends = []
    for form in ("factor", "covariance"):
        flow = solvers.create("ng-flow", {"parametrisation": form})
        state = start(flow, model)
        for _ in range(5):
            state = flow.step(state, model, 0.1)
        ends.append((state.mean, covariance(state)))
    assert_allclose(ends[0][0], ends[1][0], rtol=1e-7, atol=1e-8)
    assert_allclose(ends[0][1], ends[1][1], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["vn", "sr-vn"])
def test_natural_gradient_methods_approach_the_flow_at_first_order(name):
    model = build()
    flow, solver = solvers.create("ng-flow", {}), solvers.create(name, {})
    limit = flow.step(start(flow, model), model, 0.5)
    errors = []
    for steps in (100, 200, 400):
        state = start(solver, model)
        for _ in range(steps):
            state = solver.step(state, model, 0.5 / steps)
        errors.append(np.linalg.norm(covariance(state) - covariance(limit)))
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(2, rel=0.1)


def test_flow_agrees_with_scipy():
    from scipy.integrate import solve_ivp

    model = build(rows(n=20, d=3))
    flow = solvers.create("ng-flow", {})
    state = start(flow, model)

    def velocity(_, z):
        m, c = z[:3], z[3:].reshape(3, 3)
        factor = CovarianceFactor(model.backend, c)
        oracle = model.full_oracle(m, factor, "hessian")
        half = model.backend.half_lower(np.eye(3) - c.T @ oracle.curvature @ c)
        return np.concatenate([-c @ c.T @ oracle.gradient, (c @ half).ravel()])

    z0 = np.concatenate([state.mean, np.eye(3).ravel()])
    truth = solve_ivp(velocity, (0, 1.5), z0, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    for _ in range(3):
        state = flow.step(state, model, 0.5)
    assert_allclose(state.mean, truth[:3], rtol=1e-6, atol=1e-7)
    assert_allclose(state.factor.lower, truth[3:].reshape(3, 3), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_the_optimum_is_a_fixed_point(name):
    model = build()
    newton = solvers.create("vn", {})
    state = start(newton, model)
    for _ in range(60):
        state = newton.step(state, model, 0.9)
    solver = solvers.create(name, {})
    best = at(solver, model, state.mean, state.factor.covariance_lower())
    moved = solver.step(best, model, 0.01)
    assert_allclose(moved.mean, state.mean, atol=1e-10)
    assert_allclose(covariance(moved), covariance(state), atol=1e-10)


@pytest.mark.parametrize("name", ["bw-gd", "svgd-density"])
def test_the_gradient_norm_is_large_at_spurious_fixed_points(name):
    """In one dimension with h = 5 and step 0.6, BW-GD maps v = 0.6 to itself."""
    from gvibench.models.protocols import Rows

    if name == "svgd-density":
        options, v = {"kernel": "centred"}, (1 + 2 / 0.6) / 5  # 1 + r (1 - h v) = -1
    else:
        options, v = {}, 0.6
    x = np.array([[2.0]])
    model = build(Rows(x, np.zeros(1)), Rows(x, np.ones(1)), model="linear", beta=1.0)
    solver = solvers.create(name, options)
    state = at(solver, model, np.zeros(1), np.sqrt([[v]]))
    moved = solver.step(state, model, 0.6)
    assert_allclose(covariance(moved), covariance(state), rtol=1e-12)
    assert model.fisher_norm(state.factor, state.oracle) > 0.5


@pytest.mark.parametrize("name", NEVER_INDEFINITE)
@pytest.mark.parametrize("rho", [0.3, 3.0])
def test_covariance_stays_positive_definite_for_any_step(name, rho):
    model = build()
    solver = solvers.create(name, {})
    state = solver.step(start(solver, model), model, rho)
    assert np.linalg.eigvalsh(covariance(state)).min() > 0


@pytest.mark.parametrize(("name", "scale"), [("vn", 0.05), ("gd", 3.0)])
def test_an_indefinite_matrix_is_divergence(name, scale):
    model = build(gamma=1.0)
    solver = solvers.create(name, {})
    state = start(solver, model, scale=scale)
    with pytest.raises(Diverged, match="positive definite"):
        solver.step(state, model, 40.0)


def test_sr_vn_flips_signs_exactly_beyond_the_stated_step():
    model = build()
    sr_vn = solvers.create("sr-vn", {})
    state = start(sr_vn, model)
    diagonal = np.diag(state.oracle.curvature)
    threshold = 2 / (diagonal.max() - model.gamma)
    assert sr_vn.step(state, model, 0.999 * threshold).sign_flips == 0
    assert sr_vn.step(state, model, 1.001 * threshold).sign_flips == 1


DESCENT = [
    name
    for name in SOLVERS.built_in
    if SOLVERS.load(name).has_step and name not in {"sr-vn-rotated", "advi"}
]


@pytest.mark.parametrize("name", DESCENT)
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_all_solvers_descend_at_all_temperatures(name, gamma):
    model = build(gamma=gamma)
    solver = solvers.create(name, {})
    state = start(solver, model, scale=0.5)
    values = []
    for _ in range(20):
        values.append(model.objectives(state.mean, state.factor, state.oracle.value).objective)
        state = solver.step(state, model, 1e-3 if name in {"gd", "svgd-density"} else 1e-2)
    assert np.all(np.diff(values) < 0)


@pytest.mark.parametrize("name", [*DESCENT, "advi", "bam", "gsm"])
def test_all_solvers_descend_with_stochastic_gradients(name):
    model = build(expectation="stochastic", batch=20, samples=20)
    solver = solvers.create(name, {})
    state = start(solver, model, scale=0.3)

    def objective(state):
        value = model.full_oracle(state.mean, state.factor, "hessian").value
        return model.objectives(state.mean, state.factor, value).objective

    first = objective(state)
    for k in range(150):
        rho = (2e-3 if name == "svgd-density" else 1e-2) / (1 + 0.02 * k)
        state = solver.step(state, model, rho)
    assert objective(state) < first - 1


def test_a_step_does_not_change_the_previous_state():
    model = build()
    for name in DETERMINISTIC:
        solver = solvers.create(name, {})
        state = solver.step(start(solver, model), model, 1e-3)
        mean, lower = state.mean.copy(), state.factor.lower.copy()
        gradient, curvature = state.oracle.gradient.copy(), state.oracle.curvature.copy()
        solver.step(state, model, 1e-3)
        assert np.array_equal(mean, state.mean), name
        assert np.array_equal(lower, state.factor.lower), name
        assert np.array_equal(gradient, state.oracle.gradient), name
        assert np.array_equal(curvature, state.oracle.curvature), name
