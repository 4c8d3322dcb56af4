"""Collect the configurations of all studies of a page, with their curves."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from gvibench.analysis.bands import load_runs, seeds_over, seeds_over_iterations
from gvibench.analysis.configurations import Configuration, Floats, configurations
from gvibench.analysis.costs import cost_of
from gvibench.analysis.efforts import LEVELS, lazy_efforts
from gvibench.analysis.gaps import ROUNDING, computed, final, gap, reference
from gvibench.analysis.ranking import Ranking
from gvibench.figures.style import FLOOR
from gvibench.report.page.curves import (
    LINEAR_TOLERANCE,
    LOG_TOLERANCE,
    NOISE_TOLERANCE,
    Numbers,
    statistics,
    thin,
)
from gvibench.spec.metrics import COSTS
from gvibench.spec.statuses import UNUSABLE

__all__ = ["AXES", "METRICS", "ConfigurationData"]

METRICS: dict[str, dict[str, Any]] = {
    "objective": {"title": "objective", "unit": "nat", "floor": FLOOR},
    "neg_elbo": {"title": "negative ELBO", "unit": "nat", "floor": FLOOR},
    "train_elbo_paper": {"title": "train ELBO (paper)", "unit": "nat", "floor": FLOOR},
    "test_nll": {"title": "test NLL (sum)", "unit": "nat", "floor": 1e-4},
    "test_nll_at_mean": {"title": "test NLL at the mean", "unit": "nat", "floor": 1e-6},
    "test_accuracy": {"title": "test accuracy", "unit": "", "floor": 1e-6, "falls": True},
}
"""Metrics that can be plotted. Logarithmic axes show gaps of zero at the floor."""
AXES = {
    "iteration": "iteration",
    "evaluations": "model evaluations",
    "seconds": "solver time [s]",
    "data_passes": "passes over the data",
}
MAX_POINTS = 400
"""Maximum number of points in a curve of a solver's best configuration.

The curves of other configurations have a quarter of it.
"""
MAX_NUMBERS = 1_100_000
"""Maximum number of values in all curves of a page, about 6 MB of text."""


@dataclass
class ConfigurationData:
    """Configurations of all studies, with their curves until the size limit is reached."""

    numbers: Numbers = field(default_factory=Numbers)
    configurations: list[dict[str, Any]] = field(default_factory=list)
    points: int = 0
    kept: int = 0
    faithful: int = 0
    noisy: int = 0
    left_out: int = 0

    def add_study(self, number: int, dataset: xr.Dataset, lines: list[tuple[int, str]]) -> None:
        """Add the configurations of a study.

        Parameters
        ----------
        number
            Position of the study on the page.
        dataset
            Aggregate of the study.
        lines
            Pairs of a study's position and the name of a line, in the order of the page.
        """
        configs = configurations(dataset)
        ranking = Ranking.of(dataset)
        best = set(map(id, ranking.best_lines(configs)))
        rank = {id(config): k for k, config in enumerate(sorted(configs, key=ranking.key))}
        gaps = {metric: gap(dataset, metric) for metric in METRICS if metric in dataset}
        references = {metric: reference(dataset, metric) for metric in gaps}
        finals, efforts = _finals_and_efforts(dataset, gaps)
        seeds = dataset["seed"].values
        # Add the best configurations first because there may be no room for all of them.
        ordered = sorted(configs, key=lambda one: (id(one) not in best, rank[id(one)]))
        curves: dict[int, Any] = {id(config): {} for config in configs}
        clocks = {name: dataset[name] for name in _informative_axes(dataset)}
        for config, rows in load_runs({**gaps, **clocks}, ordered):
            if self.numbers.size > MAX_NUMBERS:
                self.left_out += len(configs) - sum(map(bool, curves.values()))
                break
            max_points = MAX_POINTS if id(config) in best else MAX_POINTS // 4
            curves[id(config)] = self._add_curves(rows, max_points)
        for config in configs:
            self.configurations.append(
                {
                    "line": lines.index((number, config.line)),
                    "panel": config.panel,
                    "step": _finite(config.step_size),
                    "rule": config.step_rule,
                    "scale": config.init_scale,
                    "tuned": config.tuned,
                    "rank": rank[id(config)],
                    "seeds": seeds[config.runs].tolist(),
                    "unusable": _unusable(config),
                    "references": {
                        metric: _finite(values[config.runs[0]])
                        for metric, values in references.items()
                    },
                    "curves": curves[id(config)],
                    "finals": self._add_finals(config, finals),
                    "efforts": self.numbers.add(efforts[:, config.runs]),
                }
            )

    def _add_curves(
        self, rows: dict[str, Floats], max_points: int
    ) -> dict[str, dict[str, list[int]]]:
        """Add the thinned curves of a configuration and return where they are stored."""
        places: dict[str, dict[str, list[int]]] = {}
        for axis in (axis for axis in AXES if axis in rows):
            places[axis] = {}
            seeds = seeds_over if axis == "seconds" else seeds_over_iterations
            for metric in (metric for metric in METRICS if metric in rows):
                at, lines = seeds(rows[axis], rows[metric])
                if lines.size == 0:
                    continue
                curves = statistics(lines)
                kept, error = thin(at, curves, METRICS[metric]["floor"], max_points)
                places[axis][metric] = self.numbers.add([at[kept], *curves[:, kept]])
                self.points += len(at)
                self.kept += len(kept)
                self.faithful += error <= 1
                self.noisy += error > 1
        return places

    def _add_finals(
        self, config: Configuration, finals: dict[str, np.ndarray]
    ) -> dict[str, list[int]]:
        """Add the final gaps of a configuration and return where they are stored."""
        usable = config.usable
        return {
            metric: self.numbers.add(statistics(values[usable, np.newaxis]).T)
            for metric, values in finals.items()
            if len(usable) and np.isfinite(values[usable]).all()
        }

    def thinning(self) -> dict[str, Any]:
        """Return how many points were kept and how accurate the thinned curves are."""
        return {
            "points": self.points,
            "kept": self.kept,
            "faithful": self.faithful,
            "noisy": self.noisy,
            "left_out": self.left_out,
            "linear": LINEAR_TOLERANCE,
            "decades": LOG_TOLERANCE,
            "rounding": ROUNDING,
            "noise": NOISE_TOLERANCE,
        }


def _finals_and_efforts(
    dataset: xr.Dataset, gaps: dict[str, xr.DataArray]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return final gaps by metric, and the efforts of each run in one array.

    The efforts are the cost of the study and then the seconds until each level is reached.
    """
    lazy = {metric: final(values) for metric, values in gaps.items()}
    targets = lazy_efforts(dataset, [("settled", level) for level in LEVELS])
    names = [(name, level) for name in (cost_of(dataset).name, "seconds") for level in LEVELS]
    values = computed(
        {
            **lazy,
            **{f"{name} {level}": targets["settled", level][name] for name, level in names},
        }
    )
    efforts = np.array([values[f"{name} {level}"] for name, level in names])
    return {name: values[name] for name in lazy}, efforts


def _unusable(config: Configuration) -> dict[str, int]:
    return {status: config.endings[status] for status in UNUSABLE if config.endings[status]}


def _informative_axes(dataset: xr.Dataset) -> list[str]:
    """Return the axes that do not repeat another one up to a constant."""
    finals = computed({name: final(dataset[name]) for name in COSTS if name in dataset})
    repeated = set()
    if "evaluations" in finals:
        if np.array_equal(finals["evaluations"], dataset["iterations_done"].values + 1.0):
            repeated.add("evaluations")
        if np.array_equal(finals["evaluations"], finals["data_passes"], equal_nan=True):
            repeated.add("data_passes")
    repeated.discard(cost_of(dataset).curve)
    return [name for name in AXES if name in dataset and name not in repeated]


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
