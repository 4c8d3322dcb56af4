"""Compute value, gradient and curvature of a model in one pass over the rows.

A Gaussian q = N(m, V) enters through the mean `mu = x'm` and the variance `s2 = x'Vx` of the
predictor of each row x. A model maps these to F0, F1 and F2: the expected loss of the row and its
first two derivatives with respect to mu. Sums over the rows give value, gradient and curvature.
"""

import math
from typing import TYPE_CHECKING, ClassVar

from gvibench.models.blocks import Blocks
from gvibench.models.prior import IsotropicPrior, Prior
from gvibench.models.protocols import Curvature, Objectives, Oracle, PointwiseLoss, Rows
from gvibench.models.remembering import Remembering
from gvibench.models.sampling import Sampling, sampled_oracle
from gvibench.models.surrogate import surrogate_change
from gvibench.numerics.base import Array, Backend
from gvibench.numerics.gaussian import Factor, diagonal
from gvibench.spec.run import RunSpec

if TYPE_CHECKING:
    from gvibench.numerics.expectations.compiled.oracle import FusedOracle

__all__ = ["Model"]


class Model(Remembering):
    """Sum of row losses with a Gaussian prior, which solvers minimise and runs record.

    Parameters
    ----------
    backend
        Backend for all arrays.
    loss
        Loss of a row, with its deterministic expectation.
    train, test
        Training and test rows.
    beta, gamma
        Prior coefficient and temperature.
    sampling
        If given, solvers use minibatch Monte Carlo estimates. Recording stays deterministic.
    multiplicity
        Number of coordinates that the last one represents (see `gvibench.models.reduction`).
    prior
        Gaussian prior, instead of N(0, I / beta).
    exact_loss
        Loss with exact expectations, for runs that also record the exact objective. Their test NLL
        is exact, too, so that runs with different approximations can be compared.
    """

    targets: ClassVar[tuple[str, ...]] = ("classes",)
    """Kinds of targets that the model accepts: `classes` (-1 and 1), `real` or `counts`. The first
    one is the default for data that offer several kinds."""
    expectations: ClassVar[tuple[str, ...]] = ("exact", "stochastic")
    """Names of the expectations that the model supports."""
    convex: ClassVar[bool] = True
    """Whether the objective has one optimum."""
    smooth: ClassVar[bool] = True
    """Whether the second derivative of the loss is bounded, as theorems on convergence assume."""
    tabulated: ClassVar[bool] = False
    """Whether `gvibench.numerics.expectations` computes the expectations."""
    rotation_invariant: ClassVar[bool] = True
    """Whether the loss does not depend on the basis of the features."""

    def __init__(
        self,
        backend: Backend,
        loss: PointwiseLoss,
        train: Rows,
        test: Rows,
        *,
        beta: float,
        gamma: float,
        sampling: Sampling | None = None,
        multiplicity: int = 1,
        prior: Prior | None = None,
        exact_loss: PointwiseLoss | None = None,
    ) -> None:
        super().__init__()
        self.backend = backend
        self.loss = loss
        self.exact_loss = exact_loss
        self.train, self.test = train.on(backend), test.on(backend)
        self.beta = beta
        self.gamma = gamma
        self.d = int(train.x.shape[1])
        """Number of coordinates that the solver works with."""
        self.gamma_identity: Array = gamma * backend.identity(self.d)
        """Matrix gamma I. It is shared and must not be changed."""
        self.sampling = sampling
        self.multiplicity = multiplicity
        self.prior: Prior = prior or IsotropicPrior(backend, beta, self.d, multiplicity)
        self._fused = self._compiled(loss, self.train, self.prior.fused_beta)
        self._test_loss = exact_loss or loss
        self._fused_test = self._compiled(self._test_loss, self.test, 0.0)
        self._constant = -0.5 * self.dimension - 0.5 * self.prior.log_det
        self._blocks = Blocks(backend, self.d)
        # Other targets have no classes, so the accuracy is NaN.
        self._binary = "classes" in self.targets and bool((abs(test.y) == 1).all())

    @staticmethod
    def _compiled(loss: PointwiseLoss, rows: Rows, beta: float) -> "FusedOracle | None":
        """Return the compiled oracle of a loss. It supports no offset."""
        return loss.fused_oracle(rows, beta) if rows.offset is None and len(rows.y) else None

    @property
    def n(self) -> int:
        """Number of training rows."""
        return len(self.train.y)

    @property
    def dimension(self) -> int:
        """Number of coordinates of the problem before any reduction."""
        return self.d + self.multiplicity - 1

    @classmethod
    def build_loss(cls, backend: Backend, spec: RunSpec) -> PointwiseLoss:
        """Return the row loss for the settings in `spec`."""
        raise NotImplementedError

    @property
    def passes_per_evaluation(self) -> float:
        """Passes over the training rows of an evaluation by a solver. Each draw is a pass."""
        return 1.0 if self.sampling is None else self.sampling.passes(self.n)

    @property
    def supports_batching(self) -> bool:
        """Whether several runs can be evaluated in one call."""
        if self.sampling is not None or self.multiplicity > 1 or not self._binary:
            return False
        compiled = self._fused is not None and self._fused.supports_batching
        return compiled and self.prior.is_isotropic

    # Functions for solvers

    def oracle(
        self, mean: Array, factor: Factor, curvature: Curvature, iteration: int = 0
    ) -> Oracle:
        """Return value, gradient and curvature at N(mean, V), sampled in a stochastic run.

        The draws of a stochastic run depend on `iteration` only, so that a run can be resumed.
        """
        if self.sampling is None:
            return self.full_oracle(mean, factor, curvature)
        return sampled_oracle(self, self.sampling, mean, factor, curvature, iteration)

    def full_oracle(self, mean: Array, factor: Factor, curvature: Curvature) -> Oracle:
        """Return value, gradient and curvature from one pass over all rows, without sampling."""
        if curvature == "factor":
            oracle = self.full_oracle(mean, factor, "hessian")
            return oracle._replace(curvature=oracle.curvature @ factor.root(), kind=curvature)
        if self._fused is None:
            sums = self._blocked_oracle(mean, factor, curvature)
        else:
            whitened = curvature == "whitened"
            sums = self._fused(mean, factor.triangle, factor.transposed, whitened)
            if not self.prior.is_isotropic:
                sums = sums[0], *self._add_prior(*sums[1:], mean, factor, curvature)
        return self._penalised(*sums, mean, curvature)

    @classmethod
    def has_penalty(cls) -> bool:
        """Return whether there is a penalty on the mean."""
        return cls.penalty is not Model.penalty

    def penalty(self, mean: Array) -> tuple[Array, Array]:
        """Return a penalty on the mean and its gradient. Models without penalty return zeros."""
        return 0.0, 0.0

    def surrogate(
        self, mean: Array, factor: Factor, oracle: Oracle, new_mean: Array, new_factor: Factor
    ) -> Array:
        """Return the change of the objective if the expected loss were quadratic.

        See `gvibench.models.surrogate`. A penalty on the mean is counted exactly.
        """
        return surrogate_change(self, mean, factor, oracle, new_mean, new_factor)

    def penalty_beyond_gradient(self, mean: Array, new_mean: Array) -> Array:
        """Return the change of the penalty on the mean minus its linear approximation."""
        return 0.0

    # Sums over the coordinates of the problem before any reduction

    def square_sum(self, matrix: Array) -> Array:
        """Return the squared Frobenius norm."""
        total = self.backend.square_sum(matrix)
        if self.multiplicity == 1:
            return total
        return total + (self.multiplicity - 1) * matrix[-1, -1] ** 2

    def trace_of_product(self, first: Array, second: Array) -> Array:
        """Return tr(first' second)."""
        total = self.backend.product_sum(first, second)
        if self.multiplicity == 1:
            return total
        return total + (self.multiplicity - 1) * first[-1, -1] * second[-1, -1]

    def total(self, vector: Array) -> Array:
        """Return the sum of the elements of a vector."""
        total = vector.sum(axis=-1)
        if self.multiplicity == 1:
            return total
        return total + (self.multiplicity - 1) * vector[-1]

    # Functions for recording

    def objectives(self, mean: Array, factor: Factor, value: Array) -> Objectives:
        """Return all three objectives, given the value of the oracle."""
        log_det = factor.log_det()
        if extra := self.multiplicity - 1:
            log_det = log_det + extra * self.backend.xp.log(factor.last_variance())
        common = value + self.prior.value(mean)
        whole = common + self.prior.spread(factor)
        # At gamma = 0, V may become singular, and 0 * log det would be NaN.
        entropy = 0.5 * self.gamma * log_det if self.gamma > 0 else 0.0
        return Objectives(
            whole - entropy,
            whole - 0.5 * log_det + self._constant + self.n * self.loss.log_normaliser,
            common - 0.5 * log_det,
        )

    def fisher_norm(self, factor: Factor, oracle: Oracle) -> Array:
        """Return sqrt(g'Vg + |C'HC - gamma I|_F^2 / 2), the Fisher-Rao norm of the gradient."""
        if (known := self.recall(oracle, "norm")) is not None:
            return known
        return self._fisher_norm(factor, oracle, self._whiten(factor, oracle))

    def fisher_slope(self, factor: Factor, oracle: Oracle) -> Array:
        """Return the square of `fisher_norm`, and remember the norm and tr(HV)."""
        white = self._whiten(factor, oracle)
        norm = self._fisher_norm(factor, oracle, white)
        self.remember(oracle, "norm", norm)
        self.remember(oracle, "trace", self.total(diagonal(self.backend.xp, white)))
        return norm * norm

    def _whiten(self, factor: Factor, oracle: Oracle) -> Array:
        """Return C'HC."""
        if oracle.kind == "hessian":
            return factor.congruence(oracle.curvature)
        if oracle.kind == "factor":
            return factor.root().mT @ oracle.curvature
        return oracle.curvature

    def _fisher_norm(self, factor: Factor, oracle: Oracle, white: Array) -> Array:
        square = self.square_sum(white - self.gamma_identity)
        return self.backend.xp.sqrt(factor.norm_of(oracle.gradient) + 0.5 * square)

    def metrics(
        self,
        mean: Array,
        factor: Factor,
        oracle: Oracle,
        objectives: Objectives | None = None,
        *,
        with_test: bool = True,
    ) -> Array:
        """Return the values of `METRICS` along the last axis of an array on the device.

        `objectives` are those of `oracle` if they have already been computed. Without test metrics,
        the array has no places for them.
        """
        if self.sampling is not None:
            oracle, objectives = self.full_oracle(mean, factor, "hessian"), None
        if objectives is None:
            objectives = self.objectives(mean, factor, oracle.value)
        test = self.test_metrics(mean, factor) if with_test else ()
        return self.backend.pack([*objectives, *test, self.fisher_norm(factor, oracle)])

    def exact_objective(self, mean: Array, factor: Factor) -> Array:
        """Return the objective with exact expectations, even if the solver approximates them."""
        assert self.exact_loss is not None
        value, _ = self.penalty(mean)
        for block in self._blocks.of(self.train):
            s2 = self.backend.row_norms(factor.whiten(block.x, block.buffer))
            f0, *_ = self._expect(self.exact_loss, block.predict(mean), s2, block.y)
            value = value + self.backend.xp.sum(f0)
        return self.objectives(mean, factor, value).objective

    def smoothness(self) -> Array:
        """Return an upper bound on the eigenvalues of the Hessian of the loss with its prior."""
        gram = self.backend.xp.zeros((self.d, self.d), dtype=self.backend.dtype)
        for x, y, _, buffer in self._blocks.of(self.train):
            gram = self.backend.add_gram(gram, x, self.backend.xp.ones_like(y), buffer)
        largest = self.backend.xp.linalg.eigvalsh(self.backend.mirror(gram))[-1]
        return self.prior.largest + self.loss.steepest * largest

    def test_metrics(self, mean: Array, factor: Factor) -> tuple[Array, Array, Array]:
        """Return the expected NLL (sum), the NLL at the mean (average) and the accuracy."""
        if len(self.test.y) == 0:  # e.g. in a fit to all rows
            return math.nan, math.nan, math.nan
        xp = self.backend.xp
        nll = at_mean = correct = 0.0
        if self._fused_test is not None:
            nll = self._fused_test.value(mean, factor.triangle, factor.transposed)
        for block in self._blocks.of(self.test):
            mu, y = block.predict(mean), block.y
            if self._fused_test is None:
                s2 = self.backend.row_norms(factor.whiten(block.x, block.buffer))
                nll = nll + xp.sum(self._expect(self._test_loss, mu, s2, y)[0])
            at_mean = at_mean + xp.sum(self.loss.value_at(mu, y), axis=-1)
            correct = correct + self.backend.count(mu * y > 0)
        count, constant = len(self.test.y), self.loss.log_normaliser
        nll, at_mean = nll + count * constant, at_mean / count + constant
        return nll, at_mean, correct / count if self._binary else math.nan

    # Passes over the rows

    def _blocked_oracle(
        self, mean: Array, factor: Factor, curvature: Curvature
    ) -> tuple[Array, Array, Array]:
        """Return value, gradient and curvature from blocks of rows that fit into the cache."""
        xp, backend = self.backend.xp, self.backend
        value = 0.0
        gradient = xp.zeros(self.d, dtype=backend.dtype)
        gram = xp.zeros((self.d, self.d), dtype=backend.dtype)
        for block in self._blocks.of(self.train):
            x, buffer = block.x, block.buffer
            white = factor.whiten(x, buffer)
            mu, s2 = block.predict(mean), backend.row_norms(white)
            f0, f1, f2 = self._expect(self.loss, mu, s2, block.y)
            value = value + xp.sum(f0)
            gradient += f1 @ x
            gram = backend.add_gram(gram, white if curvature == "whitened" else x, f2, buffer)
        return value, *self.with_prior(gradient, gram, mean, factor, curvature)

    def _expect(
        self, loss: PointwiseLoss, mu: Array, s2: Array, y: Array
    ) -> tuple[Array, Array, Array]:
        f0, f1, f2 = self.backend.xp.empty((3, len(mu)), dtype=self.backend.dtype)
        loss.expect(mu, s2, y, f0, f1, f2)
        return f0, f1, f2

    def with_prior(
        self, gradient: Array, gram: Array, mean: Array, factor: Factor, curvature: Curvature
    ) -> tuple[Array, Array]:
        """Add the prior to the sums over rows. Only the lower triangle of `gram` is set."""
        return self._add_prior(gradient, self.backend.mirror(gram), mean, factor, curvature)

    def _add_prior(
        self, gradient: Array, matrix: Array, mean: Array, factor: Factor, curvature: Curvature
    ) -> tuple[Array, Array]:
        prior = self.prior
        return gradient + prior.gradient(mean), matrix + prior.curvature(factor, curvature)

    def _penalised(
        self, value: Array, gradient: Array, matrix: Array, mean: Array, curvature: Curvature
    ) -> Oracle:
        penalty, slope = self.penalty(mean)
        return Oracle(value + penalty, gradient + slope, matrix, curvature)
