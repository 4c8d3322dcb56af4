"""Measure how good a Gaussian is: its predictions, and its distance from the posterior.

Each measure is computed once for a Gaussian q = N(m, V), not along a run. Predictions are
averages over q, not values at its mean. They use the test rows. Everything else uses the training
rows. A measure that does not apply is NaN, and `notes` has the reason.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gvibench.engine.importance import (
    affordable_draws,
    has_proper_prior,
    log_weights,
    pareto_shape,
    reading,
)
from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.numerics.gaussian import Factor

__all__ = [
    "Gaussian",
    "area_under_curve",
    "divergence",
    "measure",
    "predictive_moments",
    "reliability",
    "wasserstein",
]

Floats = NDArray[np.float64]

BINS = 10
CLASS_MEASURES = ("brier", "auc", "ece")
SAMPLED_MEASURES = ("ess", "k_hat", "elbo_sampled", "elbo_sampled_error")
EVIDENCE_MEASURES = ("log_evidence", "log_evidence_error", "evidence_gap")


class Gaussian(NamedTuple):
    """Gaussian N(mean, V)."""

    mean: Floats
    factor: Factor


def measure(
    model: Model,
    mean: Floats,
    factor: Factor,
    *,
    seed: int = 0,
    draws: int = 100_000,
    optimum: Gaussian | None = None,
) -> dict[str, Any]:
    """Return all measures of the Gaussian N(mean, V), by name.

    Parameters
    ----------
    model
        Model with exact expectations, on the CPU.
    mean, factor
        The Gaussian.
    seed
        Seed of the draws for importance sampling.
    draws
        Number of draws. Fewer are used if rows times draws exceed `MAX_EVALUATIONS`; the result
        `draws` is the number used. With 0 draws, nothing is sampled.
    optimum
        Optimal Gaussian of the same problem, for the distances to it.

    Returns
    -------
    dict
        Of the test rows: `pred_nll` (mean of -log p(y | x), averaged over q), `brier`, `auc`,
        `ece`, and the bins of a reliability diagram as lists (`bin_predicted`, `bin_observed`,
        `bin_count`). Of the training rows: `neg_elbo`, `log_evidence` with its standard error
        `log_evidence_error`, `evidence_gap`, `ess` (effective sample size divided by the number of
        draws), `k_hat` and its `reading`, `elbo_sampled` with its error (a check of `neg_elbo`),
        `draws`. With an optimum: `kl` = KL(q || optimum) and `w2`. And `notes`: the reason for
        each measure that is NaN.
    """
    notes: dict[str, str] = {}
    return {
        **_predictive(model, mean, factor, notes),
        **_posterior(model, mean, factor, seed, draws, notes),
        **_distances(model, Gaussian(mean, factor), optimum, notes),
        "notes": notes,
    }


def _predictive(
    model: Model, mean: Floats, factor: Factor, notes: dict[str, str]
) -> dict[str, Any]:
    empty: dict[str, Any] = {"bin_predicted": [], "bin_observed": [], "bin_count": []}
    if len(model.test.y) == 0:
        notes |= dict.fromkeys(("pred_nll", *CLASS_MEASURES), "there are no test rows")
        return {**dict.fromkeys(("pred_nll", *CLASS_MEASURES), math.nan), **empty}
    mu, s2 = predictive_moments(model.test, mean, factor)
    y = np.asarray(model.test.y)
    values: dict[str, Any] = {"pred_nll": -float(np.mean(model.loss.log_predictive(mu, s2, y)))}
    if not _has_classes(model):
        notes |= dict.fromkeys(CLASS_MEASURES, "the targets are not classes")
        return {**values, **dict.fromkeys(CLASS_MEASURES, math.nan), **empty}
    share = np.asarray(model.loss.response(mu, s2))
    positive = y > 0
    values["brier"] = float(np.mean((share - positive) ** 2))
    values["auc"] = area_under_curve(share, positive)
    if math.isnan(values["auc"]):
        notes["auc"] = "the test rows are all of one class"
    return {**values, **reliability(share, positive)}


def _has_classes(model: Model) -> bool:
    """Return whether the response of a model is the probability of the class +1."""
    return model.targets[0] == "classes"


def predictive_moments(rows: Rows, mean: Floats, factor: Factor) -> tuple[Floats, Floats]:
    """Return mean and variance of the linear predictor of each row under N(mean, V)."""
    white = np.asarray(factor.whiten(rows.x))
    mu = np.asarray(rows.x @ mean)
    return mu if rows.offset is None else mu + rows.offset, np.vecdot(white, white)


def area_under_curve(score: Floats, positive: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve, from mid-ranks, so that ties count one half.

    It is NaN if all rows are of one class.
    """
    count = int(positive.sum())
    others = len(positive) - count
    if count == 0 or others == 0:
        return math.nan
    _, group, size = np.unique(score, return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    rank = (last - 0.5 * (size - 1))[group]
    return float((rank[positive].sum() - 0.5 * count * (count + 1)) / (count * others))


def reliability(share: Floats, positive: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the expected calibration error and the bins of a reliability diagram.

    The rows are sorted by their predicted probability and cut into ten bins of equal size, or
    fewer if there are fewer rows.
    """
    order = np.argsort(share, kind="stable")
    count = min(BINS, len(order))
    edges = -(-np.arange(1, count) * len(order) // count)  # row i is in bin 10 i // n
    bins = np.split(order, edges)
    predicted = [float(share[rows].mean()) for rows in bins]
    observed = [float(positive[rows].mean()) for rows in bins]
    counts = [len(rows) for rows in bins]
    gaps = [abs(p - o) * c for p, o, c in zip(predicted, observed, counts, strict=True)]
    return {
        "ece": math.fsum(gaps) / len(order),
        "bin_predicted": predicted,
        "bin_observed": observed,
        "bin_count": counts,
    }


def _posterior(
    model: Model, mean: Floats, factor: Factor, seed: int, draws: int, notes: dict[str, str]
) -> dict[str, Any]:
    """Return the negative ELBO and what importance sampling says about the posterior."""
    oracle = model.full_oracle(mean, factor, "hessian")
    neg_elbo = float(model.objectives(mean, factor, oracle.value).neg_elbo)
    draws = affordable_draws(model, draws)
    names = (*SAMPLED_MEASURES, *EVIDENCE_MEASURES)
    values: dict[str, Any] = {"neg_elbo": neg_elbo, **dict.fromkeys(names, math.nan)}
    reason = _not_sampled(model, draws)
    if reason:
        notes |= dict.fromkeys(names, reason)
        return {**values, "reading": reading(math.nan), "draws": 0}
    weights = log_weights(model, mean, factor, seed=seed, draws=draws)
    largest = float(weights.max())
    scaled = np.exp(weights - largest)
    total = float(scaled.sum())
    share = total * total / float(scaled @ scaled) / draws
    k_hat = pareto_shape(weights)
    values |= {"ess": share, "k_hat": k_hat, "reading": reading(k_hat), "draws": draws}
    if not has_proper_prior(model):
        improper = ("elbo_sampled", "elbo_sampled_error", *EVIDENCE_MEASURES)
        notes |= dict.fromkeys(improper, "an improper prior has no evidence")
        return values
    evidence = largest + math.log(total / draws)
    return values | {
        "elbo_sampled": float(weights.mean()),
        "elbo_sampled_error": float(weights.std()) / math.sqrt(draws),
        "log_evidence": evidence,
        "log_evidence_error": math.sqrt(max(1.0 / share - 1.0, 0.0) / draws),
        "evidence_gap": neg_elbo + evidence,
    }


def _not_sampled(model: Model, draws: int) -> str:
    """Return the reason why the posterior cannot be sampled, or an empty string."""
    if draws == 0:
        return "no draws were requested"
    if model.gamma != 1:
        return f"with gamma {model.gamma:g}, q does not approximate the posterior"
    if type(model).penalty is not Model.penalty:
        return "a penalty on the mean of q belongs to no posterior"
    return ""


def _distances(
    model: Model, q: Gaussian, optimum: Gaussian | None, notes: dict[str, str]
) -> dict[str, float]:
    if optimum is None:
        notes |= dict.fromkeys(("kl", "w2"), "no optimum is known")
        return {"kl": math.nan, "w2": math.nan}
    extra = model.multiplicity - 1
    return {"kl": divergence(q, optimum, extra), "w2": wasserstein(q, optimum, extra)}


def divergence(q: Gaussian, other: Gaussian, extra: int = 0) -> float:
    """Return KL(q || other).

    The last coordinate counts `extra` additional times.
    """
    offset = other.factor.inverse_root_transposed().T @ (q.mean - other.mean)
    ratio = other.factor.inverse_root_transposed().T @ q.factor.root()
    # |ratio|_F^2 - d - log det(ratio ratio'), written with few cancellations
    singular = np.linalg.svd(ratio, compute_uv=False) ** 2
    parts = singular - 1.0 - np.log(singular)
    total = float(parts.sum() + offset @ offset)
    if extra:
        share = float(q.factor.last_variance() / other.factor.last_variance())
        total += extra * (share - 1.0 - math.log(share))
    return 0.5 * total


def wasserstein(q: Gaussian, other: Gaussian, extra: int = 0) -> float:
    """Return the 2-Wasserstein distance between two Gaussians.

    The last coordinate counts `extra` additional times.
    """
    root, other_root = q.factor.root(), other.factor.root()
    # tr V + tr V* - 2 tr (C'V*C)^(1/2) is the distance of the roots after the best rotation, which
    # does not cancel when the Gaussians are close.
    left, _, right = np.linalg.svd(other_root.T @ root)
    apart = root - other_root @ (left @ right)
    square = float(np.sum((q.mean - other.mean) ** 2) + np.sum(apart**2))
    if extra:
        first, second = (math.sqrt(float(g.factor.last_variance())) for g in (q, other))
        square += extra * (first - second) ** 2
    return math.sqrt(square)
