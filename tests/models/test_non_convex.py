import numpy as np
from numpy.testing import assert_allclose

from gvibench.numerics.gaussian import CovarianceFactor
from problems import build, random_gaussian


def test_the_penalty_changes_only_value_and_gradient():
    convex, penalised = build(), build(model="non-convex")
    mean, lower = random_gaussian(4)
    factor = CovarianceFactor(convex.backend, lower)
    plain = convex.full_oracle(mean, factor, "hessian")
    other = penalised.full_oracle(mean, factor, "hessian")
    assert_allclose(other.value - plain.value, np.sum(mean**2 / (1 + mean**2)), rtol=1e-12)
    assert_allclose(other.curvature, plain.curvature, rtol=1e-14)
    h = 1e-6
    for j in range(4):
        e = h * np.eye(4)[j]
        slope = (penalised.penalty(mean + e)[0] - penalised.penalty(mean - e)[0]) / (2 * h)
        assert_allclose((other.gradient - plain.gradient)[j], slope, atol=1e-8)
    for name in ("objective", "neg_elbo", "train_elbo_paper"):
        difference = getattr(penalised.objectives(mean, factor, other.value), name) - getattr(
            convex.objectives(mean, factor, plain.value), name
        )
        assert_allclose(difference, other.value - plain.value, rtol=1e-9)
