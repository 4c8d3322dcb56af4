"""The way of the means over the contours of the loss: a linear model with two features."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gvibench.analysis.configurations import Configuration, Floats, configurations, unique, usable
from gvibench.analysis.gaps import settled
from gvibench.analysis.ranking import Ranking
from gvibench.errors import UserError
from gvibench.figures.panels import Panels, best_note, looks_of, reference_name
from gvibench.figures.style import SOLID, Look

__all__ = ["CONTOUR_RATIO", "ELLIPSES", "LEVEL", "plot"]

LEVEL = 1e-4
"""A run has converged from where its objective gap, in nats, stays at or below this."""
ELLIPSES = 4
"""Covariances drawn along a path, those of the first and the last iterate included."""
CONTOURS = 8
CONTOUR_RATIO = 4.0
"""Loss gap of a contour over that of the next one inside: ellipses of twice the size."""
GRID = 200
MARGIN = 0.06
WIDTHS = (2.4, 1.1, 0.8)
"""Of lines in points, from the one beneath the others to the one on top."""
START: dict[str, Any] = {"color": "black", "marker": "X", "linestyle": "", "markersize": 5}
OPTIMUM: dict[str, Any] = {"color": "black", "marker": "*", "linestyle": "", "markersize": 8}


@dataclass(frozen=True)
class Walk:
    """What one run leaves behind on the plane."""

    one: Configuration
    means: Floats
    """(snapshot, 2)"""
    ellipses: list[Floats]
    """Closed curves, (point, 2): where the covariance has one standard deviation."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set and one path per solver, of the first seed.

    The loss of a linear model is a quadratic whose curvature is gamma times the inverse of the
    optimal covariance, so its contours need nothing but the optimum.
    """
    _check(dataset)
    every = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(every)
    looks = looks_of(shown)
    styles = _line_styles(looks)
    names = unique(one.panel for one in shown)
    panels = Panels(names, style)
    for name in names:
        here = [one for one in shown if one.panel == name]
        walks = [_walk(dataset, one) for one in here if _first_seed(dataset, one) in one.usable]
        axes = panels.axes(name)
        for line, how in styles.items():
            for walk in walks:
                if walk.one.line == line:
                    _draw(axes, walk, how)
        _draw_loss(axes, dataset, here[0], walks)
        panels.note_unusable(name, shown)
    panels.label("$m_1$", "$m_2$")
    handles = [
        Line2D([], [], label=_label(dataset, line, names, shown), **styles[line]) for line in looks
    ]
    handles += [
        Line2D([], [], label="start", **START),
        Line2D([], [], label="optimum", **OPTIMUM),
    ]
    notes = [
        f"iterations until the objective gap to the {reference_name(dataset)} settles at "
        f"{LEVEL:g} nat or less",
        f"seed {dataset['seed'].values.min()}",
        "ellipses: one standard deviation",
        f"contours of the loss, each {CONTOUR_RATIO:g} times the next one inside",
        *best_note(every, shown),
    ]
    panels.legend(handles, notes)
    return panels.figure, shown


def _check(dataset: xr.Dataset) -> None:
    if "path_mean" not in dataset:
        raise UserError(
            "the figure 'path' needs the iterates: set record: [covariance_factor_path]"
        )
    if set(dataset["model"].values.tolist()) != {"linear"}:
        raise UserError("the figure 'path' shows the quadratic loss of the model 'linear' only")
    known = np.isfinite(dataset["path_mean"].values).any(axis=1)
    features = sorted(set(known.sum(axis=-1).tolist()))
    if features != [2]:
        found = ", ".join(map(str, features))
        raise UserError(f"the figure 'path' is a plane: it shows two features, not {found}")
    if not np.isfinite(dataset["optimum_covariance_factor"].values[:, :2, :2]).all():
        raise UserError("the figure 'path' needs the optimum: set gap: optimum and gamma above 0")


def _first_seed(dataset: xr.Dataset, one: Configuration) -> int:
    return int(one.runs[np.argmin(dataset["seed"].values[one.runs])])


def _walk(dataset: xr.Dataset, one: Configuration) -> Walk:
    run = _first_seed(dataset, one)
    means = np.asarray(dataset["path_mean"][run].values)
    kept = np.isfinite(means).all(axis=1)
    means, factors = means[kept], dataset["path_covariance_factor"][run].values[kept]
    chosen = np.unique(np.linspace(0, len(means) - 1, ELLIPSES).round().astype(int))
    angles = np.linspace(0.0, 2 * np.pi, 100)
    circle = np.array([np.cos(angles), np.sin(angles)])
    return Walk(one, means, [means[k] + (factors[k] @ circle).T for k in chosen])


def _line_styles(looks: Mapping[str, Look]) -> dict[str, dict[str, Any]]:
    """Return how each line is drawn, in the order in which to draw them.

    Wide beneath thin, solid beneath dashed: paths that coincide are all seen.
    """
    ordered = sorted(looks, key=lambda line: looks[line].dash != SOLID)
    return {
        line: {
            "color": looks[line].color,
            "linestyle": looks[line].dash,
            "marker": looks[line].marker,
            "linewidth": width,
            "markersize": 1.5 + 1.1 * width,
            "markerfacecolor": looks[line].color if looks[line].dash == SOLID else "white",
            "markeredgewidth": 0.7,
        }
        for line, width in zip(ordered, chain(WIDTHS, repeat(WIDTHS[-1])), strict=False)
    }


def _draw(axes: Axes, walk: Walk, how: dict[str, Any]) -> None:
    for ellipse in walk.ellipses:
        axes.plot(*ellipse.T, color=how["color"], linewidth=0.6, alpha=0.7, gid="ellipse")
    axes.plot(*walk.means.T, label=walk.one.line, **how)


def _draw_loss(axes: Axes, dataset: xr.Dataset, one: Configuration, walks: Sequence[Walk]) -> None:
    """Draw the contours behind what is there, and mark start and optimum."""
    run = int(one.runs[0])
    optimum = np.asarray(dataset["optimum_mean"][run].values)
    factor = np.asarray(dataset["optimum_covariance_factor"][run].values)
    inside = [optimum[np.newaxis], *(walk.means for walk in walks)]
    inside += [ellipse for walk in walks for ellipse in walk.ellipses]
    left, right = _limits(inside)
    across, up = np.meshgrid(*(np.linspace(left[k], right[k], GRID) for k in (0, 1)))
    away = np.stack([across.ravel(), up.ravel()]) - optimum[:, np.newaxis]
    white = np.linalg.solve(factor, away)
    loss = 0.5 * float(dataset["gamma"].values[run]) * (white**2).sum(axis=0).reshape(across.shape)
    levels = loss.max() * CONTOUR_RATIO ** -np.arange(CONTOURS, 0.0, -1.0)
    axes.contour(across, up, loss, levels, colors="0.72", linewidths=0.6, zorder=0.5)
    axes.grid(visible=False)
    axes.set_xlim(left[0], right[0])
    axes.set_ylim(left[1], right[1])
    for walk in walks:
        axes.plot(*walk.means[0], **START, zorder=4, gid="start")
    axes.plot(*optimum, **OPTIMUM, zorder=5, gid="optimum")


def _limits(inside: Iterable[Floats]) -> tuple[Floats, Floats]:
    points = np.concatenate(list(inside))
    low, high = points.min(axis=0), points.max(axis=0)
    margin = MARGIN * (high - low) + 1e-9
    return low - margin, high + margin


def _label(
    dataset: xr.Dataset, line: str, panels: Sequence[str], shown: Sequence[Configuration]
) -> str:
    """Return a line's name with its step and the iterations it took, panel by panel."""
    efforts = settled(dataset, LEVEL).iterations
    steps, counts = [], []
    for panel in panels:
        for one in shown:
            if (one.panel, one.line) == (panel, line):
                run = _first_seed(dataset, one)
                steps.append(f"{one.step:.3g}")
                counts.append(_count(dataset, run, efforts[run]))
    return f"{line}, step {', '.join(unique(steps))}: {', '.join(counts)}"


def _count(dataset: xr.Dataset, run: int, effort: float) -> str:
    if not usable(dataset)[run]:
        return str(dataset["status"].values[run])
    if np.isnan(effort):
        return f">{dataset['iterations_done'].values[run]} iterations"
    return f"{effort:.0f} iteration{'' if effort == 1 else 's'}"
