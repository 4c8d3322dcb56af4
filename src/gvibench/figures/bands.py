"""Draw tables of bands: a line for the centre and a filled range over the seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from gvibench.figures.lines import seaborn_styles
from gvibench.figures.panels import Panels, relational_panels
from gvibench.figures.style import LineStyle

__all__ = ["band_panels", "draw_bands", "largest", "visible"]

BAND_ALPHA, CROWDED_ALPHA = 0.18, 0.1
MAX_BANDS = 4
"""Number of bands in one panel up to which they have the full opacity."""


def band_panels(
    table: pd.DataFrame,
    x: str,
    names: Sequence[str],
    styles: Mapping[str, LineStyle],
    style: Mapping[str, Any],
    quantities: Sequence[str] = (),
) -> Panels:
    """Draw a band table in panels: centres with `relplot` and ranges with `fill_between`.

    Parameters
    ----------
    table
        Table with the columns `panel`, `line`, `center`, `low`, `high` and the column of the
        horizontal axis, and `quantity` if panels have several rows.
    x
        Column of the horizontal axis.
    names
        Names of the panels.
    styles
        Styles of the lines.
    style
        Style of the config.
    quantities
        Values of the column `quantity`, one for each row of a panel.
    """
    rows = [("quantity", quantity) for quantity in quantities]
    options = {"x": x, "y": "center", **seaborn_styles("line", visible(table, styles))}
    panels = relational_panels(table, names, style, options, rows)
    for name in names:
        for k in range(max(len(rows), 1)):
            part = table[table["panel"] == name]
            if rows:
                part = part[part["quantity"] == quantities[k]]
            _finish(panels.axes(name, k), part, x, styles)
    return panels


def draw_bands(axes: Axes, table: pd.DataFrame, x: str, styles: Mapping[str, LineStyle]) -> None:
    """Draw a band table into the given axes."""
    import seaborn

    if table.empty:
        return
    looks = seaborn_styles("line", visible(table, styles))
    seaborn.lineplot(
        table, x=x, y="center", estimator=None, sort=False, legend=False, ax=axes, **looks
    )
    _finish(axes, table, x, styles)


def visible(table: pd.DataFrame, styles: Mapping[str, LineStyle]) -> dict[str, LineStyle]:
    """Return the styles of the lines that the table contains, in their order."""
    lines = set(table["line"])
    return {line: look for line, look in styles.items() if line in lines}


def largest(table: pd.DataFrame, column: str) -> float:
    """Return the largest value of a column, or 0 if the table is empty."""
    return float(table[column].max()) if len(table) else 0.0


def _finish(axes: Axes, table: pd.DataFrame, x: str, styles: Mapping[str, LineStyle]) -> None:
    """Label the lines that seaborn has drawn last, and fill their ranges."""
    drawn = visible(table, styles)
    lines = axes.get_lines()
    for line, artist in zip(drawn, lines[len(lines) - len(drawn) :], strict=True):
        artist.set_label(line)
    alpha = BAND_ALPHA if len(drawn) <= MAX_BANDS else CROWDED_ALPHA
    for line, look in drawn.items():
        rows = table[table["line"] == line]
        low, high = rows["low"], rows["high"]
        axes.fill_between(rows[x], low, high, color=look.color, alpha=alpha, linewidth=0)
