"""Score the entries of a benchmark from their outcomes (see `gvibench.analysis.outcomes`).

Each problem has the same weight, then each instance of the problem, then each target. An entry
without a run on an instance has reached no target there, so that all entries are scored on the same
instances. Scores are absolute: a further entry changes no score of the others.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import unique
from gvibench.analysis.resampling import (
    PERCENTILES,
    instance_weights,
    letters,
    resampled_weights,
    tie_groups,
    ties,
)
from gvibench.errors import UserError

__all__ = [
    "ALL",
    "HEADLINES",
    "LEAST",
    "MAX_RATIO",
    "MISSING",
    "area",
    "bands",
    "bootstrap",
    "by_score",
    "expected_run_time",
    "failures",
    "instance_areas",
    "letters",
    "nearest_target",
    "profiles",
    "reached_shares",
    "shares",
    "tie_groups",
    "ties",
]

LEAST = 1.0
"""Cost at and below which a target is worth the full score."""
HEADLINES = (1e-2, 1e-8)
"""Targets in nats that tables show: good enough in practice, and numerically exact."""
MAX_RATIO = 100.0
"""Largest factor of a performance profile."""
MISSING = "missing"
"""Status of an entry on an instance on which it has no run."""
ALL = "all problems"
"""Name of the row that pools all problems."""


def area(outcomes: xr.Dataset, budget: float, least: float = LEAST) -> xr.DataArray:
    """Return the score of each entry, the area under its ECDF against the logarithm of the cost.

    Parameters
    ----------
    outcomes
        Outcomes of the entries.
    budget
        Cost at which the area ends. Targets that are reached later count as not reached.
    least
        Cost at which the area begins.

    Returns
    -------
    Numbers between 0 (no target reached) and 1 (all targets reached at the cost `least`).
    """
    weighted = instance_areas(outcomes, budget, least) * instance_weights(outcomes)
    return weighted.sum("instance").rename("score")


def by_score(outcomes: xr.Dataset, budget: float, least: float = LEAST) -> xr.Dataset:
    """Return outcomes with their entries from the highest to the lowest score."""
    scores = np.round(area(outcomes, budget, least).values, 12)
    return outcomes.isel(entry=np.lexsort((outcomes["entry"].values.astype(str), -scores)))


def instance_areas(outcomes: xr.Dataset, budget: float, least: float = LEAST) -> xr.DataArray:
    """Return the area under the ECDF over the targets of each instance (entry, instance)."""
    if not 0 < least < budget < np.inf:
        raise UserError(
            f"the budget of scores must be finite and above {least:g}, the smallest cost"
        )
    cost = outcomes["cost"].transpose("entry", "instance", "target").values
    reached = cost <= budget  # False for NaN
    spent = np.where(reached, np.maximum(cost, least), budget)
    worth = (np.log(budget / spent) / np.log(budget / least)).mean(axis=2)
    coordinates = {name: outcomes[name] for name in ("entry", "instance", "problem")}
    return xr.DataArray(worth, coordinates, ("entry", "instance"))


def bootstrap(
    outcomes: xr.Dataset,
    budget: float,
    draws: int = 2000,
    seed: int = 0,
    least: float = LEAST,
) -> xr.Dataset:
    """Return scores and ranks with their intervals, and the probabilities of a better score.

    The bootstrap resamples the problems, and then the instances of each of them.

    Parameters
    ----------
    outcomes
        Outcomes of the entries.
    budget, least
        Ends of the area (see `area`).
    draws
        Number of bootstrap samples.
    seed
        Seed of the bootstrap samples.

    Returns
    -------
    Dataset with the entries in the order of their scores, best first. `score` and `rank` are those
    of the outcomes, and `score_low`, `score_high`, `rank_low` and `rank_high` the ends of their
    95% intervals. `beats` (entry, other) is the share of the samples in which an entry has a higher
    score than the other one, where equal scores count half.
    """
    by_instance = instance_areas(outcomes, budget, least)
    weights = np.vstack([instance_weights(outcomes), resampled_weights(outcomes, draws, seed)])
    # Equal entries must have equal scores, whatever the order in which their terms are added.
    scores = np.round(weights @ by_instance.values.T, 12)
    order = np.lexsort((outcomes["entry"].values.astype(str), -scores[0]))
    scores = scores[:, order]
    above = scores[:, None, :] > scores[:, :, None]  # (draw, entry, other): other is better
    ranks = 1 + above.sum(axis=2)
    worse, equal = above[1:].mean(axis=0), (scores[1:, None, :] == scores[1:, :, None]).mean(axis=0)
    quantiles = {
        "score": np.quantile(scores[1:], PERCENTILES, axis=0),
        "rank": np.quantile(ranks[1:], PERCENTILES, axis=0, method="nearest"),
    }
    values = {"score": scores[0], "rank": ranks[0]}
    for name, (low, high) in quantiles.items():
        values |= {f"{name}_low": low, f"{name}_high": high}
    names = outcomes["entry"].values[order]
    return xr.Dataset(
        {name: ("entry", array) for name, array in values.items()}
        | {"beats": (("entry", "other"), worse.T + equal / 2)},
        {"entry": names, "other": names},
        {"draws": draws, "seed": seed, "budget": budget, "least": least},
    )


def shares(outcomes: xr.Dataset, at: Sequence[float], name: str = "cost") -> xr.DataArray:
    """Return the share of targets that each entry has reached at given costs, the ECDF.

    Parameters
    ----------
    outcomes
        Outcomes of the entries.
    at
        Costs.
    name
        `cost`, or `seconds` for solver time.
    """
    return (_instance_shares(outcomes, at, name) * instance_weights(outcomes)).sum("instance")


def bands(
    outcomes: xr.Dataset, at: Sequence[float], name: str = "cost", draws: int = 2000, seed: int = 0
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the bootstrap intervals of `shares`, pointwise: lower and upper ends."""
    weights = resampled_weights(outcomes, draws, seed)
    by_instance = _instance_shares(outcomes, at, name).transpose("entry", "at", "instance")
    ends = [np.quantile(weights @ values.T, PERCENTILES, axis=0) for values in by_instance.values]
    blank = by_instance.isel(instance=0, drop=True)
    low, high = (blank.copy(data=np.array([end[k] for end in ends])) for k in (0, 1))
    return low, high


def _instance_shares(outcomes: xr.Dataset, at: Sequence[float], name: str) -> xr.DataArray:
    """Return the share of targets reached at given costs (entry, instance, at)."""
    cost = outcomes[name].transpose("entry", "instance", "target").values
    levels = np.asarray(at, dtype=float)
    # Infinite and NaN sort last, so that a position is the number of targets reached.
    ordered = np.sort(cost, axis=2)
    counts = np.stack([(ordered <= level).sum(axis=2) for level in levels], axis=2)
    coordinates = {"entry": outcomes["entry"], "instance": outcomes["instance"], "at": levels}
    dims = ("entry", "instance", "at")
    return xr.DataArray(counts / max(cost.shape[2], 1), coordinates, dims)


def reached_shares(outcomes: xr.Dataset, target: float, budget: float) -> xr.DataArray:
    """Return the share of instances on which each entry reached a target within the budget."""
    found = outcomes["cost"].sel(target=target, method="nearest", tolerance=1e-6 * target)
    return ((found <= budget) * instance_weights(outcomes)).sum("instance")


def nearest_target(outcomes: xr.Dataset, target: float) -> float:
    """Return the target that is nearest to a number of nats, on a logarithmic scale."""
    targets = outcomes["target"].values
    return float(targets[np.abs(np.log(targets / target)).argmin()])


def expected_run_time(outcomes: xr.Dataset, budget: float) -> xr.DataArray:
    """Return the expected run time (ERT) of each entry, problem and target.

    It is the cost of all successes, plus the budget for each failure, divided by the number of
    successes. It is infinite without a success, and NaN without a run. Missing runs do not count.

    Returns
    -------
    Array (entry, problem, target). The first problem, `ALL`, pools the runs on all problems.
    """
    cost = outcomes["cost"].transpose("entry", "instance", "target").values
    reached, has_run = cost <= budget, ~np.isnan(cost)
    of_instance = outcomes["problem"].values
    problems = unique(of_instance.tolist())
    members = np.array([np.ones(len(of_instance)), *(of_instance == name for name in problems)])
    successes, runs, spent = (
        np.einsum("pi,eit->ept", members.astype(float), values)
        for values in (reached.astype(float), has_run.astype(float), np.where(reached, cost, 0.0))
    )
    with np.errstate(all="ignore"):
        ert = (spent + budget * (runs - successes)) / successes
    ert = np.where(runs == 0, np.nan, np.where(successes == 0, np.inf, ert))
    coordinates = {
        "entry": outcomes["entry"],
        "problem": [ALL, *problems],
        "target": outcomes["target"],
    }
    return xr.DataArray(ert, coordinates, ("entry", "problem", "target"))


def failures(outcomes: xr.Dataset) -> pd.DataFrame:
    """Return the number of runs by entry, status and reason, with the problems that they are on.

    Entries are in the order of the outcomes. Instances without a run have the status `MISSING`.
    """
    frame = pd.DataFrame(
        {
            "entry": np.repeat(outcomes["entry"].values, outcomes.sizes["instance"]),
            "problem": np.tile(outcomes["problem"].values, outcomes.sizes["entry"]),
            "status": outcomes["status"].transpose("entry", "instance").values.ravel(),
            "reason": outcomes["reason"].transpose("entry", "instance").values.ravel(),
        }
    )
    frame["status"] = frame["status"].replace("", MISSING)
    grouped = frame.groupby(["entry", "status", "reason"], sort=False)
    rows = [(*key, len(part), "; ".join(unique(part["problem"].tolist()))) for key, part in grouped]
    table = pd.DataFrame(rows, columns=["entry", "status", "reason", "count", "problems"])
    order = {entry: k for k, entry in enumerate(outcomes["entry"].values.tolist())}
    position = table["entry"].map(order)
    keys = pd.DataFrame({"entry": position, "count": -table["count"], "status": table["status"]})
    ordered = keys.sort_values(["entry", "count", "status"], kind="stable").index
    return table.loc[ordered].reset_index(drop=True)


def profiles(outcomes: xr.Dataset, target: float, least: float = LEAST) -> xr.DataArray:
    """Return the ratio of each cost to the lowest cost on its instance (Dolan and Moré).

    Parameters
    ----------
    outcomes
        Outcomes of the entries.
    target
        One of the targets.
    least
        Smallest cost, in place of smaller ones.

    Returns
    -------
    Array (entry, instance). Ratios above `MAX_RATIO`, and those of targets that were not reached,
    are infinite. Unlike scores, ratios depend on the other entries.
    """
    found = outcomes["cost"].sel(target=target, method="nearest", tolerance=1e-6 * target)
    cost = found.transpose("entry", "instance").values
    cost = np.where(np.isnan(cost), np.inf, np.maximum(cost, least))
    best = cost.min(axis=0, initial=np.inf)
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isfinite(cost), cost / best, np.inf)
    ratio = np.where(ratio <= MAX_RATIO, ratio, np.inf)
    coordinates = {name: outcomes[name] for name in ("entry", "instance", "problem")}
    return xr.DataArray(ratio, coordinates, ("entry", "instance"))
