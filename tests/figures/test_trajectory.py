"""Figure `path`."""

import numpy as np
import pytest

from figures.drawn import (
    COLUMN,
    PAGE,
    assert_nothing_is_cut_or_overlaps,
    legend_texts,
    legend_title,
    lines,
    plot,
    with_gid,
)
from figures.made_aggregate import Run, make_dataset
from gvibench.errors import UserError
from gvibench.figures.trajectory import CONTOUR_RATIO, LEVEL

LINEAR = {"model": "linear"}
SNAPSHOT = np.array([0, 1, 3])
OPTIMUM = np.array([1.0, 2.0])
OPTIMAL_FACTOR = np.array([[0.5, 0.0], [0.3, 0.1]])
VN_MEANS = np.array([[-1.0, 0.0], [1.0, 2.0], [1.0, 2.0]])
SLOW_MEANS = np.array([[-1.0, 0.0], [-0.5, 1.0], [0.0, 1.5]])
GONE_MEANS = np.array([[-1.0, 0.0], [99.0, 99.0], [np.nan, np.nan]])
START_FACTOR = np.eye(2)


def made_path(folder, features=2, spec=LINEAR, more=()):
    """Return a study of two seeds with known paths. The paths of the second seed are shifted."""
    runs = []
    for seed in (3, 4):
        runs += [
            Run([20.0, 10.0, 10.0, 10.0], solver="vn", seed=seed, step=1.0, spec=spec),
            Run([20.0, 18.0, 16.0, 14.0], solver="sr-vn", seed=seed, step=0.25, spec=spec),
            Run([20.0, 30.0], solver="gd", seed=seed, spec=spec, status="diverged"),
        ]
    dataset = make_dataset(folder, [*runs, *more])
    count = dataset.sizes["run"]
    means = np.full((count, 3, features), np.nan)
    factors = np.full((count, 3, features, features), np.nan)
    known = {"vn": VN_MEANS, "sr-vn": SLOW_MEANS, "gd": GONE_MEANS}
    for run in range(count):
        seed, solver = int(dataset["seed"][run]), str(dataset["solver"].values[run])
        means[run, :, :2] = known[solver] + 50 * (seed - 3)
        means[run, :, 2:] = 0.0
        factors[run, :, :2, :2] = [START_FACTOR, 0.5 * START_FACTOR, OPTIMAL_FACTOR]
    optimum_factor = np.tile(np.eye(features), (count, 1, 1))
    optimum_factor[:, :2, :2] = OPTIMAL_FACTOR
    optimum = np.zeros((count, features))
    optimum[:, :2] = OPTIMUM
    square = ("feature", "feature_")
    return dataset.assign_coords(snapshot=SNAPSHOT).assign(
        path_mean=(("run", "snapshot", "feature"), means),
        path_covariance_factor=(("run", "snapshot", *square), factors),
        optimum_mean=(("run", "feature"), optimum),
        optimum_covariance_factor=(("run", *square), optimum_factor),
    )


def test_shows_the_means_of_the_first_seed(tmp_path):
    figure, shown = plot("path", made_path(tmp_path))
    (axes,) = figure.axes
    drawn = lines(axes)
    np.testing.assert_allclose(drawn["VN"].T, VN_MEANS)
    np.testing.assert_allclose(drawn["SR-VN"].T, SLOW_MEANS)
    assert "GD" not in drawn  # GD diverged.
    assert any("GD 2/2" in text.get_text() for text in axes.texts)
    assert {config.line for config in shown} == {"VN", "SR-VN", "GD"}
    np.testing.assert_allclose(with_gid(axes, "optimum")[0].ravel(), OPTIMUM)
    np.testing.assert_allclose(with_gid(axes, "start")[0].ravel(), VN_MEANS[0])
    assert "seed 3" in legend_title(figure)


def test_ellipses_lie_at_one_standard_deviation(tmp_path):
    figure, _ = plot("path", made_path(tmp_path))
    ellipses = with_gid(figure.axes[0], "ellipse")
    assert len(ellipses) == 6
    for centre, factor, ellipse in zip(
        VN_MEANS, [START_FACTOR, 0.5 * START_FACTOR, OPTIMAL_FACTOR], ellipses[:3], strict=True
    ):
        white = np.linalg.solve(factor, ellipse - centre[:, np.newaxis])
        np.testing.assert_allclose(np.linalg.norm(white, axis=0), 1.0)


@pytest.mark.parametrize("gamma", [1.0, 0.25])
def test_contours_have_constant_loss(tmp_path, gamma):
    figure, _ = plot("path", made_path(tmp_path, spec={**LINEAR, "gamma": gamma}))
    (contours,) = figure.axes[0].collections
    hessian = gamma * np.linalg.inv(OPTIMAL_FACTOR @ OPTIMAL_FACTOR.T)
    # Interpolation on the grid is accurate only for the outer contours, which are less curved.
    for level, drawn in list(zip(contours.levels, contours.get_paths(), strict=True))[-3:]:
        offsets = drawn.vertices - OPTIMUM
        loss = 0.5 * np.einsum("ki,ij,kj->k", offsets, hessian, offsets)
        np.testing.assert_allclose(loss, level, rtol=0.02)
    np.testing.assert_allclose(contours.levels[1:] / contours.levels[:-1], CONTOUR_RATIO)


def test_legend_counts_the_iterations(tmp_path):
    figure, _ = plot("path", made_path(tmp_path))
    assert legend_texts(figure) == [
        "VN, step 1: 1 iteration",
        "SR-VN, step 0.25: >3 iterations",
        "GD, step 0.1: diverged",
        "start",
        "optimum",
    ]
    assert f"{LEVEL:g} nat" in legend_title(figure)


def test_coinciding_paths_are_both_visible(tmp_path):
    figure, _ = plot("path", made_path(tmp_path))
    drawn = {line.get_label(): line for line in figure.axes[0].get_lines()}
    order = list(drawn)
    assert order.index("VN") < order.index("SR-VN")
    assert drawn["VN"].get_linewidth() > 1.5 * drawn["SR-VN"].get_linewidth()
    assert drawn["SR-VN"].is_dashed()


@pytest.mark.parametrize("style", [PAGE, COLUMN, {**COLUMN, "font_size": 12.0}])
def test_nothing_is_cut_or_overlaps(tmp_path, style):
    other = Run([20.0, 15.0], "other", solver="vn", seed=3, step=0.5, spec=LINEAR)
    figure, _ = plot("path", made_path(tmp_path, more=[other]), style)
    assert len(figure.axes) == 2
    words = [" ".join(text.split()) for text in legend_texts(figure)]  # Long texts are wrapped.
    assert "VN, step 1, 0.5: 1 iteration, >1 iterations" in words
    assert_nothing_is_cut_or_overlaps(figure)


def test_studies_without_paths_in_a_plane_are_rejected(tmp_path):
    dataset = made_path(tmp_path)
    with pytest.raises(UserError, match="covariance_factor_path"):
        plot("path", dataset.drop_vars("path_mean"))
    with pytest.raises(UserError, match="two features, not 3"):
        plot("path", made_path(tmp_path, features=3))
    with pytest.raises(UserError, match="linear"):
        plot("path", made_path(tmp_path, spec={}))
    unknown = np.nan * dataset["optimum_covariance_factor"]
    with pytest.raises(UserError, match="gap: optimum"):
        plot("path", dataset.assign(optimum_covariance_factor=unknown))
