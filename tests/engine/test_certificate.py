"""Test the bound on the excess over the minimum, and the certified optima of the package.

The independent code evaluates the objective with the trapezoidal rule and differentiates it
numerically. It shares nothing with the package but the prepared rows and the optimum.
"""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.special import expit

from gvibench import models, numerics
from gvibench.cli.main import main
from gvibench.engine.certificate import excess_bound, no_certificate
from gvibench.engine.optimum import find_optimum
from gvibench.registry import DATASETS
from gvibench.spec.catalogue import entry
from gvibench.spec.run import ProblemSpec, RunSpec
from gvibench.spec.validate import parse
from gvibench.store.certified import certified_optima, certified_optimum
from gvibench.store.prepared import Prepared
from problems import build, prepared, rows_for, spec

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SMALL = [
    *("haberman", "fertility", "heart", "parkinsons", "vertebral", "sonar", "bike-day"),
    "mammographic",
]
ALL = [(known.dataset, known.model) for known in certified_optima()]


@pytest.fixture
def certificates(monkeypatch):
    """The script that computes the certified optima."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import certificates

    yield certificates
    sys.modules.pop("certificates", None)


def model_of(problem, data):
    run = RunSpec(**{name: getattr(problem, name) for name in problem.names()}, solver="vn", step=1)
    return models.build(run, numerics.select("cpu"), *models.rows_of(data, run))


# The bound


@pytest.mark.parametrize("model", ["logistic", "probit", "poisson", "linear"])
@pytest.mark.parametrize("gamma", [0.3, 1.0])
def test_the_excess_of_any_gaussian_is_below_the_bound(model, gamma):
    """The excess is the difference of two values, so it has their rounding error."""
    problem = build(model=model, expectation="exact", beta=0.3, gamma=gamma)
    train = rows_for(model)
    data = Prepared(spec().data, train.x, train.y, train.x, train.y, {})
    best = find_optimum(
        spec(model=model, expectation="exact", beta=0.3, gamma=gamma).problem(), data
    )
    rng = np.random.default_rng(1)
    ratios = []
    for scale in (1e-3, 0.03, 0.3):
        mean = best.mean + scale * rng.standard_normal(problem.d)
        lower = best.covariance_factor + scale * np.tril(rng.standard_normal((problem.d,) * 2))
        np.fill_diagonal(lower, np.abs(np.diag(lower)) + 0.01)
        factor = numerics.gaussian.CovarianceFactor(problem.backend, lower)
        value = problem.full_oracle(mean, factor, "hessian").value
        excess = float(problem.objectives(mean, factor, value).objective) - best.attrs["objective"]
        bound = excess_bound(problem, mean, lower)
        assert 0 < excess <= bound
        ratios.append(bound / excess)
    assert best.attrs["certificate"] < 1e-20
    assert best.attrs["certificate_reason"] == ""
    assert min(ratios) < 1e4  # the bound is not empty


def test_the_bound_is_sharp_for_the_prior():
    """Without rows, the objective is beta |m|^2 / 2 in the mean: the bound is its excess."""
    problem = build(expectation="exact", beta=0.5, train=rows_for("logistic", n=1))
    problem.train.x[:] = 0
    lower = np.eye(problem.d) / math.sqrt(0.5)
    mean = np.arange(1.0, problem.d + 1)
    assert excess_bound(problem, mean, lower) == pytest.approx(0.25 * mean @ mean, rel=1e-12)


REASONS = {
    "approximate": ({"expectation": "piecewise"}, "expectation 'piecewise' is approximate"),
    "map": ({"gamma": 0.0, "expectation": "exact"}, "gamma is 0"),
    "prior": (
        {"prior": {"precision": [1.0, 1.0, 2.0, 1.0]}, "expectation": "exact"},
        "the prior is not N(0, I / beta)",
    ),
}


@pytest.mark.parametrize("case", REASONS)
def test_an_optimum_without_certificate_has_a_reason(case):
    changes, reason = REASONS[case]
    values = {"data": spec().data.to_dict(), "beta": 0.5, **changes}
    best = find_optimum(parse(ProblemSpec, values, "here"), prepared())
    assert math.isnan(best.attrs["certificate"])
    assert best.attrs["certificate_reason"] == reason


def test_more_features_than_rows_have_no_certificate():
    best = find_optimum(spec(expectation="exact").problem(), prepared(n=10, d=20))
    assert best.attrs["certificate_reason"] == "there are more features than rows"


def test_a_non_convex_model_has_no_certificate():
    problem = spec(model="non-convex", expectation="exact")
    reason = no_certificate(problem.problem(), build(model="non-convex", expectation="exact"))
    assert reason == "model 'non-convex' is not convex"


def test_show_prints_the_certificate(tmp_path, capsys):
    out = str(tmp_path / "o.zarr.zip")
    words = ["optimum", "--dataset", "haberman", "--out", out]
    assert main([*words, "--expectation", "exact"]) == 0
    capsys.readouterr()
    assert main(["show", out]) == 0
    assert "certificate: at most" in capsys.readouterr().out
    assert main([*words, "--expectation", "gauss-hermite", "--force"]) == 0
    assert main(["show", out]) == 0
    assert "no certificate: expectation 'gauss-hermite' is approximate" in capsys.readouterr().out


# The optima that the package ships


def test_all_bundled_problems_are_certified():
    bundled = {name for name in DATASETS.built_in if entry(name).table}
    assert {dataset for dataset, _ in ALL} == {*bundled, "wdbc", "digits-odd-even"}
    assert ("mammographic", "probit") in ALL
    assert len(ALL) == len(set(ALL)) == 29
    for known in certified_optima():
        assert 0 <= known.bound < 1e-9
        data = entry(known.dataset)
        assert (known.beta, known.gamma) == (data.beta, 1.0)
        assert known.n_train + known.n_test == data.n
        assert known.d == data.d + int(data.intercept)
        assert known.rank <= known.d


def compare_with_shipped(certificates, dataset, model):
    known, found = certified_optimum(dataset, model), certificates.solve(dataset, model)
    assert found.spec_hash == known.spec_hash
    # Other machines round differently: by about 1e-13 of the sums over the rows.
    assert found.objective == pytest.approx(known.objective, abs=1e-9, rel=1e-13)
    assert found.neg_elbo == pytest.approx(known.neg_elbo, abs=1e-9, rel=1e-13)
    assert found.bound < 1e-12
    assert (found.train_counts, found.test_counts) == (known.train_counts, known.test_counts)
    assert (found.rank, found.separable) == (known.rank, known.separable)
    assert found.condition == pytest.approx(known.condition, rel=1e-4)


@pytest.mark.parametrize("dataset", SMALL)
def test_shipped_optima_of_small_sets(certificates, dataset):
    model = {"bike-day": "poisson", "mammographic": "probit"}.get(dataset, "logistic")
    compare_with_shipped(certificates, dataset, model)


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "model"), ALL)
def test_all_shipped_optima(certificates, dataset, model):
    compare_with_shipped(certificates, dataset, model)


@pytest.mark.parametrize("dataset", ["haberman", "vertebral", "sonar", "housevotes", "ionosphere"])
def test_separability_agrees_with_its_dual(certificates, dataset):
    """By Gordan's theorem, either a hyperplane separates the classes or a convex combination of
    the rows y_i x_i is zero. Non-negative least squares finds the shortest one."""
    _, data = certificates.load(dataset, "logistic")
    signed = data.train_y[:, None] * data.train_x
    system = np.vstack([signed.T, np.ones(len(signed))])
    _, distance = nnls(system, np.append(np.zeros(signed.shape[1]), 1.0), maxiter=10_000)
    assert (distance > 1e-8) == certified_optimum(dataset, "logistic").separable


# An independent objective


def plain_objective(data, beta, mean, lower):
    """Return L(m, C) of logistic regression at gamma 1.

    The trapezoidal rule with a Gaussian weight converges like exp(-2 pi^2 / (s h)) for the
    softplus function, whose poles have the distance pi / s from the real axis. With h = 0.02 and
    standard deviations s below 20, its error is below 1e-20.
    """
    z = np.arange(-600, 601) * 0.02
    weights = np.exp(-0.5 * z**2)
    weights /= weights.sum()
    mu = data.train_x @ mean
    s = np.linalg.norm(data.train_x @ lower, axis=1)
    assert s.max() < 20
    losses = np.logaddexp(0.0, -data.train_y[:, None] * (mu[:, None] + s[:, None] * z))
    penalty = 0.5 * beta * (mean @ mean + np.sum(lower**2))
    return math.fsum(losses @ weights) + penalty - np.log(np.diag(lower)).sum()


def plain_gradient(data, beta, mean, lower):
    """Differentiate the objective in m and in the lower triangle of C by central differences.

    The step is a thousandth of the standard deviation of a coordinate. The five-point rule then
    has a relative error of about 1e-12, and rounding adds about 1e-13 / step.
    """
    d = len(mean)
    places = [(-1, k) for k in range(d)] + [(i, j) for i in range(d) for j in range(i + 1)]
    sd = np.linalg.norm(lower, axis=1)
    gradient = []
    for i, j in places:
        step = 1e-3 * (sd[j] if i < 0 else min(sd[i], lower[i, i]))

        def at(multiple, i=i, j=j, step=step):
            moved_mean, moved_lower = mean.copy(), lower.copy()
            if i < 0:
                moved_mean[j] += multiple * step
            else:
                moved_lower[i, j] += multiple * step
            return plain_objective(data, beta, moved_mean, moved_lower)

        gradient.append((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step))
    return np.array(gradient)


@pytest.mark.parametrize("dataset", ["haberman", pytest.param("vertebral", marks=pytest.mark.slow)])
def test_independent_code_certifies_the_optimum(certificates, dataset):
    """Rounding errors of 1e-13 and steps of 1e-4 make derivatives accurate to about 1e-9, so the
    bound of the true optimum is about 1e-18 / (2 beta) times the number of coordinates. The
    threshold allows errors of 1e-7."""
    problem, data = certificates.load(dataset, "logistic")
    best = find_optimum(problem, data)
    mean, lower = best.mean, best.covariance_factor
    known = certified_optimum(dataset, "logistic")
    value = plain_objective(data, problem.beta, mean, lower)
    assert value == pytest.approx(known.objective, abs=1e-8)
    gradient = plain_gradient(data, problem.beta, mean, lower)
    bound = gradient @ gradient / (2 * problem.beta)
    assert bound < 1e-12
    # The same derivatives away from the optimum agree with the analytic ones.
    moved = mean + 0.1
    gradient = plain_gradient(data, problem.beta, moved, lower)
    analytic = excess_bound(model_of(problem, data), moved, lower)
    assert gradient @ gradient / (2 * problem.beta) == pytest.approx(analytic, rel=1e-7)


def plain_bound(data, beta, mean, lower):
    """Return the bound on the excess from derivatives by the trapezoidal rule, as above."""
    s = np.linalg.norm(data.train_x @ lower, axis=1)
    step = min(0.02, 0.4 / s.max())
    z = np.arange(-10.0, 10.0, step)
    weights = np.exp(-0.5 * z**2)
    weights /= weights.sum()
    gradient, hessian = beta * mean, beta * np.eye(len(mean))
    for start in range(0, len(s), 200):
        part = slice(start, start + 200)
        x, y = data.train_x[part], data.train_y[part]
        sigmoid = expit(-y[:, None] * ((x @ mean)[:, None] + s[part, None] * z))
        gradient = gradient - (y * (sigmoid @ weights)) @ x
        hessian = hessian + (x.T * ((sigmoid * (1 - sigmoid)) @ weights)) @ x
    in_factor = np.tril(hessian @ lower) - np.diag(1 / np.diag(lower))
    return (gradient @ gradient + np.sum(in_factor**2)) / (2 * beta)


@pytest.mark.slow
@pytest.mark.parametrize("dataset", [dataset for dataset, model in ALL if model == "logistic"])
def test_independent_derivatives_certify_all_logistic_problems(certificates, dataset):
    """The tables of exact expectations are less accurate than the residuals of the optimum: these
    bounds are larger than those of the package, but still far below what gaps can resolve."""
    problem, data = certificates.load(dataset, "logistic")
    best = find_optimum(problem, data)
    bound = plain_bound(data, problem.beta, best.mean, best.covariance_factor)
    assert bound < 1e-17
