"""Damped VN with exact expectations, as an example of a submission in track A.

Run it as `python examples/adapters/plain_numpy.py PROBLEMS OUT`.
"""

import math

import numpy as np
from folder import Diverged, main
from scipy.special import expit, gammaln, log_ndtr

CARD = {
    "name": "plain-numpy-vn",
    "version": "1",
    "track": "A",
    "league": "untuned",
    "cost": "one pass per expected value, gradient and Hessian, also of rejected steps",
    "search_space": "none",
    "licence": "BSD-3-Clause",
    "authors": "The gvibench developers",
}


def losses(model, t, y):
    """Return the loss of a linear predictor and its first two derivatives."""
    if model == "logistic":
        return np.logaddexp(0, -y * t), -y * expit(-y * t), expit(t) * expit(-t)
    log_mass = log_ndtr(y * t)
    ratio = np.exp(-0.5 * t * t - log_mass) / math.sqrt(2 * math.pi)
    return -log_mass, -y * ratio, ratio * (y * t + ratio)


def expectations(model, mu, s, y):
    """Return the expectations of `losses` for t ~ N(mu, s^2), exact to rounding.

    The losses are analytic near the real axis, so the trapezoid rule with a spacing below
    1 / (2 s) standard deviations converges to machine precision.
    """
    if model == "poisson":
        rate = np.exp(mu + 0.5 * s * s)
        return np.array([rate - y * mu + gammaln(y + 1), rate - y, rate])
    result = np.empty((3, len(mu)))
    order = np.argsort(s)
    for part in np.array_split(order, math.ceil(len(mu) / 256)):
        k = 2 * max(1, math.ceil(s[part].max()))
        z = np.arange(-9 * k, 9 * k + 1) / k
        weights = np.exp(-0.5 * z * z) / np.exp(-0.5 * z * z).sum()
        t = mu[part, None] + s[part, None] * z
        result[:, part] = np.array(losses(model, t, y[part, None])) @ weights
    return result


def evaluate(problem, mean, factor):
    """Return the objective, the gradient with respect to the mean, and the expected Hessian."""
    X, P = problem.rows, problem.precision
    s = np.linalg.norm(X @ factor, axis=1)
    f0, f1, f2 = expectations(str(problem.model), X @ mean, s, problem.y)
    prior = 0.5 * (mean @ P @ mean + np.sum(factor * (P @ factor)))
    value = f0.sum() + prior - np.log(np.abs(np.diag(factor))).sum()
    return value, f1 @ X + P @ mean, (X.T * f2) @ X + P


def solve(problem, trace):
    """Minimise the objective with VN, halving steps that do not decrease it."""
    mean, factor, cost, step = problem.mean0, problem.factor0, 1, 1.0
    value, gradient, hessian = evaluate(problem, mean, factor)
    trace.record(0, mean, factor, value)
    if not np.isfinite(value):
        raise Diverged("the objective is infinite at the start")
    precision = np.linalg.inv(factor @ factor.T)
    while cost < trace.budget and step > 1e-10:
        trial = (1 - step) * precision + step * hessian
        new_mean = mean - step * np.linalg.solve(trial, gradient)
        new_factor = np.linalg.cholesky(np.linalg.inv(trial))
        new = evaluate(problem, new_mean, new_factor)
        cost += 1
        if not new[0] < value:
            step /= 2
            continue
        mean, factor, precision, step = new_mean, new_factor, trial, min(1.0, 2 * step)
        value, gradient, hessian = new
        trace.record(cost, mean, factor, value)


if __name__ == "__main__":
    main(CARD, solve)
