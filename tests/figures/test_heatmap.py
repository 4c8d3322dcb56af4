"""Figure `heatmap`."""

import numpy as np
import pytest

from figures.drawn import COLUMN, PAGE, legend_texts, legend_title, notes, plot
from figures.made_aggregate import Run, make_dataset
from gvibench.figures.style import FLOOR

STEPS, SCALES = (0.01, 0.1, 1.0), (0.1, 0.3)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """VN ends `step` + `scale` nats above the optimum. SR-VN diverges at large steps."""
    runs = []
    for step in STEPS:
        for scale in SCALES:
            for seed in (0, 1, 2):
                cell = {"step": step, "init_scale": scale, "seed": seed}
                runs.append(Run([20.0, 10 + step + scale + 0.01 * seed], **cell))
                is_lost = step == 1.0 or (step == 0.1 and seed == 2)
                status = "diverged" if is_lost else "completed"
                runs.append(Run([20.0, 10.0], solver="sr-vn", status=status, **cell))
    return make_dataset(tmp_path_factory.mktemp("heatmap"), runs)


@pytest.fixture(scope="module")
def drawing(dataset):
    return plot("heatmap", dataset)


def test_cells_show_the_centre_of_the_final_gaps(drawing):
    figure, shown, table = drawing
    assert len(shown) == len(table) == 12
    first, second, _ = figure.axes  # The last axes are the colour bar.
    assert [first.get_title(), second.get_title()] == ["wdbc: VN", "wdbc: SR-VN"]
    colored = np.asarray(first.collections[0].get_array()).reshape(2, 3)
    expected = np.add.outer(SCALES[::-1], STEPS) + 0.01  # The smallest scale is at the bottom.
    np.testing.assert_allclose(colored, expected)
    assert [text.get_text() for text in first.get_xticklabels()] == ["0.01", "0.1", "1"]
    assert [text.get_text() for text in first.get_yticklabels()] == ["0.3", "0.1"]
    drawn = table[(table["line"] == "VN")].sort_values(["init_scale", "step"])
    np.testing.assert_allclose(drawn["gap"].to_numpy().reshape(2, 3)[::-1], expected)


def test_cells_with_unusable_seeds_are_marked(drawing):
    figure, _, table = drawing
    words = notes(figure.axes[1])
    assert sorted(words) == sorted(2 * ["≤1e-12", "≤1e-12†", "×"])
    assert legend_texts(figure) == ["×: all seeds diverged or failed"]
    title = legend_title(figure)
    assert "†: some seeds diverged or failed" in title
    assert "median over 3 seeds" in title
    rows = table[(table["line"] == "SR-VN") & (table["init_scale"] == 0.1)].sort_values("step")
    assert rows["unusable"].tolist() == [0, 1, 3]
    np.testing.assert_array_equal(rows["gap"], [FLOOR, FLOOR, np.nan])


@pytest.mark.parametrize("style", [PAGE, COLUMN])
def test_all_panels_have_one_colour_scale(dataset, style):
    figure, *_ = plot("heatmap", dataset, style)
    norms = [axes.collections[0].norm for axes in figure.axes[:2]]
    for norm in norms:
        assert (norm.vmin, norm.vmax) == (FLOOR, pytest.approx(1.31))
    bar = figure.axes[-1]
    assert bar.get_xlabel().replace("\n", " ") == "final objective gap to the optimum [nat]"
    assert bar.get_xscale() == "log"


def test_narrow_cells_have_dots_instead_of_letters(tmp_path):
    runs = [
        Run([20.0, 11.0], step=0.01 * (k + 1), seed=seed, status=status)
        for k in range(60)
        for seed, status in enumerate(("completed", "diverged" if k % 20 == 0 else "completed"))
    ]
    figure, *_ = plot("heatmap", make_dataset(tmp_path, runs), COLUMN)
    axes = figure.axes[0]
    assert notes(axes) == []
    assert sorted(x for line in axes.get_lines() for x in line.get_xdata()) == [0.5, 20.5, 40.5]
    assert "•: some seeds diverged or failed" in legend_title(figure)
    assert len(axes.get_xticks()) <= 9
