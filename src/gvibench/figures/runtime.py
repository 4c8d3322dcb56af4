"""Draw seconds per iteration against the number of features, with two operation counts."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.gaps import final_values
from gvibench.analysis.scaling import OURS, PAPER, Runtime, exponent, measure
from gvibench.figures.bands import visible
from gvibench.figures.drawing import Drawing
from gvibench.figures.lines import legend_entry
from gvibench.figures.panels import Panels
from gvibench.figures.seeds import draw_seeds
from gvibench.figures.style import DOTTED, LineStyle, line_styles_of

__all__ = ["COUNTS", "MEASURED", "plot"]

COUNTS = {"the paper's count, update only": PAPER, "our count, with g and H": OURS}
COUNT_STYLE: dict[str, Any] = {"linestyle": DOTTED, "linewidth": 0.9}
MEASURED = "measured"
"""Value of the column `quantity` for measured times. For operation counts it is their name."""
SECONDS = "seconds_per_iteration"


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw two panels for each n, with the same times and one of the operation counts each."""
    configs = configurations(dataset)
    runtimes = measure(dataset)
    table = pd.concat([_measured(dataset, configs), _counted(runtimes)], ignore_index=True)
    styles = visible(table, line_styles_of(configs))
    labels = {line: _label(line, runtimes) for line in styles}
    return Drawing(_draw(table, styles, labels, style).figure, configs, table)


def _measured(dataset: xr.Dataset, configs: Sequence[Configuration]) -> pd.DataFrame:
    """Return the seconds per iteration of each run."""
    seconds = final_values(dataset["seconds"])
    iterations = np.asarray(dataset["iterations_done"].values, dtype=float)
    runs = np.concatenate([config.usable for config in configs])
    lines = np.repeat([config.line for config in configs], [len(c.usable) for c in configs])
    took_steps = iterations[runs] > 0
    runs, lines = runs[took_steps], lines[took_steps]
    columns = {
        "n": dataset["n_train"].values[runs],
        "line": lines,
        "quantity": MEASURED,
        "d": dataset["d"].values[runs],
        "seed": dataset["seed"].values[runs],
        SECONDS: seconds[runs] / iterations[runs],
    }
    return pd.DataFrame(columns)


def _counted(runtimes: Sequence[Runtime]) -> pd.DataFrame:
    """Return the operation counts of each line, scaled to its time at the largest size."""
    rows = []
    for n, line in unique((runtime.rows, runtime.line) for runtime in runtimes):
        points = [runtime for runtime in runtimes if (runtime.rows, runtime.line) == (n, line)]
        last = points[-1]
        for name, counts in COUNTS.items():
            if (work := counts.get(last.solver_id)) is not None:
                scale = last.mean / work(n, last.features)
                rows += [
                    (n, line, name, point.features, scale * work(n, point.features))
                    for point in points
                ]
    return pd.DataFrame(rows, columns=["n", "line", "quantity", "d", SECONDS])


def _draw(
    table: pd.DataFrame,
    styles: Mapping[str, LineStyle],
    labels: Mapping[str, str],
    style: Mapping[str, Any],
) -> Panels:
    """Draw the table, two panels for each n."""
    # If no run completed, the figure has two empty panels.
    sizes = unique(table["n"]) or [None]
    names = {(n, title): f"n = {n}: {title}" if n else title for n in sizes for title in COUNTS}
    panels = Panels(list(names.values()), style)
    for (n, title), name in names.items():
        axes = panels.axes(name)
        for line, look in styles.items():
            here = table[(table["n"] == n) & (table["line"] == line)]
            counted = here[here["quantity"] == title]
            if len(counted):
                x, y = counted["d"], counted[SECONDS]
                axes.plot(x, y, color=look.color, gid="count", label="_count", **COUNT_STYLE)
            dots = {"color": look.color, "linestyle": look.dash, "marker": look.marker}
            measured = here[here["quantity"] == MEASURED]
            draw_seeds(axes, measured, "d", SECONDS, "mean", line, **dots)
        _scale(axes)
    _share_limits([panels.axes(name) for name in names.values()])
    panels.note_hidden_lines()
    panels.label("features d", "solver time per iteration [s]")
    entries = [legend_entry(labels[line], look, marker=True) for line, look in styles.items()]
    if (table["quantity"] != MEASURED).any():
        label = "operations, scaled to the last point"
        entries.append(Line2D([], [], color="0.35", label=label, **COUNT_STYLE))
    notes = ["mean and min–max over runs", "powers of d fitted to the larger half of the sizes"]
    panels.legend(entries, notes)
    return panels


def _scale(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _share_limits(panels: Sequence[Axes]) -> None:
    """Give all panels the same y limits, so that the counts can be compared."""
    limits = [axes.get_ylim() for axes in panels if axes.get_lines()]
    if not limits:
        return
    for axes in panels:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _label(line: str, runtimes: Sequence[Runtime]) -> str:
    """Return the name of a line with the power of d of its time for each n."""
    powers = []
    for n in unique(runtime.rows for runtime in runtimes):
        points = [runtime for runtime in runtimes if (runtime.rows, runtime.line) == (n, line)]
        power = exponent(points, lambda point: point.mean)
        if not math.isnan(power):
            powers.append(f"$d^{{{power:.2f}}}$")
    return f"{line}: {', '.join(powers)}" if powers else line
