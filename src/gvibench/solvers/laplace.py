"""Laplace: the Gaussian at the mode of the posterior, a baseline."""

import math
from typing import TYPE_CHECKING, ClassVar

from gvibench.errors import Stopped
from gvibench.models.base import Model
from gvibench.models.map_estimate import loss_at, maximise_posterior
from gvibench.numerics.gaussian import PrecisionFactor
from gvibench.registry import MODELS
from gvibench.solvers.base import Proposal, Solver, State

if TYPE_CHECKING:
    from gvibench.spec.run import RunSpec

__all__ = ["Laplace"]


class Laplace(Solver):
    """Laplace approximation, reported as the single iterate of the run.

    With the MAP estimate m and the Hessian H of the loss there::

        q = N(m, gamma H^{-1})

    Damped Newton steps from the initial mean find m. Each of them counts as an evaluation. The
    limit is not the optimum of variational inference, so that its gap does not vanish. The result
    `laplace_evidence` is the Laplace approximation of -log p(y). It is not a bound.

    Cost: n d^2 + d^3 / 3 per Newton step.
    """

    id: ClassVar[str] = "laplace"
    title: ClassVar[str] = "Laplace"
    reference: ClassVar[str] = (
        "MacKay, A practical Bayesian framework for backpropagation networks, "
        "Neural Computation 1992"
    )
    other_limit: ClassVar[str] = "Gaussian at the mode"
    has_step: ClassVar[bool] = False
    adaptive: ClassVar[bool] = True

    @classmethod
    def limitation(cls, spec: "RunSpec") -> str:
        if spec.expectation == "stochastic":
            return "uses all rows: choose an expectation other than 'stochastic'"
        if not MODELS.load(spec.model).convex:
            return "needs a convex model"
        return "" if spec.gamma > 0 and spec.penalises else "needs beta and gamma above 0"

    def step(self, state: State, model: Model, rho: float) -> State:
        if state.iteration > 0:
            raise Stopped("the Laplace approximation is complete")
        backend = model.backend
        mode = maximise_posterior(model, state.mean)
        hessian = mode.oracle.curvature
        factor = PrecisionFactor(backend, backend.cholesky(hessian / model.gamma, "V^-1"))
        evidence = self._evidence(model, loss_at(model, mode.mean, mode.oracle), factor)
        proposal = Proposal(mode.mean, factor, (evidence,))
        return self.advance(state, model, rho, proposal, evaluations=mode.evaluations + 1)

    def _evidence(self, model: Model, loss: float, factor: PrecisionFactor) -> float:
        log_det = -float(factor.log_det())
        if extra := model.multiplicity - 1:
            log_det -= extra * math.log(float(factor.last_variance()))
        log_det += model.dimension * math.log(model.gamma)  # of H
        normaliser = model.n * model.loss.log_normaliser
        return loss + 0.5 * log_det - 0.5 * model.prior.log_det + normaliser

    def results(self, state: State) -> dict[str, float]:
        # With a flat prior there is no evidence.
        known = state.memory and math.isfinite(state.memory[0])
        return {"laplace_evidence": float(state.memory[0])} if known else {}
