"""Straightforward NumPy implementations of SR-VN, VN and BW-GD.

They use dense BLAS products, vectorise the pieces over rows and knots, and compute nothing twice.
"""

import numpy as np
from scipy.special import ndtr


def expect_pieces(mu, s2, pieces):
    """Return F0, F1 and F2 of a piecewise bound, computed from truncated moments."""
    knots = np.concatenate([[-np.inf], pieces.knots, [np.inf]])
    a, b, c = pieces.a, pieces.b, pieces.c
    z = (knots - mu[:, None]) / np.sqrt(s2)[:, None]
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi * s2)[:, None]
    finite = np.where(np.isfinite(knots), knots, 0.0)  # terms at infinite knots vanish
    low, high, mass = density[:, :-1], density[:, 1:], np.diff(ndtr(z), axis=1)
    m, v = mu[:, None], s2[:, None]
    e1 = v * (low - high) + m * mass
    e2 = v * ((finite[:-1] + m) * low - (finite[1:] + m) * high) + (v + m * m) * mass
    left, right = (a * k * k + b * k + c for k in (finite[:-1], finite[1:]))
    slope_left, slope_right = (2 * a * k + b for k in (finite[:-1], finite[1:]))
    f0 = (a * e2 + b * e1 + c * mass).sum(axis=1)
    f1 = (2 * a * e1 + b * mass + left * low - right * high).sum(axis=1)
    f2 = 2 * a * mass + slope_left * low - slope_right * high
    f2 += (left * (finite[:-1] - m) * low - right * (finite[1:] - m) * high) / v
    return f0, f1, f2.sum(axis=1)


def oracle(A, m, V, beta, expect):
    f0, f1, f2 = expect(A @ m, ((A @ V) * A).sum(axis=1))
    H = (A * f2[:, None]).T @ A + beta * np.eye(len(m))
    return f0.sum(), A.T @ f1 + beta * m, H


def sr_vn(A, m, C, rho, beta, expect):
    value, g, H = oracle(A, m, C @ C.T, beta, expect)
    K = C.T @ H @ C - np.eye(len(m))
    C_new = C - rho * C @ (np.tril(K, -1) + 0.5 * np.diag(np.diag(K)))
    return m - rho * C @ (C.T @ g), C_new, value


def vn(A, m, S, rho, beta, expect):
    value, g, H = oracle(A, m, np.linalg.inv(S), beta, expect)
    S_new = (1 - rho) * S + rho * H
    return m - rho * np.linalg.solve(S_new, g), S_new, value


def bw_gd(A, m, V, rho, beta, expect):
    value, g, H = oracle(A, m, V, beta, expect)
    M = np.eye(len(m)) - rho * (H - np.linalg.inv(V))
    return m - rho * g, M @ V @ M, value


def quadrature(count):
    """Return points and weights of Gauss-Hermite quadrature for the standard normal density."""
    points, weights = np.polynomial.hermite_e.hermegauss(count)
    return points, weights / weights.sum()


def expect_loss(mu, s2, points, weights):
    """Return F0 of the logistic loss by quadrature."""
    t = mu[:, None] + np.sqrt(s2)[:, None] * points
    return (np.maximum(t, 0.0) + np.log1p(np.exp(-np.abs(t)))) @ weights


def expect_nodes(mu, s2, points, weights):
    """Return F0, F1 and F2 of the logistic loss by quadrature."""
    t = mu[:, None] + np.sqrt(s2)[:, None] * points
    small = np.exp(-np.abs(t))
    larger = 1.0 / (1.0 + small)
    f0 = (np.maximum(t, 0.0) + np.log1p(small)) @ weights
    f1 = np.where(t >= 0, larger, small * larger) @ weights
    return f0, f1, (small * larger * larger) @ weights


def objective(value, m, V, beta):
    """Return the objective of N(m, V), given the sum of F0."""
    return value + 0.5 * beta * (m @ m + np.trace(V)) - 0.5 * np.linalg.slogdet(V)[1]
