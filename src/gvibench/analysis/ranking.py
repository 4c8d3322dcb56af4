"""Rank configurations by one rule, which tables and reports print."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from gvibench.analysis.configurations import (
    Configuration,
    Floats,
    by_run,
    problem_codes,
    specs_of,
)
from gvibench.analysis.efforts import lazy_efforts
from gvibench.analysis.gaps import computed, final, gap

__all__ = ["RULE", "TIE", "TIE_LEVEL", "Ranking"]

TIE = 1e-8
"""Gaps below this many nats count as equal, because they are dominated by rounding."""
TIE_LEVEL = 1e-4
"""Gap in nats whose settling time decides between configurations with equal final gaps."""
RULE = (
    "Best is the configuration with the fewest seeds that diverged or failed, then the lowest "
    f"median of the final objective gaps (gaps below {TIE:g} nat count as equal, and so do those "
    "of runs that reached a tolerance common to all runs on the problem), then the fewest "
    f"iterations until the gap settles at {TIE_LEVEL:g} nat or less (median), then the smallest "
    "step."
)


def _stopped_by_common_tolerance(dataset: xr.Dataset) -> NDArray[np.bool_]:
    """Return a mask of the runs that reached the tolerance common to all runs on their problem.

    How far such a run is below its tolerance depends only on the recording schedule.
    """
    given = [spec["tolerance"] for spec in specs_of(dataset)]
    tolerances = by_run(dataset, [np.nan if value is None else value for value in given])
    problem = xr.DataArray(problem_codes(dataset), dims="run", name="problem")
    grouped = xr.DataArray(tolerances, dims="run").groupby(problem)
    # Without a tolerance, both are NaN and therefore not equal.
    is_common = grouped.min(skipna=False) == grouped.max(skipna=False)
    common = is_common.sel(problem=problem).values
    return np.asarray(common & (dataset["status"].values == "converged"))


@dataclass(frozen=True)
class Ranking:
    """Quantities of each run by which configurations are ranked (see `RULE`)."""

    gaps: Floats
    """Final objective gap of each run."""
    efforts: Floats
    """Iterations until the gap of each run settles at `TIE_LEVEL`."""

    @classmethod
    def of(cls, dataset: xr.Dataset) -> "Ranking":
        """Return the ranking for the runs of a study."""
        (effort,) = lazy_efforts(dataset, [("settled", TIE_LEVEL)]).values()
        return cls.from_values(
            dataset,
            **computed(
                {
                    "gaps": final(gap(dataset, "objective")),
                    "efforts": effort["iterations"],
                }
            ),
        )

    @classmethod
    def from_values(cls, dataset: xr.Dataset, gaps: Floats, efforts: Floats) -> "Ranking":
        """Return the ranking, given the final gaps and the efforts at `TIE_LEVEL`."""
        gaps = np.where(_stopped_by_common_tolerance(dataset), 0.0, gaps)
        return cls(gaps, efforts)

    def merit(self, configuration: Configuration) -> tuple[float, float, float]:
        """Return the criteria of the ranking. The lowest is best and equal ones are tied."""
        runs = configuration.usable
        if len(runs) == 0:
            return (1.0, np.inf, np.inf)
        efforts = np.nan_to_num(self.efforts[runs], nan=np.inf)
        return (
            configuration.unusable / len(configuration.runs),
            max(float(np.median(self.gaps[runs])), TIE),
            # NumPy's median of infinite efforts can be NaN.
            float(np.sort(efforts)[len(efforts) // 2])
            if np.isinf(efforts).any()
            else float(np.median(efforts)),
        )

    def key(self, configuration: Configuration) -> tuple[Any, ...]:
        """Return the sort key. Settings break ties, labels never do."""
        return (
            *self.merit(configuration),
            configuration.step,
            configuration.init_scale,
            configuration.identity,
        )

    def best(
        self, candidates: Iterable[Configuration], within: Callable[[Configuration], Any]
    ) -> dict[Any, Configuration]:
        """Return the best candidate of each group. `within` maps a candidate to its group."""
        best: dict[Any, Configuration] = {}
        for candidate in candidates:
            group = within(candidate)
            if group not in best or self.key(candidate) < self.key(best[group]):
                best[group] = candidate
        return best

    def best_lines(self, candidates: Iterable[Configuration]) -> list[Configuration]:
        """Return the best step and initial scale of each solver in each panel."""
        return list(self.best(candidates, lambda config: (config.panel, config.line)).values())

    def band(self, configuration: Configuration) -> tuple[float, float] | None:
        """Return the smallest and the largest final gap over the usable seeds, or None.

        Gaps below `TIE` count as `TIE`, so that bands of rounding errors overlap.
        """
        gaps = self.gaps[configuration.usable]
        gaps = gaps[np.isfinite(gaps)]
        if len(gaps) == 0:
            return None
        return max(float(gaps.min()), TIE), max(float(gaps.max()), TIE)

    def overlap(self, first: Configuration, second: Configuration) -> bool:
        """Return whether the bands of the final gaps of two configurations overlap."""
        bands = self.band(first), self.band(second)
        if bands[0] is None or bands[1] is None:
            return False
        return bands[0][0] <= bands[1][1] and bands[1][0] <= bands[0][1]
