"""Figure `bias`."""

import numpy as np
import pytest

from figures.drawn import (
    LAYOUTS,
    assert_nothing_is_cut_or_overlaps,
    lay_out,
    legend_texts,
    legend_title,
    lines,
    plot,
)
from figures.made_aggregate import Run, make_dataset
from gvibench.errors import UserError

PIECES = (20, 3, 10)
EXACT_OPTIMUM = 9.0


def on_bound(pieces, degree, above, exact, seed=0, **more):
    """Return a run by its final distances from the exact optimum, in the bound and exactly."""
    ends = EXACT_OPTIMUM + above
    spec = {"expectation": "piecewise", "pieces": pieces, "piece_degree": degree}
    return Run(
        [ends + 5, ends],
        seed=seed,
        optimum=ends - 1e-9,
        spec={**spec, "record": ("objective_exact",)},
        scalars={"objective_exact": [EXACT_OPTIMUM + 4, EXACT_OPTIMUM + exact]},
        **more,
    )


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    runs = []
    for pieces in PIECES:
        for seed in (0, 1):
            runs.append(on_bound(pieces, "linear", 8 / pieces, (1 + seed) / pieces**2, seed))
            runs.append(on_bound(pieces, "quadratic", 2 / pieces, 0.1 / pieces**2, seed))
        # This configuration is not shown, because it has not converged.
        runs.append(on_bound(pieces, "linear", 50.0, 40.0, step=0.01))
    runs.append(on_bound(5, "linear", 7.0, 7.0, status="diverged"))
    made = make_dataset(tmp_path_factory.mktemp("bias"), runs)
    return made.assign(optimum_objective_exact=("run", np.full(len(runs), EXACT_OPTIMUM)))


@pytest.fixture(scope="module")
def drawing(dataset):
    return plot("bias", dataset)


def test_shows_both_quantities_by_pieces_and_degree(drawing):
    figure, shown, _ = drawing
    (axes,) = figure.axes
    assert axes.get_title() == "wdbc"
    drawn = lines(axes)
    at = np.array([3, 10, 20])
    np.testing.assert_allclose(drawn["linear: bound"], [at, 8 / at])
    np.testing.assert_allclose(drawn["linear: exact objective"], [at, 1.5 / at**2])
    np.testing.assert_allclose(drawn["quadratic: bound"], [at, 2 / at])
    np.testing.assert_allclose(drawn["quadratic: exact objective"], [at, 0.1 / at**2])
    band = axes.collections[1].get_paths()[0].vertices
    np.testing.assert_allclose(np.unique(band[band[:, 0] == 10, 1]), [0.01, 0.02])
    assert all(config.step == 0.1 for config in shown)


def test_notes_contain_the_largest_gap_and_diverged_runs(drawing):
    figure, *_ = drawing
    assert "within 1e-09 nat" in legend_title(figure)
    assert [text.get_text() for text in figure.axes[0].texts] == ["diverged or failed: 5 linear"]
    assert legend_texts(figure) == list(lines(figure.axes[0]))


@pytest.mark.parametrize("style", LAYOUTS)
def test_nothing_is_cut_or_overlaps(dataset, style):
    assert_nothing_is_cut_or_overlaps(lay_out("bias", dataset, style))


def test_studies_without_bounds_or_exact_values_are_rejected(dataset, tmp_path):
    with pytest.raises(UserError, match="objective_exact"):
        plot("bias", make_dataset(tmp_path, [Run([15.0, 11.0])]))
    others = dataset.assign_coords(expectation=("run", np.full(dataset.sizes["run"], "exact")))
    with pytest.raises(UserError, match="piecewise"):
        plot("bias", others)


def test_the_table_is_what_is_drawn(drawing):
    figure, _, table = drawing
    for label, (pieces, above) in lines(figure.axes[0]).items():
        degree, quantity = label.split(": ")
        rows = table[(table["degree"] == degree) & (table["quantity"] == quantity)]
        medians = rows.groupby("pieces")["above_optimum"].median()
        np.testing.assert_array_equal(pieces, medians.index)
        np.testing.assert_allclose(above, medians)
    assert len(table) == 2 * 2 * 3 * 2  # degrees, quantities, pieces, seeds
