"""Draw the paths of the means on contours of the loss, for a linear model with two features."""

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
from gvibench.figures.lines import line_styles_of
from gvibench.figures.notes import best_note, reference_name, unusable_note
from gvibench.figures.panels import Panels
from gvibench.figures.style import SOLID, LineStyle

__all__ = ["CONTOUR_RATIO", "ELLIPSES", "LEVEL", "plot"]

LEVEL = 1e-4
"""Objective gap in nats at which a run counts as converged once the gap stays below it."""
ELLIPSES = 4
"""Number of covariances drawn along a path, including the first and the last iterate."""
CONTOURS = 8
CONTOUR_RATIO = 4.0
"""Ratio of the loss gaps of adjacent contours. With 4, each ellipse has twice the size."""
GRID = 200
MARGIN = 0.06
WIDTHS = (2.4, 1.1, 0.8)
"""Line widths in points, from the lowest line to the topmost."""
START: dict[str, Any] = {"color": "black", "marker": "X", "linestyle": "", "markersize": 5}
OPTIMUM: dict[str, Any] = {"color": "black", "marker": "*", "linestyle": "", "markersize": 8}


@dataclass(frozen=True)
class _Path:
    """Means and covariances of one run in the plane."""

    config: Configuration
    means: Floats
    """Means of the snapshots, an array (snapshot, 2)."""
    ellipses: list[Floats]
    """Closed curves (point, 2) at one standard deviation of the covariance."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set and, for the first seed, one path per solver.

    The loss of a linear model is a quadratic whose curvature is gamma times the inverse of the
    optimal covariance, so the optimum determines its contours.
    """
    _validate(dataset)
    configs = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(configs)
    line_styles = line_styles_of(shown)
    path_styles = _path_styles(line_styles)
    names = unique(config.panel for config in shown)
    panels = Panels(names, style)
    for name in names:
        here = [config for config in shown if config.panel == name]
        paths = [
            _path(dataset, config)
            for config in here
            if _first_run(dataset, config) in config.usable
        ]
        axes = panels.axes(name)
        for line, path_style in path_styles.items():
            for path in paths:
                if path.config.line == line:
                    _draw(axes, path, path_style)
        _draw_loss(axes, dataset, here[0], paths)
        panels.note(name, unusable_note((config.line, config) for config in here))
    panels.label("$m_1$", "$m_2$")
    entries = [
        Line2D([], [], label=_label(dataset, line, names, shown), **path_styles[line])
        for line in line_styles
    ]
    entries += [
        Line2D([], [], label="start", **START),
        Line2D([], [], label="optimum", **OPTIMUM),
    ]
    notes = [
        f"iterations until the objective gap to the {reference_name(dataset)} settles at "
        f"{LEVEL:g} nat or less",
        f"seed {dataset['seed'].values.min()}",
        "ellipses: one standard deviation",
        f"contours of the loss, each {CONTOUR_RATIO:g} times the next one inside",
        *best_note(configs, shown),
    ]
    panels.legend(entries, notes)
    return panels.figure, shown


def _validate(dataset: xr.Dataset) -> None:
    """Raise UserError if the study has no paths in a plane or no optimum."""
    if "path_mean" not in dataset:
        raise UserError(
            "the figure 'path' needs the iterates: set record: [covariance_factor_path]"
        )
    if set(dataset["model"].values.tolist()) != {"linear"}:
        raise UserError("the figure 'path' shows the quadratic loss of the model 'linear' only")
    known = np.isfinite(dataset["path_mean"].values).any(axis=1)
    features = sorted(set(known.sum(axis=-1).tolist()))
    if features != [2]:
        counts = ", ".join(map(str, features))
        raise UserError(f"the figure 'path' is a plane: it shows two features, not {counts}")
    if not np.isfinite(dataset["optimum_covariance_factor"].values[:, :2, :2]).all():
        raise UserError("the figure 'path' needs the optimum: set gap: optimum and gamma above 0")


def _first_run(dataset: xr.Dataset, config: Configuration) -> int:
    """Return the position of the run with the smallest seed."""
    return int(config.runs[np.argmin(dataset["seed"].values[config.runs])])


def _path(dataset: xr.Dataset, config: Configuration) -> _Path:
    run = _first_run(dataset, config)
    means = np.asarray(dataset["path_mean"][run].values)
    kept = np.isfinite(means).all(axis=1)
    means, factors = means[kept], dataset["path_covariance_factor"][run].values[kept]
    chosen = np.unique(np.linspace(0, len(means) - 1, ELLIPSES).round().astype(int))
    angles = np.linspace(0.0, 2 * np.pi, 100)
    circle = np.array([np.cos(angles), np.sin(angles)])
    return _Path(config, means, [means[k] + (factors[k] @ circle).T for k in chosen])


def _path_styles(styles: Mapping[str, LineStyle]) -> dict[str, dict[str, Any]]:
    """Return the Matplotlib style of each path, in the order of drawing.

    Wide lines are below thin ones and solid lines below dashed ones, so that paths that coincide
    are all visible.
    """
    ordered = sorted(styles, key=lambda line: styles[line].dash != SOLID)
    return {
        line: {
            "color": styles[line].color,
            "linestyle": styles[line].dash,
            "marker": styles[line].marker,
            "linewidth": width,
            "markersize": 1.5 + 1.1 * width,
            "markerfacecolor": styles[line].color if styles[line].dash == SOLID else "white",
            "markeredgewidth": 0.7,
        }
        for line, width in zip(ordered, chain(WIDTHS, repeat(WIDTHS[-1])), strict=False)
    }


def _draw(axes: Axes, path: _Path, style: dict[str, Any]) -> None:
    for ellipse in path.ellipses:
        axes.plot(*ellipse.T, color=style["color"], linewidth=0.6, alpha=0.7, gid="ellipse")
    axes.plot(*path.means.T, label=path.config.line, **style)


def _draw_loss(
    axes: Axes, dataset: xr.Dataset, config: Configuration, paths: Sequence[_Path]
) -> None:
    """Draw contours of the loss below the paths, and mark start and optimum."""
    run = int(config.runs[0])
    optimum = np.asarray(dataset["optimum_mean"][run].values)
    factor = np.asarray(dataset["optimum_covariance_factor"][run].values)
    inside = [optimum[np.newaxis], *(path.means for path in paths)]
    inside += [ellipse for path in paths for ellipse in path.ellipses]
    low, high = _limits(inside)
    x, y = np.meshgrid(*(np.linspace(low[k], high[k], GRID) for k in (0, 1)))
    offsets = np.stack([x.ravel(), y.ravel()]) - optimum[:, np.newaxis]
    whitened = np.linalg.solve(factor, offsets)
    loss = 0.5 * float(dataset["gamma"].values[run]) * (whitened**2).sum(axis=0).reshape(x.shape)
    levels = loss.max() * CONTOUR_RATIO ** -np.arange(CONTOURS, 0.0, -1.0)
    axes.contour(x, y, loss, levels, colors="0.72", linewidths=0.6, zorder=0.5)
    axes.grid(visible=False)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    for path in paths:
        axes.plot(*path.means[0], **START, zorder=4, gid="start")
    axes.plot(*optimum, **OPTIMUM, zorder=5, gid="optimum")


def _limits(inside: Iterable[Floats]) -> tuple[Floats, Floats]:
    """Return the corners of a rectangle that contains all points, with a margin."""
    points = np.concatenate(list(inside))
    low, high = points.min(axis=0), points.max(axis=0)
    margin = MARGIN * (high - low) + 1e-9
    return low - margin, high + margin


def _label(
    dataset: xr.Dataset, line: str, panels: Sequence[str], shown: Sequence[Configuration]
) -> str:
    """Return the name of a line with its step and its number of iterations in each panel."""
    efforts = settled(dataset, LEVEL).iterations
    steps, counts = [], []
    for panel in panels:
        for config in shown:
            if (config.panel, config.line) == (panel, line):
                run = _first_run(dataset, config)
                steps.append(f"{config.step:.3g}")
                counts.append(_count(dataset, run, efforts[run]))
    return f"{line}, step {', '.join(unique(steps))}: {', '.join(counts)}"


def _count(dataset: xr.Dataset, run: int, effort: float) -> str:
    if not usable(dataset)[run]:
        return str(dataset["status"].values[run])
    if np.isnan(effort):
        return f">{dataset['iterations_done'].values[run]} iterations"
    return f"{effort:.0f} iteration{'' if effort == 1 else 's'}"
