"""BW-GD with the iteration of benchmarks/plain_numpy.py."""

from functools import partial

import numpy as np
from benchmark_utils.plain_numpy import bw_gd, expect_nodes, quadrature
from benchmark_utils.seeds import SEEDS
from benchopt import BaseSolver


class Solver(BaseSolver):
    name = "bw-gd"
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
        self.V = self.init_scale**2 * np.eye(d)
        while callback():
            self.m, self.V, _ = bw_gd(self.A, self.m, self.V, self.step, self.beta, self.expect)

    def get_result(self):
        return {"mean": self.m, "covariance": self.V}
