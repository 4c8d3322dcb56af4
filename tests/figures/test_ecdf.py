"""Figure `ecdf`."""

import numpy as np
import pytest

from figures.drawn import legend_title, lines, plot
from figures.made_aggregate import Run, make_dataset


@pytest.fixture(scope="module")
def drawing(tmp_path_factory):
    """VN reaches the three levels after 1, 2 and 4 iterations, GD only the first after 3."""
    gaps = [5.0, 1e-3, 1e-5, 1e-5, 1e-8, 1e-8]
    slow = [5.0, 4.0, 3.0, 1e-3, 1e-3, 1e-3]
    runs = [
        *(Run([10 + gap for gap in gaps], seed=seed) for seed in (0, 1)),
        *(Run([10 + gap for gap in slow], solver="gd", seed=seed) for seed in (0, 1)),
        *(Run([15.0], solver="sr-vn", seed=seed, status="diverged") for seed in (0, 1)),
    ]
    return plot("ecdf", make_dataset(tmp_path_factory.mktemp("ecdf"), runs))


def share_at(axes, line, cost):
    at, share = lines(axes)[line]
    return share[np.searchsorted(at, cost, side="right") - 1]


def test_lines_show_the_share_of_targets(drawing):
    iterations, seconds = drawing.figure.axes
    for cost, of_vn, of_gd in ((1, 1 / 3, 0), (2, 2 / 3, 0), (3, 2 / 3, 1 / 3), (4, 1, 1 / 3)):
        assert share_at(iterations, "VN", cost) == pytest.approx(of_vn)
        assert share_at(iterations, "GD", cost) == pytest.approx(of_gd)
        assert share_at(seconds, "VN", 0.01 * cost + 1e-9) == pytest.approx(of_vn)
    assert share_at(iterations, "SR-VN", iterations.get_xlim()[1]) == 0
    assert [axes.get_xlabel() for axes in drawing.figure.axes] == ["iteration", "solver time [s]"]
    assert [axes.get_xscale() for axes in drawing.figure.axes] == ["log", "log"]
    assert "0.01, 0.0001, 1e-06 nat" in legend_title(drawing.figure)


def test_targets_that_were_not_reached_lie_beyond_the_axis(drawing):
    table = drawing.table
    assert len(table) == 2 * 3 * 2 * 3  # panels, lines, seeds, levels
    assert np.isfinite(table["cost"]).all()
    for axes, (_, rows) in zip(
        drawing.figure.axes, table.groupby("panel", sort=False), strict=True
    ):
        assert (rows[~rows["reached"]]["cost"] > axes.get_xlim()[1]).all()
        assert (rows[rows["reached"]]["cost"] < axes.get_xlim()[1]).all()
    assert table.groupby("line")["reached"].sum().to_dict() == {"VN": 12, "GD": 4, "SR-VN": 0}
