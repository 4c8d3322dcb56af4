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
from gvibench.analysis.costs import cost_of
from gvibench.analysis.efforts import lazy_efforts
from gvibench.analysis.gaps import computed, final, gap

__all__ = ["SHARED_TOLERANCE", "TIE", "TIE_LEVEL", "ZERO", "Ranking", "rule_of"]

TIE = 1e-8
"""Gaps below this many nats count as 0, because they are dominated by rounding."""
TIE_LEVEL = 1e-4
"""Gap in nats at which a seed is solved, once its gap settles there."""
ZERO = f"Gaps below {TIE:g} nat are rounding errors and count as 0."
_RULE = (
    "The best configuration (solver, step and initial scale) solves the largest share of its "
    f"seeds. A seed is solved if its objective gap settles at {TIE_LEVEL:g} nat or less. If the "
    "shares are equal, the best configuration has the fewest seeds that diverged or failed, then "
    "the lowest median final gap, then the fewest {cost} until the gap settles (median), then the "
    f"smallest step. {ZERO}"
)
SHARED_TOLERANCE = (
    "Where all runs on a problem have the same tolerance, a run that stops there is solved, and "
    "its gap counts as 0."
)


def rule_of(dataset: xr.Dataset) -> str:
    """Return the rule by which the configurations of a study are ranked."""
    rule = _RULE.format(cost=cost_of(dataset).noun)
    return f"{rule} {SHARED_TOLERANCE}" if _has_shared_tolerance(dataset).any() else rule


def _has_shared_tolerance(dataset: xr.Dataset) -> NDArray[np.bool_]:
    """Return a mask of the runs on problems where all runs have the same tolerance."""
    given = [spec["tolerance"] for spec in specs_of(dataset)]
    tolerances = by_run(dataset, [np.nan if value is None else value for value in given])
    problem = xr.DataArray(problem_codes(dataset), dims="run", name="problem")
    grouped = xr.DataArray(tolerances, dims="run").groupby(problem)
    # Without a tolerance, both are NaN and therefore not equal.
    is_common = grouped.min(skipna=False) == grouped.max(skipna=False)
    return np.asarray(is_common.sel(problem=problem).values)


@dataclass(frozen=True)
class Ranking:
    """Quantities of each run by which configurations are ranked (see `rule_of`)."""

    gaps: Floats
    """Final objective gap of each run. Rounding errors are 0."""
    efforts: Floats
    """Cost until the gap of each run settles at `TIE_LEVEL`."""
    solved: NDArray[np.bool_]
    """Whether the gap of each run settles at `TIE_LEVEL`, or the run stops at a shared tolerance.

    How far such a run is below its tolerance depends only on the recording schedule.
    """

    @classmethod
    def of(cls, dataset: xr.Dataset) -> "Ranking":
        """Return the ranking for the runs of a study."""
        (effort,) = lazy_efforts(dataset, [("settled", TIE_LEVEL)]).values()
        return cls.from_values(
            dataset,
            **computed(
                {
                    "gaps": final(gap(dataset, "objective")),
                    "efforts": effort[cost_of(dataset).name],
                }
            ),
        )

    @classmethod
    def from_values(cls, dataset: xr.Dataset, gaps: Floats, efforts: Floats) -> "Ranking":
        """Return the ranking, given the final gaps and the efforts at `TIE_LEVEL`."""
        stopped = _has_shared_tolerance(dataset) & (dataset["status"].values == "converged")
        return cls(
            gaps=np.where(stopped | (gaps < TIE), 0.0, gaps),
            efforts=efforts,
            solved=np.isfinite(efforts) | stopped,
        )

    def median_gap(self, configuration: Configuration) -> float:
        """Return the median final gap over the usable seeds, or infinity if there is none."""
        gaps = self.gaps[configuration.usable]
        return float(np.median(gaps)) if len(gaps) else np.inf

    def merit(self, configuration: Configuration) -> tuple[float, float, float, float]:
        """Return the criteria of the ranking. The lowest is best and equal ones are tied."""
        runs = configuration.usable
        if len(runs) == 0:
            return (1.0, 1.0, np.inf, np.inf)
        efforts = np.nan_to_num(self.efforts[runs], nan=np.inf)
        seeds = len(configuration.runs)
        return (
            1 - int(self.solved[configuration.runs].sum()) / seeds,
            configuration.unusable / seeds,
            self.median_gap(configuration),
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
        """Return the smallest and the largest final gap over the usable seeds, or None."""
        gaps = self.gaps[configuration.usable]
        gaps = gaps[np.isfinite(gaps)]
        if len(gaps) == 0:
            return None
        return float(gaps.min()), float(gaps.max())

    def overlap(self, first: Configuration, second: Configuration) -> bool:
        """Return whether the bands of the final gaps of two configurations overlap."""
        bands = self.band(first), self.band(second)
        if bands[0] is None or bands[1] is None:
            return False
        return bands[0][0] <= bands[1][1] and bands[1][0] <= bands[0][1]
