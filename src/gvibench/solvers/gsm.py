"""GSM: Gaussian score matching."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.solvers.base import Proposal, State
from gvibench.solvers.score_matching import ScoreMatching, draws_and_scores

__all__ = ["Gsm"]


class Gsm(ScoreMatching):
    """Gaussian score matching: match the score of the posterior at each draw, and average.

    For each draw theta from q with score v::

        e = m - theta,   b = v'Vv + (e'v)^2,   r = ((1 + 4b)^{1/2} - 1) / 2,   eps = Vv - e
        dm = (eps - e (v'eps) / (1 + r + e'v)) / (1 + r)
        dV = ee' - (e + dm)(e + dm)'

    The averages of dm and dV are added to m and V. GSM has no step size. Its limit is not the
    optimum of the ELBO, so that its gap does not vanish. V+ may fail to be positive definite, which
    ends the run as diverged.

    Cost: B n d for the scores, B d^2 + d^3 / 3 for the update.
    """

    id: ClassVar[str] = "gsm"
    title: ClassVar[str] = "GSM"
    reference: ClassVar[str] = (
        "Modi, Gower, Margossian, Yao, Blei and Saul, Variational inference with Gaussian score "
        "matching, NeurIPS 2023"
    )

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend, xp = model.backend, model.backend.xp
        draws, scores = draws_and_scores(state, model)
        lower = state.factor.lower
        offset = state.mean - draws
        spread = (scores @ lower) @ lower.T  # V v
        along = xp.sum(offset * scores, axis=1)
        square = xp.sum(scores * spread, axis=1) + along * along
        ratio = 0.5 * (xp.sqrt(1.0 + 4.0 * square) - 1.0)
        error = spread - offset
        share = xp.sum(scores * error, axis=1) / (1.0 + ratio + along)
        moves = (error - offset * share[:, None]) / (1.0 + ratio)[:, None]
        ends = offset + moves
        change = (offset.T @ offset - ends.T @ ends) / len(draws)
        covariance = lower @ lower.T + change
        factor = CovarianceFactor(backend, backend.cholesky(covariance, "V"))
        return Proposal(state.mean + xp.mean(moves, axis=0), factor)
