"""Straightforward PyTorch versions of the iterations in `plain_numpy`, for the CPU."""

import numpy as np
import torch

torch.set_num_threads(1)
torch.set_grad_enabled(False)


def to_torch(array):
    return torch.from_numpy(np.ascontiguousarray(array))


class Pieces:
    """The bound of `gvibench.numerics.expectations.pieces` as tensors."""

    def __init__(self, pieces):
        knots = np.concatenate([[-np.inf], pieces.knots, [np.inf]])
        self.knots, self.finite = to_torch(knots), to_torch(np.where(np.isfinite(knots), knots, 0))
        self.a, self.b, self.c = map(to_torch, (pieces.a, pieces.b, pieces.c))

    def __call__(self, mu, s2):
        a, b, c, finite = self.a, self.b, self.c, self.finite
        m, v = mu[:, None], s2[:, None]
        z = (self.knots - m) / torch.sqrt(v)
        density = torch.exp(-0.5 * z * z) / torch.sqrt(2 * torch.pi * v)
        low, high, mass = density[:, :-1], density[:, 1:], torch.diff(torch.special.ndtr(z), dim=1)
        e1 = v * (low - high) + m * mass
        e2 = v * ((finite[:-1] + m) * low - (finite[1:] + m) * high) + (v + m * m) * mass
        left, right = (a * k * k + b * k + c for k in (finite[:-1], finite[1:]))
        slope_left, slope_right = (2 * a * k + b for k in (finite[:-1], finite[1:]))
        f0 = (a * e2 + b * e1 + c * mass).sum(dim=1)
        f1 = (2 * a * e1 + b * mass + left * low - right * high).sum(dim=1)
        f2 = 2 * a * mass + slope_left * low - slope_right * high
        f2 += (left * (finite[:-1] - m) * low - right * (finite[1:] - m) * high) / v
        return f0, f1, f2.sum(dim=1)


def oracle(A, m, V, beta, expect):
    f0, f1, f2 = expect(A @ m, ((A @ V) * A).sum(dim=1))
    H = (A * f2[:, None]).T @ A + beta * torch.eye(len(m), dtype=A.dtype)
    return f0.sum(), A.T @ f1 + beta * m, H


def sr_vn(A, m, C, rho, beta, expect):
    value, g, H = oracle(A, m, C @ C.T, beta, expect)
    K = C.T @ H @ C - torch.eye(len(m), dtype=A.dtype)
    C_new = C - rho * C @ (torch.tril(K, -1) + 0.5 * torch.diag(torch.diag(K)))
    return m - rho * C @ (C.T @ g), C_new, value


def vn(A, m, S, rho, beta, expect):
    value, g, H = oracle(A, m, torch.linalg.inv(S), beta, expect)
    S_new = (1 - rho) * S + rho * H
    return m - rho * torch.linalg.solve(S_new, g), S_new, value


def bw_gd(A, m, V, rho, beta, expect):
    value, g, H = oracle(A, m, V, beta, expect)
    M = torch.eye(len(m), dtype=A.dtype) - rho * (H - torch.linalg.inv(V))
    return m - rho * g, M @ V @ M, value
