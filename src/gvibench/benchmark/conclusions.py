"""State what the outcomes of a track show, in sentences with intervals."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import xarray as xr

from gvibench.analysis.configurations import unique
from gvibench.analysis.scores import HEADLINES, area, bootstrap, by_score, nearest_target, ties
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
    found = [headline(outcomes, settings), _robustness(outcomes, settings)]
    targets = unique(nearest_target(outcomes, target) for target in HEADLINES)
    found += [_reached(outcomes, settings, target) for target in targets]
    if len(set(outcomes["basis_condition"].values.tolist())) > 1:
        found.append(_coordinates(outcomes, settings))
    return [*found, _failed(outcomes)]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _ordered(outcomes: xr.Dataset, settings: ScoreSettings) -> list[str]:
    ordered = by_score(outcomes, settings.budget, settings.least)
    return [str(name) for name in ordered["entry"].values]


def _robustness(outcomes: xr.Dataset, settings: ScoreSettings) -> str:
    """Return how the first place and the ties depend on single problems."""
    problems = unique(outcomes["problem"].values.tolist())
    ordered, tied = _order(outcomes, settings)
    leaders: list[str] = []
    changes: Counter[tuple[str, str]] = Counter()
    for problem in problems:
        others = np.flatnonzero(outcomes["problem"].values != problem)
        found, pairs = _order(outcomes.isel(instance=others), settings)
        if found[0] != ordered[0]:
            leaders.append(f"{found[0]} without {problem}")
        changes.update(tied ^ pairs)
    if leaders:
        return f"The first place depends on single problems: it is that of {_listed(leaders)}."
    sentence = (
        f"If any one of the {len(problems)} problems is left out, {ordered[0]} still has the "
        "highest score"
    )
    if not changes:
        return f"{sentence}, and no tie changes."
    parts = []
    for pair, count in changes.most_common():
        first, second = (name for name in ordered if name in pair)
        without = "one of them" if count == 1 else f"any one of {count}"
        become = "separable" if pair in tied else "tied"
        parts.append(f"{first} and {second} become {become} without {without}")
    return f"{sentence}, but ties change: {', '.join(parts)}."


def _order(outcomes: xr.Dataset, settings: ScoreSettings) -> tuple[list[str], set[tuple[str, str]]]:
    """Return the entries from the highest to the lowest score, and the pairs that are tied."""
    found = bootstrap(outcomes, settings.budget, settings.draws, least=settings.least)
    pairs = {(min(pair), max(pair)) for pair in ties(found["beats"])}
    return [str(name) for name in found["entry"].values], pairs


def _reached(outcomes: xr.Dataset, settings: ScoreSettings, target: float) -> str:
    costs = outcomes["cost"].sel(target=target)
    total = outcomes.sizes["instance"]
    counts = []
    for name in _ordered(outcomes, settings):
        cost = costs.sel(entry=name).values
        reached = cost <= settings.budget
        if reached.any():
            counts.append(f"{name} {int(reached.sum())} ({np.median(cost[reached]):.4g})")
    if not counts:
        return f"No entry reaches {target:g} nat."
    return (
        f"Number of instances, of {total}, on which each entry reaches {target:g} nat, with the "
        f"median number of passes on these in brackets: {', '.join(counts)}."
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
        f"{name} from {float(scores[0].sel(entry=name)):.3f} to "
        f"{float(scores[1].sel(entry=name)):.3f}"
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
    problems = np.broadcast_to(outcomes["problem"].values, status.shape)
    places = Counter(problems[np.isin(status, UNUSABLE)].tolist())
    listed = _listed([f"{name} ({k})" for name, k in places.most_common()])
    where = f"All are on {next(iter(places))}" if len(places) == 1 else f"They are on {listed}"
    return f"Runs that diverged or failed, of {status.shape[1]} each: {', '.join(counts)}. {where}."
