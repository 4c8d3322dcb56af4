"""Estimate the oracle of a model from minibatches of rows and draws from q.

With z ~ N(0, I), theta = m + C z and G the gradient of the loss at theta, the product H C is
estimated by one of three methods, each unbiased:

- `price`: H is the mean Hessian at the draws (Price's theorem).
- `reparam`: the mean of G z', the reparameterisation gradient. It needs no second derivatives.
- `stl`: the mean of w z' + gamma C^{-T} with w = G + beta theta - gamma C^{-T} z, the gradient of
  log(q / p) along the path of the draws (sticking the landing). The gradient is the mean of w. Both
  have no variance at the optimum if q is exact.

Solvers for symmetric curvatures get the symmetric part of H or of C'HC.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gvibench.models.protocols import Curvature, Oracle
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import Factor

if TYPE_CHECKING:
    import numpy as np

    from gvibench.models.base import Model

__all__ = ["Sampling", "sampled_oracle"]


@dataclass(frozen=True)
class Sampling:
    """Settings of minibatch Monte Carlo estimates."""

    batch: int | Literal["all"]
    """Number of rows."""
    samples: int
    """Number of draws from q."""
    seed: int
    estimator: str = "price"
    minibatches: str = "independent"

    def batch_size(self, n: int) -> int:
        """Return the number of rows of a minibatch, the last one of an epoch apart."""
        return n if self.batch == "all" else min(self.batch, n)

    def share(self, n: int) -> float:
        """Return the share of n rows that an evaluation uses on average."""
        if self.minibatches == "epoch":
            return 1.0 / -(-n // self.batch_size(n))
        return self.batch_size(n) / n

    def passes(self, n: int) -> float:
        """Return the passes over n rows of an evaluation, one for each draw."""
        return self.share(n) * self.samples

    def draw(self, n: int, d: int, iteration: int) -> "tuple[np.ndarray, np.ndarray]":
        """Return the indices of the rows in ascending order, and draws (samples, d) from N(0, I).

        They are made on the host and depend on (seed, iteration) only. They are the same on all
        devices, and a run can be resumed.
        """
        import numpy as np  # imported here, because planning loads models without NumPy

        rng = np.random.default_rng([self.seed, 1, iteration])
        batch = self.batch_size(n)
        if self.minibatches == "epoch":
            # The rows of an epoch are a permutation, cut into batches. The last one may be short.
            epoch, position = divmod(iteration, -(-n // batch))
            order = np.random.default_rng([self.seed, 2, epoch]).permutation(n)
            rows = np.sort(order[position * batch : (position + 1) * batch])
        else:
            rows = np.sort(rng.choice(n, batch, replace=False))
        return rows, rng.standard_normal((self.samples, d))


class _Batch(NamedTuple):
    """Rows and draws of one evaluation, with the derivatives of the loss."""

    x: Array
    white: Array
    """Product x C."""
    draws: Array
    """Draws z, one per row."""
    f0: Array
    f1: Array
    f2: Array
    """Loss and derivatives, with dimensions (row, draw)."""
    scale: float
    """Weight of a row, n / |batch|."""


def sampled_oracle(
    model: "Model",
    sampling: Sampling,
    mean: Array,
    factor: Factor,
    curvature: Curvature,
    iteration: int,
) -> Oracle:
    """Return estimates of value, gradient and curvature at N(mean, V).

    The curvature `draws` is a pair: the draws theta, and the gradients of the loss with its prior
    at each of them.
    """
    batch = _draw_batch(model, sampling, mean, factor, iteration)
    xp = model.backend.xp
    value = batch.scale * xp.sum(xp.mean(batch.f0, axis=1))
    if curvature == "draws":
        gradients = batch.scale * (batch.f1.T @ batch.x)
        theta = mean + factor.whiten_transposed(batch.draws)
        gradients = gradients + model.prior.gradient(theta)
        return Oracle(value, xp.mean(gradients, axis=0), (theta, gradients), curvature)
    if sampling.estimator == "price":
        sums = _price(model, batch, mean, factor, curvature)
    else:
        sums = _path(model, sampling, batch, mean, factor, curvature)
    penalty, slope = model.penalty(mean)
    return Oracle(value + penalty, sums[0] + slope, sums[1], curvature)


def _draw_batch(
    model: "Model", sampling: Sampling, mean: Array, factor: Factor, iteration: int
) -> _Batch:
    xp, backend = model.backend.xp, model.backend
    picked, normal = sampling.draw(model.n, model.d, iteration)
    draws = backend.asarray(normal)
    index = xp.asarray(picked)
    x, y, offset = model.train.x[index], model.train.y[index], model.train.offset
    white, centres = factor.whiten(x), x @ mean
    if offset is not None:
        centres = centres + offset[index]
    predictors = centres[:, None] + white @ draws.T
    losses = model.loss.at(predictors, y[:, None])
    return _Batch(x, white, draws, *losses, model.n / len(picked))


def _price(
    model: "Model", batch: _Batch, mean: Array, factor: Factor, curvature: Curvature
) -> tuple[Array, Array]:
    xp, backend = model.backend.xp, model.backend
    f1, f2 = xp.mean(batch.f1, axis=1), xp.mean(batch.f2, axis=1)
    gradient = batch.scale * (f1 @ batch.x)
    if curvature == "factor":
        product = batch.x.T @ ((batch.scale * f2)[:, None] * batch.white)
        prior = model.prior
        return gradient + prior.gradient(mean), product + prior.curvature(factor, curvature)
    gram = xp.zeros((model.d, model.d), dtype=backend.dtype)
    rows = batch.white if curvature == "whitened" else batch.x
    gram = backend.add_gram(gram, rows, batch.scale * f2, batch.white)
    return model.with_prior(gradient, gram, mean, factor, curvature)


def _path(
    model: "Model",
    sampling: Sampling,
    batch: _Batch,
    mean: Array,
    factor: Factor,
    curvature: Curvature,
) -> tuple[Array, Array]:
    """Return the estimates that differentiate along the paths of the draws."""
    xp, count, prior = model.backend.xp, sampling.samples, model.prior
    draws, root = batch.draws, factor.root()
    gradient = batch.scale * (xp.mean(batch.f1, axis=1) @ batch.x) + prior.gradient(mean)
    product = batch.scale * (batch.x.T @ (batch.f1 @ draws)) / count  # estimates H C
    if sampling.estimator == "reparam":
        product = product + prior.times(root)
    else:
        centre = xp.mean(draws, axis=0)
        moment = draws.T @ draws / count
        product = product + prior.times(prior.centred(mean)[:, None] * centre + root @ moment)
        gradient = gradient + prior.times(root @ centre)
        if model.gamma > 0:
            inverse = factor.inverse_root_transposed()  # C^{-T}
            product = product + model.gamma * (inverse - inverse @ moment)
            gradient = gradient - model.gamma * (inverse @ centre)
    if curvature == "factor":
        return gradient, product
    if curvature == "whitened":
        return gradient, _symmetric(root.T @ product)
    return gradient, _symmetric(factor.times_inverse_root(product))


def _symmetric(matrix: Any) -> Array:
    return 0.5 * (matrix + matrix.T)
