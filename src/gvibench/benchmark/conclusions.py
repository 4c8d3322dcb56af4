"""State what the outcomes of a track show, in sentences with intervals."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from gvibench.analysis.scores import area, bootstrap, by_score, nearest_target, ties
from gvibench.spec.scoring import ScoreSettings
from gvibench.spec.statuses import UNUSABLE

__all__ = ["conclusions", "headline"]

SAME = 0.005
"""Difference of scores up to which a change of coordinates counts as harmless."""


def headline(outcomes: xr.Dataset, settings: ScoreSettings) -> str:
    """Return who has the highest score, and who cannot be separated from it."""
    found = bootstrap(outcomes, settings.budget, settings.draws, least=settings.least)
    names = [str(name) for name in found["entry"].values]
    best = found.sel(entry=names[0])
    interval = f"{float(best['score_low']):.3f} to {float(best['score_high']):.3f}"
    pairs = {frozenset(pair) for pair in ties(found["beats"])}
    tied = [name for name in names[1:] if frozenset((names[0], name)) in pairs]
    sentence = (
        f"{names[0]} has the highest score, {float(best['score']):.3f} (95% interval {interval})"
    )
    if len(names) == 1:
        return f"{sentence}."
    if not tied:
        return f"{sentence}, and the bootstrap separates it from all other entries."
    return f"{sentence}, and the bootstrap does not separate it from {_listed(tied)}."


def conclusions(outcomes: xr.Dataset, settings: ScoreSettings) -> list[str]:
    """Return the findings of a track, each in one or two sentences."""
    found = [headline(outcomes, settings), _reached(outcomes, settings)]
    if len(set(outcomes["basis_condition"].values.tolist())) > 1:
        found.append(_coordinates(outcomes, settings))
    return [*found, _failed(outcomes)]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _ordered(outcomes: xr.Dataset, settings: ScoreSettings) -> list[str]:
    ordered = by_score(outcomes, settings.budget, settings.least)
    return [str(name) for name in ordered["entry"].values]


def _reached(outcomes: xr.Dataset, settings: ScoreSettings) -> str:
    target = nearest_target(outcomes, min(settings.targets))
    costs = outcomes["cost"].sel(target=target)
    total = outcomes.sizes["instance"]
    counts = []
    for name in _ordered(outcomes, settings):
        cost = costs.sel(entry=name).values
        reached = cost <= settings.budget
        if reached.any():
            counts.append(f"{name} {int(reached.sum())} (median {np.median(cost[reached]):.4g})")
    if not counts:
        return f"No entry reaches the hardest target, {target:g} nat."
    return (
        f"Number of instances, of {total}, on which each entry reaches the hardest target, "
        f"{target:g} nat, with the median number of passes on these: {', '.join(counts)}."
    )


def _coordinates(outcomes: xr.Dataset, settings: ScoreSettings) -> str:
    """Return how the scores change with the coordinates."""
    plain = outcomes["basis_condition"].values == 1
    scores = [
        area(outcomes.isel(instance=np.flatnonzero(mask)), settings.budget, settings.least)
        for mask in (plain, ~plain)
    ]
    change = scores[1] - scores[0]
    same = [str(name) for name in change["entry"].values[np.abs(change.values) <= SAME]]
    others = [
        f"{name} {float(change.sel(entry=name)):+.3f}"
        for name in _ordered(outcomes, settings)
        if name not in same
    ]
    first = (
        f"The change of coordinates moves the scores of {_listed(same)} by at most {SAME:g}."
        if same
        else f"The change of coordinates moves all scores by more than {SAME:g}."
    )
    if not others:
        return first
    return f"{first} {'The others change' if same else 'Changes'}: {', '.join(others)}."


def _failed(outcomes: xr.Dataset) -> str:
    status = outcomes["status"].transpose("entry", "instance").values.astype(str)
    failed = np.isin(status, UNUSABLE).sum(axis=1)
    names = outcomes["entry"].values
    counts = [f"{name} {k}" for name, k in zip(names, failed, strict=True) if k]
    if not counts:
        return "No run diverged or failed."
    return f"Runs that diverged or failed, of {status.shape[1]} each: {', '.join(counts)}."
