"""Figure `runtime`."""

import numpy as np
import pytest

from figures.drawn import (
    LAYOUTS,
    assert_nothing_is_cut_or_overlaps,
    lay_out,
    legend_texts,
    lines,
    plot,
    with_gid,
)
from figures.made_aggregate import make_dataset, timed_run
from gvibench.analysis.scaling import OURS, PAPER
from gvibench.figures.runtime import COUNTS, MEASURED

SIZES = np.array([8, 16, 32, 64])


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    runs = []
    for seed in (0, 1):
        runs += [timed_run(int(d), (4 + 2 * seed) * d**2, seed) for d in SIZES]
        runs += [timed_run(int(d), 4.0 * d**1.5, seed, solver="gd") for d in SIZES]
    return make_dataset(tmp_path_factory.mktemp("runtime"), runs)


@pytest.fixture(scope="module")
def drawing(dataset):
    return plot("runtime", dataset)


def test_shows_the_time_per_iteration_beside_both_counts(drawing):
    figure, *_ = drawing
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == [
        "n = 40: the paper's count, update only",
        "n = 40: our count, with g and H",
    ]
    for axes, work in zip(figure.axes, (PAPER["vn"], OURS["vn"]), strict=True):
        drawn = lines(axes)
        np.testing.assert_allclose(drawn["VN"], [SIZES, 1.25 * SIZES**2])
        np.testing.assert_allclose(drawn["GD"], [SIZES, SIZES**1.5])
        band = axes.collections[0].get_paths()[0].vertices
        np.testing.assert_allclose(np.unique(band[band[:, 0] == 8, 1]), [64.0, 96.0])
        (counted,) = with_gid(axes, "count")  # There is no count for GD.
        operations = np.array([work(40, d) for d in SIZES])
        np.testing.assert_allclose(counted[1] / operations, 1.25 * 64**2 / operations[-1])
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


def test_legend_has_the_powers(drawing):
    figure, *_ = drawing
    assert legend_texts(figure)[:2] == ["VN: $d^{2.00}$", "GD: $d^{1.50}$"]


@pytest.mark.parametrize("style", LAYOUTS)
def test_nothing_is_cut_or_overlaps(dataset, style):
    assert_nothing_is_cut_or_overlaps(lay_out("runtime", dataset, style))


def test_the_table_is_what_is_drawn(drawing):
    figure, _, table = drawing
    for axes, title in zip(figure.axes, COUNTS, strict=True):
        for line, (d, seconds) in lines(axes).items():
            quantity = title if line == "_count" else MEASURED
            rows = table[(table["quantity"] == quantity) & table["line"].isin([line, "VN"])]
            rows = rows[rows["line"] == (line if quantity == MEASURED else "VN")]
            means = rows.groupby("d")["seconds_per_iteration"].mean()
            np.testing.assert_array_equal(d, means.index)
            np.testing.assert_allclose(seconds, means)
    measured = table[table["quantity"] == MEASURED]
    assert len(measured) == 16  # sizes, seeds, solvers
    assert set(measured["seed"]) == {0, 1}
