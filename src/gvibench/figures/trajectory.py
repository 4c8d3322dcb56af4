"""Draw the paths of the means on contours of the loss, for a linear model with two features."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gvibench.analysis.configurations import Configuration, Floats, configurations, unique, usable
from gvibench.analysis.efforts import SOLVED, settled
from gvibench.analysis.ranking import Ranking
from gvibench.errors import UserError
from gvibench.figures.drawing import Drawing
from gvibench.figures.notes import best_note, reference_name, unusable_note
from gvibench.figures.panels import Panels
from gvibench.figures.style import SOLID, LineStyle, line_styles_of

__all__ = ["CONTOUR_RATIO", "ELLIPSES", "plot"]

ELLIPSES = 4
"""Number of covariances drawn along a path, including the first and the last iterate."""
CONTOURS = 8
"""Number of contours of the loss."""
CONTOUR_POINTS, ELLIPSE_POINTS = 400, 100
CONTOUR_RATIO = 4.0
"""Ratio of the loss gaps of adjacent contours. With 4, each ellipse has twice the size."""
MARGIN = 0.06
MARKER_DISTANCE = 0.02
"""Distance between the markers of a path, relative to the diagonal of the axes."""
PATH, ELLIPSE, START, OPTIMUM, CONTOUR = "path", "ellipse", "start", "optimum", "contour"
"""Kinds of curves in the table."""
WIDTHS = (2.4, 1.1, 0.8)
"""Line widths in points, from the lowest line to the topmost."""
START_STYLE: dict[str, Any] = {"color": "black", "marker": "X", "linestyle": "", "markersize": 5}
OPTIMUM_STYLE: dict[str, Any] = {"color": "black", "marker": "*", "linestyle": "", "markersize": 8}


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw one panel per data set and, for the first seed, one path per solver.

    The loss of a linear model is a quadratic whose curvature is gamma times the inverse of the
    optimal covariance, so the optimum determines its contours.
    """
    _validate(dataset)
    configs = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(configs)
    styles = line_styles_of(shown)
    names = unique(config.panel for config in shown)
    parts = [
        part
        for name in names
        for part in _panel_parts(dataset, [config for config in shown if config.panel == name])
    ]
    table = pd.concat(parts, ignore_index=True)
    panel_notes = {
        name: unusable_note((config.line, config) for config in shown if config.panel == name)
        for name in names
    }
    notes = [
        f"iterations until the objective gap to the {reference_name(dataset)} settles at "
        f"{SOLVED:g} nat or less",
        f"seed\u00a0{dataset['seed'].values.min()}",
        "ellipses: one standard deviation",
        f"contours of the loss, each {CONTOUR_RATIO:g} times the next one inside",
        *best_note(configs, shown),
    ]
    labels = {line: _label(dataset, line, names, shown) for line in styles}
    panels = _draw(table, styles, style, labels, panel_notes, notes)
    return Drawing(panels.figure, shown, table)


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


def _panel_parts(dataset: xr.Dataset, configs: Sequence[Configuration]) -> Iterator[pd.DataFrame]:
    """Yield the curves of one panel: contours, paths, ellipses, starts and the optimum."""
    name = configs[0].panel
    run = int(configs[0].runs[0])
    optimum = np.asarray(dataset["optimum_mean"][run].values)
    factor = np.asarray(dataset["optimum_covariance_factor"][run].values)
    parts = [_rows(name, OPTIMUM, "", 0, optimum[np.newaxis])]
    for config in configs:
        first = _first_run(dataset, config)
        if first in config.usable:
            parts += _path_parts(dataset, config, first)
    low, high = _limits(np.concatenate([part[["m1", "m2"]].to_numpy() for part in parts]))
    corners = np.array([[x, y] for x in (low[0], high[0]) for y in (low[1], high[1])])
    # A contour at the distance r in units of the factor has the loss gamma r^2 / 2.
    largest = float(np.linalg.norm(np.linalg.solve(factor, (corners - optimum).T), axis=0).max())
    for k in range(CONTOURS):
        radius = largest * CONTOUR_RATIO ** (-0.5 * (CONTOURS - k))
        yield _rows(name, CONTOUR, "", k, optimum + radius * (factor @ _circle(CONTOUR_POINTS)).T)
    yield from parts


def _path_parts(dataset: xr.Dataset, config: Configuration, run: int) -> Iterator[pd.DataFrame]:
    """Yield the path of the means of a run, its start and ellipses of its covariances."""
    means = np.asarray(dataset["path_mean"][run].values)
    kept = np.isfinite(means).all(axis=1)
    means, factors = means[kept], dataset["path_covariance_factor"][run].values[kept]
    yield _rows(config.panel, PATH, config.line, 0, means)
    yield _rows(config.panel, START, config.line, 0, means[:1])
    chosen = np.unique(np.linspace(0, len(means) - 1, ELLIPSES).round().astype(int))
    for number, k in enumerate(chosen):
        ellipse = means[k] + (factors[k] @ _circle(ELLIPSE_POINTS)).T
        yield _rows(config.panel, ELLIPSE, config.line, number, ellipse)


def _rows(panel: str, kind: str, line: str, curve: int, points: Floats) -> pd.DataFrame:
    """Return the points of one curve as rows of the table."""
    columns = {"panel": panel, "kind": kind, "line": line, "curve": curve}
    return pd.DataFrame({**columns, "m1": points[:, 0], "m2": points[:, 1]})


def _circle(points: int) -> Floats:
    angles = np.linspace(0.0, 2 * np.pi, points)
    return np.array([np.cos(angles), np.sin(angles)])


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


def _draw(
    table: pd.DataFrame,
    styles: Mapping[str, LineStyle],
    style: Mapping[str, Any],
    labels: Mapping[str, str],
    panel_notes: Mapping[str, str],
    notes: Sequence[str],
) -> Panels:
    """Draw the table, one panel per data set."""
    panels = Panels(list(panel_notes), style)
    looks = _path_styles(styles)
    for name, note in panel_notes.items():
        _draw_panel(panels.axes(name), table[table["panel"] == name], looks)
        panels.note(name, note)
    panels.label("$m_1$", "$m_2$")
    drawn = set(table["line"])
    entries = [
        Line2D([], [], label=labels[line], **looks[line]) for line in styles if line in drawn
    ]
    entries += [
        Line2D([], [], label="start", **START_STYLE),
        Line2D([], [], label="optimum", **OPTIMUM_STYLE),
    ]
    missing = [labels[line] for line in styles if line not in drawn]
    panels.legend(entries, [*notes, *missing])
    return panels


def _draw_panel(axes: Axes, table: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw contours, then the paths with their ellipses, then start and optimum."""
    curves = {
        key: rows[["m1", "m2"]].to_numpy()
        for key, rows in table.groupby(["kind", "line", "curve"], sort=False)
    }
    for (kind, _, _), points in curves.items():
        if kind == CONTOUR:
            axes.plot(*points.T, color="0.72", linewidth=0.6, zorder=0.5, gid=CONTOUR)
    for name, look in looks.items():
        for (kind, line, _), points in curves.items():
            if (kind, line) == (ELLIPSE, name):
                color = look["color"]
                axes.plot(*points.T, color=color, linewidth=0.6, alpha=0.7, gid=ELLIPSE)
        if (PATH, name, 0) in curves:
            axes.plot(*curves[PATH, name, 0].T, label=name, markevery=MARKER_DISTANCE, **look)
    for (kind, _, _), points in curves.items():
        if kind == START:
            axes.plot(*points.T, **START_STYLE, zorder=4, gid=START)
        elif kind == OPTIMUM:
            axes.plot(*points.T, **OPTIMUM_STYLE, zorder=5, gid=OPTIMUM)
    low, high = _limits(table[table["kind"] != CONTOUR][["m1", "m2"]].to_numpy())
    axes.grid(visible=False)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])


def _limits(points: Floats) -> tuple[Floats, Floats]:
    """Return the corners of a rectangle that contains all points, with a margin."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = MARGIN * (high - low) + 1e-9
    return low - margin, high + margin


def _label(
    dataset: xr.Dataset, line: str, panels: Sequence[str], shown: Sequence[Configuration]
) -> str:
    """Return the name of a line with its step and its number of iterations in each panel."""
    efforts = settled(dataset, SOLVED).iterations
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
