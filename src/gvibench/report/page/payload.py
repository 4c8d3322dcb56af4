"""Build the data of a page: the same numbers as in the static figures, ready for JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import xarray as xr

from gvibench.analysis.configurations import configurations, unique
from gvibench.analysis.costs import cost_of
from gvibench.analysis.efforts import LEVELS, SOLVED
from gvibench.figures.style import DASHED, SOLID, LineStyle, line_styles_of
from gvibench.report.page.configuration_data import AXES, METRICS, ConfigurationData
from gvibench.report.page.curves import STATISTICS
from gvibench.report.page.sections import Section, overview, provenance, tables_of
from gvibench.spec.statuses import UNUSABLE

__all__ = ["Study", "payload"]

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
    "H": "hexagon2",
    "8": "octagon",
    "|": "line-ns-open",
    "p": "pentagon",
    "*": "star",
    "d": "diamond-tall",
}
"""Plotly's names of Matplotlib's markers."""


@dataclass(frozen=True)
class Study:
    """A study on a page."""

    dataset: xr.Dataset
    label: str = ""
    """Prefix of the names of its solvers on a page with several studies."""
    source: str = ""
    """Path of the study, for readers."""
    tables: Sequence[str] = ()
    figures: Sequence[Section] = ()
    codes: dict[str, str] = field(default_factory=dict)
    """Code hashes of the page itself."""


def payload(studies: Sequence[Study], extra: Sequence[Section] = ()) -> dict[str, Any]:
    """Return the content of a page.

    Parameters
    ----------
    studies
        One study, or two to compare.
    extra
        Tables about all studies together.
    """
    configs = [
        (number, config)
        for number, study in enumerate(studies)
        for config in configurations(study.dataset)
    ]
    looks = line_styles_of(config for _, config in configs)
    lines = unique((number, config.line) for number, config in configs)
    data = ConfigurationData()
    for number, study in enumerate(studies):
        data.add_study(number, study.dataset, lines)
    return {
        "cost": cost_of(studies[0].dataset)._asdict(),
        "title": _title(studies),
        "statistics": STATISTICS,
        "axes": AXES,
        "metrics": METRICS,
        "levels": LEVELS,
        "level": SOLVED,
        "unusable": UNUSABLE,
        "panels": unique(config.panel for _, config in configs),
        "lines": [
            {
                "name": _labelled(studies[number], line),
                **_look(looks[line], number if len(studies) > 1 else None),
            }
            for number, line in lines
        ],
        "configurations": data.configurations,
        "thinning": data.thinning(),
        "studies": [_study(study) for study in studies],
        "extra": list(extra),
        "numbers": data.numbers.encode(),
    }


def _study(study: Study) -> Section:
    """Return the text, tables and figures of one study."""
    return {
        "label": study.label,
        "name": _name(study),
        "title": study.dataset.attrs["title"],
        "source": study.source,
        **overview(study.dataset),
        "tables": tables_of(study.dataset, study.tables),
        "figures": list(study.figures),
        "provenance": provenance(study.dataset, study.codes),
    }


def _title(studies: Sequence[Study]) -> str:
    """Return the title of the page. Compared studies can have the same title."""
    titles = unique(study.dataset.attrs["title"] or _name(study) for study in studies)
    if len(titles) < len(studies):
        return f"{titles[0]}: {' and '.join(study.label for study in studies)} compared"
    return " against ".join(titles)


def _name(study: Study) -> str:
    return str(study.dataset.attrs["study"])


def _labelled(study: Study, line: str) -> str:
    return f"{study.label}: {line}" if study.label else line


def _look(look: LineStyle, number: int | None) -> dict[str, Any]:
    if number is not None:  # compared studies differ only in their dashes
        look = replace(look, dash=(SOLID, DASHED)[number % 2])
    dash = [] if look.dash == SOLID else [2 * length for length in look.dash[1]]
    return {"color": look.color, "dash": dash, "marker": MARKERS[look.marker]}
