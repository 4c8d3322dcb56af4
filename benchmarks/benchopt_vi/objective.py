"""Negative evidence lower bound of Bayesian logistic regression, up to a constant."""

import numpy as np
from benchmark_utils.plain_numpy import expect_loss, objective, quadrature
from benchopt import BaseObjective
from benchopt.stopping_criterion import NoCriterion


class Objective(BaseObjective):
    name = "Gaussian variational inference"
    min_benchopt_version = "1.10"
    sampling_strategy = "callback"
    stopping_criterion = NoCriterion()
    parameters = {"beta": [0.1], "nodes": [20], "init_scale": [0.1]}

    def set_data(self, x, y):
        self.A = -y[:, None] * x
        self.points, self.weights = quadrature(self.nodes)

    def get_objective(self):
        return {
            "A": self.A,
            "beta": self.beta,
            "nodes": self.nodes,
            "init_scale": self.init_scale,
        }

    def evaluate_result(self, mean, covariance):
        mu, s2 = self.A @ mean, ((self.A @ covariance) * self.A).sum(axis=1)
        value = expect_loss(mu, s2, self.points, self.weights).sum()
        return {"value": objective(value, mean, covariance, self.beta)}

    def get_one_result(self):
        d = self.A.shape[1]
        return {"mean": np.zeros(d), "covariance": np.eye(d)}
