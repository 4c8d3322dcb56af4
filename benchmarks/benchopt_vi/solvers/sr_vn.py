"""SR-VN with the iteration of benchmarks/plain_numpy.py."""

from functools import partial

import numpy as np
from benchmark_utils.plain_numpy import expect_nodes, quadrature, sr_vn
from benchmark_utils.seeds import SEEDS
from benchopt import BaseSolver


class Solver(BaseSolver):
    name = "sr-vn"
    parameters = {"step": [0.1]}

    def set_objective(self, A, beta, nodes, init_scale):
        self.A, self.beta, self.init_scale = A, beta, init_scale
        points, weights = quadrature(nodes)
        self.expect = partial(expect_nodes, points=points, weights=weights)
        self.seed = SEEDS.index(self.get_seed(use_repetition=True))

    def get_next(self, stop_val):
        return stop_val + 1  # evaluate each iterate, not a geometric sequence

    def run(self, callback):
        d = self.A.shape[1]
        self.m = np.random.default_rng(self.seed).standard_normal(d)
        self.C = self.init_scale * np.eye(d)
        while callback():
            self.m, self.C, _ = sr_vn(self.A, self.m, self.C, self.step, self.beta, self.expect)

    def get_result(self):
        return {"mean": self.m, "covariance": self.C @ self.C.T}
