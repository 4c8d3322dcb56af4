import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from anchors import diabetes
from gvibench import numerics
from gvibench.engine.optimum_search import descend
from gvibench.models.map_estimate import maximise_posterior
from gvibench.models.probit import FAR, WIDE, ProbitLoss

WIDTHS = (1e-8, 0.1, 0.4999, 0.5001, 0.999, 1.001, 3.0, 15.99, 16.01, 300.0)


@pytest.fixture(scope="module")
def loss():
    return ProbitLoss(numerics.select("cpu"))


def derivatives(t):
    """Return f, f' and f'' with the asymptotic series where the formula cancels."""
    ratio = np.sqrt(2 / np.pi) / special.erfcx(-t / np.sqrt(2))
    sum_ = t + ratio
    if t < -20:
        a = -t
        sum_ = 1 / a - 2 / a**3 + 10 / a**5 - 74 / a**7 + 706 / a**9 - 8162 / a**11
    return -special.log_ndtr(t), -ratio, ratio * sum_


def by_quadrature(mu, s):
    places = {-12.0, -5.0, 0.0, 5.0, 12.0}
    places |= {min(max((t - mu) / s, -12.0), 12.0) for t in (-30.0, -5.0, 0.0, 5.0)}
    points = sorted(places)

    def integral(k):
        return sum(
            integrate.quad(
                lambda z: derivatives(mu + s * z)[k] * stats.norm.pdf(z),
                *(left, right),
                epsabs=1e-14,
                epsrel=1e-13,
                limit=500,
            )[0]
            for left, right in itertools.pairwise(points)
        )

    return [integral(k) for k in range(3)]


def expectations(loss, mu, s, y=1.0):
    f = np.empty((3, 1))
    loss.expect(np.array([mu]), np.array([s * s]), np.array([y]), *f)
    return f[:, 0]


@pytest.mark.parametrize("s", WIDTHS)
@pytest.mark.parametrize("mu", [-40.0, -1.0, 0.0, 2.0])
def test_the_trapezoid_rule_is_accurate_for_all_widths(loss, s, mu):
    assert_allclose(expectations(loss, mu, s), by_quadrature(mu, s), rtol=2e-12, atol=2e-12)


@pytest.mark.parametrize("s", [WIDE + 0.1, 300.0])
@pytest.mark.parametrize("distance", [FAR - 1, FAR + 1, 1 - FAR, -1 - FAR])
def test_the_rules_for_wide_gaussians_agree_where_they_meet(loss, s, distance):
    mu = distance * s
    assert_allclose(expectations(loss, mu, s), by_quadrature(mu, s), rtol=2e-12, atol=2e-12)


def test_rows_do_not_depend_on_each_other(loss):
    rng = np.random.default_rng(0)
    mu, s, y = (
        5 * rng.standard_normal(60),
        np.exp(rng.uniform(-3, 6, 60)),
        rng.choice([-1, 1.0], 60),
    )
    f = np.empty((3, 60))
    loss.expect(mu, s * s, y, *f)
    for k in range(60):
        assert_allclose(f[:, k], expectations(loss, mu[k], s[k], y[k]), rtol=1e-11, atol=1e-12)


def test_values_that_are_not_finite_stay_so(loss):
    mu, s2 = np.array([0.0, np.nan, 0.0, np.inf]), np.array([np.inf, 1.0, np.nan, 4.0])
    f = np.empty((3, 4))
    with np.errstate(all="ignore"):
        loss.expect(mu, s2, np.ones(4), *f)
    assert not np.isfinite(f[:, :3]).any()


def test_gauss_hermite_uses_the_given_number_of_nodes():
    backend = numerics.select("cpu")
    exact = expectations(ProbitLoss(backend), 0.3, 0.5)
    errors = [
        np.abs(expectations(ProbitLoss(backend, nodes), 0.3, 0.5) - exact).max()
        for nodes in (3, 6, 20)
    ]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[2] < 1e-12


def test_predictions_equal_quadrature(loss):
    for mu, s2 in ((0.3, 0.5), (-4.0, 9.0)):
        chance = integrate.quad(
            lambda z, mu=mu, s2=s2: special.ndtr(mu + np.sqrt(s2) * z) * stats.norm.pdf(z), -12, 12
        )[0]
        assert_allclose(loss.response(np.array(mu), np.array(s2)), chance, rtol=1e-9)
        assert_allclose(loss.log_predictive(np.array(mu), np.array(s2), 1.0), np.log(chance))
        assert_allclose(loss.log_predictive(np.array(mu), np.array(s2), -1.0), np.log1p(-chance))


def test_the_optimum_of_diabetes_is_the_printed_one(libsvm_data):
    model = diabetes(libsvm_data, model="probit")
    mode = maximise_posterior(model, np.zeros(model.d))
    mean, factor, oracle, _ = descend(model, mode.mean, mode.oracle.curvature)
    objectives = model.objectives(mean, factor, oracle.value)
    assert_allclose(objectives.objective, 305.8958901284, rtol=0, atol=2e-10)
    assert_allclose(objectives.neg_elbo, 320.3165708724, rtol=0, atol=2e-10)
