"""Iterations at which a run records metrics, evaluates test metrics and stores means."""

from bisect import bisect_right

import numpy as np

from gvibench.spec.run import LOG_POINTS, RunSpec

__all__ = ["Schedule"]


class Schedule:
    """Schedule of the records of a run.

    The last iterate of a run is always recorded, with test metrics. The recorder adds it, because
    only the run determines where it ends.
    """

    def __init__(self, spec: RunSpec) -> None:
        self._every = spec.record_every
        self._test_every = spec.test_every
        log_spaced = _log_spaced(spec.iterations, LOG_POINTS)
        self._records = frozenset(log_spaced)
        self._snapshots = frozenset(_log_spaced(spec.iterations, spec.snapshots - 1))
        self._log_points = log_spaced
        self._test_points = sorted(self._records | self._snapshots)

    def records(self, iteration: int) -> bool:
        """Return whether the metrics of this iteration are recorded."""
        if self._every == "log":
            return iteration in self._records
        return iteration % self._every == 0

    def has_snapshot(self, iteration: int) -> bool:
        """Return whether the mean of this iteration is stored."""
        return iteration in self._snapshots

    def tests(self, recorded: list[int], iteration: int) -> bool:
        """Return whether a record has test metrics, given the iterations recorded before it."""
        if self._test_every == "log":
            return not recorded or _passed(self._test_points, recorded[-1], iteration)
        return len(recorded) % self._test_every == 0

    def passes_log_point(self, previous: int, iteration: int) -> bool:
        """Return whether a point of the logarithmic schedule follows the previous record.

        A point between two records belongs to the second of them.
        """
        return _passed(self._log_points, previous, iteration)


def _passed(points: list[int], previous: int, iteration: int) -> bool:
    following = bisect_right(points, previous)
    return following < len(points) and points[following] <= iteration


def _log_spaced(last: int, count: int) -> list[int]:
    if last < 1 or count < 1:
        return []
    return sorted(set(np.rint(np.geomspace(1, last, count)).astype(int).tolist()))
