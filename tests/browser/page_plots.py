"""Read what a report page shows in Chromium, and compute what it should show."""

import numpy as np
import pytest

from gvibench.analysis.bands import seeds_over, seeds_over_iterations
from gvibench.analysis.configurations import configurations
from gvibench.analysis.gaps import gap
from gvibench.analysis.ranking import Ranking
from gvibench.report.page.curves import STATISTICS, statistics

TRACES = """([section, title]) => {
  const frame = [...document.querySelectorAll(`#${section} .panel`)]
    .find((panel) => panel.querySelector('h3').textContent === title);
  if (frame.hidden) return null;
  const plot = frame.querySelector('.plot');
  return plot.data.map((trace) => ({
    name: trace.name, kind: trace.meta.kind, step: trace.meta.step, scale: trace.meta.scale,
    color: trace.line?.color, x: Array.from(trace.x), y: Array.from(trace.y),
    xscale: plot._fullLayout.xaxis.type, yscale: plot._fullLayout.yaxis.type,
  }));
}"""


def traces(page, title="wdbc", section="curves", kind="line"):
    """Return the traces of a plot, or None if the plot is hidden."""
    drawn = page.evaluate(TRACES, [section, title])
    return drawn and [trace for trace in drawn if trace["kind"] == kind]


def trace(page, name, title="wdbc", **wanted):
    [drawn] = [trace for trace in traces(page, title, **wanted) if trace["name"] == name]
    return drawn


def configuration(dataset, line, panel="wdbc", **fields):
    """Return the best configuration of a line that has the given fields."""
    configs = [
        config
        for config in configurations(dataset)
        if (config.panel, config.line) == (panel, line)
        and all(getattr(config, name) == value for name, value in fields.items())
    ]
    [best] = Ranking.of(dataset).best_lines(configs)
    return best


def expected(dataset, config, metric="objective", form="gap", axis="iteration"):
    """Return the positions of the curve of a configuration, and its statistics over seeds."""
    values = gap(dataset, metric) if form == "gap" else dataset[metric]
    seeds = seeds_over if axis == "seconds" else seeds_over_iterations
    at, rows = seeds(dataset[axis].values[config.usable], values.values[config.usable])
    curves = statistics(rows)
    curves = np.repeat(curves, 6, axis=0) if len(curves) == 1 else curves
    return at, dict(zip(STATISTICS, curves, strict=True))


def check_line(drawn, at, values):
    """Check that all drawn points are on the curve and that its end points are drawn."""
    x = np.array(drawn["x"])
    # Bands over time start with two values at the same time; compare with the last.
    kept = np.searchsorted(at.astype(np.float32), x.astype(np.float32), side="right") - 1
    kept[0] = 0
    assert x == pytest.approx(at[kept], rel=1e-6)
    assert {0, len(at) - 1} <= set(kept.tolist())
    assert np.array(drawn["y"]) == pytest.approx(values[kept], rel=1e-6, abs=1e-12)


POINT = """([name, k]) => {
  const plot = document.querySelector('#curves .plot');
  const {xaxis, yaxis} = plot._fullLayout;
  const {x, y} = plot.data.find((trace) => trace.name === name && trace.meta.kind === 'line');
  const box = plot.getBoundingClientRect();
  return [box.x + xaxis._offset + xaxis.d2p(x[k]), box.y + yaxis._offset + yaxis.d2p(y[k])];
}"""


def point_at(page, name, k):
    """Move the mouse to a point of a line and return the hover text."""
    page.mouse.move(0, 0)
    page.wait_for_selector(".hoverlayer .hovertext", state="detached")
    page.mouse.move(*page.evaluate(POINT, [name, k]))
    page.wait_for_selector(".hoverlayer .hovertext")
    return page.text_content(".hoverlayer")


def click(page):
    page.mouse.down()
    page.mouse.up()


def wait_for_lines(page, count):
    """Wait until the first plot has `count` lines."""
    page.wait_for_function(
        "(count) => document.querySelector('#curves .plot').data"
        ".filter((trace) => trace.meta.kind === 'line').length === count",
        arg=count,
    )


def column(page, table, number):
    """Return the texts of a column of a table."""
    return page.eval_on_selector_all(
        f"{table} tbody tr", f"rows => rows.map((row) => row.cells[{number}].textContent)"
    )
