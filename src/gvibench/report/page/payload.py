"""What a page knows of its studies, as plain data: the numbers that the static figures show."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from gvibench.analysis.bands import seeds_over, seeds_over_iterations
from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.gaps import ROUNDING, final, gap, reference, settled
from gvibench.analysis.ranking import Ranking
from gvibench.figures.curves import TEST_FLOOR
from gvibench.figures.panels import FLOOR, looks_of
from gvibench.figures.profile import LEVEL
from gvibench.figures.style import DASHED, SOLID, Look
from gvibench.report.page.curves import (
    LINEAR_TOLERANCE,
    LOG_TOLERANCE,
    NOISE_TOLERANCE,
    STATISTICS,
    Numbers,
    statistics,
    thin,
)
from gvibench.report.page.sections import Section, overview, provenance, tables_of
from gvibench.spec.endings import UNUSABLE
from gvibench.tables.performance import LEVELS

__all__ = ["AXES", "METRICS", "Study", "payload"]

METRICS: dict[str, dict[str, Any]] = {
    "objective": {"title": "objective", "unit": "nat", "floor": FLOOR},
    "neg_elbo": {"title": "negative ELBO", "unit": "nat", "floor": FLOOR},
    "train_elbo_paper": {"title": "train ELBO (paper)", "unit": "nat", "floor": FLOOR},
    "test_nll": {"title": "test NLL (sum)", "unit": "nat", "floor": TEST_FLOOR},
    "test_nll_at_mean": {"title": "test NLL at the mean", "unit": "nat", "floor": 1e-6},
    "test_accuracy": {"title": "test accuracy", "unit": "", "floor": 1e-6, "falls": True},
}
"""What can be plotted, as a gap or as it is; logarithmic axes show gaps of zero at their floor."""
AXES = {
    "iteration": "iteration",
    "seconds": "solver time [s]",
    "data_passes": "passes over the data",
}
MOST_POINTS = 400
"""Of a curve of the best step and initial scale of a solver; the others have a quarter of it."""
MOST_NUMBERS = 1_100_000
"""Of all curves of a page: six megabytes of text."""
MARKERS = {
    "o": "circle",
    "s": "square",
    "D": "diamond",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "P": "cross",
    "X": "x",
    "h": "hexagon",
    "p": "pentagon",
    "*": "star",
    "d": "diamond-tall",
}
"""Matplotlib's markers in Plotly's words."""


@dataclass(frozen=True)
class Study:
    """One study of a page."""

    dataset: xr.Dataset
    label: str = ""
    """Goes before the names of its solvers where a page has several studies."""
    source: str = ""
    """Where it was found, for readers."""
    tables: Sequence[str] = ()
    figures: Sequence[Section] = ()
    codes: dict[str, str] = field(default_factory=dict)
    """Hashes of the code of the page itself."""


def payload(studies: Sequence[Study], extra: Sequence[Section] = ()) -> dict[str, Any]:
    """Return all that the page shows.

    Parameters
    ----------
    studies
        One, or two to compare.
    extra
        Tables about all studies together.
    """
    curves = _Curves()
    every = [
        (number, one)
        for number, study in enumerate(studies)
        for one in configurations(study.dataset)
    ]
    looks = looks_of(one for _, one in every)
    lines = unique((number, one.line) for number, one in every)
    for number, study in enumerate(studies):
        curves.add_study(number, study, lines)
    title = " against ".join(study.dataset.attrs["title"] or _name(study) for study in studies)
    return {
        "title": title,
        "statistics": STATISTICS,
        "axes": AXES,
        "metrics": METRICS,
        "levels": LEVELS,
        "level": LEVEL,
        "unusable": UNUSABLE,
        "panels": unique(one.panel for _, one in every),
        "lines": [
            {
                "name": _labelled(studies[number], line),
                **_look(looks[line], number if len(studies) > 1 else None),
            }
            for number, line in lines
        ],
        "configurations": curves.configurations,
        "thinning": curves.thinning(),
        "studies": [
            {
                "label": study.label,
                "name": _name(study),
                "title": study.dataset.attrs["title"],
                "source": study.source,
                **overview(study.dataset),
                "tables": tables_of(study.dataset, study.tables),
                "figures": list(study.figures),
                "provenance": provenance(study.dataset, study.codes),
            }
            for study in studies
        ],
        "extra": list(extra),
        "numbers": curves.numbers.encode(),
    }


def _name(study: Study) -> str:
    return str(study.dataset.attrs["study"])


def _labelled(study: Study, line: str) -> str:
    return f"{study.label}: {line}" if study.label else line


def _look(look: Look, number: int | None) -> dict[str, Any]:
    if number is not None:  # studies that are compared differ in their dashes, and only in them
        look = replace(look, dash=(SOLID, DASHED)[number % 2])
    dash = [] if look.dash == SOLID else [2 * length for length in look.dash[1]]
    return {"color": look.color, "dash": dash, "marker": MARKERS[look.marker]}


@dataclass
class _Curves:
    """The configurations of all studies, with their curves as far as there is room."""

    numbers: Numbers = field(default_factory=Numbers)
    configurations: list[dict[str, Any]] = field(default_factory=list)
    points: int = 0
    kept: int = 0
    faithful: int = 0
    noisy: int = 0
    left_out: int = 0

    def add_study(self, number: int, study: Study, lines: list[tuple[int, str]]) -> None:
        dataset = study.dataset
        every = configurations(dataset)
        ranking = Ranking.of(dataset)
        best = set(map(id, ranking.best_lines(every)))
        rank = {id(one): k for k, one in enumerate(sorted(every, key=ranking.key))}
        gaps = {metric: gap(dataset, metric) for metric in METRICS if metric in dataset}
        references = {metric: reference(dataset, metric) for metric in gaps}
        clocks = {name: dataset[name].values for name in AXES if name in dataset.data_vars}
        finals = {metric: final(found.values) for metric, found in gaps.items()}
        reached = [settled(dataset, level) for level in LEVELS]
        efforts = np.array(
            [effort.iterations for effort in reached] + [effort.seconds for effort in reached]
        )
        seeds = dataset["seed"].values
        places = {}
        # The best first, in case there is no room for all.
        for one in sorted(every, key=lambda one: (id(one) not in best, rank[id(one)])):
            most = MOST_POINTS if id(one) in best else MOST_POINTS // 4
            places[id(one)] = self._add_curves(one, gaps, clocks, most)
        for one in every:
            done = one.usable
            self.configurations.append(
                {
                    "line": lines.index((number, one.line)),
                    "panel": one.panel,
                    "step": one.step,
                    "scale": one.init_scale,
                    "tuned": one.tuned,
                    "rank": rank[id(one)],
                    "seeds": seeds[one.runs].tolist(),
                    "unusable": {
                        status: one.endings[status] for status in UNUSABLE if one.endings[status]
                    },
                    "references": {
                        metric: _number(found[one.runs[0]]) for metric, found in references.items()
                    },
                    "curves": places[id(one)],
                    "finals": {
                        metric: self.numbers.add(statistics(found[done, np.newaxis]).T)
                        for metric, found in finals.items()
                        if len(done) and np.isfinite(found[done]).all()
                    },
                    "efforts": self.numbers.add(efforts[:, one.runs]),
                }
            )

    def _add_curves(
        self,
        one: Configuration,
        gaps: dict[str, xr.DataArray],
        clocks: dict[str, np.ndarray],
        most: int,
    ) -> dict[str, dict[str, list[int]]]:
        if self.numbers.size > MOST_NUMBERS:
            self.left_out += 1
            return {}
        places: dict[str, dict[str, list[int]]] = {}
        for axis in ("iteration", *clocks):
            places[axis] = {}
            for metric, values in gaps.items():
                if axis == "iteration":
                    at, rows = seeds_over_iterations(values, one)
                else:
                    at, rows = seeds_over(clocks[axis], values, one)
                if rows.size == 0:
                    continue
                found = statistics(rows)
                kept, off = thin(at, found, METRICS[metric]["floor"], most)
                places[axis][metric] = self.numbers.add([at[kept], *found[:, kept]])
                self.points += len(at)
                self.kept += len(kept)
                self.faithful += off <= 1
                self.noisy += off > 1
        return places

    def thinning(self) -> dict[str, Any]:
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


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
