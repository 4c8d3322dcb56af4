"""BaM: batch and match, which fits the scores of q to those of the posterior."""

from typing import Any, ClassVar

from gvibench.models.base import Model
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.solvers.base import Proposal, State
from gvibench.solvers.score_matching import ScoreMatching, draws_and_scores

__all__ = ["Bam"]


class Bam(ScoreMatching):
    """Batch and match: a proximal step on a score-based divergence, in closed form.

    With draws theta_b from q, scores v_b of the posterior there, their means t, v and covariances
    T, Gam, and lam = B d / (k + 1) at iteration k::

        U = lam Gam + lam/(1+lam) v v'
        W = V + lam T + lam/(1+lam) (m - t)(m - t)'
        V+ U V+ + V+ = W
        m+ = (m + lam (V+ v + t)) / (1 + lam)

    With W = L L' and L'UL = Q diag(w) Q', the solution is V+ = L Q diag(2 / (1 + (1 + 4w)^{1/2}))
    Q'L'. BaM has no step size. It minimises another divergence than the ELBO, so that its gap does
    not vanish. Too few draws (B < d) can make it diverge.

    Cost: B n d for the scores and about 12 d^3 for the update.
    """

    id: ClassVar[str] = "bam"
    title: ClassVar[str] = "BaM"
    reference: ClassVar[str] = (
        "Cai, Modi, Pillaud-Vivien, Margossian, Gower, Blei and Saul, Batch and match: black-box "
        "variational inference with a score-based divergence, ICML 2024"
    )

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend, xp = model.backend, model.backend.xp
        draws, scores = draws_and_scores(state, model)
        centre, score = xp.mean(draws, axis=0), xp.mean(scores, axis=0)
        weight = len(draws) * model.d / (state.iteration + 1.0)
        share = weight / (1.0 + weight)
        offset = state.mean - centre
        lower = state.factor.lower
        pull = weight * _covariance(scores, score) + share * score[:, None] * score
        spread = weight * _covariance(draws, centre) + share * offset[:, None] * offset
        root = backend.cholesky(lower @ lower.T + spread, "W")
        values, vectors = backend.eigh(root.T @ pull @ root)
        values = xp.maximum(values, 0.0)  # rounding can make a zero eigenvalue negative
        root = (root @ vectors) * xp.sqrt(2.0 / (1.0 + xp.sqrt(1.0 + 4.0 * values)))
        factor = CovarianceFactor(backend, backend.triangularise(root))
        moved = factor.covariance_times(score) + centre
        return Proposal((state.mean + weight * moved) / (1.0 + weight), factor)


def _covariance(rows: Any, mean: Any) -> Any:
    """Return the covariance of rows, divided by their number."""
    centred = rows - mean
    return centred.T @ centred / len(rows)
