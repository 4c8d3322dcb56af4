"""Compare new entries of a track with the published ones."""

from pathlib import Path

import xarray as xr

from gvibench.benchmark.pages import settings_of
from gvibench.tables.formats import to_csv, to_markdown
from gvibench.tables.scores import scores_table

__all__ = ["write_comparison"]


def write_comparison(outcomes: xr.Dataset, folder: Path) -> str:
    """Write `comparison.csv` and `comparison.png` to a folder, and return the scores as text."""
    from gvibench.benchmark.pages import STYLE
    from gvibench.figures.score_ecdf import draw_scores
    from gvibench.figures.theme import theme

    settings = settings_of(outcomes)
    table = scores_table(outcomes, settings)
    (folder / "comparison.csv").write_text(to_csv(table))
    with theme(STYLE):
        # The times of the archive are those of another machine.
        figure = draw_scores(outcomes, settings, STYLE, has_time=False).figure
        figure.savefig(folder / "comparison.png", dpi=150)
    files = f"{folder / 'comparison.csv'} and {folder / 'comparison.png'}"
    return f"{to_markdown(table)}\nwritten to {files}"
