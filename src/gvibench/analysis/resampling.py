"""Weigh and resample the instances of a benchmark, and group entries that are not separable."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from gvibench.analysis.configurations import Floats, unique

__all__ = ["PERCENTILES", "instance_weights", "letters", "resampled_weights", "tie_groups", "ties"]

PERCENTILES = (0.025, 0.975)
"""Ends of all intervals, and of the probabilities at which two entries are not separable."""


def instance_weights(outcomes: xr.Dataset) -> xr.DataArray:
    """Return the weight of each instance: problems have equal weights, then their instances."""
    problem = outcomes["problem"].values.astype(str)
    names, codes, counts = np.unique(problem, return_inverse=True, return_counts=True)
    weights = 1.0 / (len(names) * counts[codes])
    return xr.DataArray(weights, {"instance": outcomes["instance"]}, ("instance",))


def resampled_weights(outcomes: xr.Dataset, draws: int, seed: int) -> Floats:
    """Return the weights (draw, instance) of bootstrap samples.

    Each draw resamples the problems with replacement, and for each of them its instances. The
    draws depend on the names of the instances and not on their order.
    """
    rng = np.random.default_rng(seed)
    problem = outcomes["problem"].values.astype(str)
    order = np.lexsort((outcomes["instance"].values.astype(str), problem))
    names = np.unique(problem)
    count = len(names)
    times = rng.multinomial(count, np.full(count, 1.0 / count), size=draws)
    weights = np.empty((draws, len(problem)))
    for k, name in enumerate(names):
        members = order[problem[order] == name]
        size = len(members)
        # A problem that is drawn twice has two independent samples of its instances.
        drawn = rng.multinomial(size * times[:, k], np.full(size, 1.0 / size))
        weights[:, members] = drawn / (count * size)
    return weights


def ties(beats: xr.DataArray) -> list[tuple[str, str]]:
    """Return the pairs of entries that are not separable.

    `beats` has the probabilities that the entry of a row beats the one of a column (`other`).
    """
    low, high = PERCENTILES
    names, values = beats["entry"].values.tolist(), beats.transpose("entry", "other").values
    return [
        (names[i], names[j])
        for i in range(len(names))
        for j in range(i + 1, len(names))
        if low <= values[i, j] <= high
    ]


def tie_groups(entries: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the largest sets of entries in which all pairs are tied.

    Ties are not transitive, so that an entry can be in several groups (a compact letter display).
    Entries within groups, and groups, are in the order of `entries`, which is best first.
    """
    position = {entry: k for k, entry in enumerate(entries)}
    tied = {frozenset(pair) for pair in pairs}
    groups = [frozenset(entries)]
    for j, second in enumerate(entries):
        for first in entries[:j]:
            if {first, second} not in tied:
                groups = _split(groups, first, second)
    listed = [sorted(group, key=position.__getitem__) for group in groups if group]
    return sorted(listed, key=lambda group: [position[entry] for entry in group])


def _split(groups: list[frozenset[str]], first: str, second: str) -> list[frozenset[str]]:
    """Return the groups without those that contain both entries, split in two instead."""
    kept = [group for group in groups if not {first, second} <= group]
    parts = [
        group - {entry} for group in groups if {first, second} <= group for entry in (first, second)
    ]
    for part in unique(parts):
        if not any(part < other for other in parts) and not any(part <= other for other in kept):
            kept.append(part)
    return kept


def letters(groups: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return the letters of the tie groups that each entry is in, e.g. "a" or "ab"."""
    found: dict[str, str] = {}
    for k, group in enumerate(groups):
        letter = chr(ord("a") + k % 26) + (str(k // 26) if k >= 26 else "")
        for entry in group:
            found[entry] = found.get(entry, "") + letter
    return found
